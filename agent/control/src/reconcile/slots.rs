//! The running pipelines, by stream. A slot is put in and taken out only by that stream's own run of steps, of which
//! there is one at a time; everyone else reads.

use std::collections::{HashMap, HashSet};
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

/// All slots.
#[derive(Default)]
pub(crate) struct Slots {
    slots: Mutex<HashMap<String, Slot>>,
    probes_wanted: Mutex<HashSet<String>>,
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
            pipeline.stop().await;
            lock(&self.slots).remove(uid);
        }
    }

    /// Stops every pipeline, all at the same time.
    pub(crate) async fn stop_all(&self) {
        let slots: Vec<Slot> = lock(&self.slots).drain().map(|(_, slot)| slot).collect();
        let mut stops = JoinSet::new();
        for slot in slots {
            stops.spawn(async move { slot.pipeline.stop().await });
        }
        while let Some(stopped) = stops.join_next().await {
            if let Err(error) = stopped {
                tracing::error!(%error, "pipeline panicked while it was stopped");
            }
        }
    }

    pub(crate) fn status(&self, uid: &str) -> Option<PipelineStatus> {
        lock(&self.slots).get(uid).map(|slot| slot.pipeline.status().borrow().clone())
    }

    pub(crate) fn want_probe(&self, uid: &str) {
        lock(&self.probes_wanted).insert(uid.to_owned());
    }

    pub(crate) fn take_probe(&self, uid: &str) -> bool {
        lock(&self.probes_wanted).remove(uid)
    }
}

/// The maps stay whole whatever panics around them: every change is one call on them.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
