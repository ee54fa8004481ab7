//! Drives every stream from what is observed to what is declared.
//!
//! `driver` decides when a stream is looked at, `steps` what is done then, `observe` what is said about it afterwards;
//! `slots` holds the running pipelines. The invariant: a step takes no input but the store and the world, may run twice
//! at any point, and leaves retry to the next run.

pub mod backoff;
mod driver;
pub mod engine;
mod observe;
pub mod pipeline_engine;
mod slots;
mod steps;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use stream_pipeline::status::PipelineStatus;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::store::Store;
use backoff::Backoff;
use engine::PipelineEngine;
use slots::Slots;

/// How the reconciler behaves.
#[derive(Clone, Debug)]
pub struct ReconcilerSettings {
    /// How long a deleted table can be restored; zero removes it at once.
    pub trash_retention: Duration,
    /// Waits between the attempts of a stream whose last one failed.
    pub backoff: Backoff,
}

/// What driver, steps and services share.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) engine: Arc<dyn PipelineEngine>,
    pub(crate) settings: ReconcilerSettings,
    pub(crate) slots: Slots,
    wakeups: driver::Wakeups,
    /// Moves each time something was written about any stream.
    progress: watch::Sender<u64>,
    /// Ends the driver.
    stopping: CancellationToken,
}

/// The running reconciler.
pub struct Reconciler {
    shared: Arc<Shared>,
    driver: JoinHandle<()>,
}

/// How others reach the reconciler: they wake it up and read what it knows; they never tell it what to do.
#[derive(Clone)]
pub struct ReconcilerHandle {
    shared: Arc<Shared>,
}

impl Reconciler {
    /// Starts with a look at every stream of the store.
    pub fn start(store: Arc<dyn Store>, engine: Arc<dyn PipelineEngine>, settings: ReconcilerSettings) -> Self {
        let shared = Arc::new(Shared {
            store,
            engine,
            settings,
            slots: Slots::default(),
            wakeups: driver::Wakeups::default(),
            progress: watch::Sender::new(0),
            stopping: CancellationToken::new(),
        });
        let driver = tokio::spawn(driver::run(shared.clone()));
        Self { shared, driver }
    }

    /// A handle for services.
    pub fn handle(&self) -> ReconcilerHandle {
        ReconcilerHandle {
            shared: self.shared.clone(),
        }
    }

    /// Starts no more steps, lets the running ones end, and stops every pipeline, each after its last commit; false if one of
    /// these failed or was given up.
    pub async fn shut_down(self) -> bool {
        self.shared.stopping.cancel();
        // Beside the steps: one that waits for a disk that hangs must not cost the other streams their last commit.
        let (ended, in_order) = tokio::join!(self.driver, self.shared.slots.stop_all());
        if let Err(error) = ended {
            tracing::error!(%error, "reconciler ended by a panic");
        }
        // And those that the last steps started.
        self.shared.slots.stop_all().await && in_order
    }
}

impl ReconcilerHandle {
    /// Has a stream looked at soon.
    pub fn wake(&self, uid: &str) {
        self.shared.wakeups.wake(uid);
    }

    /// Has every stream looked at soon whose last look failed: what it failed on may have been mended.
    pub fn wake_failed(&self) {
        self.shared.wakeups.wake_failed();
    }

    /// Has a stream's table read from its storage soon; answers with a ticket for `is_probed`.
    pub fn wake_to_probe(&self, uid: &str) -> u64 {
        let ticket = self.shared.slots.ask_for_probe(uid);
        self.shared.wakeups.wake(uid);
        ticket
    }

    /// Whether what that reading found is in the store.
    pub fn is_probed(&self, uid: &str, ticket: u64) -> bool {
        self.shared.slots.is_probed(uid, ticket)
    }

    /// A counter that moves each time something was written about any stream.
    pub fn progress(&self) -> watch::Receiver<u64> {
        self.shared.progress.subscribe()
    }

    /// What a stream's pipeline says at the moment, if it was started.
    pub fn pipeline_status(&self, uid: &str) -> Option<PipelineStatus> {
        self.shared.slots.status(uid)
    }
}

impl Shared {
    /// Tells those who wait that something was written.
    fn announce(&self) {
        self.progress.send_modify(|count| *count = count.wrapping_add(1));
    }
}
