//! The ingestion table: the only room that knows the Delta log.
//!
//! One committer task per table makes every commit of it, by compare-and-swap on the next version. Its handle is what the
//! rest of the package sees. The outcome of a commit is decided by reading the log, never by an error text.
//!
//! `store/` knows files, `log/` the Delta log's texts and checkpoints, `committer` the compare-and-swap, `care/` keeps a
//! table healthy, `widening` makes BIGINT of INT columns, `warehouse` finds, creates and trashes tables, `warehouse_mark` tells
//! a warehouse that is away from one whose tables are. Nothing here knows a broker or a message.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use stream_spec::name::TableName;
use stream_spec::types::Field;

pub use limits::FILE_MEMORY;

use crate::error::Retry;
use crate::position::Positions;
use crate::registry_versions::RegistryVersions;

mod care;
mod classify;
mod clock;
mod commit;
mod committer;
mod conform;
mod data_path;
mod departed;
mod doubled;
mod encoding;
mod handle;
mod limits;
mod log;
mod losses;
mod narrow;
mod open_tables;
mod pinned;
mod positions;
mod properties;
mod protocol;
mod remedy;
mod schema;
mod schema_starts;
mod small_files;
mod state;
mod statistics;
mod store;
mod switch;
mod system;
mod trash;
mod warehouse;
mod warehouse_lock;
mod warehouse_mark;
mod widening;
mod write;

pub use departed::Departed;
pub use handle::TableHandle;
pub use losses::{Loss, LossCause};
pub(crate) use schema::expect_storable;
pub use schema_starts::SchemaStart;
pub use system::{SystemTable, SystemTableHandle, SystemValues};
pub use warehouse::Warehouse;

/// What goes into version 0: protocol, metadata, start positions; no rows.
#[derive(Clone, Debug)]
pub struct NewTable {
    /// Where it goes.
    pub name: TableName,
    /// Whose it is: part of every transaction's app id.
    pub stream_uid: String,
    /// Definition generation that the columns come from.
    pub generation: u64,
    /// All columns, in order.
    pub columns: Vec<Field>,
    /// Start position of every partition that matches now.
    pub positions: Positions,
    /// Identity of the source that the positions belong to.
    pub source: SourceIdentity,
    /// The schemas that the columns come from.
    pub schemas: SchemaVersion,
    /// The registry's versions that they come from; none without a registry.
    pub registry: Option<RegistryVersions>,
    /// How far back readers can go; becomes the table's retention properties.
    pub history: Duration,
}

/// A version of a stream's schemas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchemaVersion {
    /// Counts the accepted schemas of a stream, from 1; 0 where they are not counted here.
    pub number: u64,
    /// The first definition generation that has them; 0 where nobody knows it.
    pub generation: u64,
}

/// Which cluster and which incarnations of topics the positions belong to. Kept in the table's properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceIdentity {
    /// Kafka cluster id.
    pub cluster_id: Option<String>,
    /// Topic name → topic id (base64, as brokers print it).
    pub topic_ids: BTreeMap<String, String>,
    /// Topics that a pattern matched and that were deleted, of which no record is waited for.
    pub departed: Departed,
    /// How many of them were forgotten, with their ids.
    pub forgotten: u64,
    /// Ids that topics had before they were created again, the newest last.
    pub former_topic_ids: BTreeMap<String, Vec<String>>,
}

impl SourceIdentity {
    /// A topic was created again: from now on it is the one with this id.
    pub(crate) fn recreate(&mut self, topic: &str, id: &str) {
        let Some(former) = self.topic_ids.insert(topic.to_owned(), id.to_owned()) else {
            return;
        };
        let ids = self.former_topic_ids.entry(topic.to_owned()).or_default();
        ids.push(former);
        let excess = ids.len().saturating_sub(limits::FORMER_TOPIC_IDS_MAX);
        ids.drain(..excess);
    }

    /// Whether a topic had this id before it was created again.
    pub(crate) fn had(&self, topic: &str, id: &str) -> bool {
        self.former_topic_ids
            .get(topic)
            .is_some_and(|ids| ids.iter().any(|former| former == id))
    }
}

/// What the log says about a table of ours.
#[derive(Clone, Debug)]
pub struct TableState {
    /// Last version read.
    pub version: i64,
    /// Generation in force (`featurestore.generation`).
    pub generation: u64,
    /// Columns, by the table's own schema; one that is being widened is BIGINT here.
    pub columns: Vec<Field>,
    /// What there is to say while INT columns become BIGINT.
    pub widening: Option<WideningState>,
    /// Position of every partition.
    pub positions: Positions,
    /// Source identity in the properties.
    pub source: SourceIdentity,
    /// The last losses, oldest first.
    pub losses: Vec<Loss>,
    /// Where the last versions of the schemas began, oldest first.
    pub schema_starts: Arc<[SchemaStart]>,
    /// The registry's versions in force; none without a registry.
    pub registry: Option<Arc<RegistryVersions>>,
    /// Rows, bytes and number of live files.
    pub totals: TableTotals,
    /// Milliseconds since 1970 of version 0.
    pub created_ms: i64,
}

/// INT columns become BIGINT: values are taken as BIGINT already, and the table's files have INT until all of them are rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WideningState {
    /// Columns as the files have them.
    pub stored_columns: Vec<Field>,
    /// Why it does not get on.
    pub trouble: Option<String>,
}

impl TableState {
    /// Refuses, as altered, a table that lacks one of these columns or nested fields, or has it with another type.
    pub fn expect_columns(&self, name: &TableName, expected: &[Field]) -> Result<(), TableError> {
        schema::expect_fields(&self.columns, expected).map_err(|what| TableError::Altered {
            table: name.to_string(),
            what,
        })
    }

    /// Refuses, as altered, a table that lacks one of the columns or nested fields that it had, or has it with another type. INT
    /// may have become BIGINT since.
    pub fn expect_kept_columns(&self, name: &TableName, earlier: &[Field]) -> Result<(), TableError> {
        schema::expect_kept_fields(&self.columns, earlier).map_err(|what| TableError::Altered {
            table: name.to_string(),
            what,
        })
    }
}

/// Sums over live files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableTotals {
    /// Rows.
    pub rows: i64,
    /// Bytes.
    pub bytes: i64,
    /// Files.
    pub files: i64,
}

/// Rows with the positions that they advance to: one commit.
#[derive(Clone, Debug)]
pub struct Append {
    /// Rows in the table's columns and order (columns that the table has and the rows lack are null).
    pub batches: Vec<RecordBatch>,
    /// New positions of the partitions that moved; may move without rows (aborted transactions, filtered records).
    pub positions: Positions,
}

/// A commit without rows that puts a new definition in force, or records newly found partitions and topics.
#[derive(Clone, Debug)]
pub struct Switch {
    /// Generation from this version on.
    pub generation: u64,
    /// Columns to add or widen; the table's own columns that are not named here stay.
    pub columns: Vec<Field>,
    /// Positions of partitions that are new.
    pub positions: Positions,
    /// Replaces the recorded identity.
    pub source: SourceIdentity,
    /// What the positions pass over.
    pub losses: Vec<Loss>,
    /// The schemas from this version on.
    pub schemas: SchemaVersion,
    /// The registry's versions from this version on; `None`: what is recorded stays.
    pub registry: Option<RegistryVersions>,
}

/// A table that can no longer be written to as it was, or a store that fails.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Create found something at the place.
    #[error("table `{table}` exists already at {location}; choose another table name, or remove it")]
    Exists {
        /// Table name.
        table: String,
        /// Folder or URL.
        location: String,
    },
    /// The table is not there.
    #[error("table `{table}` is not at {location}")]
    Gone {
        /// Table name.
        table: String,
        /// Folder or URL.
        location: String,
    },
    /// Someone altered it so that appends must not go on.
    #[error("table `{table}` was altered: {what}")]
    Altered {
        /// Table name.
        table: String,
        /// What differs, with the values seen.
        what: String,
    },
    /// A warehouse or name that this agent cannot use.
    #[error("{message}")]
    Unsupported {
        /// For users.
        message: String,
    },
    /// Another agent has the warehouse.
    #[error("the warehouse {location} is used by another agent: {holder}; stop that one, or give this one a `--warehouse` of its own")]
    InUse {
        /// Folder or URL of the warehouse.
        location: String,
        /// Process, host and time, as the holder wrote them.
        holder: String,
    },
    /// Values need a column that is being widened. Nothing of the rows is in the table; they can come once it is.
    #[error("column `{column}` of table `{table}` is INT until its files are rewritten, and values that need BIGINT wait for that")]
    StillNarrow {
        /// Table name.
        table: String,
        /// Path of the column.
        column: String,
        /// Which batch of the append has them.
        batch: usize,
        /// Which of its rows have them.
        rows: Vec<usize>,
    },
    /// The storage failed.
    #[error("{action} failed for table `{table}` at {location}: {source}{}", remedy::of(.source.as_ref()))]
    Storage {
        /// Table name.
        table: String,
        /// Folder or URL.
        location: String,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A broken invariant of ours.
    #[error("internal error in table `{table}`: {message}; please report it")]
    Internal {
        /// Table name.
        table: String,
        /// What broke.
        message: String,
    },
}

impl TableError {
    /// Whether the storage has no space.
    fn is_full(&self) -> bool {
        matches!(self, Self::Storage { source, .. } if remedy::is_full(source.as_ref()))
    }

    /// Whether trying again can help.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Storage { .. } | Self::InUse { .. } | Self::StillNarrow { .. } => Retry::Later,
            _ => Retry::No,
        }
    }
}

/// How tables are kept healthy. Defaults are the product's.
#[derive(Clone, Debug)]
pub struct TableCareSettings {
    /// History that readers can go back to: log and deleted files are kept this long.
    pub history: Duration,
    /// Commits between two checkpoints.
    pub checkpoint_every_commits: u64,
    /// Small files that trigger a compaction.
    pub compact_at_files: usize,
    /// Size that compaction aims at.
    pub target_file_bytes: u64,
}

impl Default for TableCareSettings {
    fn default() -> Self {
        Self {
            history: limits::HISTORY,
            checkpoint_every_commits: limits::CHECKPOINT_EVERY_COMMITS,
            compact_at_files: limits::COMPACT_AT_FILES,
            target_file_bytes: limits::TARGET_FILE_BYTES,
        }
    }
}

impl TableCareSettings {
    /// Files of fewer bytes are put together with others: half a full file, for one that is nearly full is not worth a rewrite.
    fn small_below(&self) -> u64 {
        self.target_file_bytes / 2
    }
}

#[cfg(test)]
mod tests;
