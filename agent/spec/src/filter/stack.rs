//! A thread with room for the parser's recursion: it takes 80 kB a level in a build without optimisation, and callers' threads
//! have 2 MiB. What runs there is as pure as if it ran here.

use crate::limits::FILTER_STACK_BYTES;

/// Does the work on a deep stack. `None` if no thread can be started, or if the work panics.
pub(super) fn deep<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("filter".into()).stack_size(FILTER_STACK_BYTES);
        builder.spawn_scoped(scope, work).ok()?.join().ok()
    })
}
