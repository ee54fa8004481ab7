//! Waiting for a stream to become what was asked for: looks at it again and again until it is, the time is up, or
//! Terraform says stop. A look that fails is no answer; waiting goes on. Invariant: an older record never replaces a newer one,
//! and another stream's record never replaces ours.

use std::time::Duration;

use tfplugin::call::StopSignal;
use tfplugin::diagnostic::Diagnostic;
use tokio::time::Instant;
use tonic::Code;

use crate::client::AgentClient;
use crate::client::calls::StreamRecord;
use crate::client::error::AgentError;
use crate::limits::{ABSENT_LOOKS_MAX, POLL_INTERVAL};

/// How a wait ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// The stream is as it was waited for.
    Settled,
    /// The time is up.
    OutOfTime,
    /// Terraform said stop.
    Stopped,
    /// Someone deleted the stream.
    Gone,
    /// Someone deleted the stream and created another one under its name.
    AnotherLife,
    /// The agent does not let us look.
    Refused(AgentError),
}

impl Ending {
    /// What ended a wait for a stream that the agent may not have any more, or not for us; `None` for the other endings.
    pub(super) fn lost(&self, name: &str, done: &str) -> Option<Diagnostic> {
        let why = match self {
            Self::Settled | Self::OutOfTime | Self::Stopped => return None,
            Self::Gone => "the agent has no such stream any more: someone deleted it meanwhile".to_owned(),
            Self::AnotherLife => {
                "someone has meanwhile deleted it and created another one under its name, which was not taken over".to_owned()
            }
            Self::Refused(error) => format!("it could not be looked at any more: {error}"),
        };
        let detail = format!("The stream `{name}` was {done}, but {why}. Terraform keeps what it last saw; plan again.");
        Some(Diagnostic::error("Stream Lost While Waiting", detail))
    }
}

/// Waits until `settled` holds, and returns the newest record with how the wait ended.
pub(super) async fn until(
    client: &AgentClient,
    mut record: StreamRecord,
    deadline: Instant,
    stop: &StopSignal,
    settled: impl Fn(&StreamRecord) -> bool,
) -> (StreamRecord, Ending) {
    let mut absent_looks = 0;
    loop {
        if settled(&record) {
            return (record, Ending::Settled);
        }
        if let Some(ending) = pause(deadline, stop).await {
            return (record, ending);
        }
        match client.get_stream(&record.stream.name, stop).await {
            Ok(seen) if seen.status.uid != record.status.uid => return (record, Ending::AnotherLife),
            Ok(seen) if is_older(&seen, &record) => tracing::debug!("the agent's answer is older than what it said before"),
            Ok(seen) => {
                absent_looks = 0;
                record = seen;
            }
            Err(error) if error.is_not_found() => {
                absent_looks += 1;
                if absent_looks > ABSENT_LOOKS_MAX {
                    return (record, Ending::Gone);
                }
            }
            Err(error) if matches!(error.code(), Some(Code::PermissionDenied | Code::Unauthenticated)) => {
                return (record, Ending::Refused(error));
            }
            Err(error) => tracing::debug!(%error, "could not look at the stream, looking again"),
        }
    }
}

/// Waits until the stream `name` is gone, and returns how the wait ended with the last record seen. `Err` only when the agent
/// refuses to say.
pub(super) async fn until_gone(
    client: &AgentClient,
    name: &str,
    uid: &str,
    deadline: Instant,
    stop: &StopSignal,
) -> Result<(Ending, Option<StreamRecord>), AgentError> {
    let mut last_seen = None;
    loop {
        match client.get_stream(name, stop).await {
            Err(error) if error.is_not_found() => return Ok((Ending::Settled, last_seen)),
            // Another stream has taken the name: the one that was meant is gone.
            Ok(seen) if !uid.is_empty() && seen.status.uid != uid => return Ok((Ending::Settled, last_seen)),
            Ok(seen) => last_seen = Some(seen),
            Err(AgentError::Stopped { .. }) => return Ok((Ending::Stopped, last_seen)),
            Err(error) if error.is_silence() => tracing::debug!(%error, "could not look at the stream, looking again"),
            Err(error) => return Err(error),
        }
        if let Some(ending) = pause(deadline, stop).await {
            return Ok((ending, last_seen));
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
    generation < known_generation || operations < known_operations
}

/// The moment `timeout` from now.
pub(super) fn deadline(timeout: Duration) -> Instant {
    Instant::now() + timeout
}
