//! What every call of a provider, resource or data source is handed beside its arguments: the stop signal.

use tokio_util::sync::CancellationToken;

/// Says when the user wants us to stop: waits end, and what is known is returned.
#[derive(Clone, Debug, Default)]
pub struct StopSignal {
    token: CancellationToken,
}

impl StopSignal {
    /// A signal that nobody has given yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the signal, to every clone.
    pub fn stop(&self) {
        self.token.cancel();
    }

    /// Has it been given?
    pub fn is_stopped(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Comes back once it is given. Safe to drop and call again.
    pub async fn stopped(&self) {
        self.token.cancelled().await;
    }
}

/// The surroundings of one call.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    /// Given when the user interrupts Terraform.
    pub stop: StopSignal,
}
