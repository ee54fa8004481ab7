//! The status that a stream shows. Writing it never waits for a reader.
//!
//! Invariant: conditions hold at most one entry per type, and none of a type that is as it should be.

use std::collections::BTreeMap;

use tokio::sync::watch;

use super::stages::Landed;
use crate::position::{PartitionId, Position, Positions};
use crate::status::{PartitionProgress, Phase, PipelineCondition, PipelineStatus, SubjectProgress, TableProgress};
use crate::table::{Loss, TableState};

/// Writes the status of one stream.
pub(crate) struct Board {
    status: watch::Sender<PipelineStatus>,
}

impl Board {
    pub(crate) fn new() -> (Self, watch::Receiver<PipelineStatus>) {
        let (status, reader) = watch::channel(PipelineStatus::default());
        (Self { status }, reader)
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        self.status.send_if_modified(|status| {
            let changed = status.phase != phase;
            status.phase = phase;
            changed
        });
    }

    /// Sets, or with `None` clears, the condition of that type.
    pub(crate) fn set_condition(&self, condition_type: &'static str, condition: Option<PipelineCondition>) {
        self.status.send_if_modified(|status| {
            let before = status.conditions.iter().position(|known| known.condition_type == condition_type);
            match (before, condition) {
                (None, None) => false,
                (None, Some(condition)) => {
                    status.conditions.push(condition);
                    true
                }
                (Some(index), None) => {
                    status.conditions.remove(index);
                    true
                }
                (Some(index), Some(condition)) => match status.conditions.get_mut(index) {
                    Some(known) if *known != condition => {
                        *known = condition;
                        true
                    }
                    _ => false,
                },
            }
        });
    }

    /// Clears every condition: all is well, or the phase says what is not.
    pub(crate) fn clear_conditions(&self) {
        self.status.send_if_modified(|status| {
            let changed = !status.conditions.is_empty();
            status.conditions.clear();
            changed
        });
    }

    /// Shows the table and the positions as it records them.
    pub(crate) fn show_table(&self, table: &TableState) {
        self.status.send_if_modified(|status| {
            if status.table.as_ref().is_some_and(|shown| shown.version == table.version) && status.generation == table.generation {
                return false;
            }
            status.generation = table.generation;
            status.schema_starts = table.schema_starts.clone();
            status.table = Some(TableProgress {
                version: table.version,
                rows: table.totals.rows,
                bytes: table.totals.bytes,
                files: table.totals.files,
                created_ms: table.created_ms,
                columns: table.columns.clone(),
            });
            true
        });
    }

    /// Shows the subjects of the stream's registry.
    pub(crate) fn show_subjects(&self, subjects: &[SubjectProgress]) {
        self.status.send_if_modified(|status| {
            let changed = status.subjects != subjects;
            status.subjects = subjects.to_vec();
            changed
        });
    }

    /// Shows the positions that the table records, and keeps what else is known of those partitions.
    pub(crate) fn show_positions(&self, positions: &Positions, losses: &[Loss]) {
        self.status.send_modify(|status| {
            let mut known = std::mem::take(&mut status.partitions);
            status.partitions = recorded(positions, losses);
            for (partition, progress) in &mut status.partitions {
                if let Some(before) = known.remove(partition) {
                    progress.end_offset = before.end_offset;
                    progress.held = before.held;
                }
            }
        });
    }

    /// Shows every partition anew.
    pub(crate) fn show_partitions(
        &self,
        positions: &Positions,
        losses: &[Loss],
        ends: &BTreeMap<PartitionId, i64>,
        held: &BTreeMap<PartitionId, String>,
    ) {
        let mut partitions = recorded(positions, losses);
        for (partition, progress) in &mut partitions {
            progress.end_offset = ends.get(partition).copied();
            progress.held = held.get(partition).cloned();
        }
        self.status.send_modify(|status| status.partitions = partitions);
    }

    /// Shows a commit.
    pub(crate) fn show_commit(&self, table: &TableState, landed: &Landed) {
        self.show_table(table);
        self.status.send_modify(|status| {
            status.misfits.extend(&landed.misfits);
            status.records_filtered += landed.filtered;
            for (partition, position) in &landed.positions {
                match status.partitions.get_mut(partition) {
                    Some(progress) => {
                        progress.position = *position;
                        progress.end_offset = progress.end_offset.map(|end| end.max(position.next_offset));
                    }
                    None => drop(status.partitions.insert(
                        partition.clone(),
                        PartitionProgress {
                            position: *position,
                            end_offset: None,
                            held: None,
                            last_loss: None,
                        },
                    )),
                }
            }
        });
    }

    /// How far partitions reached when they were seen last.
    pub(crate) fn ends(&self) -> BTreeMap<PartitionId, i64> {
        let status = self.status.borrow();
        let known = status.partitions.iter();
        known
            .filter_map(|(partition, progress)| Some((partition.clone(), progress.end_offset?)))
            .collect()
    }

    /// Shows how far partitions reach.
    pub(crate) fn show_ends(&self, ends: &BTreeMap<PartitionId, i64>) {
        self.status.send_if_modified(|status| {
            let mut changed = false;
            for (partition, end) in ends {
                if let Some(progress) = status.partitions.get_mut(partition) {
                    changed |= progress.end_offset != Some(*end);
                    progress.end_offset = Some(*end);
                }
            }
            changed
        });
    }
}

/// What the table tells of each partition.
fn recorded(positions: &Positions, losses: &[Loss]) -> BTreeMap<PartitionId, PartitionProgress> {
    let last: BTreeMap<&PartitionId, &Loss> = losses.iter().map(|loss| (&loss.partition, loss)).collect();
    let progress = |(partition, position): (&PartitionId, &Position)| {
        let progress = PartitionProgress {
            position: *position,
            end_offset: None,
            held: None,
            last_loss: last.get(partition).map(|loss| (*loss).clone()),
        };
        (partition.clone(), progress)
    };
    positions.iter().map(progress).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::condition;
    use crate::table::LossCause;

    fn partition(number: i32) -> PartitionId {
        PartitionId {
            topic: "orders".to_owned(),
            partition: number,
        }
    }

    #[test]
    fn a_condition_replaces_the_one_of_its_type_and_wakes_readers_only_when_it_differs() {
        let (board, mut reader) = Board::new();
        let missing = |message: &str| condition(condition::TOPICS_EXIST, "TopicMissing", [message.to_owned()]);
        for (condition, told, count) in [
            (missing("a"), true, 1),
            (missing("a"), false, 1),
            (missing("b"), true, 1),
            (None, true, 0),
            (None, false, 0),
        ] {
            board.set_condition(condition::TOPICS_EXIST, condition);
            assert_eq!(reader.has_changed().expect("open"), told);
            assert_eq!(reader.borrow_and_update().conditions.len(), count);
        }
    }

    #[test]
    fn a_condition_says_a_bounded_number_of_things() {
        let condition = condition(condition::DATA_AVAILABLE, "DataLoss", (0..100).map(|number| number.to_string())).expect("some");
        assert_eq!(condition.message, "0; 1; 2; 3; 4; and more");
    }

    #[test]
    fn recorded_positions_keep_what_else_is_known_of_their_partitions() {
        let (board, reader) = Board::new();
        let at = |next_offset| Position::new(next_offset, 0);
        let held = BTreeMap::from([(partition(1), "lost".to_owned())]);
        board.show_partitions(
            &Positions::from([(partition(0), at(3)), (partition(1), at(4))]),
            &[],
            &BTreeMap::from([(partition(0), 9)]),
            &held,
        );
        let loss = |to| Loss {
            partition: partition(2),
            cause: LossCause::Expired,
            from: 0,
            to,
            epoch: 1,
        };
        board.show_positions(
            &Positions::from([(partition(0), at(5)), (partition(1), at(4)), (partition(2), at(0))]),
            &[loss(7), loss(9)],
        );
        let shown = reader.borrow().partitions.clone();
        let progress = |next_offset, end_offset, held: Option<&str>| PartitionProgress {
            position: at(next_offset),
            end_offset,
            held: held.map(str::to_owned),
            last_loss: None,
        };
        let passed_over = PartitionProgress {
            last_loss: Some(loss(9)),
            ..progress(0, None, None)
        };
        let expected = [
            (partition(0), progress(5, Some(9), None)),
            (partition(1), progress(4, None, Some("lost"))),
            (partition(2), passed_over),
        ];
        assert_eq!(shown, BTreeMap::from(expected));
    }
}
