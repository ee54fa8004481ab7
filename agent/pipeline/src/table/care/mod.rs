//! Care of a table: what keeps its age from costing latency, memory or disk.
//!
//! A job reads the log and writes files; it makes no commit. Compaction and widening hand their files to the committer. Invariant: a job may
//! break off anywhere and run again.

pub(super) mod compaction;
mod copy;
pub(super) mod schedule;
pub(super) mod sweep;
pub(super) mod widen;

use std::time::Duration;

use super::limits::{CHECKPOINT_ACTIONS_PER_COMMIT, CHECKPOINT_EVERY_COMMITS_MAX};
use super::log::actions::Add;
use super::log::checkpoint_writer::write_checkpoint;
use super::log::replay::CheckpointSize;
use super::small_files::{SmallFile, SmallFiles};
use super::state::LoadedTable;
use super::store::table_files::{Leave, TableFiles};
use super::{TableCareSettings, TableError};
use compaction::Compaction;
use widen::{Widen, WideningStep};

/// Work that is due, with all it needs.
#[derive(Debug)]
pub(super) enum CareJob {
    /// Write the checkpoint of this version.
    Checkpoint { version: i64, history: Duration },
    /// Rewrite files whose INT columns become BIGINT.
    Widen(Widen),
    /// Put small files together.
    Compact(Compaction),
    /// Delete what is expired or orphaned.
    Sweep {
        /// How far back versions stay readable.
        history: Duration,
        /// Columns are being widened.
        widening: bool,
    },
}

/// Kinds of care, in the order in which they have their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CareKind {
    /// Checkpoints keep opening cheap.
    Checkpoint,
    /// Compaction keeps reading cheap.
    Compact,
    /// Sweeps keep the disk free.
    Sweep,
    /// Widening lets values through that wait.
    Widen,
}

/// How a job ended.
#[derive(Debug)]
pub(super) enum CareResult {
    /// A checkpoint is in the log.
    Checkpointed(CheckpointSize),
    /// The files `outputs` hold the rows of `inputs`; a commit must say so.
    Compacted { inputs: Vec<SmallFile>, outputs: Vec<Add> },
    /// Files are rewritten, or little is left.
    Widened(WideningStep),
    /// Files that could not be compacted, whatever the others are like: the next compaction goes on without them.
    Unreadable(Vec<(SmallFile, TableError)>),
    /// What was expired is gone.
    Swept,
    /// It was asked to stop.
    Stopped,
    /// It failed, and changed nothing that matters.
    Failed(CareKind, TableError),
}

impl CareJob {
    /// The next job of an allowed kind, if one is due.
    pub(super) fn due(table: &LoadedTable, settings: &TableCareSettings, allowed: impl Fn(CareKind) -> bool) -> Option<Self> {
        let snapshot = &table.snapshot;
        let uncovered = snapshot.version - snapshot.checkpoint.version;
        // What another writer doubled is found again in the entries after the last checkpoint only, so none goes beyond it.
        let sound = table.doubled.is_empty();
        if sound && allowed(CareKind::Checkpoint) && uncovered >= checkpoint_interval(settings, snapshot.checkpoint) {
            return Some(Self::Checkpoint {
                version: snapshot.version,
                history: settings.history,
            });
        }
        if sound
            && allowed(CareKind::Compact)
            && !table.files_stale
            && let Some(inputs) = to_compact(table, settings)
        {
            let columns = table.columns.clone();
            return Some(Self::Compact(Compaction {
                inputs,
                columns,
                target_file_bytes: settings.target_file_bytes,
            }));
        }
        let widening = !table.widening.places.is_empty();
        if allowed(CareKind::Sweep) {
            return Some(Self::Sweep {
                history: settings.history,
                widening,
            });
        }
        // A widening of a large table takes hours, step by step: the others, which are due now and then, must not wait for its end.
        (widening && sound && allowed(CareKind::Widen)).then(|| Self::Widen(Widen::of(table, settings.target_file_bytes)))
    }

    /// What kind it is.
    pub(super) fn kind(&self) -> CareKind {
        match self {
            Self::Checkpoint { .. } => CareKind::Checkpoint,
            Self::Widen(_) => CareKind::Widen,
            Self::Compact(_) => CareKind::Compact,
            Self::Sweep { .. } => CareKind::Sweep,
        }
    }

    /// Does the work on the calling thread.
    pub(super) fn run(self, files: &TableFiles, now_ms: i64, leave: &Leave) -> CareResult {
        let kind = self.kind();
        let result = match self {
            Self::Checkpoint { version, history } => {
                write_checkpoint(files, version, before(now_ms, history), leave).map(CareResult::Checkpointed)
            }
            Self::Widen(step) => step.run(files, leave),
            Self::Compact(compaction) => compaction.run(files, leave),
            Self::Sweep { history, widening } => sweep::sweep(files, now_ms, history, widening, leave).map(|()| CareResult::Swept),
        };
        match result {
            Ok(result) => result,
            Err(_) if leave.stopping.is_cancelled() => CareResult::Stopped,
            Err(error) => CareResult::Failed(kind, error),
        }
    }
}

/// Small files to put together, if that is due. Those that are rewritten stay as they are: it would be to do again.
fn to_compact(table: &LoadedTable, settings: &TableCareSettings) -> Option<Vec<SmallFile>> {
    let choose = |files: &SmallFiles| files.choose(settings.compact_at_files, settings.target_file_bytes);
    let (all, widening) = (&table.snapshot.small_files, &table.widening);
    let chosen = choose(all)?;
    if widening.groups.is_empty() {
        return Some(chosen);
    }
    choose(&all.without(&widening.done()))
}

/// Commits between two checkpoints: as set, and more for a long one, so that checkpoints cost the same per commit at any age.
fn checkpoint_interval(settings: &TableCareSettings, last: CheckpointSize) -> i64 {
    let set = i64::try_from(settings.checkpoint_every_commits).unwrap_or(i64::MAX).max(1);
    set.max((last.actions / CHECKPOINT_ACTIONS_PER_COMMIT).min(CHECKPOINT_EVERY_COMMITS_MAX))
}

/// The time that lies so far back, in milliseconds.
fn before(now_ms: i64, history: Duration) -> i64 {
    now_ms.saturating_sub(i64::try_from(history.as_millis()).unwrap_or(i64::MAX))
}
