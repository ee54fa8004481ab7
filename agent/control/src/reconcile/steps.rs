//! One look at one stream: reads the store, compares with the world, does what is missing, writes down what it found.
//!
//! Create, run, change, repair and delete are durable plans: what was reached is in the store and in the table, so a
//! crash between any two steps only means that the next look goes on from there.

use std::sync::Arc;

use stream_pipeline::error::Retry;
use stream_pipeline::status::{Phase, PipelineStatus};
use stream_pipeline::table::TableError;
use stream_spec::connection::ConnectionOptions;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::Shared;
use super::engine::RunningPipeline;
use super::observe::{self, Sighting, Whereabouts};
use super::slots::{Slot, TableVerdict};
use crate::clock;
use crate::limits::TABLE_PROBE_WAIT;
use crate::store::StoreError;
use crate::store::records::{ObservedStream, Presence, StreamRecord};

/// When the stream is looked at next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Soon, after the wait of a failure.
    Retry,
    /// When something wakes it, or much later.
    Settled,
    /// Rather soon: there is nothing to do but to see whether its table is back.
    TableAway,
    /// Never: it is not there any more.
    Forgotten,
}

/// One look.
pub(super) async fn run(shared: &Arc<Shared>, uid: &str) -> Result<Next, StoreError> {
    let Some(record) = shared.store.stream_by_uid(uid).await? else {
        shared.slots.stop(uid).await;
        shared.slots.forget(uid);
        return Ok(Next::Forgotten);
    };
    let span = tracing::info_span!("reconcile", stream = %record.declared.spec.name, stream.uid = uid);
    async {
        match record.declared.presence {
            Presence::Present => keep(shared, record).await,
            Presence::Deleted { retain_table } => leave(shared, record, retain_table).await,
        }
    }
    .instrument(span)
    .await
}

/// Makes a stream run that is to run.
async fn keep(shared: &Arc<Shared>, record: StreamRecord) -> Result<Next, StoreError> {
    let mut observed = record.observed.clone();
    if !observed.provisioned {
        if observed.conditions.is_empty() {
            // A source that does not answer takes its time to be given up: until then the stream says what it waits for.
            observed = settle(shared, &record, observed, &Sighting::Asking(&asking(shared, &record).await?)).await?;
        }
        match shared.engine.provision(&record.definition()).await {
            Ok(state) => {
                tracing::info!(table = %record.declared.spec.ingestion.destination, version = state.version, "provisioned table");
                observed.provisioned = true;
                observed.generation = state.generation;
                observed.note_schema_starts(&state.schema_starts);
                observed.table = Some(state.into());
                // Durable before anything reads: from here on a table that is not there is lost, never made anew.
                shared.store.observe_stream(&record.uid, &observed).await?;
            }
            Err(error) => {
                tracing::warn!(%error, "failed to provision stream");
                if error.retry() == Retry::No {
                    observed.restart_generation = record.declared.restart_generation;
                }
                settle(shared, &record, observed, &Sighting::NotProvisioned(&error)).await?;
                return Ok(if error.retry() == Retry::Later {
                    Next::Retry
                } else {
                    Next::Settled
                });
            }
        }
    }
    if observed.restart_generation < record.declared.restart_generation {
        if let Err(error) = repair(shared, &record).await {
            tracing::warn!(%error, "failed to restore table");
            if error.retry() == Retry::No {
                observed.restart_generation = record.declared.restart_generation;
            }
            settle(shared, &record, observed, &Sighting::NotRestored(&error)).await?;
            return Ok(if error.retry() == Retry::Later {
                Next::Retry
            } else {
                Next::Settled
            });
        }
        observed.restart_generation = record.declared.restart_generation;
    }
    let Some(mut slot) = follow(shared, &record).await else {
        return Ok(Next::Settled);
    };
    observed.operations_generation = slot.operations_generation;
    let probe_asked_for = shared.slots.probe_asked_for(&record.uid);
    // A table that is gone may come back, with its disk or from a copy: nobody but this look would notice.
    if probe_asked_for.is_some() || is_gone(&slot, &slot.pipeline.status().borrow().phase) {
        slot = act_on_probe(shared, &record, slot).await;
    }
    let receiver = slot.pipeline.status();
    let lost = receiver.has_changed().is_err();
    let status = receiver.borrow().clone();
    if shared.stopping.is_cancelled() {
        // Whatever ends now was told to: it says nothing about the stream.
        return Ok(Next::Settled);
    }
    if slot.verdict.is_none() && (status.phase == Phase::Stopped || (lost && !has_ended(&status.phase))) {
        tracing::error!("pipeline ended without saying why");
        shared.slots.stop(&record.uid).await;
        settle(shared, &record, observed, &Sighting::PipelineLost).await?;
        return Ok(Next::Retry);
    }
    let whereabouts = whereabouts(shared, &record, &slot, &status).await;
    let next = match whereabouts {
        None => Next::Settled,
        Some(Whereabouts::Trash | Whereabouts::Lost) => Next::TableAway,
        Some(Whereabouts::Unknown(_)) => Next::Retry,
    };
    settle(
        shared,
        &record,
        observed,
        &Sighting::Started {
            status: &status,
            verdict: slot.verdict.as_ref(),
            whereabouts,
        },
    )
    .await?;
    if let Some(ticket) = probe_asked_for {
        shared.slots.probe_is_done(&record.uid, ticket);
        shared.announce();
    }
    Ok(next)
}

/// Says whom the stream's source is asked through.
async fn asking(shared: &Shared, record: &StreamRecord) -> Result<String, StoreError> {
    let through = match record.declared.connection_name() {
        None => "its source".to_owned(),
        Some(name) => match shared.store.connection(name).await?.map(|connection| connection.spec.options) {
            Some(ConnectionOptions::Kafka(kafka)) => format!("`{}` of connection `{name}`", kafka.bootstrap_servers),
            Some(ConnectionOptions::Kinesis(_)) | None => format!("connection `{name}`"),
        },
    };
    Ok(format!("asked {through} where to start; no answer yet"))
}

/// Takes a stream away that is to go: its pipeline, its table, its record.
async fn leave(shared: &Arc<Shared>, record: StreamRecord, retain_table: bool) -> Result<Next, StoreError> {
    shared.slots.stop(&record.uid).await;
    if !retain_table && let Err(error) = remove_table(shared, &record).await {
        tracing::warn!(%error, "failed to remove the table of a deleted stream");
        settle(shared, &record, record.observed.clone(), &Sighting::NotDeleted(&error)).await?;
        return Ok(Next::Retry);
    }
    shared.store.forget_stream(&record.uid).await?;
    shared.slots.forget(&record.uid);
    shared.announce();
    tracing::info!(retain_table, "deleted stream");
    Ok(Next::Forgotten)
}

async fn remove_table(shared: &Shared, record: &StreamRecord) -> Result<(), TableError> {
    let table = &record.declared.spec.ingestion.destination;
    match shared.engine.trash(table, &record.uid).await {
        Ok(()) | Err(TableError::Gone { .. }) => {}
        // What is in its place is not this stream's: it is not ours to remove.
        Err(TableError::Altered { what, .. }) => tracing::warn!(%table, what, "left a table that is not the stream's"),
        Err(error) => return Err(error),
    }
    if shared.settings.trash_retention.is_zero() {
        shared.engine.purge_trash(shared.settings.trash_retention).await?;
    }
    Ok(())
}

/// Ends the pipeline, whatever it stopped at, and brings a table back from the trash.
async fn repair(shared: &Shared, record: &StreamRecord) -> Result<(), TableError> {
    shared.slots.stop(&record.uid).await;
    let table = &record.declared.spec.ingestion.destination;
    match shared.engine.table_state(table, &record.uid).await {
        Err(TableError::Gone { .. }) if shared.engine.in_trash(&record.uid).await? => {
            shared.engine.restore(table, &record.uid).await?;
            tracing::info!(%table, "restored table from the trash");
        }
        // Anything else that is wrong with the table is for the pipeline to find, as at every start.
        Ok(_) | Err(_) => {}
    }
    Ok(())
}

/// The pipeline of this record's definition and operations: the running one if it is that, told of a change if it is
/// not, a new one if there is none or it has ended. None while the agent stops: what would be started now would only have to be
/// waited for.
async fn follow(shared: &Arc<Shared>, record: &StreamRecord) -> Option<Slot> {
    let declared = &record.declared;
    if let Some(slot) = shared.slots.get(&record.uid) {
        if slot.generation == declared.generation && slot.operations_generation == declared.operations_generation {
            return Some(slot);
        }
        if !has_ended(&slot.pipeline.status().borrow().phase) && slot.verdict.is_none() {
            slot.pipeline.redefine(record.definition());
            let slot = Slot {
                generation: declared.generation,
                operations_generation: declared.operations_generation,
                ..slot
            };
            shared.slots.put(&record.uid, slot.clone());
            return Some(slot);
        }
        // A change may be the cure of what ended it.
        shared.slots.stop(&record.uid).await;
    }
    if shared.stopping.is_cancelled() {
        return None;
    }
    let pipeline = shared.engine.start(record.definition());
    let slot = Slot {
        generation: declared.generation,
        operations_generation: declared.operations_generation,
        verdict: None,
        _watcher: Arc::new(watch(shared, &record.uid, pipeline.as_ref())),
        pipeline,
    };
    shared.slots.put(&record.uid, slot.clone());
    Some(slot)
}

fn has_ended(phase: &Phase) -> bool {
    match phase {
        Phase::Starting | Phase::Running | Phase::Paused => false,
        Phase::Stopped | Phase::Failed { .. } | Phase::TableAltered { .. } | Phase::TableGone { .. } => true,
    }
}

/// Wakes the reconciler when a status changes in more than its figures.
fn watch(shared: &Arc<Shared>, uid: &str, pipeline: &dyn RunningPipeline) -> AbortOnDropHandle<()> {
    let mut receiver = pipeline.status();
    let essence = |status: &PipelineStatus| {
        (
            status.phase.clone(),
            status.generation,
            status.conditions.clone(),
            status.table.is_some(),
            status.schema_starts.clone(),
        )
    };
    let mut known = essence(&receiver.borrow_and_update());
    let (shared, uid) = (shared.clone(), uid.to_owned());
    AbortOnDropHandle::new(tokio::spawn(async move {
        while receiver.changed().await.is_ok() {
            let seen = essence(&receiver.borrow_and_update());
            if seen != known {
                known = seen;
                shared.wakeups.wake(&uid);
            }
        }
        shared.wakeups.wake(&uid);
    }))
}

/// What a look at a table in its storage found.
enum Look {
    Sound,
    Wrong(TableVerdict),
    Unknown,
}

/// Looks at the table: stops a pipeline that has not noticed what is wrong, and starts one again whose table is back.
async fn act_on_probe(shared: &Arc<Shared>, record: &StreamRecord, mut slot: Slot) -> Slot {
    let was_gone = is_gone(&slot, &slot.pipeline.status().borrow().phase);
    match probe(shared, record).await {
        Look::Wrong(verdict) => {
            // Stopped first: what is in flight must not meet a table that is not the stream's any more.
            slot.pipeline.stop().await;
            slot.verdict = Some(verdict);
            shared.slots.put(&record.uid, slot.clone());
            slot
        }
        Look::Sound if was_gone => {
            tracing::info!(table = %record.declared.spec.ingestion.destination, "table is back");
            shared.slots.stop(&record.uid).await;
            follow(shared, record).await.unwrap_or(slot)
        }
        // An altered table that is sound again is taken back by a restart, when somebody asks for one.
        Look::Sound | Look::Unknown => slot,
    }
}

fn is_gone(slot: &Slot, phase: &Phase) -> bool {
    match &slot.verdict {
        Some(verdict) => matches!(verdict, TableVerdict::Gone { .. }),
        None => matches!(phase, Phase::TableGone { .. }),
    }
}

/// Reads the table from its storage: is it still the one that the stream writes?
async fn probe(shared: &Shared, record: &StreamRecord) -> Look {
    let table = &record.declared.spec.ingestion.destination;
    let state = match tokio::time::timeout(TABLE_PROBE_WAIT, shared.engine.table_state(table, &record.uid)).await {
        Ok(state) => state,
        Err(_) => {
            tracing::warn!(%table, wait = ?TABLE_PROBE_WAIT, "storage did not answer in time");
            return Look::Unknown;
        }
    };
    // Columns never leave a table of ours: what was there once must still be there.
    let expected = record
        .observed
        .table
        .as_ref()
        .map(|table| table.columns.as_slice())
        .unwrap_or_default();
    match state.and_then(|state| state.expect_kept_columns(table, expected)) {
        Ok(()) => Look::Sound,
        Err(error @ TableError::Gone { .. }) => Look::Wrong(TableVerdict::Gone {
            message: error.to_string(),
        }),
        Err(error @ TableError::Altered { .. }) => Look::Wrong(TableVerdict::Altered {
            message: error.to_string(),
        }),
        Err(error) => {
            // The storage's trouble says nothing about the table; the pipeline meets it itself.
            tracing::warn!(%table, %error, "failed to look at table");
            Look::Unknown
        }
    }
}

/// Where a table is that is not in its place; `None` where it is.
async fn whereabouts(shared: &Shared, record: &StreamRecord, slot: &Slot, status: &PipelineStatus) -> Option<Whereabouts> {
    if !is_gone(slot, &status.phase) {
        return None;
    }
    Some(match shared.engine.in_trash(&record.uid).await {
        Ok(true) => Whereabouts::Trash,
        Ok(false) => Whereabouts::Lost,
        Err(error) => Whereabouts::Unknown(error.to_string()),
    })
}

/// Writes down what was found, once, and only if it says something new.
async fn settle(
    shared: &Shared,
    record: &StreamRecord,
    observed: ObservedStream,
    sighting: &Sighting<'_>,
) -> Result<ObservedStream, StoreError> {
    let before = record.observed.state;
    let observed = observe::describe(observed, sighting, clock::now_ms());
    if observed != record.observed {
        shared.store.observe_stream(&record.uid, &observed).await?;
        if observed.state != before {
            tracing::info!(from = ?before, to = ?observed.state, generation = observed.generation, "stream changed state");
        }
    }
    shared.announce();
    Ok(observed)
}
