//! Batches on their way into the table: at most one being decoded and one being appended, while the next is gathered.
//!
//! Invariant: batches are appended one after another, in the order in which they were cut; after an error none is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use stream_decode::framing::SchemaKey;
use stream_spec::stream::Side;
use tokio::task::{JoinError, JoinHandle};

use super::lookup::Lookup;
use super::rows::{ReadyBatch, Rest, RowMaker};
use super::unread::{Unread, Untold};
use super::waiting::Origins;
use super::writers::Learned;
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

/// What became of a batch that was to be decoded.
enum Made {
    /// Its rows, or the first of them, and the partitions of which records were left out.
    Ready(Box<ReadyBatch>, BTreeSet<PartitionId>),
    /// Nothing yet: its messages name schemas that are not known.
    Lacks(SourceBatch, Vec<(Side, SchemaKey)>),
}

type Decoding = JoinHandle<(RowMaker, Result<Made, PipelineError>)>;

/// What was learned for a batch that waits for it.
type Asked = (RowMaker, SourceBatch, Vec<(Side, SchemaKey, Learned)>);

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
    /// Where schemas are asked for that messages name.
    lookup: Option<Lookup>,
    asking: Option<JoinHandle<Asked>>,
    /// Why schemas that were asked for last are not known.
    untold: Option<Untold>,
    /// The last batch that is decoded left records of these out: none may follow.
    unread: Option<Unread>,
}

impl Stages {
    pub(crate) fn new(
        client: Arc<ClusterClient>,
        table: Arc<TableHandle>,
        topic_ids: BTreeMap<String, String>,
        rows: RowMaker,
        lookup: Option<Lookup>,
    ) -> Self {
        Self {
            client,
            table,
            topic_ids: Arc::new(topic_ids),
            rows: Some(rows),
            decoding: None,
            decoded: None,
            rest: None,
            appending: None,
            lookup,
            asking: None,
            untold: None,
            unread: None,
        }
    }

    /// True when a batch can be started.
    pub(crate) fn has_room(&self) -> bool {
        self.rows.is_some() && self.decoded.is_none() && self.rest.is_none() && self.unread.is_none()
    }

    /// The partitions of which records were left out, once all before those is in the table.
    pub(crate) fn take_unread(&mut self) -> Option<Unread> {
        if self.is_busy() || self.rest.is_some() {
            return None;
        }
        self.unread.take()
    }

    /// True while a batch is on its way.
    pub(crate) fn is_busy(&self) -> bool {
        self.decoding.is_some() || self.decoded.is_some() || self.appending.is_some() || self.asking.is_some()
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
            rows.tidy();
            let made = make(&mut rows, batch);
            (rows, made)
        }));
        Ok(())
    }

    /// Waits until something ends and starts what follows; returns what became of an append. Must be busy. Cancel safe.
    pub(crate) async fn advance(&mut self) -> Result<Option<Appended>, PipelineError> {
        tokio::select! {
            ended = joined(&mut self.decoding) => {
                self.decoding = None;
                let (rows, made) = ended.map_err(ended_early)?;
                self.take_made(rows, made?);
                Ok(None)
            }
            ended = joined(&mut self.asking) => {
                self.asking = None;
                self.decode_learned(ended.map_err(ended_early)?);
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
        if let Some(asking) = self.asking.take() {
            // It has records in hand, which keep their consumer.
            asking.abort();
            drop(asking.await);
        }
        if let Some(appending) = self.appending.take() {
            drop(appending.await);
        }
    }

    fn take_made(&mut self, rows: RowMaker, made: Made) {
        match made {
            Made::Ready(mut ready, unread) => {
                self.rows = Some(rows);
                self.rest = ready.rest.take();
                self.decoded = Some(*ready);
                let schema = self.untold.take();
                if !unread.is_empty() {
                    self.unread = Some(Unread {
                        partitions: unread,
                        schema,
                    });
                }
                self.append_next();
            }
            Made::Lacks(batch, missing) => {
                let lookup = self.lookup.clone();
                self.asking = Some(tokio::spawn(async move {
                    let learned = match lookup {
                        Some(lookup) => lookup.ask(missing).await,
                        None => unasked(missing),
                    };
                    (rows, batch, learned)
                }));
            }
        }
    }

    /// Decodes a batch with what was learned for it.
    fn decode_learned(&mut self, (mut rows, batch, learned): Asked) {
        self.untold = learned.iter().find_map(|(side, key, learned)| match learned {
            Learned::Later(why) => Some(Untold {
                side: *side,
                id: key.id,
                why: why.clone(),
            }),
            Learned::Schema(_) | Learned::Misfit(_) => None,
        });
        self.decoding = Some(tokio::task::spawn_blocking(move || {
            rows.learn(&learned);
            let made = make(&mut rows, batch);
            (rows, made)
        }));
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
            let made = rows.go_on(rest).map(|ready| Made::Ready(Box::new(ready), BTreeSet::new()));
            (rows, made)
        }));
    }
}

impl Drop for Stages {
    fn drop(&mut self) {
        // Only a session that is aborted leaves an append behind. One that still waits for the broker never commits.
        if let Some(appending) = &self.appending {
            appending.abort();
        }
        if let Some(asking) = &self.asking {
            asking.abort();
        }
    }
}

/// Makes rows of a batch whose schemas are known, as far as the registry tells them.
fn make(rows: &mut RowMaker, mut batch: SourceBatch) -> Result<Made, PipelineError> {
    let missing = rows.missing(&batch);
    if !missing.is_empty() {
        return Ok(Made::Lacks(batch, missing));
    }
    let unread = rows.hold_back(&mut batch);
    rows.make(batch).map(|ready| Made::Ready(Box::new(ready), unread))
}

/// Where nobody can be asked.
fn unasked(missing: Vec<(Side, SchemaKey)>) -> Vec<(Side, SchemaKey, Learned)> {
    let later = |(side, key)| (side, key, Learned::Later("the schema registry cannot be opened".to_owned()));
    missing.into_iter().map(later).collect()
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
