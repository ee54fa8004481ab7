//! How a connector gets at client properties, without knowing where connections and secrets are kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use stream_spec::stream::{ConnectionConfig, StreamSpec};
use tokio::sync::watch;
use zeroize::Zeroizing;

use crate::error::PipelineError;
use crate::registry::RegistryProperties;

/// The value of a client property, which may be a secret: it is overwritten when it is dropped, and cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct PropertyValue(Zeroizing<String>);

impl PropertyValue {
    /// The value itself, for the client that is opened with it and for nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for PropertyValue {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl From<&str> for PropertyValue {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// What a client shows its brokers instead of a password, for a while.
#[derive(Clone)]
pub struct BearerToken {
    /// The token: a secret until its end.
    pub value: PropertyValue,
    /// Its end.
    pub expires_at: SystemTime,
}

/// Gives a client tokens for as long as it is open.
#[async_trait]
pub trait TokenSource: Send + Sync + 'static {
    /// A token that is good for some minutes. Ends within a bound. Errors are for people: what is wrong, and what to do.
    async fn token(&self) -> Result<BearerToken, String>;
}

/// What a source's client is opened with. Holds secret bytes: it lives only while a client is opened, and prints none.
#[derive(Clone)]
pub struct ClientProperties {
    /// Comma-separated `host:port`.
    pub bootstrap_servers: String,
    /// librdkafka properties beside the address, security included.
    pub properties: BTreeMap<String, PropertyValue>,
    /// Who gives the tokens that this client signs in with, if it does.
    pub tokens: Option<Arc<dyn TokenSource>>,
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

/// One step of an attempt to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionStep {
    /// Which step.
    pub name: &'static str,
    /// Whether it worked.
    pub ok: bool,
    /// For people: what was found, or what to do.
    pub message: String,
}

impl ConnectionStep {
    /// All of Kafka's, in order.
    pub const OF_KAFKA: [&str; 4] = [Self::ADDRESS, Self::TLS, Self::AUTHENTICATION, Self::TOPICS];
    /// All of a schema registry's, in order; they follow Kafka's where the connection has one.
    pub const OF_REGISTRY: [&str; 4] = [
        Self::REGISTRY_ADDRESS,
        Self::REGISTRY_TLS,
        Self::REGISTRY_AUTHENTICATION,
        Self::REGISTRY_SUBJECTS,
    ];
    /// The address is found and takes connections.
    pub const ADDRESS: &str = "address";
    /// TLS comes about, and the certificate is trusted.
    pub const TLS: &str = "tls";
    /// The user is let in.
    pub const AUTHENTICATION: &str = "authentication";
    /// The cluster tells its topics.
    pub const TOPICS: &str = "topics";
    /// An address of the registry is found and takes connections.
    pub const REGISTRY_ADDRESS: &str = "schema_registry_address";
    /// TLS comes about, and the registry's certificate is trusted.
    pub const REGISTRY_TLS: &str = "schema_registry_tls";
    /// The API key is let in.
    pub const REGISTRY_AUTHENTICATION: &str = "schema_registry_authentication";
    /// The registry tells its subjects.
    pub const REGISTRY_SUBJECTS: &str = "schema_registry_subjects";

    /// One with what came of it.
    pub fn of(name: &'static str, outcome: Result<String, String>) -> Self {
        let ok = outcome.is_ok();
        let (Ok(message) | Err(message)) = outcome;
        Self { name, ok, message }
    }

    /// Steps behind one that failed.
    pub fn skipped(names: &[&'static str]) -> impl Iterator<Item = Self> {
        let skipped = |name: &&'static str| Self::of(name, Err("not tried, because a step before it failed".to_owned()));
        names.iter().map(skipped)
    }

    /// Steps of which the first one failed.
    pub fn failed_at_once(names: &[&'static str], problem: &str) -> Vec<Self> {
        let (first, rest) = names.split_at(names.len().min(1));
        let first = first.iter().map(|name| Self::of(name, Err(problem.to_owned())));
        first.chain(Self::skipped(rest)).collect()
    }
}

/// Turns a stream's connection into client properties. Implemented by the control plane.
#[async_trait]
pub trait ConnectionResolver: Send + Sync + 'static {
    /// Current properties of a stream's connection, for a pipeline that runs as `run_as`. Errors: the connection is gone, a secret
    /// cannot be read, that identity lacks what it takes to run the stream.
    async fn open(&self, stream: &StreamSpec, run_as: &str) -> Result<ClientProperties, PipelineError>;

    /// Current properties of a stream's schema registry, in the same way.
    async fn open_registry(&self, stream: &StreamSpec, run_as: &str) -> Result<RegistryProperties, PipelineError>;

    /// A counter that moves when `open` may answer differently: where it does, pipelines reconnect at their exact positions.
    fn changes(&self, connection: &ConnectionConfig) -> watch::Receiver<u64>;
}

/// A shared resolver.
pub type SharedResolver = Arc<dyn ConnectionResolver>;
