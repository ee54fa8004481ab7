//! Connections on which nobody is known yet. The invariant: there are at most so many, and one more costs the oldest its place,
//! never a caller that is known, and never the newcomer: whoever can say who it is does so at once.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::limits::STRANGERS_MAX;

/// The connections on which nobody is known.
#[derive(Debug, Default)]
pub(super) struct Strangers {
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    /// By the order in which they came.
    connections: BTreeMap<u64, CancellationToken>,
}

/// A stranger's place; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Stranger {
    strangers: Arc<Strangers>,
    number: u64,
    address: Option<IpAddr>,
    sent_away: CancellationToken,
}

impl Strangers {
    /// Takes one more in, from that address, and sends the oldest away if there are too many.
    pub(super) fn take_in(self: &Arc<Self>, address: Option<IpAddr>) -> Stranger {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.connections.len() >= STRANGERS_MAX
            && let Some((_, oldest)) = waiting.connections.pop_first()
        {
            oldest.cancel();
        }
        let (number, sent_away) = (waiting.next, CancellationToken::new());
        waiting.next += 1;
        waiting.connections.insert(number, sent_away.clone());
        Stranger {
            strangers: self.clone(),
            number,
            // One that comes by IPv4 to a port of both is the same one.
            address: address.map(|address| address.to_canonical()),
            sent_away,
        }
    }
}

impl Stranger {
    /// Where it comes from.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Cancelled when it has to leave for others.
    pub(super) fn sent_away(&self) -> CancellationToken {
        self.sent_away.clone()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let mut waiting = self.strangers.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.connections.remove(&self.number);
    }
}
