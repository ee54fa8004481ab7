//! Batches on their way into the table: at most one being decoded and one being appended, while the next is gathered.
//!
//! Invariant: batches are appended one after another, in the order in which they were cut; after an error none is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};

use super::rows::{ReadyBatch, Rest, RowMaker};
use super::waiting::Origins;
use crate::error::PipelineError;
use crate::kafka::batch::SourceBatch;
use crate::kafka::client::ClusterClient;
use crate::kafka::topics;
use crate::misfits::Misfits;
use crate::position::{PartitionId, Positions};
use crate::table::{Append, TableError, TableHandle};

/// A commit that has landed.
pub(crate) struct Landed {
    pub(crate) positions: Positions,
    pub(crate) rows: usize,
    /// Messages that did not fit their schemas.
    pub(crate) misfits: Misfits,
    /// Records that the filter did not keep.
    pub(crate) filtered: u64,
    /// How often the filter gave up on a text.
    pub(crate) unanswered: u64,
    /// Since the last of its records was taken.
    pub(crate) took: Duration,
}

/// What became of an append.
pub(crate) enum Appended {
    /// It is in the table.
    Landed(Landed),
    /// Nothing of it is: these partitions have values for which a column must be widened first.
    TooLarge(BTreeSet<PartitionId>, String),
}

type Decoding = JoinHandle<(RowMaker, Result<ReadyBatch, PipelineError>)>;

/// The stages of one session.
pub(crate) struct Stages {
    client: Arc<ClusterClient>,
    table: Arc<TableHandle>,
    /// Topic ids that the positions belong to.
    topic_ids: Arc<BTreeMap<String, String>>,
    /// Here between two batches; lent to the decoding thread otherwise.
    rows: Option<RowMaker>,
    decoding: Option<Decoding>,
    decoded: Option<ReadyBatch>,
    /// What is left of the batch of which a part is decoded: the next thing to decode.
    rest: Option<Rest>,
    appending: Option<JoinHandle<Result<Appended, PipelineError>>>,
}

impl Stages {
    pub(crate) fn new(client: Arc<ClusterClient>, table: Arc<TableHandle>, topic_ids: BTreeMap<String, String>, rows: RowMaker) -> Self {
        Self {
            client,
            table,
            topic_ids: Arc::new(topic_ids),
            rows: Some(rows),
            decoding: None,
            decoded: None,
            rest: None,
            appending: None,
        }
    }

    /// True when a batch can be started.
    pub(crate) fn has_room(&self) -> bool {
        self.rows.is_some() && self.decoded.is_none() && self.rest.is_none()
    }

    /// True while a batch is on its way.
    pub(crate) fn is_busy(&self) -> bool {
        self.decoding.is_some() || self.decoded.is_some() || self.appending.is_some()
    }

    /// Starts a batch. There must be room: the positions of the next batch would pass over one that is dropped.
    pub(crate) fn start(&mut self, batch: SourceBatch) -> Result<(), PipelineError> {
        let room = if self.has_room() { self.rows.take() } else { None };
        let Some(mut rows) = room else {
            return Err(PipelineError::Internal {
                message: "a batch was started while another one is on its way".to_owned(),
            });
        };
        self.decoding = Some(tokio::task::spawn_blocking(move || {
            let ready = rows.make(batch);
            (rows, ready)
        }));
        Ok(())
    }

    /// Waits until something ends and starts what follows; returns what became of an append. Must be busy. Cancel safe.
    pub(crate) async fn advance(&mut self) -> Result<Option<Appended>, PipelineError> {
        tokio::select! {
            ended = joined(&mut self.decoding) => {
                self.decoding = None;
                let (rows, ready) = ended.map_err(ended_early)?;
                self.rows = Some(rows);
                let mut ready = ready?;
                self.rest = ready.rest.take();
                self.decoded = Some(ready);
                self.append_next();
                Ok(None)
            }
            ended = joined(&mut self.appending) => {
                self.appending = None;
                let appended = ended.map_err(ended_early)??;
                // The positions of the next batch would pass over one that is not in the table.
                if matches!(appended, Appended::Landed(_)) {
                    self.append_next();
                }
                Ok(Some(appended))
            }
        }
    }

    /// Waits for an append that is under way, whatever becomes of it; starts nothing more.
    pub(crate) async fn settle(&mut self) {
        (self.decoded, self.rest) = (None, None);
        if let Some(appending) = self.appending.take() {
            drop(appending.await);
        }
    }

    fn append_next(&mut self) {
        if self.appending.is_some() {
            return;
        }
        if let Some(ready) = self.decoded.take() {
            self.appending = Some(tokio::spawn(append(
                self.client.clone(),
                self.table.clone(),
                self.topic_ids.clone(),
                ready,
            )));
            self.decode_rest();
        }
    }

    /// Goes on with a batch of which a part is on its way, when the part before it made room.
    fn decode_rest(&mut self) {
        let Some(rest) = self.rest.take() else { return };
        let Some(mut rows) = self.rows.take() else {
            self.rest = Some(rest);
            return;
        };
        self.decoding = Some(tokio::task::spawn_blocking(move || {
            let ready = rows.go_on(rest);
            (rows, ready)
        }));
    }
}

impl Drop for Stages {
    fn drop(&mut self) {
        // Only a session that is aborted leaves an append behind. One that still waits for the broker never commits.
        if let Some(appending) = &self.appending {
            appending.abort();
        }
    }
}

/// The end of a task, or nothing ever where there is none.
async fn joined<Answer>(task: &mut Option<JoinHandle<Answer>>) -> Result<Answer, JoinError> {
    match task {
        Some(task) => task.await,
        None => std::future::pending().await,
    }
}

async fn append(
    client: Arc<ClusterClient>,
    table: Arc<TableHandle>,
    topic_ids: Arc<BTreeMap<String, String>>,
    ready: ReadyBatch,
) -> Result<Appended, PipelineError> {
    topics::confirm(&client, &ready.topics, &topic_ids, ready.taken_until).await?;
    let rows = ready.rows.iter().map(arrow_array::RecordBatch::num_rows).sum();
    let origins: Vec<Origins> = ready.rows.iter().map(Origins::of).collect();
    let append = Append {
        batches: ready.rows,
        positions: ready.positions.clone(),
    };
    match table.append(append).await {
        Ok(_) => Ok(Appended::Landed(Landed {
            positions: ready.positions,
            rows,
            misfits: ready.misfits,
            filtered: ready.filtered,
            unanswered: ready.unanswered,
            took: ready.taken_until.elapsed(),
        })),
        Err(error) => too_large(error, &origins),
    }
}

/// Tells apart values that only have to wait.
fn too_large(error: TableError, origins: &[Origins]) -> Result<Appended, PipelineError> {
    if let TableError::StillNarrow { batch, rows, .. } = &error {
        let partitions = origins.get(*batch).map(|origins| origins.partitions(rows)).unwrap_or_default();
        if !partitions.is_empty() {
            return Ok(Appended::TooLarge(partitions, error.to_string()));
        }
    }
    Err(error.into())
}

fn ended_early(error: JoinError) -> PipelineError {
    PipelineError::Internal {
        message: format!("a stage of the stream ended early: {error}"),
    }
}
