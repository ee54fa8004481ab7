//! The one place that reads the wall clock. Times are milliseconds since 1970 everywhere in this package; durations that
//! control behaviour use the monotonic clock of the runtime instead.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970-01-01T00:00:00Z.
pub(crate) fn now_ms() -> i64 {
    // A clock before 1970 or after year 292 million is a broken machine; zero shows it without stopping anything.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .unwrap_or(0)
}
