//! Keeps a panic of a provider's code inside the call that caused it.
//!
//! Invariant: the panic hook has already said what happened and where; here it only becomes an answer.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;

use crate::diagnostic::Diagnostics;
use crate::limits::PANIC_READ_WAIT;

use super::bug;

/// What the call gives, or, if it panics, a diagnostic that says so.
pub(crate) async fn guarded<Answer>(call: &str, future: impl Future<Output = Answer>) -> Result<Answer, Diagnostics> {
    // A provider's shared state is behind locks of its own, which notice a panic by themselves.
    match AssertUnwindSafe(future).catch_unwind().await {
        Ok(answer) => Ok(answer),
        Err(panic) => {
            let message = message(panic.as_ref());
            tracing::error!(call, panic = message, "the provider panicked");
            tokio::time::sleep(PANIC_READ_WAIT).await;
            Err(bug(format!("The provider crashed in {call}: {message}.")).into())
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    if let Some(message) = panic.downcast_ref::<&str>() {
        message
    } else if let Some(message) = panic.downcast_ref::<String>() {
        message
    } else {
        "no message"
    }
}
