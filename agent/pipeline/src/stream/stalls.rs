//! Notices partitions that have records and deliver none: a bug of a client, cured by a new one (confluentinc/librdkafka#2315).
//!
//! Invariant: a cure that does not help is tried ever more rarely, because there are ends that no record stands before
//! (compacted topics whose last records were aborted).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::limits;
use crate::position::PartitionId;

/// Partitions that stand still while they should not.
pub(crate) struct Stalls {
    since: BTreeMap<PartitionId, (i64, Instant)>,
    /// How long one may stand still before it counts.
    patience: Duration,
}

/// A partition that has stood still too long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stalled {
    pub(crate) partition: PartitionId,
    pub(crate) next_offset: i64,
    pub(crate) end: i64,
}

impl Default for Stalls {
    fn default() -> Self {
        Self {
            since: BTreeMap::new(),
            patience: limits::STALL_PATIENCE_MIN,
        }
    }
}

impl Stalls {
    /// Compares positions with ends; returns a partition that has stood still too long, once.
    pub(crate) fn look(&mut self, positions: &[(PartitionId, i64)], ends: &BTreeMap<PartitionId, i64>, now: Instant) -> Option<Stalled> {
        let mut still = BTreeMap::new();
        let mut stalled = None;
        for (partition, next_offset) in positions {
            let Some(end) = ends.get(partition).filter(|end| *end > next_offset) else {
                continue;
            };
            let since = match self.since.get(partition) {
                Some((offset, since)) if offset == next_offset => *since,
                _ => now,
            };
            if now.duration_since(since) >= self.patience {
                stalled = Some(Stalled {
                    partition: partition.clone(),
                    next_offset: *next_offset,
                    end: *end,
                });
            }
            still.insert(partition.clone(), (*next_offset, since));
        }
        self.since = still;
        if stalled.is_some() {
            self.since.clear();
            self.patience = (self.patience * 2).min(limits::STALL_PATIENCE_MAX);
        }
        stalled
    }

    /// The stream was busy: standing still is counted anew.
    pub(crate) fn clear(&mut self) {
        self.since.clear();
    }

    /// Records came through.
    pub(crate) fn note_progress(&mut self) {
        self.patience = limits::STALL_PATIENCE_MIN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition() -> PartitionId {
        PartitionId {
            topic: "a".to_owned(),
            partition: 0,
        }
    }

    /// Looks once per step of seconds, offset and end; returns the steps at which the partition counted as stalled.
    fn check(stalls: &mut Stalls, steps: &[(u64, i64, i64)], expected: &[u64]) {
        let start = Instant::now();
        let mut found = Vec::new();
        for (seconds, next_offset, end) in steps {
            let ends = BTreeMap::from([(partition(), *end)]);
            if stalls
                .look(&[(partition(), *next_offset)], &ends, start + Duration::from_secs(*seconds))
                .is_some()
            {
                found.push(*seconds);
            }
        }
        assert_eq!(found, expected, "{steps:?}");
    }

    #[test]
    fn only_a_partition_that_stands_before_its_end_stalls() {
        check(&mut Stalls::default(), &[(0, 5, 5), (30, 5, 5), (100, 5, 5)], &[]);
        check(&mut Stalls::default(), &[(0, 5, 9), (30, 6, 9), (80, 7, 9)], &[]);
        check(&mut Stalls::default(), &[(0, 5, 9), (59, 5, 9), (60, 5, 10)], &[60]);
        check(&mut Stalls::default(), &[(0, 5, 9), (59, 9, 9), (70, 9, 10), (129, 9, 10)], &[]);
    }

    #[test]
    fn patience_doubles_until_records_come_through() {
        let mut stalls = Stalls::default();
        check(
            &mut stalls,
            &[(0, 5, 9), (60, 5, 9), (61, 5, 9), (121, 5, 9), (181, 5, 9)],
            &[60, 181],
        );
        stalls.note_progress();
        stalls.clear();
        check(&mut stalls, &[(0, 6, 9), (60, 6, 9)], &[60]);
    }
}
