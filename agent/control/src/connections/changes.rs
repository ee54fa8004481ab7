//! Tells pipelines that what they connect with was changed: a connection, a secret that it refers to, or a store of keys.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use stream_spec::name::ConnectionName;
use stream_spec::stream::DirectMtlsConfig;
use tokio::sync::watch;

/// Tells pipelines that what they connect with was changed.
#[derive(Debug, Default)]
pub struct ConnectionChanges {
    /// One counter for each connection that a pipeline follows.
    counters: Mutex<HashMap<Followed, watch::Sender<u64>>>,
}

/// What a pipeline connects with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Followed {
    Connection(ConnectionName),
    Direct(Box<DirectMtlsConfig>),
}

impl ConnectionChanges {
    /// Moves the connection's counter.
    pub fn announce(&self, name: &ConnectionName) {
        self.announce_if(|followed| matches!(followed, Followed::Connection(found) if found == name));
    }

    /// Moves the counters of those who connect by stores of keys of which that is true.
    pub(crate) fn announce_direct(&self, concerns: impl Fn(&DirectMtlsConfig) -> bool) {
        self.announce_if(|followed| matches!(followed, Followed::Direct(found) if concerns(found)));
    }

    /// Moves every counter: it was changed who may use what.
    pub fn announce_all(&self) {
        self.announce_if(|_| true);
    }

    fn announce_if(&self, concerns: impl Fn(&Followed) -> bool) {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody follows it any more: forgotten, so that the map stays as small as the number of connections in use.
        counters.retain(|_, counter| counter.receiver_count() > 0);
        for (_, counter) in counters.iter().filter(|(followed, _)| concerns(followed)) {
            counter.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    pub(super) fn follow(&self, name: &ConnectionName) -> watch::Receiver<u64> {
        self.follow_what(Followed::Connection(name.clone()))
    }

    pub(super) fn follow_direct(&self, direct: &DirectMtlsConfig) -> watch::Receiver<u64> {
        self.follow_what(Followed::Direct(Box::new(direct.clone())))
    }

    fn follow_what(&self, what: Followed) -> watch::Receiver<u64> {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.entry(what).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    /// What pipelines connect with that is stores of keys.
    pub(super) fn followed_direct(&self) -> Vec<DirectMtlsConfig> {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let followed = counters.iter().filter(|(_, counter)| counter.receiver_count() > 0);
        let direct = followed.filter_map(|(followed, _)| match followed {
            Followed::Direct(direct) => Some(direct.as_ref().clone()),
            Followed::Connection(_) => None,
        });
        direct.collect()
    }
}
