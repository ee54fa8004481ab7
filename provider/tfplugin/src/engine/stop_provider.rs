//! The user interrupts: every running call learns of it. Invariant: it returns at once.

use std::sync::PoisonError;

use super::Engine;

impl Engine {
    pub(crate) fn stop_provider(&self) {
        tracing::info!("terraform asks to stop");
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).stop();
    }
}
