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

/// Next offset to read, and the incarnation it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The first offset that is not in the table.
    pub next_offset: i64,
    /// Raised by one each time `on_data_loss` restarts a re-created topic. From 0.
    pub epoch: u32,
}

/// Positions of all partitions of a stream.
pub type Positions = BTreeMap<PartitionId, Position>;
