//! How a connector gets at client properties, without knowing where connections and secrets are kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use stream_spec::stream::ConnectionConfig;
use tokio::sync::watch;

use crate::error::PipelineError;

/// What a source's client is opened with. Holds secret bytes: it lives only while a client is opened, and prints none.
#[derive(Clone)]
pub struct ClientProperties {
    /// Comma-separated `host:port`.
    pub bootstrap_servers: String,
    /// librdkafka properties beside the address, security included.
    pub properties: BTreeMap<String, String>,
    /// Equal for two opens that give interchangeable clients; never derived from a secret's bytes.
    pub identity: String,
}

impl std::fmt::Debug for ClientProperties {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientProperties")
            .field("bootstrap_servers", &self.bootstrap_servers)
            .finish_non_exhaustive()
    }
}

/// Turns a stream's connection into client properties. Implemented by the control plane.
#[async_trait]
pub trait ConnectionResolver: Send + Sync + 'static {
    /// Current properties. Errors: the connection is gone, a secret cannot be read, the identity may not use it.
    async fn open(&self, connection: &ConnectionConfig) -> Result<ClientProperties, PipelineError>;

    /// A counter that moves when `open` would answer differently: pipelines reconnect at their exact positions.
    fn changes(&self, connection: &ConnectionConfig) -> watch::Receiver<u64>;
}

/// A shared resolver.
pub type SharedResolver = Arc<dyn ConnectionResolver>;
