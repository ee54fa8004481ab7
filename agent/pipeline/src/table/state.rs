//! What a log means for the stream that owns the table, and how each further entry changes it.
//!
//! Invariant: `LoadedTable` is exactly what reading the log up to its version would give, except that totals may be behind
//! after a foreign removal, until the next full read.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use stream_spec::types::Field;

use super::doubled::Doubled;
use super::log::actions::{Action, Metadata};
use super::log::replay::{CheckpointSize, Snapshot, read_snapshot};
use super::store::FileFacts;
use super::store::table_files::TableFiles;
use super::widening::Widening;
use super::{
    Loss, SchemaStart, SourceIdentity, TableError, TableState, WideningState, losses, pinned, positions, properties, protocol, schema,
    schema_starts,
};
use crate::position::Positions;
use crate::registry_versions::RegistryVersions;

/// A table of ours, as of its last version that was read.
#[derive(Clone, Debug)]
pub(super) struct LoadedTable {
    /// Whose it is.
    pub uid: String,
    /// What the log says. Its transactions are folded into `positions` and not kept up to date.
    pub snapshot: Snapshot,
    /// Columns of the schema in force, which its files have.
    pub columns: Vec<Field>,
    /// The same for batches and files.
    pub arrow: SchemaRef,
    /// Position of every partition.
    pub positions: Positions,
    /// Generation in force.
    pub generation: u64,
    /// Identity of the source.
    pub source: SourceIdentity,
    /// Losses in the properties, oldest first.
    pub losses: Vec<Loss>,
    /// Beginnings of the schemas' versions in the properties, oldest first.
    pub schema_starts: Arc<[SchemaStart]>,
    /// The registry's versions in force.
    pub registry: Option<Arc<RegistryVersions>>,
    /// Which of those columns become BIGINT, and how far that is.
    pub widening: Widening,
    /// A commit of ours of which nobody knows whether it is in the log.
    pub unresolved: Option<Unresolved>,
    /// Commits of other writers by which rows are in the table twice, until they are undone.
    pub doubled: Vec<Doubled>,
    /// Another writer removed files, or more small files are live than are remembered, and the log was not read anew since:
    /// until then it is not known well enough which small files are live.
    pub files_stale: bool,
}

/// An attempt to commit without an answer that says how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unresolved {
    /// Id in its `commitInfo`.
    pub commit_id: String,
    /// The only version at which it can be: another entry there, or none, says that it is not in the log.
    pub version: i64,
}

impl LoadedTable {
    /// Reads the table; altered if it is not the stream's, or not writable.
    pub(super) fn read(files: &TableFiles, uid: &str, small_below: u64) -> Result<Self, TableError> {
        let snapshot = read_snapshot(files, small_below)?;
        Self::understand(uid, snapshot).map_err(|what| files.altered(what))
    }

    fn understand(uid: &str, snapshot: Snapshot) -> Result<Self, String> {
        let owner = properties::stream_uid(&snapshot.metadata.configuration);
        if owner != Some(uid) {
            let owner = owner.map_or_else(|| "no stream".to_owned(), |owner| format!("the stream with uid `{owner}`"));
            return Err(format!("it belongs to {owner}, not to the one with uid `{uid}`"));
        }
        protocol::expect_writable(&snapshot.protocol)?;
        let columns = writable_columns(&snapshot.metadata)?;
        let (generation, source) = properties::read(&snapshot.metadata.configuration)?;
        let widening = Widening::of(properties::widening(&snapshot.metadata.configuration)?);
        let losses = losses::read(&snapshot.metadata.configuration);
        let schema_starts = schema_starts::read(&snapshot.metadata.configuration).into();
        let registry = pinned::read(&snapshot.metadata.configuration)?.map(Arc::new);
        let positions = positions::positions(uid, &snapshot.txns).map_err(|app_id| format!("its log has the transaction `{app_id}`"))?;
        let arrow = schema::arrow_schema(&columns);
        let mut snapshot = snapshot;
        snapshot.txns.clear();
        Ok(Self {
            uid: uid.to_owned(),
            snapshot,
            columns,
            arrow,
            positions,
            generation,
            source,
            losses,
            schema_starts,
            registry,
            widening,
            unresolved: None,
            doubled: Vec::new(),
            files_stale: false,
        })
    }

    /// Columns once those that become BIGINT are.
    pub(super) fn widened_columns(&self) -> Vec<Field> {
        schema::widened(&self.columns, &self.widening.places)
    }

    /// What the rest of the package may know.
    pub(super) fn public(&self) -> TableState {
        let widening = (!self.widening.places.is_empty()).then(|| WideningState {
            stored_columns: self.columns.clone(),
            trouble: self.widening.trouble.clone(),
        });
        TableState {
            widening,
            version: self.snapshot.version,
            generation: self.generation,
            columns: self.widened_columns(),
            positions: self.positions.clone(),
            source: self.source.clone(),
            losses: self.losses.clone(),
            schema_starts: self.schema_starts.clone(),
            registry: self.registry.clone(),
            totals: self.snapshot.totals,
            created_ms: self.snapshot.metadata.created_time.unwrap_or_default(),
        }
    }

    /// The next version's actions, which are ours, are in the log.
    pub(super) fn advance_own(&mut self, actions: &[Action], entry: FileFacts) -> Result<(), String> {
        let txns = actions.iter().filter_map(|action| action.txn.as_ref());
        let txns = txns.map(|txn| (txn.app_id.as_str(), txn.version));
        positions::advance(&self.uid, &mut self.positions, txns).map_err(|app_id| format!("bad transaction `{app_id}`"))?;
        for action in actions {
            let Some(remove) = &action.remove else { continue };
            let Some(file) = self.snapshot.small_files.removed(&remove.path) else {
                // What a large file held only the log says.
                self.files_stale = true;
                continue;
            };
            self.snapshot.totals.files -= 1;
            self.snapshot.totals.rows -= file.rows;
            self.snapshot.totals.bytes -= i64::try_from(file.bytes).unwrap_or_default();
        }
        self.take_additions(actions);
        self.take_definition(actions)?;
        self.snapshot.version += 1;
        self.snapshot.entry = entry;
        Ok(())
    }

    /// The next version's actions, which are another writer's and were accepted by `classify`, are in the log.
    pub(super) fn advance_foreign(&mut self, actions: &[Action], entry: FileFacts) -> Result<(), String> {
        self.take_additions(actions);
        self.take_definition(actions)?;
        self.snapshot.version += 1;
        self.snapshot.entry = entry;
        Ok(())
    }

    /// A checkpoint is in the log.
    pub(super) fn checkpointed(&mut self, checkpoint: CheckpointSize) {
        if checkpoint.version > self.snapshot.checkpoint.version {
            self.snapshot.checkpoint = checkpoint;
        }
    }

    fn take_additions(&mut self, actions: &[Action]) {
        for add in actions.iter().filter_map(|action| action.add.as_ref()) {
            self.snapshot.totals.files += 1;
            self.snapshot.totals.bytes += add.size;
            self.snapshot.totals.rows += add.live_rows().unwrap_or_default();
            if add.deletion_vector.is_none() {
                self.snapshot.small_files.added(&add.path, add.size, add.rows());
            }
        }
    }

    fn take_definition(&mut self, actions: &[Action]) -> Result<(), String> {
        if let Some(protocol) = actions.iter().find_map(|action| action.protocol.as_ref()) {
            self.snapshot.protocol = protocol.clone();
        }
        if let Some(metadata) = actions.iter().find_map(|action| action.meta_data.as_ref()) {
            self.columns = schema::parse(&metadata.schema_string)?;
            self.arrow = schema::arrow_schema(&self.columns);
            (self.generation, self.source) = properties::read(&metadata.configuration)?;
            self.losses = losses::read(&metadata.configuration);
            self.schema_starts = schema_starts::read(&metadata.configuration).into();
            self.registry = pinned::read(&metadata.configuration)?.map(Arc::new);
            self.widening.follow(properties::widening(&metadata.configuration)?);
            self.snapshot.metadata = metadata.clone();
        }
        Ok(())
    }
}

/// The columns of a table that we can write; the error says why we cannot.
pub(super) fn writable_columns(metadata: &Metadata) -> Result<Vec<Field>, String> {
    if let Some(column) = metadata.partition_columns.first() {
        return Err(format!(
            "it is partitioned by `{column}`, and tables of streams are not partitioned"
        ));
    }
    if metadata.format.provider != "parquet" {
        return Err(format!("its format is `{}`, not `parquet`", metadata.format.provider));
    }
    properties::expect_writable(&metadata.configuration)?;
    schema::parse(&metadata.schema_string)
}
