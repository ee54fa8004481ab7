//! What the rest of the package sees of an open table: append, switch, probe, close, and a state to watch.
//!
//! The handle encodes rows into data files in the caller's task; every commit is the committer's. Invariant: when a call
//! returns an error, nothing of it is in the table, except after [`TableError::Storage`], where `state` tells.

use std::sync::Arc;

use arrow_array::RecordBatch;
use stream_spec::types::Field;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::committer::{Asked, Request};
use super::conform::{Surplus, conform_batch};
use super::log::actions::Add;
use super::narrow::{NarrowError, narrow_batch};
use super::open_tables::Claim;
use super::store::table_files::TableFiles;
use super::write::{DataFileWriter, Origin};
use super::{Append, Switch, TableError, TableState, schema};
use crate::failpoint::{self, Point};

/// An open table. Appends are made one after another; dropping the future of a call does not undo a commit that was asked for.
///
/// After [`TableError::Storage`] it can be unknown whether the call's commit is in the table. The next call settles that first;
/// the caller probes, reads the positions of [`TableHandle::state`] and drops the rows before them. A call that is repeated
/// exactly is safe without that.
#[derive(Debug)]
pub struct TableHandle {
    files: TableFiles,
    target_file_bytes: u64,
    state: watch::Receiver<TableState>,
    requests: mpsc::Sender<Asked>,
    committer: JoinHandle<()>,
    claim: Arc<Claim>,
}

impl TableHandle {
    pub(super) fn new(
        files: TableFiles,
        target_file_bytes: u64,
        state: watch::Receiver<TableState>,
        requests: mpsc::Sender<Asked>,
        committer: JoinHandle<()>,
        claim: Arc<Claim>,
    ) -> Self {
        Self {
            files,
            target_file_bytes,
            state,
            requests,
            committer,
            claim,
        }
    }

    /// The state after the last commit or foreign change that was seen.
    pub fn state(&self) -> watch::Receiver<TableState> {
        self.state.clone()
    }

    /// Commits rows together with the positions that they advance to; returns the version. Without any advance there is nothing
    /// to do: the rows of those positions are in the table.
    pub async fn append(&self, append: Append) -> Result<i64, TableError> {
        let rows: usize = append.batches.iter().map(RecordBatch::num_rows).sum();
        if append.positions.is_empty() && rows > 0 {
            return Err(self.files.internal(format!("an append of {rows} rows has no positions")));
        }
        let (files, columns) = if rows == 0 {
            (Vec::new(), Vec::new())
        } else {
            self.encode(append.batches).await?
        };
        self.ask(Request::Append {
            files,
            columns,
            positions: append.positions,
        })
        .await
    }

    /// Commits a new definition; returns the version from which on it is in force.
    pub async fn switch(&self, switch: Switch) -> Result<i64, TableError> {
        self.ask(Request::Switch(Box::new(switch))).await
    }

    /// Looks whether the table is still ours and takes in foreign commits.
    pub async fn probe(&self) -> Result<(), TableError> {
        self.ask(Request::Probe).await.map(|_| ())
    }

    /// Ends the committer and care of this table, after what is under way.
    pub async fn close(self) {
        drop(self.requests);
        drop(self.claim);
        if let Err(error) = self.committer.await {
            tracing::error!(table = self.files.table(), %error, "the committer of a table broke off");
        }
    }

    /// Writes rows to files; returns them with the columns that they have.
    async fn encode(&self, batches: Vec<RecordBatch>) -> Result<(Vec<Add>, Vec<Field>), TableError> {
        let files = self.files.clone();
        let (columns, widening) = {
            let state = self.state.borrow();
            (state.columns.clone(), state.widening.clone())
        };
        let stored = widening.map_or_else(|| columns.clone(), |widening| widening.stored_columns);
        let target = self.target_file_bytes;
        // Held by the work and not by whoever waits for it: where a disk hangs, the table is opened again, and rows are encoded
        // again, only after this has ended.
        let claim = Arc::clone(&self.claim);
        let work = move || {
            let _claim = claim;
            let at = |point| failpoint::pass(point).map_err(|error| files.failed("writing rows", error));
            at(Point::AppendBeforeFile)?;
            let (schema, stored_schema) = (schema::arrow_schema(&columns), schema::arrow_schema(&stored));
            let mut writer = DataFileWriter::new(&files, &stored, Arc::clone(&stored_schema), target, Origin::Source);
            // One after the other, so that each is freed as soon as it is encoded.
            for (number, batch) in batches.into_iter().enumerate() {
                let rows = conform_batch(&batch, &schema, Surplus::Refused)
                    .map_err(|error| files.internal(format!("rows do not fit the table: {error}")))?;
                drop(batch);
                let rows = if columns == stored {
                    rows
                } else {
                    narrow_batch(&rows, &stored_schema).map_err(|error| still_narrow(&files, number, error))?
                };
                writer.write(&rows)?;
            }
            let adds = writer.finish()?;
            at(Point::AppendAfterFile)?;
            Ok((adds, stored))
        };
        let broke_off = |error| self.files.internal(format!("writing rows broke off: {error}"));
        tokio::task::spawn_blocking(work).await.map_err(broke_off)?
    }

    async fn ask(&self, request: Request) -> Result<i64, TableError> {
        let (reply, answer) = oneshot::channel();
        let ended = || self.files.internal("its committer has ended");
        self.requests.send((request, reply)).await.map_err(|_| ended())?;
        answer.await.map_err(|_| ended())?
    }
}

fn still_narrow(files: &TableFiles, batch: usize, error: NarrowError) -> TableError {
    match error {
        NarrowError::TooLarge { path, rows } => TableError::StillNarrow {
            table: files.table().to_owned(),
            column: path,
            batch,
            rows,
        },
        error @ NarrowError::Arrow { .. } => files.internal(format!("rows do not fit the table's files: {error}")),
    }
}
