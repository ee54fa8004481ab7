//! The door for the reconciler: steps that can each be repeated at any point, and a status to read.

use std::sync::Arc;

use stream_spec::name::TableName;
use stream_spec::stream::{DirectSchemas, StreamOperations, StreamSpec};
use tokio::sync::watch;

use crate::connection::SharedResolver;
use crate::error::PipelineError;
use crate::status::PipelineStatus;
use crate::table::TableState;

/// A stream as the store declares it, with everything its pipeline needs.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamDefinition {
    /// One life of the name.
    pub uid: String,
    /// Counts changes of the definition, from 1.
    pub generation: u64,
    /// What the stream is.
    pub spec: StreamSpec,
    /// How it runs.
    pub operations: StreamOperations,
    /// Every accepted schema, oldest first, the last in force: the table's columns are their union.
    pub schema_history: Vec<DirectSchemas>,
    /// Exclusions at creation: those columns are not in the table at all.
    pub excluded_at_creation: std::collections::BTreeSet<String>,
}
