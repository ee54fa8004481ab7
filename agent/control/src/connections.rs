//! Turns a stream's connection into client properties, from the store. Today: Kafka by PLAINTEXT; anything else is an
//! error that says so. The invariant: properties are read anew at each open, so a pipeline never runs on an old address.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use sha2::{Digest, Sha256};
use stream_pipeline::connection::{ClientProperties, ConnectionResolver};
use stream_pipeline::error::{PipelineError, Retry};
use stream_spec::capability;
use stream_spec::connection::{ConnectionOptions, KafkaConnectionOptions};
use stream_spec::name::ConnectionName;
use stream_spec::stream::ConnectionConfig;
use tokio::sync::watch;

use crate::services::CAPABILITIES;
use crate::store::Store;
use crate::store::records::ConnectionRecord;

/// Tells pipelines that a connection was changed.
#[derive(Debug, Default)]
pub struct ConnectionChanges {
    /// One counter per connection that a pipeline follows.
    counters: Mutex<HashMap<ConnectionName, watch::Sender<u64>>>,
}

impl ConnectionChanges {
    /// Moves the connection's counter.
    pub fn announce(&self, name: &ConnectionName) {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody follows it any more: forgotten, so that the map stays as small as the number of connections in use.
        counters.retain(|_, counter| counter.receiver_count() > 0);
        if let Some(counter) = counters.get(name) {
            counter.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    fn follow(&self, name: &ConnectionName) -> watch::Receiver<u64> {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.entry(name.clone()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }
}

/// Resolves connections from the store.
pub struct StoreResolver {
    store: Arc<dyn Store>,
    changes: Arc<ConnectionChanges>,
}

impl StoreResolver {
    /// A resolver over this store.
    pub fn new(store: Arc<dyn Store>, changes: Arc<ConnectionChanges>) -> Self {
        Self { store, changes }
    }
}

#[async_trait]
impl ConnectionResolver for StoreResolver {
    async fn open(&self, connection: &ConnectionConfig, _run_as: &str) -> Result<ClientProperties, PipelineError> {
        let name = match connection {
            ConnectionConfig::UcConnectionName(name) => name,
            ConnectionConfig::DirectMtls(_) => {
                return Err(PipelineError::Definition {
                    message: "this agent cannot connect by client certificate (mTLS) yet".into(),
                });
            }
        };
        let record = self
            .store
            .connection(name)
            .await
            .map_err(|error| unavailable("StoreFailed", error.to_string()))?;
        let record = record.ok_or_else(|| {
            unavailable(
                "ConnectionMissing",
                format!("there is no connection `{name}`; create it, or make a stream on another one"),
            )
        })?;
        properties(&record)
    }

    fn changes(&self, connection: &ConnectionConfig) -> watch::Receiver<u64> {
        match connection {
            ConnectionConfig::UcConnectionName(name) => self.changes.follow(name),
            // Nothing that can change: the receiver stays at its first value for ever.
            ConnectionConfig::DirectMtls(_) => watch::Sender::new(0).subscribe(),
        }
    }
}

/// Whoever mends the connection mends the stream: trying again is enough.
fn unavailable(reason: &'static str, message: String) -> PipelineError {
    PipelineError::Source {
        reason,
        message,
        retry: Retry::Later,
    }
}

fn properties(record: &ConnectionRecord) -> Result<ClientProperties, PipelineError> {
    let has = CAPABILITIES.iter().copied().collect();
    let missing = capability::missing(&capability::needed_by_connection(&record.spec), &has);
    if let Some(violation) = missing.first() {
        return Err(unavailable(
            "ConnectionUnsupported",
            format!("connection `{}`: {violation}", record.spec.name),
        ));
    }
    match &record.spec.options {
        ConnectionOptions::Kafka(kafka) => Ok(ClientProperties {
            bootstrap_servers: kafka.bootstrap_servers.clone(),
            properties: BTreeMap::from([("security.protocol".to_owned(), "plaintext".into())]),
            identity: identity(record, kafka),
        }),
        ConnectionOptions::Kinesis(_) => Err(PipelineError::Definition {
            message: format!(
                "connection `{}` is of type KINESIS, and the stream reads Kafka; use a connection of type KAFKA",
                record.spec.name
            ),
        }),
    }
}

/// Equal for equal options of one connection: a new comment does not make pipelines reconnect.
fn identity(record: &ConnectionRecord, kafka: &KafkaConnectionOptions) -> String {
    let digest = Sha256::digest(format!("{kafka:?}"));
    let short: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{}/{short}", record.uid)
}
