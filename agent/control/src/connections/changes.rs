//! Tells pipelines that a connection, or a secret that it refers to, was changed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use stream_spec::name::ConnectionName;
use tokio::sync::watch;

/// Tells pipelines that a connection was changed.
#[derive(Debug, Default)]
pub struct ConnectionChanges {
    /// One counter per connection that a pipeline follows.
    counters: Mutex<HashMap<ConnectionName, watch::Sender<u64>>>,
    /// Moves with all of them.
    all: watch::Sender<u64>,
}

impl ConnectionChanges {
    /// Moves the connection's counter.
    pub fn announce(&self, name: &ConnectionName) {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody follows it any more: forgotten, so that the map stays as small as the number of connections in use.
        counters.retain(|_, counter| counter.receiver_count() > 0);
        if let Some(counter) = counters.get(name) {
            counter.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// Moves every counter: it was changed who may use what.
    pub fn announce_all(&self) {
        self.all.send_modify(|count| *count = count.wrapping_add(1));
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.retain(|_, counter| counter.receiver_count() > 0);
        for counter in counters.values() {
            counter.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// For what has no connection of its own.
    pub(super) fn follow_all(&self) -> watch::Receiver<u64> {
        self.all.subscribe()
    }

    pub(super) fn follow(&self, name: &ConnectionName) -> watch::Receiver<u64> {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.entry(name.clone()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }
}
