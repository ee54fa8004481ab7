//! The one task that makes every commit of a table, one after another.
//!
//! Work that blocks runs on blocking threads; the table's state moves there and back, so there is no lock. Invariant: at most
//! one commit of a table is under way, and nobody else makes one.

use stream_spec::types::Field;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::care::compaction::commit_compaction;
use super::care::schedule::CareSchedule;
use super::care::widen::rewrite_as;
use super::care::{CareKind, CareResult};
use super::commit::{Commit, Operation, commit, probe, resolve};
use super::log::actions::{Action, Add};
use super::small_files::SmallFile;
use super::state::LoadedTable;
use super::store::table_files::{Leave, TableFiles};
use super::widening::{note_failure, take_step};
use super::write::{Origin, delete_files};
use super::{Switch, TableError, TableState, clock, doubled, positions, schema, switch};
use crate::position::Positions;

/// What a handle asks for; the answer is the version that holds it.
#[derive(Debug)]
pub(super) enum Request {
    /// Files that are durable, the columns that they have, and the positions that they advance to.
    Append {
        files: Vec<Add>,
        columns: Vec<Field>,
        positions: Positions,
    },
    /// A new definition.
    Switch(Box<Switch>),
    /// Whether all is as it was.
    Probe,
}

/// A request and the way back.
pub(super) type Asked = (Request, oneshot::Sender<Result<i64, TableError>>);

/// Everything that the task owns but the table.
pub(super) struct Committer {
    files: TableFiles,
    care: CareSchedule,
    state: watch::Sender<TableState>,
}

impl Committer {
    /// A committer that publishes to that state.
    pub(super) fn new(files: TableFiles, care: CareSchedule, state: watch::Sender<TableState>) -> Self {
        Self { files, care, state }
    }

    /// Runs until every handle is gone, then waits for the care job, which stops early.
    pub(super) async fn run(mut self, table: LoadedTable, mut requests: mpsc::Receiver<Asked>) {
        if !table.widening.places.is_empty() {
            // Values can be waiting for it, and then nobody asks for anything.
            self.care.start_what_is_due(&self.files, &table);
        }
        let mut table = Some(table);
        while let Some(current) = table.take() {
            tokio::select! {
                asked = requests.recv() => match asked {
                    Some(asked) => table = self.serve(current, asked).await,
                    None => break,
                },
                result = self.care.finished() => table = self.take_care_result(current, result).await,
            }
            if let Some(table) = &table {
                self.care.start_what_is_due(&self.files, table);
            }
        }
        let unused = match self.care.stop().await {
            Some(CareResult::Compacted { outputs, .. }) => outputs,
            // What was rewritten before, the next life finds and deletes.
            Some(CareResult::Widened(step)) => step.group.map(|group| group.outputs).unwrap_or_default(),
            _ => Vec::new(),
        };
        if !unused.is_empty() {
            let files = self.files.clone();
            discard(tokio::task::spawn_blocking(move || delete_files(&files, &unused)).await);
        }
    }

    async fn serve(&mut self, table: LoadedTable, (request, reply): Asked) -> Option<LoadedTable> {
        let files = self.files.clone();
        let (table, answer) = self.change(table, move |table| answer(&files, table, request)).await?;
        self.care
            .table_is_sound(!matches!(answer, Err(TableError::Altered { .. } | TableError::Gone { .. })));
        discard(reply.send(answer));
        Some(table)
    }

    async fn take_care_result(&mut self, mut table: LoadedTable, result: CareResult) -> Option<LoadedTable> {
        match result {
            CareResult::Checkpointed(size) => table.checkpointed(size),
            CareResult::Compacted { inputs, outputs } => {
                let files = self.files.clone();
                let (back, answer) = self.change(table, move |table| compact(&files, table, &inputs, outputs)).await?;
                table = back;
                if let Err(error) = answer {
                    self.care.failed(&self.files, CareKind::Compact, &error);
                }
                table.files_stale |= table.snapshot.small_files.want_reading();
            }
            CareResult::Widened(step) => {
                let files = self.files.clone();
                let (back, answer) = self.change(table, move |table| take_step(&files, table, step)).await?;
                table = back;
                if let Err(error) = answer {
                    table = self.widening_failed(table, error).await?;
                }
                table.files_stale |= table.snapshot.small_files.want_reading();
            }
            CareResult::Unreadable(inputs) => {
                for (input, error) in inputs {
                    table.snapshot.small_files.set_aside(&input.path);
                    self.care.failed(&self.files, CareKind::Compact, &error);
                }
            }
            CareResult::Swept => self.care.swept(),
            CareResult::Stopped => {}
            CareResult::Failed(CareKind::Widen, error) => table = self.widening_failed(table, error).await?,
            CareResult::Failed(kind, error) => self.care.failed(&self.files, kind, &error),
        }
        Some(table)
    }

    /// Says so in the state: values can be waiting for it.
    async fn widening_failed(&mut self, table: LoadedTable, error: TableError) -> Option<LoadedTable> {
        let files = self.files.clone();
        let note = move |table: &mut LoadedTable| (note_failure(&files, table, &error), error);
        let (table, (rest, error)) = self.change(table, note).await?;
        self.care.failed_for(&self.files, CareKind::Widen, &error, rest);
        Some(table)
    }

    /// Changes the table on a blocking thread and publishes its state. A panic there loses the state: the task ends, callers
    /// hear of it, and opening again reads the log.
    async fn change<T: Send + 'static>(
        &self,
        mut table: LoadedTable,
        work: impl FnOnce(&mut LoadedTable) -> T + Send + 'static,
    ) -> Option<(LoadedTable, T)> {
        let work = move || {
            let answer = work(&mut table);
            (table, answer)
        };
        let (table, answer) = tokio::task::spawn_blocking(work).await.ok()?;
        self.state.send_replace(table.public());
        Some((table, answer))
    }
}

fn answer(files: &TableFiles, table: &mut LoadedTable, request: Request) -> Result<i64, TableError> {
    doubled::undo(files, table)?;
    let version = match request {
        Request::Append {
            files: adds,
            columns,
            positions,
        } => append(files, table, adds, &columns, &positions),
        Request::Switch(switch) => switch::commit_switch(files, table, &switch),
        Request::Probe => probe(files, table).map(|()| table.snapshot.version),
    }?;
    // What was asked for is in the table: if this fails the next request says so.
    if let Err(error) = doubled::undo(files, table) {
        tracing::warn!(table = files.table(), %error, "another writer's commit could not be undone yet");
    }
    Ok(version)
}

/// Commits a compaction of files that are in the table once.
fn compact(files: &TableFiles, table: &mut LoadedTable, inputs: &[SmallFile], outputs: Vec<Add>) -> Result<(), TableError> {
    if let Err(error) = doubled::undo(files, table) {
        delete_files(files, &outputs);
        return Err(error);
    }
    commit_compaction(files, table, inputs, outputs)
}

/// Commits files with positions. One that moves no position is in the table already: a repeated call after an unknown outcome.
fn append(files: &TableFiles, table: &mut LoadedTable, adds: Vec<Add>, columns: &[Field], next: &Positions) -> Result<i64, TableError> {
    let adds = &as_wide_as_the_table(files, table, adds, columns)?;
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
        let txns = positions::txns(&table.uid, &table.positions, &moved, clock::now_ms());
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
            note: None,
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

/// Rewrites files that were written just before their table's columns were widened.
fn as_wide_as_the_table(files: &TableFiles, table: &mut LoadedTable, adds: Vec<Add>, columns: &[Field]) -> Result<Vec<Add>, TableError> {
    // Whether the swap is made can be what is not known yet.
    let settled = resolve(files, table);
    let rewritten = settled.and_then(|()| {
        if !schema::is_narrower(columns, &table.columns) {
            return Ok(None);
        }
        let leave = Leave {
            stopping: CancellationToken::new(),
            version: table.snapshot.version,
            entry: table.snapshot.entry,
        };
        rewrite_as(Origin::Source, files, &adds, &table.columns, u64::MAX, &leave).map(Some)
    });
    match rewritten {
        Ok(None) => Ok(adds),
        Ok(Some(wide)) => {
            delete_files(files, &adds);
            Ok(wide)
        }
        Err(error) => {
            delete_files(files, &adds);
            Err(error)
        }
    }
}

/// The result of something that nobody waits for any more.
fn discard<T>(_unwanted: T) {}
