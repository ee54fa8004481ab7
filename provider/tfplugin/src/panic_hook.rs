//! What a panic writes: a first line that Terraform knows a crash by, then where it happened.
//!
//! Invariant: the text starts with `panic: `. Terraform then shows all of it to the user with the provider's name.

use std::backtrace::Backtrace;
use std::io::Write as _;

/// From now on panics are reported in this form.
pub(crate) fn install() {
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or("without a name");
        let text = format!("panic: {message}\n\nat {place}, thread {thread}\n{}\n", Backtrace::force_capture());
        // Nothing is left to tell when stderr is gone.
        drop(std::io::stderr().lock().write_all(text.as_bytes()));
    }));
}
