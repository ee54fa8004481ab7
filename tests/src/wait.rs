//! Waiting for a state with a deadline. Nothing else in this package sleeps.

use std::fmt::Display;
use std::thread;
use std::time::{Duration, Instant};

use crate::limits::POLL_INTERVAL;

/// Looks until `probe` answers, and fails with what it saw last when the deadline passes.
pub fn wait_until<T, E: Display>(what: &str, deadline: Duration, mut probe: impl FnMut() -> Result<T, E>) -> T {
    let start = Instant::now();
    loop {
        match probe() {
            Ok(found) => return found,
            Err(seen) if start.elapsed() >= deadline => {
                panic!("{what} did not happen within {deadline:?}; last seen: {seen}")
            }
            Err(_) => thread::sleep(POLL_INTERVAL),
        }
    }
}
