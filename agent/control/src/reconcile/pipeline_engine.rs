//! The pipeline package as the reconciler's engine. The only file that knows both.
//!
//! It also has the store remember the warehouse that the engine found. Invariant: no table counts as made before that is
//! remembered, so an agent that starts on a folder that is not mounted never takes its tables for lost.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use stream_pipeline::connection::{ClientProperties, ConnectionStep};
use stream_pipeline::engine::{Engine, StreamDefinition};
use stream_pipeline::error::PipelineError;
use stream_pipeline::registry::{RegistryError, RegistryProperties};
use stream_pipeline::registry_versions::RegistryVersions;
use stream_pipeline::status::PipelineStatus;
use stream_pipeline::stream::RunningStream;
use stream_pipeline::table::{SystemTable, SystemTableHandle, SystemValues, TableError, TableState};
use stream_pipeline::usage::Usage;
use stream_spec::name::TableName;
use stream_spec::stream::StreamSpec;
use tokio::sync::{OnceCell, watch};

use super::engine::{PipelineEngine, RunningPipeline};
use crate::audit::ship::{OpenSystemTable, SystemTables};
use crate::store::{Store, StoreError};

/// The engine that this agent runs streams with.
pub struct LocalEngine {
    engine: Arc<Engine>,
    store: Arc<dyn Store>,
    /// Set once the store has the warehouse's id.
    remembered: OnceCell<()>,
}

impl LocalEngine {
    /// Streams run in this process. The engine's settings have the warehouse's id that the store remembers.
    pub fn new(engine: Arc<Engine>, store: Arc<dyn Store>) -> Self {
        Self {
            engine,
            store,
            remembered: OnceCell::new(),
        }
    }

    /// Has the store remember the warehouse. To be called once a table of ours was seen there: a folder that somebody gave
    /// by mistake is none to be held to.
    async fn remember(&self) -> Result<(), StoreError> {
        let Some(id) = self.engine.warehouse_id() else {
            return Ok(());
        };
        self.remembered.get_or_try_init(|| self.store.remember_warehouse(id)).await?;
        Ok(())
    }
}

#[async_trait]
impl PipelineEngine for LocalEngine {
    async fn provision(&self, definition: &StreamDefinition) -> Result<TableState, PipelineError> {
        let state = self.engine.provision(definition).await?;
        self.remember().await.map_err(|error| TableError::Storage {
            table: definition.spec.ingestion.destination.to_string(),
            location: self.engine.location(&definition.spec.ingestion.destination),
            action: "remembering the warehouse",
            source: error.into(),
        })?;
        Ok(state)
    }

    fn start(&self, definition: StreamDefinition) -> Arc<dyn RunningPipeline> {
        let stream = self.engine.start(definition);
        Arc::new(LocalPipeline {
            status: stream.status(),
            stream: Mutex::new(Some(stream)),
        })
    }

    async fn table_state(&self, table: &TableName, uid: &str) -> Result<TableState, TableError> {
        let state = self.engine.table_state(table, uid).await?;
        // The table's state is the answer all the same; the next look tries again.
        if let Err(error) = self.remember().await {
            tracing::warn!(%error, "failed to remember the warehouse");
        }
        Ok(state)
    }

    async fn trash(&self, table: &TableName, uid: &str) -> Result<(), TableError> {
        self.engine.trash(table, uid).await
    }

    async fn restore(&self, table: &TableName, uid: &str) -> Result<(), TableError> {
        self.engine.restore(table, uid).await
    }

    async fn in_trash(&self, uid: &str) -> Result<bool, TableError> {
        self.engine.in_trash(uid).await
    }

    async fn purge_trash(&self, older_than: Duration) -> Result<usize, TableError> {
        self.engine.purge_trash(older_than).await.map(|uids| uids.len())
    }

    async fn latest_versions(&self, stream: &StreamSpec, run_as: &str) -> Result<RegistryVersions, PipelineError> {
        self.engine.latest_versions(stream, run_as).await
    }

    async fn try_registry(&self, properties: &RegistryProperties) -> Result<Vec<ConnectionStep>, RegistryError> {
        self.engine.try_registry(properties).await
    }

    async fn try_connection(&self, properties: &ClientProperties) -> Result<Vec<ConnectionStep>, PipelineError> {
        self.engine.try_connection(properties).await
    }

    fn usage(&self) -> Usage {
        self.engine.usage()
    }

    fn location(&self, table: &TableName) -> String {
        self.engine.location(table)
    }
}

/// A warehouse with nothing but the agent's own tables is not remembered: what was given by mistake can be given up again.
#[async_trait]
impl SystemTables for LocalEngine {
    async fn open(&self, table: SystemTable, source: &str) -> Result<Box<dyn OpenSystemTable>, TableError> {
        Ok(Box::new(self.engine.system_table(table, source).await?))
    }
}

#[async_trait]
impl OpenSystemTable for SystemTableHandle {
    fn last_number(&self) -> i64 {
        Self::last_number(self)
    }

    async fn append(&self, columns: Vec<SystemValues>, last_number: i64) -> Result<(), TableError> {
        Self::append(self, columns, last_number).await
    }

    async fn close(self: Box<Self>) {
        Self::close(*self).await;
    }
}

/// A stream in this process. It has a status after it was stopped, too.
struct LocalPipeline {
    status: watch::Receiver<PipelineStatus>,
    stream: Mutex<Option<RunningStream>>,
}

#[async_trait]
impl RunningPipeline for LocalPipeline {
    fn status(&self) -> watch::Receiver<PipelineStatus> {
        self.status.clone()
    }

    fn redefine(&self, definition: StreamDefinition) {
        if let Some(stream) = self.stream.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            stream.redefine(definition);
        }
    }

    async fn stop(&self) -> bool {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        match stream {
            Some(stream) => stream.stop().await,
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use stream_pipeline::engine::EngineSettings;
    use stream_pipeline::table::{NewTable, SourceIdentity, Warehouse};
    use stream_spec::types::{DataType, Field};

    use super::*;
    use crate::connections::{ConnectionChanges, StoreResolver};
    use crate::governance::secrets::Vault;
    use crate::governance::secrets::master::MasterKeys;
    use crate::reconcile::backoff::Backoff;
    use crate::reconcile::{Reconciler, ReconcilerSettings};
    use crate::state::StreamState;
    use crate::store::LiteralSecrets;
    use crate::store::records::{ObservedStream, StreamRecord};
    use crate::store::sqlite::SqliteStore;
    use crate::testing::definitions::{connection, declared};
    use crate::testing::wait_until;

    /// What outlives an agent.
    struct Disk {
        folder: tempfile::TempDir,
    }

    /// An agent's parts, made as at its start.
    struct Agent {
        store: Arc<SqliteStore>,
        engine: Arc<LocalEngine>,
    }

    impl Disk {
        fn warehouse(&self) -> PathBuf {
            self.folder.path().join("warehouse")
        }

        async fn start(&self) -> Agent {
            let store = Arc::new(SqliteStore::open(&self.folder.path().join("agent.db")).await.unwrap());
            let mut settings = EngineSettings::new(text(&self.warehouse()));
            settings.warehouse_id = store.warehouse_id().await.unwrap();
            let vault = Vault::new(store.clone(), MasterKeys::none(""));
            let resolver = Arc::new(StoreResolver::new(
                store.clone(),
                vault,
                Arc::default(),
                Arc::new(ConnectionChanges::default()),
            ));
            let engine = Arc::new(LocalEngine::new(Engine::new(settings, resolver).unwrap(), store.clone()));
            Agent { store, engine }
        }
    }

    impl Agent {
        async fn record(&self, uid: &str) -> StreamRecord {
            self.store.stream_by_uid(uid).await.unwrap().unwrap()
        }

        /// The state of a stream that complains that the warehouse is not there, and says what to do.
        async fn complaint(&self, uid: &str) -> Option<StreamState> {
            let observed = self.record(uid).await.observed;
            let complains = |message: &str| message.contains("not mounted") && message.contains("new data folder");
            let complaint = observed.conditions.iter().find(|found| !found.status && complains(&found.message));
            complaint.map(|_| observed.state)
        }
    }

    fn text(path: &Path) -> &str {
        path.to_str().unwrap()
    }

    /// A table as `provision` leaves it, without a source to ask.
    async fn make_table(warehouse: &Path, definition: &StreamDefinition) {
        let spec = &definition.spec;
        let table = NewTable {
            name: spec.ingestion.destination.clone(),
            stream_uid: definition.uid.clone(),
            generation: definition.generation,
            columns: stream_spec::table::columns_of_history(&spec.source, &definition.schema_history, &definition.excluded_at_creation)
                .unwrap(),
            positions: Default::default(),
            source: SourceIdentity::default(),
            schemas: Default::default(),
            registry: None,
            history: Duration::from_secs(60),
        };
        Warehouse::open(text(warehouse), None).unwrap().create(table).await.unwrap();
    }

    #[tokio::test]
    async fn a_table_of_the_agents_own_knows_its_last_row_and_begins_anew_once_it_is_gone() {
        let disk = Disk {
            folder: tempfile::tempdir().unwrap(),
        };
        let agent = disk.start().await;
        let columns = |names: &[&str]| names.iter().map(|name| Field::new(*name, DataType::BigInt)).collect();
        let table = |names: &[&str]| SystemTable {
            name: TableName::system("shop", "notes"),
            uid: "notes",
            columns: columns(names),
        };
        let row = |number| vec![SystemValues::Number(vec![number])];
        let notes = agent.engine.open(table(&["number"]), "a").await.unwrap();
        for number in [1, 2, 2] {
            notes.append(row(number), number).await.unwrap();
        }
        assert!(notes.append(row(1), 1).await.is_err());
        notes.close().await;
        let notes = agent.engine.open(table(&["number"]), "b").await.unwrap();
        assert_eq!(notes.last_number(), 0, "sources are counted apart");
        notes.close().await;
        let altered = agent.engine.open(table(&["number", "more"]), "a").await.err();
        assert!(matches!(altered, Some(TableError::Altered { .. })), "{altered:?}");
        let notes = agent.engine.open(table(&["number"]), "a").await.unwrap();
        assert_eq!(notes.last_number(), 2);
        std::fs::remove_dir_all(disk.warehouse().join("system")).unwrap();
        assert!(notes.append(row(3), 3).await.is_err());
        notes.close().await;
        let notes = agent.engine.open(table(&["number"]), "a").await.unwrap();
        assert_eq!(notes.last_number(), 0);
        notes.append(row(3), 3).await.unwrap();
        assert_eq!(notes.last_number(), 3);
        notes.close().await;
        assert_eq!(agent.store.warehouse_id().await.unwrap(), None, "it is no table of a stream");
    }

    #[tokio::test]
    async fn an_agent_that_starts_on_an_empty_mount_point_loses_no_table_and_makes_none() {
        let disk = Disk {
            folder: tempfile::tempdir().unwrap(),
        };
        let agent = disk.start().await;
        agent
            .store
            .insert_connection(&connection("kafka"), &LiteralSecrets::Stay)
            .await
            .unwrap();
        agent.store.insert_stream("u1", &declared("main.pay.orders")).await.unwrap();
        agent.store.insert_stream("u2", &declared("main.pay.refunds")).await.unwrap();
        let definition = agent.record("u1").await.definition();
        make_table(&disk.warehouse(), &definition).await;
        agent.engine.purge_trash(Duration::from_secs(60)).await.unwrap();
        assert_eq!(agent.store.warehouse_id().await.unwrap(), None, "no table of ours was seen yet");
        agent.engine.provision(&definition).await.unwrap();
        assert!(
            agent.store.warehouse_id().await.unwrap().is_some(),
            "remembered before the table counts as made"
        );
        let observed = ObservedStream {
            provisioned: true,
            generation: 1,
            state: StreamState::Active,
            ..Default::default()
        };
        agent.store.observe_stream("u1", &observed).await.unwrap();
        agent.store.close().await;

        std::fs::rename(disk.warehouse(), disk.folder.path().join("away")).unwrap();
        std::fs::create_dir(disk.warehouse()).unwrap();
        let agent = disk.start().await;
        let settings = ReconcilerSettings {
            trash_retention: Duration::from_secs(60),
            backoff: Backoff::default(),
        };
        let reconciler = Reconciler::start(agent.store.clone(), agent.engine.clone(), settings);
        wait_until("both streams say that the warehouse is not there", || async {
            (agent.complaint("u1").await, agent.complaint("u2").await) == (Some(StreamState::Degraded), Some(StreamState::Provisioning))
        })
        .await;
        reconciler.shut_down().await;
        assert_eq!(std::fs::read_dir(disk.warehouse()).unwrap().count(), 0, "nothing is made there");
    }
}
