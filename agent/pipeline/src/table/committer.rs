//! The one task that makes every commit of a table, and decides when care is due.
//!
//! Work that blocks runs on blocking threads; the table's state moves there and back, so there is no lock. Invariant: at most
//! one commit and one care job of a table are under way, and the care job never makes a commit itself.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::care::{self, CareJob, CareResult};
use super::commit::{Commit, Operation, commit, probe};
use super::limits::{CARE_RETRY, SWEEP_INTERVAL};
use super::log::actions::{Action, Add};
use super::state::LoadedTable;
use super::store::table_files::TableFiles;
use super::write::delete_files;
use super::{Switch, TableCareSettings, TableError, TableState, clock, positions, switch};
use crate::position::Positions;

/// What a handle asks for; the answer is the version that holds it.
#[derive(Debug)]
pub(super) enum Request {
    /// Files that are durable, and the positions that they advance to.
    Append { files: Vec<Add>, positions: Positions },
    /// A new definition.
    Switch(Box<Switch>),
    /// Whether all is as it was.
    Probe,
}

/// A request and the way back.
pub(super) type Asked = (Request, oneshot::Sender<Result<i64, TableError>>);

/// Everything that the task owns.
pub(super) struct Committer {
    files: TableFiles,
    settings: TableCareSettings,
    care_jobs: Arc<Semaphore>,
    state: watch::Sender<TableState>,
    job: Option<JoinHandle<CareResult>>,
    stopping: CancellationToken,
    care_not_before: Option<Instant>,
    swept: Option<Instant>,
    /// Whether the last look found the table as it should be: what someone else dropped or altered is not cared for.
    sound: bool,
}

impl Committer {
    /// A committer that publishes to that state.
    pub(super) fn new(files: TableFiles, settings: TableCareSettings, care_jobs: Arc<Semaphore>, state: watch::Sender<TableState>) -> Self {
        let stopping = CancellationToken::new();
        Self {
            files,
            settings,
            care_jobs,
            state,
            job: None,
            stopping,
            care_not_before: None,
            swept: None,
            sound: true,
        }
    }

    /// Runs until every handle is gone, then waits for the care job, which stops early.
    pub(super) async fn run(mut self, table: LoadedTable, mut requests: mpsc::Receiver<Asked>) {
        let mut table = Some(table);
        while let Some(current) = table.take() {
            tokio::select! {
                asked = requests.recv() => match asked {
                    Some(asked) => table = self.serve(current, asked).await,
                    None => break,
                },
                result = finished(&mut self.job) => table = self.take_care_result(current, result).await,
            }
            if let Some(table) = &table {
                self.start_care(table);
            }
        }
        self.stopping.cancel();
        if let Some(job) = self.job.take()
            && let Ok(CareResult::Compacted { outputs, .. }) = job.await
        {
            let files = self.files.clone();
            discard(tokio::task::spawn_blocking(move || delete_files(&files, &outputs)).await);
        }
    }

    async fn serve(&mut self, mut table: LoadedTable, (request, reply): Asked) -> Option<LoadedTable> {
        let files = self.files.clone();
        let work = move || {
            let answer = answer(&files, &mut table, request);
            (table, answer)
        };
        // A panic loses the table's state: the task ends, callers hear of it, and opening again reads the log.
        let (table, answer) = tokio::task::spawn_blocking(work).await.ok()?;
        self.state.send_replace(table.public());
        self.sound = !matches!(answer, Err(TableError::Altered { .. } | TableError::Gone { .. }));
        discard(reply.send(answer));
        Some(table)
    }

    async fn take_care_result(&mut self, mut table: LoadedTable, result: CareResult) -> Option<LoadedTable> {
        match result {
            CareResult::Checkpointed(size) => table.checkpointed(size),
            CareResult::Compacted { inputs, outputs } => {
                let files = self.files.clone();
                let work = move || {
                    let answer = care::compaction::commit_compaction(&files, &mut table, &inputs, outputs);
                    (table, answer)
                };
                let (back, answer) = tokio::task::spawn_blocking(work).await.ok()?;
                table = back;
                self.state.send_replace(table.public());
                if let Err(error) = answer {
                    self.postpone(&error);
                }
            }
            CareResult::Swept => self.swept = Some(Instant::now()),
            CareResult::Stopped => {}
            CareResult::Failed(error) => self.postpone(&error),
        }
        Some(table)
    }

    fn postpone(&mut self, error: &TableError) {
        tracing::warn!(table = self.files.table(), %error, "care of a table failed and will be tried again");
        self.care_not_before = Some(Instant::now() + CARE_RETRY);
    }

    /// Starts the most urgent care job that is due, unless one runs.
    fn start_care(&mut self, table: &LoadedTable) {
        let now = Instant::now();
        if !self.sound || self.job.is_some() || self.care_not_before.is_some_and(|not_before| now < not_before) {
            return;
        }
        let sweep_due = self.swept.is_none_or(|swept| now.duration_since(swept) >= SWEEP_INTERVAL);
        let Some(job) = CareJob::due(table, &self.settings, sweep_due) else {
            return;
        };
        let (files, jobs, stopping) = (self.files.clone(), Arc::clone(&self.care_jobs), self.stopping.clone());
        self.job = Some(tokio::spawn(async move {
            // The semaphore is never closed, and a job that panics is a failed one.
            let Ok(_permit) = jobs.acquire_owned().await else {
                return CareResult::Stopped;
            };
            let name = files.table().to_owned();
            tokio::task::spawn_blocking(move || job.run(&files, clock::now_ms(), &stopping))
                .await
                .unwrap_or_else(|error| {
                    CareResult::Failed(TableError::Internal {
                        table: name,
                        message: format!("a care job broke off: {error}"),
                    })
                })
        }));
    }
}

/// Waits for the care job, for ever if there is none.
async fn finished(job: &mut Option<JoinHandle<CareResult>>) -> CareResult {
    let Some(running) = job else { return std::future::pending().await };
    let result = running.await.unwrap_or(CareResult::Stopped);
    *job = None;
    result
}

fn answer(files: &TableFiles, table: &mut LoadedTable, request: Request) -> Result<i64, TableError> {
    match request {
        Request::Append { files: adds, positions } => append(files, table, &adds, &positions),
        Request::Switch(switch) => switch::commit_switch(files, table, &switch),
        Request::Probe => probe(files, table).map(|()| table.snapshot.version),
    }
}

/// Commits files with positions. One that moves no position is in the table already: a repeated call after an unknown outcome.
fn append(files: &TableFiles, table: &mut LoadedTable, adds: &[Add], next: &Positions) -> Result<i64, TableError> {
    let actions = |table: &LoadedTable| {
        if let Some((id, from, to)) = positions::first_backward(&table.positions, next) {
            return Err(files.internal(format!(
                "an append moves partition {} of topic `{}` back from offset {} (epoch {}) to {} (epoch {})",
                id.partition, id.topic, from.next_offset, from.epoch, to.next_offset, to.epoch
            )));
        }
        let moved: Positions = next
            .iter()
            .filter(|(id, position)| table.positions.get(id) != Some(position))
            .map(|(id, position)| (id.clone(), *position))
            .collect();
        if moved.is_empty() {
            return Ok(None);
        }
        let txns = positions::txns(&table.uid, &moved, clock::now_ms());
        Ok(Some(
            txns.into_iter()
                .map(Action::from)
                .chain(adds.iter().cloned().map(Action::from))
                .collect(),
        ))
    };
    let answer = commit(
        files,
        table,
        &Commit {
            operation: Operation::Append,
            actions: &actions,
        },
    );
    match answer {
        Ok(Some(version)) => Ok(version),
        Ok(None) => {
            delete_files(files, adds);
            Ok(table.snapshot.version)
        }
        Err(error) => {
            // While the outcome is unknown the files may be part of the table.
            if table.unresolved.is_none() {
                delete_files(files, adds);
            }
            Err(error)
        }
    }
}

/// The result of something that nobody waits for any more.
fn discard<T>(_unwanted: T) {}
