//! One running stream: source → decode → filter → project → append, and the commands that reach it.
//!
//! `run` keeps a stream going whatever happens, `session` is one attachment to its source, `survey` a look around meanwhile and `looks` what follows from it, `stages` are batches on their
//! way into the table, `rows` makes columns of messages, `record_filter` says which are kept, `board` is the status. Invariant: every command ends in the same
//! way, by committing what was read and starting again from what the table records.

pub(crate) mod board;
#[cfg(test)]
mod cluster_tests;
mod failure;
pub(crate) mod in_force;
mod looks;
pub(crate) mod lookup;
pub(crate) mod pin;
pub(crate) mod project;
pub(crate) mod provision;
pub(crate) mod record_filter;
#[cfg(test)]
mod registry_tests;
pub(crate) mod rows;
pub(crate) mod run;
pub(crate) mod session;
pub(crate) mod side_decoder;
pub(crate) mod signals;
pub(crate) mod stages;
pub(crate) mod stalls;
#[cfg(test)]
mod subscription_tests;
mod survey;
#[cfg(test)]
mod tests;
pub(crate) mod unread;
pub(crate) mod waiting;
mod waits;
pub(crate) mod writers;
#[cfg(test)]
mod writers_tests;

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::engine::{EngineShared, StreamDefinition};
use crate::limits;
use crate::status::PipelineStatus;
use board::Board;
use run::Runner;

/// What a stream is told: always the latest word, never a queue of them.
#[derive(Clone)]
pub(crate) struct Desired {
    pub(crate) definition: Arc<StreamDefinition>,
    pub(crate) stop: bool,
}

/// A stream that was started. Dropping it ends it without a last commit; nothing is lost, what was in flight is read again.
pub struct RunningStream {
    desired: watch::Sender<Desired>,
    status: watch::Receiver<PipelineStatus>,
    task: Option<JoinHandle<bool>>,
}

impl RunningStream {
    pub(crate) fn spawn(shared: Arc<EngineShared>, definition: StreamDefinition) -> Self {
        let (desired, told) = watch::channel(Desired {
            definition: Arc::new(definition),
            stop: false,
        });
        let (board, status) = Board::new();
        let task = tokio::spawn(Runner::new(shared, told, board).run());
        Self {
            desired,
            status,
            task: Some(task),
        }
    }

    /// The stream's status, as it changes.
    pub fn status(&self) -> watch::Receiver<PipelineStatus> {
        self.status.clone()
    }

    /// Puts another definition of the same uid in force: between two batches, from the exact position, straight to the
    /// latest of several. In force when the status shows its generation. Also wakes a stream that failed.
    pub fn redefine(&self, definition: StreamDefinition) {
        self.desired.send_modify(|desired| desired.definition = Arc::new(definition));
    }

    /// Commits what is in flight and ends; returns when nothing of the stream runs any more. Bounded in time. The answer is
    /// false if that commit failed, or did not come through and was given up: its records are read again by the next run.
    pub async fn stop(mut self) -> bool {
        self.desired.send_modify(|desired| desired.stop = true);
        let Some(mut task) = self.task.take() else { return true };
        match tokio::time::timeout(limits::STOP_WAIT, &mut task).await {
            Ok(Ok(in_order)) => in_order,
            Ok(Err(error)) => {
                tracing::error!(stream = %self.desired.borrow().definition.spec.name, %error, "a stream broke off");
                false
            }
            Err(_) => {
                tracing::warn!(stream = %self.desired.borrow().definition.spec.name, "a stream did not stop in time and was ended");
                task.abort();
                drop(task.await);
                false
            }
        }
    }
}

impl Drop for RunningStream {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// A wait, shortened by up to a fifth, so that streams which were started together do not ask together.
pub(crate) fn jittered(wait: std::time::Duration) -> std::time::Duration {
    // Each hasher is seeded differently; nothing here needs better randomness.
    let random = std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), 0u8);
    wait.mul_f64(1.0 - (random % 1_000) as f64 / 5_000.0)
}
