//! The door for the reconciler: steps that can each be repeated at any point, and a status to read.
//!
//! What a source is and how rows get into a table lives in `kafka/`, `stream/` and `table/`; this file only joins them.
//! Invariant: no step takes anything but a definition and the world, so each may run again after a crash at any point.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use stream_spec::name::TableName;
use stream_spec::stream::{DirectSchemas, StreamOperations, StreamSpec};

use crate::connection::{ClientProperties, ConnectionStep, SharedResolver};
use crate::error::PipelineError;
use crate::kafka::attempt;
use crate::kafka::pool::ClientPool;
use crate::limits;
use crate::registry::{self, RegistryError, RegistryPool, RegistryProperties};
use crate::registry_versions::RegistryVersions;
use crate::stream::RunningStream;
use crate::table::{SchemaVersion, SystemTable, SystemTableHandle, TableCareSettings, TableError, TableState, Warehouse};
use crate::usage::Usage;

/// A stream as the store declares it, with everything its pipeline needs.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamDefinition {
    /// One life of the name.
    pub uid: String,
    /// Counts changes of the definition, from 1.
    pub generation: u64,
    /// What the stream is.
    pub spec: StreamSpec,
    /// Name of the principal whose privileges the pipeline has: whoever created the stream.
    pub run_as: String,
    /// How it runs.
    pub operations: StreamOperations,
    /// Every accepted schema, oldest first, the last in force: the table's columns are their union.
    pub schema_history: Vec<DirectSchemas>,
    /// The first generation that has the last of them; 0 where nobody knows it.
    pub schemas_generation: u64,
    /// Excluded paths that never had a column: those excluded at creation, and those that arrived excluded, and have been
    /// ever since (`stream_spec::table::never_ingested`).
    pub excluded_at_creation: BTreeSet<String>,
}

impl StreamDefinition {
    /// The version of the schemas in force.
    pub(crate) fn schemas_in_force(&self) -> SchemaVersion {
        SchemaVersion {
            number: self.schema_history.len() as u64,
            generation: self.schemas_generation,
        }
    }
}

/// What an engine is opened with.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// Folder, or URL of one, that holds every table.
    pub warehouse: String,
    /// Id of the warehouse, where a former process learned it ([`Engine::warehouse_id`]). A folder without it is storage
    /// trouble then, and no place where tables are gone or made.
    pub warehouse_id: Option<String>,
    /// How often new topics and partitions are looked for, and an idle table is probed.
    pub discovery_interval: Duration,
    /// Most Kafka clients at once.
    pub kafka_clients_max: usize,
    /// Most bytes of messages in one commit; a full batch is committed before the flush interval is over.
    pub batch_bytes_max: usize,
    /// How long a stream with a schema registry goes on before it starts again, by the latest versions of its subjects.
    pub registry_restart_interval: Duration,
    /// How tables are kept healthy.
    pub table_care: TableCareSettings,
}

impl EngineSettings {
    /// The product's defaults for a warehouse.
    pub fn new(warehouse: impl Into<String>) -> Self {
        Self {
            warehouse: warehouse.into(),
            warehouse_id: None,
            discovery_interval: limits::DISCOVERY_INTERVAL,
            kafka_clients_max: limits::KAFKA_CLIENTS_MAX,
            batch_bytes_max: limits::BATCH_BYTES_MAX,
            registry_restart_interval: limits::REGISTRY_RESTART_INTERVAL,
            table_care: TableCareSettings::default(),
        }
    }
}

/// Runs streams of one warehouse.
pub struct Engine {
    shared: Arc<EngineShared>,
}

/// What every running stream needs of its engine.
pub(crate) struct EngineShared {
    pub(crate) settings: EngineSettings,
    pub(crate) resolver: SharedResolver,
    pub(crate) warehouse: Warehouse,
    pub(crate) clients: ClientPool,
    pub(crate) registries: RegistryPool,
}

impl Engine {
    /// Opens the warehouse. Contacts no source.
    pub fn new(settings: EngineSettings, resolver: SharedResolver) -> Result<Arc<Self>, PipelineError> {
        let warehouse = Warehouse::open(&settings.warehouse, settings.warehouse_id.clone())?;
        let clients = ClientPool::new(settings.kafka_clients_max);
        let shared = EngineShared {
            settings,
            resolver,
            warehouse,
            clients,
            registries: RegistryPool::default(),
        };
        Ok(Arc::new(Self { shared: Arc::new(shared) }))
    }

    /// Keeps other agents out of the warehouse as long as this process runs; see [`Warehouse::keep_others_out`].
    pub async fn keep_others_out(&self) -> Result<(), TableError> {
        self.shared.warehouse.keep_others_out().await
    }

    /// Creates the stream's table: resolves the start positions once and writes them as version 0.
    ///
    /// Idempotent: where version 0 of this uid is there, its table's state is the answer and no source is asked.
    pub async fn provision(&self, definition: &StreamDefinition) -> Result<TableState, PipelineError> {
        crate::stream::provision::provision(&self.shared, definition).await
    }

    /// Starts a stream and returns at once. It never fails: whatever is wrong shows in the status.
    ///
    /// Must be called inside a Tokio runtime.
    pub fn start(&self, definition: StreamDefinition) -> RunningStream {
        RunningStream::spawn(self.shared.clone(), definition)
    }

    /// Opens a table of the agent's own for the rows of one source, and makes it where there is none.
    pub async fn system_table(&self, table: SystemTable, source: &str) -> Result<SystemTableHandle, TableError> {
        let care = self.shared.settings.table_care.clone();
        SystemTableHandle::open(&self.shared.warehouse, care, table, source).await
    }

    /// Reads the table of a stream that may not be running.
    pub async fn table_state(&self, table: &TableName, uid: &str) -> Result<TableState, TableError> {
        self.shared.warehouse.read_state(table, uid).await
    }

    /// Moves a stream's table to the trash. The stream must be stopped.
    pub async fn trash(&self, table: &TableName, uid: &str) -> Result<(), TableError> {
        self.shared.warehouse.trash(table, uid).await
    }

    /// Moves a stream's table back from the trash.
    pub async fn restore(&self, table: &TableName, uid: &str) -> Result<(), TableError> {
        self.shared.warehouse.restore(table, uid).await
    }

    /// Whether the trash holds the table of this uid.
    pub async fn in_trash(&self, uid: &str) -> Result<bool, TableError> {
        self.shared.warehouse.in_trash(uid).await
    }

    /// Deletes tables that have been in the trash longer than `older_than`; returns their uids.
    pub async fn purge_trash(&self, older_than: Duration) -> Result<Vec<String>, TableError> {
        self.shared.warehouse.purge_trash(older_than).await
    }

    /// The warehouse's id, once it is known: for whoever remembers it over restarts. Looks at no storage.
    pub fn warehouse_id(&self) -> Option<&str> {
        self.shared.warehouse.known_id()
    }

    /// What this process takes of the machine, and of Kafka clusters.
    pub fn usage(&self) -> Usage {
        Usage::of(self.shared.clients.count())
    }

    /// Where a table is, for people and readers.
    pub fn location(&self, table: &TableName) -> String {
        self.shared.warehouse.location(table)
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> &EngineShared {
        &self.shared
    }

    /// The latest versions of a stream's subjects in its schema registry: for looking at a definition before there is a stream.
    pub async fn latest_versions(&self, stream: &StreamSpec, run_as: &str) -> Result<RegistryVersions, PipelineError> {
        let latest = crate::stream::pin::latest(&self.shared, stream, run_as).await;
        latest.map(|(_, versions)| versions)
    }

    /// Tries a schema registry step by step, with a client of its own. Bounded in time.
    pub async fn try_registry(&self, properties: &RegistryProperties) -> Result<Vec<ConnectionStep>, RegistryError> {
        registry::attempt(properties).await
    }

    /// Tries a Kafka connection step by step, with clients of its own. Bounded in time.
    pub async fn try_connection(&self, properties: &ClientProperties) -> Result<Vec<ConnectionStep>, PipelineError> {
        attempt::attempt(properties).await
    }
}
