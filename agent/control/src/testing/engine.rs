//! A scripted engine: tables are entries of a map, pipelines run as soon as they are started and do what tests tell them.
//! It keeps the promises of `PipelineEngine` and notes whoever breaks the promises that it is owed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use stream_pipeline::connection::{ClientProperties, ConnectionStep};
use stream_pipeline::engine::StreamDefinition;
use stream_pipeline::error::{PipelineError, Retry};
use stream_pipeline::registry::{RegistryError, RegistryProperties};
use stream_pipeline::registry_versions::RegistryVersions;
use stream_pipeline::status::{Phase, PipelineStatus, TableProgress};
use stream_pipeline::table::{SourceIdentity, TableError, TableState, TableTotals};
use stream_pipeline::usage::Usage;
use stream_spec::name::TableName;
use stream_spec::stream::StreamSpec;
use stream_spec::types::Field;
use tokio::sync::watch;

use super::effects::{Effects, MadeToFail};
use crate::reconcile::engine::{PipelineEngine, RunningPipeline};

/// A table of the world.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) uid: String,
    pub(crate) generation: u64,
    pub(crate) columns: Vec<Field>,
    /// How many versions of the schemas there are, and the generation that brought the last.
    pub(crate) schemas: (usize, u64),
    /// Tells a table from one that was made anew.
    pub(crate) incarnation: usize,
}

/// Everything that outlives the process, and the pipelines that do not.
pub(crate) struct World {
    pub(crate) tables: HashMap<TableName, Table>,
    pub(crate) trash: HashMap<String, (TableName, Table)>,
    pub(crate) tables_made: usize,
    running: HashMap<String, watch::Sender<PipelineStatus>>,
    /// Promises that the reconciler broke.
    pub(crate) broken_promises: Vec<String>,
    /// What provisioning answers instead of making a table.
    pub(crate) refuse_provision: Option<(&'static str, Retry)>,
    /// Last commits fail.
    pub(crate) fail_last_commits: bool,
    /// What the registry has, or the reason why it does not say.
    pub(crate) registry: Result<RegistryVersions, &'static str>,
    /// What connections were tried with.
    pub(crate) tried: Vec<ClientProperties>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            tables: HashMap::new(),
            trash: HashMap::new(),
            tables_made: 0,
            running: HashMap::new(),
            broken_promises: Vec::new(),
            refuse_provision: None,
            fail_last_commits: false,
            registry: Err("RegistryUnavailable"),
            tried: Vec::new(),
        }
    }
}

#[derive(Clone, Default)]
pub(crate) struct FakeEngine {
    pub(crate) world: Arc<Mutex<World>>,
    pub(crate) effects: Arc<Effects>,
}

impl FakeEngine {
    /// What is left after the process ended: no pipeline.
    pub(crate) fn end_of_process(&self) {
        self.world.lock().unwrap().running.clear();
    }

    pub(crate) fn running(&self) -> usize {
        self.world.lock().unwrap().running.len()
    }

    pub(crate) fn table(&self, name: &TableName) -> Option<Table> {
        self.world.lock().unwrap().tables.get(name).cloned()
    }

    /// Has a running pipeline say something.
    pub(crate) fn say(&self, uid: &str, change: impl FnOnce(&mut PipelineStatus)) {
        let world = self.world.lock().unwrap();
        world
            .running
            .get(uid)
            .unwrap_or_else(|| panic!("stream {uid} does not run"))
            .send_modify(change);
    }

    fn storage_failed(table: &TableName, _: MadeToFail) -> TableError {
        TableError::Storage {
            table: table.to_string(),
            location: "/w".to_owned(),
            action: "an effect",
            source: "made to fail".into(),
        }
    }

    fn check_is_stopped(world: &mut World, uid: &str, step: &str) {
        if world.running.contains_key(uid) {
            world.broken_promises.push(format!("{step} while the pipeline of {uid} runs"));
        }
    }
}

fn columns_of(definition: &StreamDefinition) -> Vec<Field> {
    stream_spec::table::columns_of_history(
        &definition.spec.source,
        &definition.schema_history,
        &definition.excluded_at_creation,
    )
    .unwrap()
}

fn schemas_of(definition: &StreamDefinition) -> (usize, u64) {
    (definition.schema_history.len(), definition.schemas_generation)
}

fn state_of(table: &Table) -> TableState {
    TableState {
        version: 0,
        generation: table.generation,
        columns: table.columns.clone(),
        widening: None,
        positions: Default::default(),
        source: SourceIdentity::default(),
        losses: Vec::new(),
        schema_starts: Arc::default(),
        registry: None,
        totals: TableTotals {
            rows: 3,
            bytes: 30,
            files: 1,
        },
        created_ms: 9,
    }
}

fn gone(table: &TableName) -> TableError {
    TableError::Gone {
        table: table.to_string(),
        location: format!("/warehouse/{table}"),
    }
}

/// What a pipeline says when it follows a definition.
fn follow(world: &mut World, definition: &StreamDefinition) -> PipelineStatus {
    let destination = &definition.spec.ingestion.destination;
    let mut status = PipelineStatus {
        generation: 0,
        ..PipelineStatus::default()
    };
    let Some(table) = world.tables.get_mut(destination).filter(|table| table.uid == definition.uid) else {
        status.phase = Phase::TableGone {
            message: gone(destination).to_string(),
        };
        return status;
    };
    table.generation = definition.generation;
    table.columns = columns_of(definition);
    table.schemas = schemas_of(definition);
    status.generation = definition.generation;
    status.phase = if definition.operations.paused {
        Phase::Paused
    } else {
        Phase::Running
    };
    let columns = table.columns.clone();
    status.table = Some(TableProgress {
        version: 1,
        rows: 4,
        bytes: 40,
        files: 2,
        created_ms: 9,
        columns,
    });
    status
}

#[async_trait]
impl PipelineEngine for FakeEngine {
    async fn provision(&self, definition: &StreamDefinition) -> Result<TableState, PipelineError> {
        let destination = &definition.spec.ingestion.destination;
        if let Some((reason, retry)) = self.world.lock().unwrap().refuse_provision {
            return Err(PipelineError::Source {
                reason,
                message: format!("made to fail with {reason}"),
                retry,
            });
        }
        let made = self.effects.make(|| {
            let mut world = self.world.lock().unwrap();
            if let Some(table) = world.tables.get(destination) {
                return if table.uid == definition.uid {
                    Ok(state_of(table))
                } else {
                    Err(())
                };
            }
            world.tables_made += 1;
            let table = Table {
                uid: definition.uid.clone(),
                generation: definition.generation,
                columns: columns_of(definition),
                schemas: schemas_of(definition),
                incarnation: world.tables_made,
            };
            let state = state_of(&table);
            world.tables.insert(destination.clone(), table);
            Ok(state)
        });
        let exists = TableError::Exists {
            table: destination.to_string(),
            location: self.location(destination),
        };
        made.map_err(|fault| Self::storage_failed(destination, fault))?
            .map_err(|()| exists.into())
    }

    fn start(&self, definition: StreamDefinition) -> Arc<dyn RunningPipeline> {
        let mut world = self.world.lock().unwrap();
        Self::check_is_stopped(&mut world, &definition.uid, "start");
        let status = follow(&mut world, &definition);
        let sender = watch::Sender::new(status);
        let receiver = sender.subscribe();
        let uid = definition.uid.clone();
        world.running.insert(uid.clone(), sender);
        Arc::new(FakePipeline {
            engine: self.clone(),
            uid,
            status: receiver,
        })
    }

    async fn table_state(&self, table: &TableName, uid: &str) -> Result<TableState, TableError> {
        match self.world.lock().unwrap().tables.get(table) {
            None => Err(gone(table)),
            Some(found) if found.uid == uid => Ok(state_of(found)),
            Some(_) => Err(TableError::Altered {
                table: table.to_string(),
                what: "it is another stream's".into(),
            }),
        }
    }

    async fn trash(&self, table: &TableName, uid: &str) -> Result<(), TableError> {
        let trashed = self.effects.make(|| {
            let mut world = self.world.lock().unwrap();
            Self::check_is_stopped(&mut world, uid, "trash");
            match world.tables.get(table).map(|table| table.uid == uid) {
                Some(true) => {
                    if let Some(found) = world.tables.remove(table) {
                        world.trash.insert(uid.to_owned(), (table.clone(), found));
                    }
                    Ok(())
                }
                Some(false) => Err(TableError::Altered {
                    table: table.to_string(),
                    what: "it is another stream's".into(),
                }),
                None => Ok(()),
            }
        });
        trashed.map_err(|fault| Self::storage_failed(table, fault))?
    }

    async fn restore(&self, table: &TableName, uid: &str) -> Result<(), TableError> {
        let restored = self.effects.make(|| {
            let mut world = self.world.lock().unwrap();
            Self::check_is_stopped(&mut world, uid, "restore");
            if world.tables.contains_key(table) {
                return Err(TableError::Exists {
                    table: table.to_string(),
                    location: self.location(table),
                });
            }
            if let Some((name, found)) = world.trash.remove(uid) {
                world.tables.insert(name, found);
            }
            Ok(())
        });
        restored.map_err(|fault| Self::storage_failed(table, fault))?
    }

    async fn in_trash(&self, uid: &str) -> Result<bool, TableError> {
        Ok(self.world.lock().unwrap().trash.contains_key(uid))
    }

    async fn purge_trash(&self, older_than: Duration) -> Result<usize, TableError> {
        let mut world = self.world.lock().unwrap();
        let purged = if older_than.is_zero() { world.trash.len() } else { 0 };
        if purged > 0 {
            world.trash.clear();
        }
        Ok(purged)
    }

    async fn latest_versions(&self, _stream: &StreamSpec, _run_as: &str) -> Result<RegistryVersions, PipelineError> {
        let registry = self.world.lock().unwrap().registry.clone();
        registry.map_err(|reason| PipelineError::Source {
            reason,
            message: format!("made to fail with {reason}"),
            retry: Retry::Later,
        })
    }

    async fn try_registry(&self, _properties: &RegistryProperties) -> Result<Vec<ConnectionStep>, RegistryError> {
        let step = |name| ConnectionStep::of(name, Ok("tried".to_owned()));
        Ok(ConnectionStep::OF_REGISTRY.map(step).to_vec())
    }

    async fn try_connection(&self, properties: &ClientProperties) -> Result<Vec<ConnectionStep>, PipelineError> {
        let step = |name| ConnectionStep {
            name,
            ok: true,
            message: properties.bootstrap_servers.clone(),
        };
        self.world.lock().unwrap().tried.push(properties.clone());
        Ok(ConnectionStep::OF_KAFKA.map(step).to_vec())
    }

    fn usage(&self) -> Usage {
        Usage {
            kafka_clients: 1,
            kafka_clients_max: 2,
            kafka_metadata_requests: 3,
            kafka_offset_requests: 4,
            threads: 5,
            memory_bytes: 6,
        }
    }

    fn location(&self, table: &TableName) -> String {
        format!("/warehouse/{table}")
    }
}

struct FakePipeline {
    engine: FakeEngine,
    uid: String,
    status: watch::Receiver<PipelineStatus>,
}

#[async_trait]
impl RunningPipeline for FakePipeline {
    fn status(&self) -> watch::Receiver<PipelineStatus> {
        self.status.clone()
    }

    fn redefine(&self, definition: StreamDefinition) {
        let mut world = self.engine.world.lock().unwrap();
        let status = follow(&mut world, &definition);
        if let Some(sender) = world.running.get(&self.uid) {
            sender.send_replace(status);
        }
    }

    async fn stop(&self) -> bool {
        let (sender, in_order) = {
            let mut world = self.engine.world.lock().unwrap();
            (world.running.remove(&self.uid), !world.fail_last_commits)
        };
        if let Some(sender) = &sender {
            sender.send_modify(|status| {
                if matches!(status.phase, Phase::Starting | Phase::Running | Phase::Paused) {
                    status.phase = Phase::Stopped;
                }
            });
        }
        in_order || sender.is_none()
    }
}
