//! Positions: where a stream goes on reading. Recorded only in table commits (transaction actions), never elsewhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One ordered log of a source: a Kafka partition in one incarnation of its topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PartitionId {
    /// Topic name.
    pub topic: String,
    /// Partition number.
    pub partition: i32,
}

/// Next offset to read, and the history it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The first offset that is not in the table.
    pub next_offset: i64,
    /// Raised by one each time `on_data_loss` moves the position: offsets of two epochs are not one history. From 0.
    pub epoch: u32,
    /// Leader epoch of the last record before `next_offset`, where it was taken in this epoch and its broker told; nothing behind
    /// a transaction's marker. A broker
    /// whose history has it end before `next_offset` has lost records that are in the table.
    pub leader_epoch: Option<i32>,
}

impl Position {
    /// A position before which no record was taken in this epoch.
    pub const fn new(next_offset: i64, epoch: u32) -> Self {
        Self {
            next_offset,
            epoch,
            leader_epoch: None,
        }
    }

    /// True when the partition's leader can be asked whether its log still has what stands before the position.
    pub const fn has_history(&self) -> bool {
        self.next_offset > 0 && self.leader_epoch.is_some()
    }
}

/// Where a record is in its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePlace {
    /// Its partition.
    #[serde(flatten)]
    pub partition: PartitionId,
    /// Its offset.
    pub offset: i64,
    /// Which of the partition's histories the offset belongs to.
    pub epoch: u32,
}

/// Positions of all partitions of a stream.
pub type Positions = BTreeMap<PartitionId, Position>;
