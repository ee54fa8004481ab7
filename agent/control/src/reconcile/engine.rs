//! What the reconciler needs of an engine that runs streams. Two things implement it: the pipeline package (in
//! `pipeline_engine.rs`, the only file here that knows its engine) and the scripted engine of the tests.
//!
//! The invariant: every step may be repeated at any point, after a crash too, and then changes nothing more.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use stream_pipeline::connection::{ClientProperties, ConnectionStep};
use stream_pipeline::engine::StreamDefinition;
use stream_pipeline::error::PipelineError;
use stream_pipeline::registry::{RegistryError, RegistryProperties};
use stream_pipeline::registry_versions::RegistryVersions;
use stream_pipeline::status::PipelineStatus;
use stream_pipeline::table::{TableError, TableState};
use stream_pipeline::usage::Usage;
use stream_spec::name::TableName;
use stream_spec::stream::StreamSpec;
use tokio::sync::watch;

/// Runs streams and keeps their tables.
#[async_trait]
pub trait PipelineEngine: Send + Sync + 'static {
    /// Writes version 0 of the stream's table with its start positions, once: later calls answer with what is there.
    async fn provision(&self, definition: &StreamDefinition) -> Result<TableState, PipelineError>;

    /// Starts a stream. Returns at once; whatever is wrong shows in the status.
    fn start(&self, definition: StreamDefinition) -> Arc<dyn RunningPipeline>;

    /// Reads the table of that stream from its storage.
    async fn table_state(&self, table: &TableName, uid: &str) -> Result<TableState, TableError>;

    /// Moves the stream's table to the trash. Fine if it is there already, or nowhere.
    async fn trash(&self, table: &TableName, uid: &str) -> Result<(), TableError>;

    /// Moves the stream's table back from the trash. Fine if it is back already.
    async fn restore(&self, table: &TableName, uid: &str) -> Result<(), TableError>;

    /// Whether the stream's table is in the trash.
    async fn in_trash(&self, uid: &str) -> Result<bool, TableError>;

    /// Removes tables for good that have been in the trash for longer; answers with how many.
    async fn purge_trash(&self, older_than: Duration) -> Result<usize, TableError>;

    /// The latest versions of the stream's subjects in its schema registry.
    async fn latest_versions(&self, stream: &StreamSpec, run_as: &str) -> Result<RegistryVersions, PipelineError>;

    /// Tries a schema registry step by step.
    async fn try_registry(&self, properties: &RegistryProperties) -> Result<Vec<ConnectionStep>, RegistryError>;

    /// Tries a connection step by step, with clients of its own. Bounded in time.
    async fn try_connection(&self, properties: &ClientProperties) -> Result<Vec<ConnectionStep>, PipelineError>;

    /// What the engine's process takes at the moment. Contacts nobody.
    fn usage(&self) -> Usage;

    /// Folder or URL of a table.
    fn location(&self, table: &TableName) -> String;
}

/// A stream that was started.
#[async_trait]
pub trait RunningPipeline: Send + Sync + 'static {
    /// Its status, as it changes.
    fn status(&self) -> watch::Receiver<PipelineStatus>;

    /// Goes on with another definition of the same stream, from the exact position.
    fn redefine(&self, definition: StreamDefinition);

    /// Commits what is in flight and ends; false if that failed, or did not come to an end in time and was given up. Bounded in
    /// time; fine if it has ended already.
    async fn stop(&self) -> bool;
}
