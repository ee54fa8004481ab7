//! What is remembered of each call: who asked for what, and what came of it. Never what was in it.
//!
//! Of callers that are not known the door counts where they come from (`refusals.rs`).
//!
//! A call is audited from the port on (`grpc/audited.rs`): an event lies beside the call's task while it runs, the authorizer
//! notes what was asked for, and the first change that the call makes in the store takes the event into its own transaction. What
//! changes nothing is written when it ends. The invariant: a change and its event are there together or not at all.

pub mod refusals;
pub mod ship;
mod table;

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::clock;
use crate::governance::calls::Call;
use crate::governance::{Action, RequestContext, Securable, SecurableKind};
use crate::limits::AUDIT_NAME_BYTES_MAX;

/// Outcome of a call that did what it was asked for.
pub const OK: &str = "ok";

/// One event. Names only: nothing of a request's contents can get in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEvent {
    /// Milliseconds since 1970 when the call came.
    pub time_ms: i64,
    /// Random, or as the caller named it.
    pub request_id: String,
    /// Who.
    pub principal: String,
    /// The call, as the interface names it.
    pub call: String,
    /// What it asked the authorizer for; empty if it did not come to that.
    pub action: String,
    /// Kind of what it was about.
    pub securable_type: String,
    /// Name of what it was about.
    pub securable_name: String,
    /// `ok`, `permission_denied`, or the code of the error.
    pub outcome: String,
    /// More about it, in words of ours; empty for a call.
    #[serde(default)]
    pub detail: String,
}

/// Outcome of what is not in the outbox because there was no room for it.
pub(crate) const NOT_RECORDED: &str = "not_recorded";

/// The event of the call that is on.
#[derive(Debug, Default)]
struct Current {
    event: AuditEvent,
    /// It is in the store, with a change.
    written: bool,
    /// All that the authorizer was asked for, each once: no more than there are rules.
    asked: Vec<(Action, SecurableKind)>,
}

tokio::task_local! {
    static CURRENT: Arc<Mutex<Current>>;
}

/// A call that is audited.
#[derive(Clone, Debug)]
pub(crate) struct Audited(Arc<Mutex<Current>>);

impl Audited {
    /// A call that has just come.
    pub(crate) fn begin(call: Call, principal: String) -> Self {
        let event = AuditEvent {
            time_ms: clock::now_ms(),
            principal,
            call: call.name().to_owned(),
            ..AuditEvent::default()
        };
        Self(Arc::new(Mutex::new(Current {
            event,
            ..Current::default()
        })))
    }

    /// Runs the call with its event beside it.
    pub(crate) async fn scope<T>(&self, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self.0.clone(), work).await
    }

    /// The event of the call that has ended, and whether it is in the store already. `outcome` is for a call that came to nothing
    /// before it was read.
    pub(crate) fn end(&self, outcome: &str) -> (AuditEvent, bool) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if current.event.outcome.is_empty() {
            current.event.outcome = outcome.to_owned();
        }
        // One that failed after it had changed something leaves both events.
        let is_written = current.written && current.event.outcome == OK;
        (current.event.clone(), is_written)
    }
}

/// Does something to the event of the call that is on, if one is: the reconciler's work is nobody's call.
fn with_current<T>(change: impl FnOnce(&mut Current) -> T) -> Option<T> {
    CURRENT
        .try_with(|current| change(&mut current.lock().unwrap_or_else(PoisonError::into_inner)))
        .ok()
}

/// Notes who calls.
pub(crate) fn called_by(context: &RequestContext) {
    with_current(|current| {
        current.event.principal = context.principal.name().to_owned();
        current.event.request_id = cut(context.request_id.clone());
    });
}

/// Notes what the call asks for; the first thing is what it is about.
pub(crate) fn asked(action: Action, securable: &Securable<'_>) {
    with_current(|current| {
        let pair = (action, securable.kind());
        if !current.asked.contains(&pair) {
            current.asked.push(pair);
        }
        if current.event.action.is_empty() {
            current.event.action = action.verb().to_owned();
            current.event.securable_type = securable.kind().noun().to_owned();
            current.event.securable_name = cut(securable.name());
        }
    });
}

/// All that the call that is on has asked for so far.
pub(crate) fn all_asked() -> Vec<(Action, SecurableKind)> {
    with_current(|current| current.asked.clone()).unwrap_or_default()
}

/// What a caller wrote, of a length that the outbox bears: one call must not fill it.
fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(AUDIT_NAME_BYTES_MAX));
    text
}

/// Notes what came of the call.
pub(crate) fn ended(outcome: &str) {
    with_current(|current| current.event.outcome = outcome.to_owned());
}

/// The event that the next change takes along.
pub(crate) fn pending() -> Option<AuditEvent> {
    with_current(|current| {
        (!current.written).then(|| AuditEvent {
            outcome: OK.to_owned(),
            ..current.event.clone()
        })
    })
    .flatten()
}

/// The event is in the store.
pub(crate) fn written() {
    with_current(|current| current.written = true);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governance::Principal;

    #[tokio::test]
    async fn what_a_caller_writes_is_cut_before_it_is_remembered() {
        let long = "ä".repeat(1 << 20);
        let check = async |written: &str, expected: &str| {
            let context = RequestContext {
                principal: Principal::local_admin(),
                request_id: written.to_owned(),
            };
            let audited = Audited::begin(Call::CreateToken, String::new());
            let work = async {
                called_by(&context);
                asked(Action::Create, &Securable::Tokens(written));
            };
            audited.scope(work).await;
            let (event, _) = audited.end(OK);
            assert_eq!((event.securable_name.as_str(), event.request_id.as_str()), (expected, expected));
        };
        check("ada", "ada").await;
        check(&long, &"ä".repeat(AUDIT_NAME_BYTES_MAX / 2)).await;
        let uneven = format!("x{long}");
        check(&uneven, &format!("x{}", "ä".repeat(AUDIT_NAME_BYTES_MAX / 2 - 1))).await;
    }
}
