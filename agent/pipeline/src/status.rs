//! What a pipeline says about itself. Read by the reconciler through a watch channel; never blocks the pipeline.

use std::collections::BTreeMap;
use std::sync::Arc;

use stream_spec::stream::Side;
use stream_spec::types::Field;

use crate::limits;
use crate::misfits::Misfits;
use crate::position::{PartitionId, Position};
use crate::table::{Loss, SchemaStart};

/// Coarse state; the reconciler maps it to the stream's public state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Opening table and clients.
    #[default]
    Starting,
    /// Reading, or waiting for records.
    Running,
    /// Told not to read.
    Paused,
    /// Ended on purpose.
    Stopped,
    /// Ended by an error that a retry does not cure by itself; the message is for users.
    Failed {
        /// CamelCase word for machines.
        reason: String,
        /// For people, with values and remedy.
        message: String,
    },
    /// The table was altered so that appends must not go on.
    TableAltered {
        /// What differs.
        message: String,
    },
    /// The table is not there.
    TableGone {
        /// Where it was.
        message: String,
    },
}

/// Something that is not as it should be while the pipeline runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineCondition {
    /// CamelCase: `SourceReachable`, `TopicsExist`, `DataAvailable`, `Progressing`, …
    pub condition_type: &'static str,
    /// CamelCase word for machines.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// Condition types, and how a condition is made of several sentences.
pub mod condition {
    /// The source answers.
    pub const SOURCE_REACHABLE: &str = "SourceReachable";
    /// Every topic that the stream names is there.
    pub const TOPICS_EXIST: &str = "TopicsExist";
    /// The records at the stream's positions are there.
    pub const DATA_AVAILABLE: &str = "DataAvailable";
    /// Partitions that have records deliver them.
    pub const PROGRESSING: &str = "Progressing";
    /// No value waits for a column to become BIGINT, and nothing keeps one from it.
    pub const COLUMNS_WIDENED: &str = "ColumnsWidened";
    /// The table's storage works.
    pub const TABLE_REACHABLE: &str = "TableReachable";
    /// The registry tells the latest versions of the stream's subjects, and every schema that messages name.
    pub const SCHEMAS_AVAILABLE: &str = "SchemasAvailable";
    /// The latest version of each subject is in force.
    pub const SCHEMAS_CURRENT: &str = "SchemasCurrent";
    /// The record filter had an answer for every record of the last commit.
    pub const FILTER_ANSWERED: &str = "FilterAnswered";
}

/// A condition with these sentences, shortened to a bound; none without a sentence.
pub(crate) fn condition(
    condition_type: &'static str,
    reason: &str,
    messages: impl IntoIterator<Item = String>,
) -> Option<PipelineCondition> {
    let mut messages = messages.into_iter();
    let mut message = messages.next()?;
    for (count, next) in messages.enumerate() {
        if count + 1 >= limits::CONDITION_SENTENCES_MAX {
            message.push_str("; and more");
            break;
        }
        message.push_str("; ");
        message.push_str(&next);
    }
    Some(PipelineCondition {
        condition_type,
        reason: reason.to_owned(),
        message,
    })
}

/// Snapshot of a running stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PipelineStatus {
    /// Coarse state.
    pub phase: Phase,
    /// Definition generation in force in the table.
    pub generation: u64,
    /// What is wrong; empty when all is well. At most one per type, messages bounded.
    pub conditions: Vec<PipelineCondition>,
    /// Per partition.
    pub partitions: BTreeMap<PartitionId, PartitionProgress>,
    /// The table as last seen.
    pub table: Option<TableProgress>,
    /// Where the last versions of the schemas began, oldest first; seen together with `generation`.
    pub schema_starts: Arc<[SchemaStart]>,
    /// Messages that did not fit their schemas since the pipeline started, of the records that are committed.
    pub misfits: Misfits,
    /// Records that the filter did not keep since the pipeline started.
    pub records_filtered: u64,
    /// The subjects of its schema registry; empty without one.
    pub subjects: Vec<SubjectProgress>,
}

/// A subject of a stream's schema registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectProgress {
    /// Which side's.
    pub side: Side,
    /// Its name.
    pub subject: String,
    /// Version and schema id in force.
    pub in_force: Option<(i32, u32)>,
    /// Latest version and its schema's id, as the registry told them last.
    pub latest: Option<(i32, u32)>,
}

/// Progress of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionProgress {
    /// Committed position.
    pub position: Position,
    /// End as last seen; `None` until known.
    pub end_offset: Option<i64>,
    /// Why it does not move, where it does not.
    pub held: Option<String>,
    /// The last time that `on_data_loss` moved it.
    pub last_loss: Option<Loss>,
}

/// The table as its committer last saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct TableProgress {
    /// Delta version.
    pub version: i64,
    /// Rows in live files.
    pub rows: i64,
    /// Bytes of live files.
    pub bytes: i64,
    /// Live files.
    pub files: i64,
    /// Milliseconds since 1970 of the table's creation.
    pub created_ms: i64,
    /// Columns, by the table's own schema.
    pub columns: Vec<Field>,
}
