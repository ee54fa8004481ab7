//! The running pipelines, by stream. A slot is put in and taken out only by that stream's own run of steps, of which
//! there is one at a time, and at the end by the shutdown, which takes them all; everyone else reads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stream_pipeline::status::PipelineStatus;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::engine::RunningPipeline;

/// A pipeline that was started, and what it was started with.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) pipeline: Arc<dyn RunningPipeline>,
    /// Definition generation it was given last.
    pub(crate) generation: u64,
    /// Operations generation it was given last.
    pub(crate) operations_generation: u64,
    /// Why it was stopped by us, if it was: what a look at the table found while the pipeline had not noticed.
    pub(crate) verdict: Option<TableVerdict>,
    /// Wakes the reconciler when the status changes in a way that matters; ends with the slot.
    pub(crate) _watcher: Arc<AbortOnDropHandle<()>>,
}

/// What is wrong with a table that a pipeline must no longer write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TableVerdict {
    Gone { message: String },
    Altered { message: String },
}

/// Looks at a stream's table that were asked for, and those that were taken and written down.
#[derive(Clone, Copy, Debug, Default)]
struct Probes {
    asked: u64,
    done: u64,
}

/// All slots.
#[derive(Default)]
pub(crate) struct Slots {
    slots: Mutex<HashMap<String, Slot>>,
    probes: Mutex<HashMap<String, Probes>>,
    /// The agent was told to stop.
    stopping: AtomicBool,
    /// A pipeline that a step stopped was cut short meanwhile.
    cut_short: AtomicBool,
}

impl Slots {
    pub(crate) fn get(&self, uid: &str) -> Option<Slot> {
        lock(&self.slots).get(uid).cloned()
    }

    pub(crate) fn put(&self, uid: &str, slot: Slot) {
        lock(&self.slots).insert(uid.to_owned(), slot);
    }

    /// Stops the stream's pipeline, if it has one, and forgets it.
    pub(crate) async fn stop(&self, uid: &str) {
        let pipeline = lock(&self.slots).get(uid).map(|slot| slot.pipeline.clone());
        if let Some(pipeline) = pipeline {
            let in_order = pipeline.stop().await;
            if !in_order && self.stopping.load(Ordering::SeqCst) {
                self.cut_short.store(true, Ordering::SeqCst);
            }
            lock(&self.slots).remove(uid);
        }
    }

    /// Stops every pipeline, all at the same time; false if the last commit of one failed or was given up, also of one that a
    /// step is stopping.
    pub(crate) async fn stop_all(&self) -> bool {
        self.stopping.store(true, Ordering::SeqCst);
        let slots: Vec<Slot> = lock(&self.slots).drain().map(|(_, slot)| slot).collect();
        let mut stops = JoinSet::new();
        for slot in slots {
            stops.spawn(async move { slot.pipeline.stop().await });
        }
        let mut in_order = true;
        while let Some(stopped) = stops.join_next().await {
            in_order &= stopped.unwrap_or_else(|error| {
                tracing::error!(%error, "pipeline panicked while it was stopped");
                false
            });
        }
        in_order && !self.cut_short.load(Ordering::SeqCst)
    }

    pub(crate) fn status(&self, uid: &str) -> Option<PipelineStatus> {
        lock(&self.slots).get(uid).map(|slot| slot.pipeline.status().borrow().clone())
    }

    /// Asks for a look at the stream's table; answers with a ticket for `is_probed`.
    pub(crate) fn ask_for_probe(&self, uid: &str) -> u64 {
        let mut probes = lock(&self.probes);
        let probes = probes.entry(uid.to_owned()).or_default();
        probes.asked += 1;
        probes.asked
    }

    /// The newest ticket, if its look has not been taken yet.
    pub(crate) fn probe_asked_for(&self, uid: &str) -> Option<u64> {
        lock(&self.probes)
            .get(uid)
            .filter(|probes| probes.asked > probes.done)
            .map(|probes| probes.asked)
    }

    /// What the look of this ticket found is written down.
    pub(crate) fn probe_is_done(&self, uid: &str, ticket: u64) {
        if let Some(probes) = lock(&self.probes).get_mut(uid) {
            probes.done = probes.done.max(ticket);
        }
    }

    /// Whether what the look of this ticket found is written down, or the stream is gone.
    pub(crate) fn is_probed(&self, uid: &str, ticket: u64) -> bool {
        lock(&self.probes).get(uid).is_none_or(|probes| probes.done >= ticket)
    }

    /// Forgets a stream that is gone.
    pub(crate) fn forget(&self, uid: &str) {
        lock(&self.probes).remove(uid);
    }
}

/// The maps stay whole whatever panics around them: every change is one call on them.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
