//! Notices partitions that have records and deliver none: a bug of a client, cured by a new one (confluentinc/librdkafka#2315).
//! Remembers what partitions report instead of records, because others that go on say nothing about them.
//!
//! Invariant: a cure that does not help is tried ever more rarely, because there are ends that no record stands before
//! (compacted topics whose last records were aborted).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::limits;
use crate::position::{PartitionId, Positions};
use crate::status::{PipelineCondition, condition};

/// Partitions that stand still while they should not.
#[derive(Default)]
pub(crate) struct Stalls {
    since: BTreeMap<PartitionId, (i64, Instant)>,
    /// When partitions were last looked at: all that was delivered until then has been taken.
    looked_at: Option<Instant>,
    /// Partitions that a new client was tried for and that have not moved since.
    tried: BTreeMap<PartitionId, Tried>,
    /// What partitions reported, until they deliver records again or have none.
    errors: BTreeMap<PartitionId, String>,
}

/// A partition that a new client was tried for.
struct Tried {
    /// Where it stood.
    next_offset: i64,
    /// Where its records ended then.
    end: i64,
    /// How long it may stand there before the next try.
    patience: Duration,
}

/// A partition that has stood still too long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stalled {
    partition: PartitionId,
    next_offset: i64,
    end: i64,
}

impl Stalls {
    /// Compares positions with ends; returns a partition that has stood still too long, once.
    ///
    /// It needs no idle stream: the positions are those of what was taken, and `turned_over` says that all that was delivered
    /// at the last look that counted has been taken since. Without it a record may be waiting in the queue, and the look does
    /// not count. A partition has stood still for certain until the last look that counted, and no longer.
    pub(crate) fn look(
        &mut self,
        positions: &[(PartitionId, i64)],
        ends: &BTreeMap<PartitionId, i64>,
        turned_over: bool,
        now: Instant,
    ) -> Option<Stalled> {
        if !turned_over {
            return None;
        }
        let certain_until = self.looked_at.replace(now).unwrap_or(now);
        self.tried.retain(|partition, tried| {
            let stands = |(known, next_offset): &(PartitionId, i64)| known == partition && *next_offset == tried.next_offset;
            positions.iter().any(stands)
        });
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
            if certain_until.saturating_duration_since(since) >= self.patience(partition) {
                stalled = Some(Stalled {
                    partition: partition.clone(),
                    next_offset: *next_offset,
                    end: *end,
                });
            }
            still.insert(partition.clone(), (*next_offset, since));
        }
        self.since = still;
        if let Some(stalled) = &stalled {
            self.since.clear();
            let tried = Tried {
                next_offset: stalled.next_offset,
                end: stalled.end,
                patience: (self.patience(&stalled.partition) * 2).min(limits::STALL_PATIENCE_MAX),
            };
            self.tried.insert(stalled.partition.clone(), tried);
        }
        stalled
    }

    fn patience(&self, partition: &PartitionId) -> Duration {
        self.tried.get(partition).map_or(limits::STALL_PATIENCE_MIN, |tried| tried.patience)
    }

    /// The partitions are read anew: standing still is counted anew.
    pub(crate) fn clear(&mut self) {
        self.since.clear();
        self.looked_at = None;
        self.errors.clear();
    }

    /// A partition reports something instead of a record.
    pub(crate) fn note_error(&mut self, partition: &PartitionId, message: &str) {
        let message = format!("topic `{}` partition {}: {message}", partition.topic, partition.partition);
        self.errors.insert(partition.clone(), message);
    }

    /// Partitions that were read to their ends have nothing to complain of, and need no other client.
    pub(crate) fn note_ends(&mut self, positions: &[(PartitionId, i64)], ends: &BTreeMap<PartitionId, i64>) {
        for (partition, next_offset) in positions {
            if ends.get(partition).is_some_and(|end| end <= next_offset) {
                self.errors.remove(partition);
                self.tried.remove(partition);
            }
        }
    }

    /// True when a partition may still deliver records: not one whose leader tells no end, nor one that delivered none to a new
    /// client either.
    pub(crate) fn are_records_due(&self, positions: &[(PartitionId, i64)], ends: &BTreeMap<PartitionId, i64>) -> bool {
        positions.iter().any(|(partition, next_offset)| {
            let is_tried = self.tried.get(partition).is_some_and(|tried| tried.next_offset == *next_offset);
            ends.get(partition).is_some_and(|end| end > next_offset) && !is_tried
        })
    }

    /// What partitions complain of, or is to be said of them.
    pub(crate) fn complaint(&self) -> Option<PipelineCondition> {
        let still = self.tried.iter().map(|(partition, tried)| {
            format!(
                "topic `{}` partition {} has records up to offset {} but delivers none after {}; its client is made anew",
                partition.topic, partition.partition, tried.end, tried.next_offset
            )
        });
        let reason = if self.tried.is_empty() { "PartitionError" } else { "NoProgress" };
        condition(condition::PROGRESSING, reason, still.chain(self.errors.values().cloned()))
    }

    /// Records came through.
    pub(crate) fn note_progress(&mut self, moved: &Positions) {
        self.errors.retain(|partition, _| !moved.contains_key(partition));
        self.tried.retain(|partition, tried| {
            moved
                .get(partition)
                .is_none_or(|position| position.next_offset == tried.next_offset)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::Position;

    fn partition(partition: i32) -> PartitionId {
        PartitionId {
            topic: "a".to_owned(),
            partition,
        }
    }

    /// Looks once per step of seconds, offset and end; returns the steps at which the partition counted as stalled.
    fn check(stalls: &mut Stalls, steps: &[(u64, i64, i64)], expected: &[u64]) {
        let start = Instant::now();
        let mut found = Vec::new();
        for (seconds, next_offset, end) in steps {
            let ends = BTreeMap::from([(partition(0), *end)]);
            let now = start + Duration::from_secs(*seconds);
            if stalls.look(&[(partition(0), *next_offset)], &ends, true, now).is_some() {
                found.push(*seconds);
            }
        }
        assert_eq!(found, expected, "{steps:?}");
    }

    fn moved(number: i32, next_offset: i64) -> Positions {
        Positions::from([(partition(number), Position::new(next_offset, 0))])
    }

    #[test]
    fn only_a_partition_that_stands_before_its_end_stalls() {
        check(&mut Stalls::default(), &[(0, 5, 5), (30, 5, 5), (100, 5, 5)], &[]);
        check(&mut Stalls::default(), &[(0, 5, 9), (30, 6, 9), (80, 7, 9)], &[]);
        check(&mut Stalls::default(), &[(0, 5, 9), (59, 5, 9), (60, 5, 10), (61, 5, 10)], &[61]);
        check(&mut Stalls::default(), &[(0, 5, 9), (59, 9, 9), (70, 9, 10), (129, 9, 10)], &[]);
    }

    #[test]
    fn patience_with_a_partition_doubles_until_it_moves() {
        let mut stalls = Stalls::default();
        check(
            &mut stalls,
            &[(0, 5, 9), (60, 5, 9), (61, 5, 9), (121, 5, 9), (241, 5, 9), (242, 5, 9)],
            &[61, 242],
        );
        stalls.clear();
        check(&mut stalls, &[(0, 6, 9), (60, 6, 9), (61, 6, 9)], &[61]);
    }

    #[test]
    fn a_partition_stalls_while_the_others_move_and_their_records_do_not_hide_it() {
        let mut stalls = Stalls::default();
        let start = Instant::now();
        let ends = BTreeMap::from([(partition(0), 1_000), (partition(1), 9)]);
        let look = |stalls: &mut Stalls, seconds: u64| {
            let positions = [(partition(0), 10 + seconds as i64), (partition(1), 5)];
            let stalled = stalls.look(&positions, &ends, true, start + Duration::from_secs(seconds));
            stalled.map(|stalled| stalled.partition)
        };
        assert_eq!(look(&mut stalls, 0), None);
        stalls.note_progress(&moved(0, 20));
        assert_eq!(stalls.complaint(), None, "nothing was tried yet");
        assert_eq!(
            look(&mut stalls, 60),
            None,
            "what was delivered after the first look may only just have been taken"
        );
        assert_eq!(look(&mut stalls, 61), Some(partition(1)));
        stalls.note_progress(&moved(0, 80));
        let complaint = stalls.complaint().expect("records of another partition");
        assert_eq!(complaint.reason, "NoProgress");
        let expected = "topic `a` partition 1 has records up to offset 9 but delivers none after 5; its client is made anew";
        assert_eq!(complaint.message, expected);
        stalls.note_error(&partition(0), "broken");
        stalls.clear();
        let complaint = stalls.complaint().expect("it stands there still");
        assert_eq!(complaint.message, expected, "and nothing is left of what another one reported");
        assert_eq!(look(&mut stalls, 90), None);
        assert_eq!(look(&mut stalls, 150), None, "the others' records do not make it impatient");
        assert_eq!(look(&mut stalls, 211), None);
        assert_eq!(look(&mut stalls, 212), Some(partition(1)));
        stalls.note_progress(&moved(1, 6));
        assert_eq!(stalls.complaint(), None, "its own record");
    }

    #[test]
    fn records_are_due_from_a_partition_before_its_end_until_a_new_client_got_none_either() {
        let mut stalls = Stalls::default();
        let at = |next_offset| [(partition(0), next_offset), (partition(1), 5)];
        let ends = BTreeMap::from([(partition(0), 9)]);
        assert!(stalls.are_records_due(&at(5), &ends));
        assert!(!stalls.are_records_due(&at(9), &ends), "the other one's leader tells no end");
        check(&mut stalls, &[(0, 5, 9), (60, 5, 9), (61, 5, 9)], &[61]);
        assert!(!stalls.are_records_due(&at(5), &ends), "nor to a new client");
        assert!(stalls.are_records_due(&at(6), &ends), "it moved");
        stalls.note_ends(&at(9), &ends);
        assert_eq!(stalls.complaint(), None, "it was read to its end");
    }

    #[test]
    fn a_partitions_error_stays_until_that_partition_delivers_or_is_read_to_its_end() {
        let mut stalls = Stalls::default();
        let said = |stalls: &Stalls| stalls.complaint().map(|condition| condition.message);
        let ends = BTreeMap::from([(partition(0), 9), (partition(1), 9)]);
        stalls.note_error(&partition(1), "broken");
        stalls.note_progress(&moved(0, 5));
        assert_eq!(
            said(&stalls).as_deref(),
            Some("topic `a` partition 1: broken"),
            "another one delivers"
        );
        stalls.note_ends(&[(partition(0), 9), (partition(1), 8)], &ends);
        assert!(said(&stalls).is_some());
        stalls.note_ends(&[(partition(1), 9)], &ends);
        assert_eq!(said(&stalls), None);
        stalls.note_error(&partition(0), "broken");
        stalls.note_progress(&moved(0, 6));
        assert_eq!(said(&stalls), None);
    }

    #[test]
    fn a_queue_that_holds_records_still_is_no_stall() {
        let mut stalls = Stalls::default();
        let start = Instant::now();
        let ends = BTreeMap::from([(partition(0), 9)]);
        let mut look = |seconds: u64, turned_over| {
            let now = start + Duration::from_secs(seconds);
            stalls.look(&[(partition(0), 5)], &ends, turned_over, now).is_some()
        };
        let found: Vec<bool> = [(0, true), (50, false), (70, true), (100, true), (130, true)]
            .map(|(seconds, turned_over)| look(seconds, turned_over))
            .to_vec();
        assert_eq!(found, [false, false, false, true, false], "certain until second 70, known at 100");
    }
}
