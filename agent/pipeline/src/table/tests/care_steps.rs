//! Steps that the scenarios of care share: commits in a row, care jobs by hand, files made older.

use std::time::{Duration, SystemTime};

use tokio_util::sync::CancellationToken;

use super::support::{Lab, UID, append, at, quiet};
use crate::table::care::sweep::{sweep_log, sweep_orphans};
use crate::table::care::{CareJob, CareKind, CareResult};
use crate::table::log::LogName;
use crate::table::log::checkpoint_writer::write_checkpoint;
use crate::table::state::LoadedTable;
use crate::table::store::table_files::{Leave, TableFiles};
use crate::table::{Append, TableCareSettings, TableHandle, TableState, clock};

impl Lab {
    pub(super) fn files(&self) -> TableFiles {
        self.warehouse.files(&self.name)
    }

    pub(super) fn load(&self, small_below: u64) -> LoadedTable {
        LoadedTable::read(&self.files(), UID, small_below).unwrap()
    }

    /// The leave of a job that begins now.
    pub(super) fn leave(&self) -> Leave {
        let snapshot = self.load(0).snapshot;
        Leave {
            stopping: CancellationToken::new(),
            version: snapshot.version,
            entry: snapshot.entry,
        }
    }

    /// Makes a file older.
    pub(super) fn age(&self, path: &str, by: Duration) {
        let file = std::fs::File::options().write(true).open(self.path().join(path)).unwrap();
        file.set_modified(SystemTime::now() - by).unwrap();
    }

    /// Waits until a checkpoint covers that version; probes keep care going.
    pub(super) async fn wait_for_checkpoint(&self, handle: &TableHandle, version: i64) {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        while self.checkpoints().last().is_none_or(|last| *last < version) {
            assert!(
                tokio::time::Instant::now() < deadline,
                "no checkpoint of version {version}: {:?}",
                self.checkpoints()
            );
            handle.probe().await.unwrap();
        }
    }

    pub(super) fn checkpoint(&self, version: i64, expired_before_ms: i64) {
        write_checkpoint(&self.files(), version, expired_before_ms, &self.leave()).unwrap();
    }

    pub(super) fn sweep_log(&self, now_ms: i64, history: Duration) {
        sweep_log(&self.files(), now_ms, history, &self.leave()).unwrap();
    }

    pub(super) fn sweep_orphans(&self, now_ms: i64) {
        sweep_orphans(&self.files(), now_ms, false, &self.leave()).unwrap();
    }

    pub(super) fn checkpoints(&self) -> Vec<i64> {
        let names = self.names("_delta_log", |name| matches!(LogName::parse(name), Some(LogName::Checkpoint(_))));
        names.iter().map(|name| name[..20].parse().unwrap()).collect()
    }
}

pub(super) async fn append_one_by_one(handle: &TableHandle, ids: std::ops::Range<i32>) {
    for id in ids {
        handle.append(append(id..id + 1)).await.unwrap();
    }
}

/// Moves the position without rows: a commit without a data file.
pub(super) async fn move_position(handle: &TableHandle, offsets: std::ops::RangeInclusive<i64>) {
    for offset in offsets {
        handle
            .append(Append {
                batches: Vec::new(),
                positions: at(0, offset),
            })
            .await
            .unwrap();
    }
}

/// Waits until the committer has published a state for which the condition holds.
pub(super) async fn wait_until(handle: &TableHandle, condition: impl FnMut(&TableState) -> bool) {
    let mut state = handle.state();
    let waited = tokio::time::timeout(Duration::from_secs(60), state.wait_for(condition)).await;
    drop(waited.expect("the state should come within its deadline").unwrap());
}

pub(super) fn run(lab: &Lab, job: CareJob) -> CareResult {
    job.run(&lab.files(), clock::now_ms(), &lab.leave())
}

/// Compaction becomes due with ten files.
pub(super) fn settings_of_ten() -> TableCareSettings {
    TableCareSettings {
        compact_at_files: 10,
        ..quiet()
    }
}

/// Ten small files, and the compaction of them that is due.
pub(super) async fn compaction_of_ten() -> (Lab, LoadedTable, CareJob) {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    append_one_by_one(&handle, 100..110).await;
    handle.close().await;
    let settings = settings_of_ten();
    let table = lab.load(settings.small_below());
    let job = CareJob::due(&table, &settings, |kind| kind == CareKind::Compact).unwrap();
    (lab, table, job)
}
