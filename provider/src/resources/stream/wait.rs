//! Waiting for a stream to become what was asked for: looks at it again and again until it is, the time is up, or
//! Terraform says stop. A look that fails is no answer; waiting goes on. Invariant: an older record never replaces a newer one.

use std::time::Duration;

use tfplugin::call::StopSignal;
use tokio::time::Instant;

use crate::client::AgentClient;
use crate::client::calls::StreamRecord;
use crate::client::error::AgentError;
use crate::limits::POLL_INTERVAL;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The stream is as it was waited for.
    Settled,
    /// The time is up.
    OutOfTime,
    /// Terraform said stop.
    Stopped,
}

/// Waits until `settled` holds, and returns the newest record with how the wait ended.
pub(super) async fn until(
    client: &AgentClient,
    mut record: StreamRecord,
    deadline: Instant,
    stop: &StopSignal,
    settled: impl Fn(&StreamRecord) -> bool,
) -> (StreamRecord, Ending) {
    loop {
        if settled(&record) {
            return (record, Ending::Settled);
        }
        if let Some(ending) = pause(deadline, stop).await {
            return (record, ending);
        }
        match client.get_stream(&record.stream.name, stop).await {
            Ok(seen) if is_older(&seen, &record) => tracing::debug!("the agent's answer is older than what it said before"),
            Ok(seen) => record = seen,
            Err(error) => tracing::debug!(%error, "could not look at the stream, looking again"),
        }
    }
}

/// Waits until the stream `name` is gone. `Err` only when the agent refuses to say.
pub(super) async fn until_gone(
    client: &AgentClient,
    name: &str,
    uid: &str,
    deadline: Instant,
    stop: &StopSignal,
) -> Result<Ending, AgentError> {
    loop {
        match client.get_stream(name, stop).await {
            Err(error) if error.is_not_found() => return Ok(Ending::Settled),
            // Another stream has taken the name: the one that was meant is gone.
            Ok(seen) if !uid.is_empty() && seen.status.uid != uid => return Ok(Ending::Settled),
            Ok(_) => {}
            Err(AgentError::Stopped) => return Ok(Ending::Stopped),
            Err(error) if error.is_silence() => tracing::debug!(%error, "could not look at the stream, looking again"),
            Err(error) => return Err(error),
        }
        if let Some(ending) = pause(deadline, stop).await {
            return Ok(ending);
        }
    }
}

/// Sleeps until the next look; an ending if there is none.
async fn pause(deadline: Instant, stop: &StopSignal) -> Option<Ending> {
    let now = Instant::now();
    if now >= deadline {
        return Some(Ending::OutOfTime);
    }
    tokio::select! {
        () = tokio::time::sleep(POLL_INTERVAL.min(deadline - now)) => None,
        () = stop.stopped() => Some(Ending::Stopped),
    }
}

fn is_older(seen: &StreamRecord, known: &StreamRecord) -> bool {
    let versions = |record: &StreamRecord| (record.status.generation, record.status.operations_generation);
    let ((generation, operations), (known_generation, known_operations)) = (versions(seen), versions(known));
    seen.status.uid == known.status.uid && (generation < known_generation || operations < known_operations)
}

/// The moment `timeout` from now.
pub(super) fn deadline(timeout: Duration) -> Instant {
    Instant::now() + timeout
}
