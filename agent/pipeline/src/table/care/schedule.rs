//! When care runs: one job of a table at a time, a few of a warehouse, and a rest after failures.
//!
//! Invariant: a table that someone else dropped or altered is left alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{CareJob, CareKind, CareResult};
use crate::table::limits::{CARE_RETRY, SWEEP_INTERVAL};
use crate::table::state::LoadedTable;
use crate::table::store::table_files::{Leave, TableFiles};
use crate::table::{TableCareSettings, TableError, clock};

/// The care of one table.
pub(in crate::table) struct CareSchedule {
    settings: TableCareSettings,
    /// How many jobs of the warehouse may run.
    jobs: Arc<Semaphore>,
    job: Option<JoinHandle<CareResult>>,
    /// Ends the job that runs or waits for its turn.
    job_stopping: CancellationToken,
    stopping: CancellationToken,
    /// Kinds that rest until then: after a failure, and sweeps after each sweep.
    resting: BTreeMap<CareKind, Instant>,
    sound: bool,
}

impl CareSchedule {
    /// Nothing runs yet.
    pub(in crate::table) fn new(settings: TableCareSettings, jobs: Arc<Semaphore>) -> Self {
        Self {
            settings,
            jobs,
            job: None,
            job_stopping: CancellationToken::new(),
            stopping: CancellationToken::new(),
            resting: BTreeMap::new(),
            sound: true,
        }
    }

    /// Waits for the job that runs, for ever if there is none.
    pub(in crate::table) async fn finished(&mut self) -> CareResult {
        let Some(running) = &mut self.job else {
            return std::future::pending().await;
        };
        let result = running.await.unwrap_or(CareResult::Stopped);
        self.job = None;
        result
    }

    /// Ends the job that runs; it may have come to its end before.
    pub(in crate::table) async fn stop(&mut self) -> Option<CareResult> {
        self.stopping.cancel();
        match self.job.take() {
            Some(job) => job.await.ok(),
            None => None,
        }
    }

    /// What the last look at the table found. A job of a table that is not sound ends.
    pub(in crate::table) fn table_is_sound(&mut self, sound: bool) {
        self.sound = sound;
        if !sound {
            self.job_stopping.cancel();
        }
    }

    /// A job failed: its kind rests, the others go on.
    pub(in crate::table) fn failed(&mut self, files: &TableFiles, kind: CareKind, error: &TableError) {
        self.failed_for(files, kind, error, CARE_RETRY);
    }

    /// The same, and it rests that long.
    pub(in crate::table) fn failed_for(&mut self, files: &TableFiles, kind: CareKind, error: &TableError, time: Duration) {
        tracing::warn!(table = files.table(), ?kind, %error, "care of a table failed and will be tried again");
        self.rest(kind, time);
    }

    /// A sweep is done: the next one can wait.
    pub(in crate::table) fn swept(&mut self) {
        self.rest(CareKind::Sweep, SWEEP_INTERVAL);
    }

    /// Starts the most urgent job that is due, unless one runs.
    pub(in crate::table) fn start_what_is_due(&mut self, files: &TableFiles, table: &LoadedTable) {
        if self.job.is_some() || !self.sound {
            return;
        }
        let now = Instant::now();
        let allowed = |kind: CareKind| self.resting.get(&kind).is_none_or(|until| now >= *until);
        let Some(job) = CareJob::due(table, &self.settings, allowed) else {
            return;
        };
        self.job_stopping = self.stopping.child_token();
        let leave = Leave {
            stopping: self.job_stopping.clone(),
            version: table.snapshot.version,
            entry: table.snapshot.entry,
        };
        self.job = Some(tokio::spawn(run(job, files.clone(), Arc::clone(&self.jobs), leave)));
    }

    fn rest(&mut self, kind: CareKind, time: Duration) {
        self.resting.insert(kind, Instant::now() + time);
    }
}

async fn run(job: CareJob, files: TableFiles, jobs: Arc<Semaphore>, leave: Leave) -> CareResult {
    // Closing a table does not wait for the care of others.
    let permit = tokio::select! {
        permit = jobs.acquire_owned() => permit,
        () = leave.stopping.cancelled() => return CareResult::Stopped,
    };
    let Ok(_permit) = permit else { return CareResult::Stopped };
    let (kind, name) = (job.kind(), files.table().to_owned());
    let work = tokio::task::spawn_blocking(move || {
        let result = job.run(&files, clock::now_ms(), &leave);
        // The older the table, the more a checkpoint takes for a moment.
        crate::give_back_memory();
        result
    });
    work.await.unwrap_or_else(|error| {
        CareResult::Failed(
            kind,
            TableError::Internal {
                table: name,
                message: format!("a care job broke off: {error}"),
            },
        )
    })
}
