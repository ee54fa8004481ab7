//! What each call means, one service per area, whatever way it came in. Adapters (`grpc/`) turn messages into these
//! calls and answers back.
//!
//! The invariant: a method authorizes first, then reads, then writes the store at most once; everything after that is
//! the reconciler's work, which the method only waits for.

pub mod agent;
pub mod connections;
pub mod credentials;
pub mod error;
mod filling;
mod governed;
pub mod grants;
mod missing;
mod page;
pub mod secrets;
pub mod streams;
#[cfg(test)]
pub(crate) mod tests;
pub mod tokens;
mod users;
pub mod volumes;
mod wait;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use stream_spec::capability::Capability;
use stream_spec::name::ConnectionName;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::connections::{ConnectionChanges, StoreResolver};
use crate::governance::Authorizer;
use crate::governance::authentication::Directory;
use crate::governance::credentials::AwsCredentials;
use crate::governance::named;
use crate::governance::private_folders::PrivateFolders;
use crate::governance::secrets::Vault;
use crate::limits::CONNECTION_TESTS_AT_ONCE_MAX;
use crate::reconcile::ReconcilerHandle;
use crate::reconcile::engine::PipelineEngine;
use crate::store::Store;
use crate::store::users::UsedThing;

pub use page::{Page, PageRequest};

/// What this agent can do. A capability is here when every part of it works, not before.
pub const CAPABILITIES: &[Capability] = &[
    Capability::KafkaSubscribe,
    Capability::KafkaSubscribePattern,
    Capability::KafkaAssign,
    Capability::KafkaStartingOffsets,
    Capability::KafkaMaxOffsetsPerTrigger,
    Capability::KafkaClientOptions,
    Capability::KafkaHeaders,
    Capability::SchemaJson,
    Capability::SchemaAvro,
    Capability::SchemaProtobuf,
    Capability::SchemaRegistry,
    Capability::RecordFilter,
    Capability::TableWidening,
    Capability::ConnectionPlaintext,
    Capability::ConnectionSsl,
    Capability::ConnectionSasl,
    Capability::ConnectionCredential,
    Capability::ConnectionMtls,
    Capability::Secrets,
    Capability::Credentials,
    Capability::Volumes,
];

/// What the services share.
pub struct Services {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) engine: Arc<dyn PipelineEngine>,
    pub(crate) reconciler: ReconcilerHandle,
    pub(crate) connection_changes: Arc<ConnectionChanges>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) vault: Vault,
    pub(crate) aws: Arc<AwsCredentials>,
    /// Opens what a caller asks to have tried. Pipelines have one of their own, for those that they run as.
    pub(crate) resolver: StoreResolver,
    pub(crate) private_folders: PrivateFolders,
    pub(crate) capabilities: BTreeSet<Capability>,
    /// Bounds how many connections are tried at once.
    pub(crate) connection_tests: Semaphore,
    pub(crate) trash_retention: Duration,
    pub(crate) version: &'static str,
    /// Ends every wait with what is known then.
    pub(crate) stopping: CancellationToken,
}

/// What services are made of.
pub struct ServicesSettings {
    /// Where declarations are kept.
    pub store: Arc<dyn Store>,
    /// What runs streams.
    pub engine: Arc<dyn PipelineEngine>,
    /// What drives them.
    pub reconciler: ReconcilerHandle,
    /// Who is told of changed connections.
    pub connection_changes: Arc<ConnectionChanges>,
    /// Who may do what.
    pub authorizer: Arc<dyn Authorizer>,
    /// Who is in which group.
    pub directory: Arc<Directory>,
    /// Where secrets are kept.
    pub vault: Vault,
    /// Who gives AWS credentials.
    pub aws: Arc<AwsCredentials>,
    /// Where no volume may lie.
    pub private_folders: PrivateFolders,
    /// How long a deleted table can be restored.
    pub trash_retention: Duration,
    /// The agent's version.
    pub version: &'static str,
    /// Cancelled when the agent shuts down.
    pub stopping: CancellationToken,
}

impl Services {
    /// Services with what this agent can do.
    pub fn new(settings: ServicesSettings) -> Arc<Self> {
        let ServicesSettings {
            store,
            engine,
            reconciler,
            connection_changes,
            authorizer,
            directory,
            vault,
            aws,
            private_folders,
            trash_retention,
            version,
            stopping,
        } = settings;
        let capabilities = CAPABILITIES.iter().copied().collect();
        Arc::new(Self {
            resolver: StoreResolver::new(store.clone(), vault.clone(), aws.clone(), connection_changes.clone()),
            store,
            engine,
            reconciler,
            connection_changes,
            authorizer,
            directory,
            vault,
            aws,
            private_folders,
            capabilities,
            connection_tests: Semaphore::new(CONNECTION_TESTS_AT_ONCE_MAX),
            trash_retention,
            version,
            stopping,
        })
    }

    /// Tells the pipelines that connect with what was changed. It was changed already: if it cannot be told who uses it, all are
    /// told, and those with nothing new go on.
    pub(crate) async fn announce(&self, what: &UsedThing) {
        match self.store.users(what).await {
            Ok(users) => {
                for connection in users.connections {
                    self.announce_connection(&connection);
                }
                self.announce_direct(what);
            }
            Err(error) => {
                tracing::error!(%error, "cannot tell which connections use what was changed; all pipelines look at theirs");
                self.announce_all();
            }
        }
    }

    /// Tells the pipelines of a connection that it was changed, and has those tried again that could not be made by it.
    pub(crate) fn announce_connection(&self, name: &ConnectionName) {
        self.connection_changes.announce(name);
        self.reconciler.wake_failed();
    }

    /// Tells the pipelines that connect by stores of keys of what was changed about these.
    fn announce_direct(&self, what: &UsedThing) {
        self.connection_changes.announce_direct(|direct| {
            let secrets = named::direct_secrets(direct);
            let has_volume = named::direct_volumes(direct).iter().any(|volume| what.is_volume(volume));
            has_volume || secrets.into_iter().any(|secret| what.has_secret(secret))
        });
        self.reconciler.wake_failed();
    }

    /// Tells every pipeline that it was changed who may use what.
    pub(crate) fn announce_all(&self) {
        self.connection_changes.announce_all();
        self.reconciler.wake_failed();
    }
}
