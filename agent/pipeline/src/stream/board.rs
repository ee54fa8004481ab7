//! The status that a stream shows. Writing it never waits for a reader.
//!
//! Invariant: conditions hold at most one entry per type, and none of a type that is as it should be.

use std::collections::BTreeMap;

use tokio::sync::watch;

use crate::position::{PartitionId, Positions};
use crate::status::{PartitionProgress, Phase, PipelineCondition, PipelineStatus, TableProgress};
use crate::table::TableState;

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

    /// Shows the positions that the table records, and keeps what else is known of those partitions.
    pub(crate) fn show_positions(&self, positions: &Positions) {
        self.status.send_modify(|status| {
            let mut known = std::mem::take(&mut status.partitions);
            for (partition, position) in positions {
                let before = known.remove(partition);
                let (end_offset, held) = before.map_or((None, None), |before| (before.end_offset, before.held));
                status.partitions.insert(
                    partition.clone(),
                    PartitionProgress {
                        position: *position,
                        end_offset,
                        held,
                    },
                );
            }
        });
    }

    /// Shows every partition anew.
    pub(crate) fn show_partitions(&self, positions: &Positions, ends: &BTreeMap<PartitionId, i64>, held: &BTreeMap<PartitionId, String>) {
        let partitions: BTreeMap<PartitionId, PartitionProgress> = positions
            .iter()
            .map(|(partition, position)| {
                let progress = PartitionProgress {
                    position: *position,
                    end_offset: ends.get(partition).copied(),
                    held: held.get(partition).cloned(),
                };
                (partition.clone(), progress)
            })
            .collect();
        self.status.send_modify(|status| status.partitions = partitions);
    }

    /// Shows a commit.
    pub(crate) fn show_commit(&self, table: &TableState, moved: &Positions, records_malformed: u64) {
        self.show_table(table);
        self.status.send_modify(|status| {
            status.records_malformed += records_malformed;
            for (partition, position) in moved {
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
                        },
                    )),
                }
            }
        });
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
