//! What the tests of this package share: a scripted engine over a world of tables, a store with faults, definitions.

pub(crate) mod aws;
pub(crate) mod definitions;
pub(crate) mod effects;
pub(crate) mod engine;
pub(crate) mod store;

use std::time::Duration;

/// Waits until `condition` is true, or fails after ten seconds.
pub(crate) async fn wait_until<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    while !condition().await {
        assert!(tokio::time::Instant::now() < deadline, "waited too long until {what}");
        tokio::task::yield_now().await;
    }
}
