//! What is declared and what was last observed: the durable truth of the control plane.
//!
//! `Store` is the seam behind which a database lives; `conformance` is the suite that every implementation passes.
//! Positions are not here: they live in the tables. The invariant: what a caller declares and what the reconciler
//! observes are written apart, so that neither ever overwrites the other.

pub mod audit;
#[cfg(test)]
mod conformance;
pub mod documents;
pub mod payload;
pub mod records;
pub mod secrets;
pub mod sqlite;
pub mod tokens;
pub mod users;

use async_trait::async_trait;
use stream_spec::name::{ConnectionName, StreamName, TableName};

use audit::AuditStore;
use documents::{DocumentKind, GrantsRecord, StoredDocument};
use records::{ConnectionRecord, DeclaredStream, ObservedStream, StreamRecord};
use secrets::{SecretStore, SecretsWrite};
use tokens::TokenStore;
use users::UserStore;

use crate::governance::privilege::SecurableType;

/// Why a store cannot answer. Everything that a caller can cause is an outcome of its own, never an error.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A newer agent wrote it.
    #[error(
        "the database {path} has version {found}, and this agent knows versions up to {known}; start an agent that is at least as new as the one that wrote it"
    )]
    TooNew {
        /// The database file.
        path: String,
        /// Version in the file.
        found: i64,
        /// Newest version known here.
        known: i64,
    },
    /// Another process holds it.
    #[error("the database {path} is in use by another process; one data directory serves one agent")]
    InUse {
        /// The database file.
        path: String,
    },
    /// Stored bytes that this agent cannot read.
    #[error("the stored {what} `{id}` cannot be read: {problem}")]
    Payload {
        /// Kind of record.
        what: &'static str,
        /// Which one.
        id: String,
        /// Why.
        problem: String,
    },
    /// The database failed.
    #[error("failed to {action}: {source}")]
    Database {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Nothing may change without an audit event, and there is no room for one.
    #[error("{bound} audit events wait to be written to their table, and nothing changes until some are; see why that does not happen")]
    AuditFull {
        /// How many may wait.
        bound: i64,
    },
    /// The store was closed before the call.
    #[error("the store is closed")]
    Closed,
}

/// Outcome of a stream's insertion.
#[derive(Debug)]
pub enum InsertedStream {
    /// It is declared now.
    Inserted(Box<StreamRecord>),
    /// The name has a stream already.
    NameTaken(Box<StreamRecord>),
    /// Another stream writes to that table.
    TableTaken {
        /// Its name.
        by: StreamName,
    },
    /// The named connection does not exist.
    ConnectionMissing {
        /// Its name.
        name: ConnectionName,
    },
}

/// Outcome of a write that replaces what somebody read before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// Written.
    Done,
    /// Someone else wrote in between.
    Conflict,
    /// There is nothing to replace.
    Missing,
}

/// What becomes of a connection's literal secrets when the connection is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiteralSecrets {
    /// They are as they were.
    Stay,
    /// All of them go.
    Go,
    /// These are written or removed.
    Change(Box<SecretsWrite>),
}

/// Outcome of a connection's deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeletedConnection {
    /// It is gone.
    Deleted,
    /// Streams use it; some of their names.
    InUse(Vec<StreamName>),
    /// There was none.
    Missing,
}

/// Outcome of writing the grants on something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenGrants {
    /// As they are now.
    Written(Box<GrantsRecord>),
    /// They are at another generation than the one that was planned on.
    Conflict {
        /// 0 where there are none.
        found: u64,
    },
    /// There is nothing of that name to grant privileges on.
    SecurableMissing,
    /// Another life than the one that is meant has the name.
    AnotherLife,
}

/// What a list of streams is restricted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    /// First part of the names.
    pub catalog: String,
    /// Second part of the names; every one if `None`.
    pub schema: Option<String>,
}

impl std::fmt::Display for Parent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.catalog)?;
        match &self.schema {
            Some(schema) => write!(f, ".{schema}"),
            None => Ok(()),
        }
    }
}

/// Durable state of streams and connections, and which warehouse they are for. Every method is atomic and durable when it returns; cancelling a call leaves
/// it either done or not done.
#[async_trait]
pub trait Store: AuditStore + SecretStore + TokenStore + UserStore + Send + Sync + 'static {
    /// Declares a new stream if name and table are free and its connection exists.
    async fn insert_stream(&self, uid: &str, declared: &DeclaredStream) -> Result<InsertedStream, StoreError>;

    /// The stream of that name.
    async fn stream_by_name(&self, name: &StreamName) -> Result<Option<StreamRecord>, StoreError>;

    /// The stream of that life.
    async fn stream_by_uid(&self, uid: &str) -> Result<Option<StreamRecord>, StoreError>;

    /// The stream that writes to that table.
    async fn stream_of_table(&self, table: &TableName) -> Result<Option<StreamName>, StoreError>;

    /// Streams under `parent` in order of their names, those after `after` first, at most `limit`.
    async fn list_streams(&self, parent: &Parent, after: Option<&str>, limit: usize) -> Result<Vec<StreamRecord>, StoreError>;

    /// Every stream's uid, those that are on the way out included.
    async fn stream_uids(&self) -> Result<Vec<String>, StoreError>;

    /// Replaces what is declared of a stream if it is still at `revision`.
    async fn declare_stream(&self, uid: &str, revision: u64, declared: &DeclaredStream) -> Result<Replaced, StoreError>;

    /// Writes what was observed of a stream. Only the reconciler calls it, once at a time per stream.
    async fn observe_stream(&self, uid: &str, observed: &ObservedStream) -> Result<(), StoreError>;

    /// Removes a stream. Removing one that is not there is fine.
    async fn forget_stream(&self, uid: &str) -> Result<(), StoreError>;

    /// Declares a new connection with its literal secrets; false if the name is taken.
    async fn insert_connection(&self, record: &ConnectionRecord, secrets: &LiteralSecrets) -> Result<bool, StoreError>;

    /// The connection of that name.
    async fn connection(&self, name: &ConnectionName) -> Result<Option<ConnectionRecord>, StoreError>;

    /// Connections in order of their names, those after `after` first, at most `limit`.
    async fn list_connections(&self, after: Option<&str>, limit: usize) -> Result<Vec<ConnectionRecord>, StoreError>;

    /// Replaces a connection and its literal secrets if it is still at `generation`, and the secrets still under the key that the new
    /// ones are sealed under.
    async fn replace_connection(
        &self,
        generation: u64,
        record: &ConnectionRecord,
        secrets: &LiteralSecrets,
    ) -> Result<Replaced, StoreError>;

    /// Deletes a connection and its literal secrets, one in use only if `even_if_used`. Another life of the name than `uid` (empty: any) is missing.
    async fn delete_connection(&self, name: &ConnectionName, uid: &str, even_if_used: bool) -> Result<DeletedConnection, StoreError>;

    /// Streams that use a connection, in order of their names, at most `limit`.
    async fn streams_on_connection(&self, name: &ConnectionName, limit: usize) -> Result<Vec<StreamName>, StoreError>;

    /// Inserts a document; false if its name is taken. Callers use [`documents::insert`] and its siblings.
    async fn insert_document(&self, kind: DocumentKind, document: &StoredDocument) -> Result<bool, StoreError>;

    /// The document of that name.
    async fn document(&self, kind: DocumentKind, name: &str) -> Result<Option<StoredDocument>, StoreError>;

    /// The documents of these names that there are, in order of their names.
    async fn documents_named(&self, kind: DocumentKind, names: &[String]) -> Result<Vec<StoredDocument>, StoreError>;

    /// Documents whose names begin with `prefix`, in order of their names, those after `after` first, at most `limit`.
    async fn list_documents(
        &self,
        kind: DocumentKind,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<StoredDocument>, StoreError>;

    /// Replaces a document if it is still at `generation`.
    async fn replace_document(&self, kind: DocumentKind, generation: u64, document: &StoredDocument) -> Result<Replaced, StoreError>;

    /// Deletes a document if it is still at `generation`.
    async fn delete_document(&self, kind: DocumentKind, generation: u64, name: &str) -> Result<Replaced, StoreError>;

    /// Uid of the life that has a name, be there grants on it or not; for a table, of its stream. Empty where lives cannot be told
    /// apart; `None` if nothing has the name.
    async fn life(&self, securable_type: SecurableType, name: &str) -> Result<Option<String>, StoreError>;

    /// Writes the grants on something that exists, if it is the life that is meant (empty: any) and they are still at generation
    /// `planned` (0: none were ever set; `None`: whatever they are at). Grants go with what they were granted on.
    async fn set_grants(&self, planned: Option<u64>, life: &str, record: &GrantsRecord) -> Result<WrittenGrants, StoreError>;

    /// Id of the warehouse that the streams' tables are in, once one was seen there.
    async fn warehouse_id(&self) -> Result<Option<String>, StoreError>;

    /// Remembers the warehouse's id. The first one stays: another warehouse is another agent's.
    async fn remember_warehouse(&self, id: &str) -> Result<(), StoreError>;

    /// Whether the store answers at all.
    async fn check(&self) -> Result<(), StoreError>;
}
