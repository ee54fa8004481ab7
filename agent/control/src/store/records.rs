//! The records of the store, and nothing of how they are stored. `Declared…` is what callers want, `Observed…` is what
//! the reconciler found; the two are written by different hands and never together.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use stream_pipeline::engine::StreamDefinition;
use stream_pipeline::position::SourcePlace;
use stream_pipeline::status::TableProgress;
use stream_pipeline::table::{SchemaStart, TableState};
use stream_spec::connection::ConnectionSpec;
use stream_spec::name::ConnectionName;
use stream_spec::stream::{ConnectionConfig, DirectSchemas, StreamOperations, StreamSpec};
use stream_spec::types::Field;

use crate::limits::SCHEMA_START_POSITIONS_MAX;
use crate::state::{Condition, StreamState};

/// One stream.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamRecord {
    /// Names one life of the name.
    pub uid: String,
    /// Counts writes of `declared`; guards them against one another.
    pub revision: u64,
    /// What is wanted.
    pub declared: DeclaredStream,
    /// What was found.
    pub observed: ObservedStream,
}

/// What is wanted of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeclaredStream {
    /// What it is.
    pub spec: StreamSpec,
    /// Counts changes of `spec`, from 1.
    pub generation: u64,
    /// How it runs.
    pub operations: StreamOperations,
    /// Counts changes of `operations`, from 1.
    pub operations_generation: u64,
    /// Counts repairs asked for, from 0.
    pub restart_generation: u64,
    /// Whether it is to be there at all.
    pub presence: Presence,
    /// Every accepted schema, oldest first, the last in force. Empty with a registry.
    pub schema_history: Vec<AcceptedSchemas>,
    /// Paths that were excluded when they appeared and have been ever since: they have no column at all.
    pub never_ingested: BTreeSet<String>,
    /// Milliseconds since 1970.
    pub create_time_ms: i64,
    /// Who created it.
    pub created_by: String,
    /// Milliseconds since 1970.
    pub update_time_ms: i64,
    /// Who changed its definition last.
    pub updated_by: String,
    /// Request id of the create; a repeat under the same id is answered as the first was.
    pub create_request_id: String,
    /// Request id of the last update, likewise.
    pub update_request_id: String,
    /// `ingestion_pipeline_id` of the public API.
    pub ingestion_pipeline_id: String,
    /// `ingestion_job_id` of the public API.
    pub ingestion_job_id: i64,
}

/// Whether a stream is to be there. A stream that is on the way out never comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// It is to run.
    Present,
    /// It is to go.
    Deleted {
        /// Its table stays where it is.
        retain_table: bool,
    },
}

/// One accepted version of a stream's schemas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcceptedSchemas {
    /// From 1.
    pub number: u64,
    /// The first definition generation that has them; 0 where an older agent did not write it down.
    #[serde(default)]
    pub generation: u64,
    /// Both sides.
    pub schemas: DirectSchemas,
    /// Milliseconds since 1970.
    pub accept_time_ms: i64,
    /// Who asked for it.
    pub accepted_by: String,
    /// SHA-256 of the normal forms, hexadecimal.
    pub digest: String,
}

/// What was found of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservedStream {
    /// Version 0 of the table was written: from here on a missing table is a loss, not a table to create.
    pub provisioned: bool,
    /// Definition generation in force in the table; 0 before there is one.
    pub generation: u64,
    /// Operations generation that the pipeline was given last; 0 before there is one.
    pub operations_generation: u64,
    /// Last repair that was carried out.
    pub restart_generation: u64,
    /// Public state.
    pub state: StreamState,
    /// At most one per type.
    pub conditions: Vec<Condition>,
    /// The table as last seen; what is left to say about it once it is gone.
    pub table: Option<ObservedTable>,
    /// The first positions that were read by each version of the schemas, by its number. The table tells the last ones.
    #[serde(default)]
    pub schema_starts: BTreeMap<u64, Vec<SourcePlace>>,
}

/// A table as it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedTable {
    /// Delta version.
    pub version: i64,
    /// Rows in live files.
    pub rows: i64,
    /// Bytes of live files.
    pub bytes: i64,
    /// Live files.
    pub files: i64,
    /// Milliseconds since 1970 of version 0.
    pub created_ms: i64,
    /// Columns, by the table's own schema.
    pub columns: Vec<Field>,
}

impl From<&TableProgress> for ObservedTable {
    fn from(table: &TableProgress) -> Self {
        let TableProgress {
            version,
            rows,
            bytes,
            files,
            created_ms,
            columns,
        } = table;
        Self {
            version: *version,
            rows: *rows,
            bytes: *bytes,
            files: *files,
            created_ms: *created_ms,
            columns: columns.clone(),
        }
    }
}

impl From<TableState> for ObservedTable {
    fn from(state: TableState) -> Self {
        let TableState {
            version,
            totals,
            created_ms,
            columns,
            ..
        } = state;
        Self {
            version,
            rows: totals.rows,
            bytes: totals.bytes,
            files: totals.files,
            created_ms,
            columns,
        }
    }
}

/// One connection. Holds no secret value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionRecord {
    /// Names one life of the name.
    pub uid: String,
    /// What it is.
    pub spec: ConnectionSpec,
    /// The options whose literal secrets are kept, each with the random revision of its value.
    #[serde(default)]
    pub literal_secrets: BTreeMap<String, String>,
    /// Counts changes, from 1.
    pub generation: u64,
    /// Milliseconds since 1970.
    pub create_time_ms: i64,
    /// Who created it.
    pub created_by: String,
    /// Milliseconds since 1970.
    pub update_time_ms: i64,
    /// Who changed it last.
    pub updated_by: String,
    /// Request id of the create; a repeat under the same id is answered as the first was.
    pub create_request_id: String,
}

impl StreamRecord {
    /// What the pipeline needs to know.
    pub fn definition(&self) -> StreamDefinition {
        let declared = &self.declared;
        StreamDefinition {
            uid: self.uid.clone(),
            generation: declared.generation,
            spec: declared.spec.clone(),
            run_as: declared.created_by.clone(),
            operations: declared.operations.clone(),
            schema_history: declared.schemas(),
            schemas_generation: declared.schema_history.last().map_or(0, |last| last.generation),
            excluded_at_creation: declared.never_ingested.clone(),
        }
    }
}

impl ObservedStream {
    /// Takes in what a table tells of its versions' beginnings; of too many positions those of the oldest versions go.
    pub fn note_schema_starts(&mut self, starts: &[SchemaStart]) {
        for start in starts {
            self.schema_starts.insert(start.version, start.positions.clone());
        }
        let mut positions: usize = self.schema_starts.values().map(Vec::len).sum();
        while positions > SCHEMA_START_POSITIONS_MAX
            && let Some((_, oldest)) = self.schema_starts.pop_first()
        {
            positions -= oldest.len();
        }
    }
}

impl DeclaredStream {
    /// Every accepted schema, oldest first.
    pub fn schemas(&self) -> Vec<DirectSchemas> {
        self.schema_history.iter().map(|accepted| accepted.schemas.clone()).collect()
    }

    /// The named connection it uses, if it uses one.
    pub fn connection_name(&self) -> Option<&ConnectionName> {
        match &self.spec.connection {
            ConnectionConfig::UcConnectionName(name) => Some(name),
            ConnectionConfig::DirectMtls(_) => None,
        }
    }
}
