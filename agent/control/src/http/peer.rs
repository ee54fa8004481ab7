//! Who is on the other side of a connection, and what its calls tell of it. The invariant: a connection counts as a stranger's or as
//! one of its principal's while it is open, and as nobody's afterwards, though calls that came by it may go on.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::strangers::Stranger;
use crate::governance::admission::{Admission, Connected, NotAdmitted};
use crate::governance::authentication::certificate::CertificateName;
use crate::limits::REFUSALS_PER_CONNECTION_MAX;

/// The other side of a connection; in each request that comes by it.
#[derive(Clone, Debug, Default)]
pub(super) struct Peer {
    /// The name in its certificate, which was checked, or why there is none in it.
    pub(super) certificate: Option<Arc<Result<CertificateName, String>>>,
    /// Where it comes from.
    pub(super) address: Option<IpAddr>,
    seen: Arc<Seen>,
}

/// What was seen of it by now.
#[derive(Debug)]
struct Seen {
    standing: Mutex<Standing>,
    refusals: AtomicU32,
    /// Cancelled when too many of its calls were refused.
    unwelcome: CancellationToken,
    last_call: Mutex<Instant>,
    answers: Mutex<Answers>,
}

#[derive(Debug, Default)]
enum Standing {
    /// No connection, or none any more.
    #[default]
    Gone,
    Stranger {
        _place: Stranger,
    },
    Known {
        _connected: Connected,
    },
}

/// Answers that are not taken yet, by the order in which they began.
#[derive(Debug, Default)]
struct Answers {
    next: u64,
    begun: BTreeMap<u64, Instant>,
}

/// An answer on its way; it has arrived when this is dropped.
#[derive(Debug)]
pub(super) struct Answering {
    seen: Arc<Seen>,
    number: u64,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            standing: Mutex::default(),
            refusals: AtomicU32::default(),
            unwelcome: CancellationToken::new(),
            last_call: Mutex::new(Instant::now()),
            answers: Mutex::default(),
        }
    }
}

impl Peer {
    /// One that is not known, whatever its certificate says: nobody has looked who may come yet.
    pub(super) fn stranger(place: Stranger, certificate: Option<Result<CertificateName, String>>) -> Self {
        let peer = Self {
            certificate: certificate.map(Arc::new),
            address: place.address(),
            ..Self::default()
        };
        *peer.seen.standing() = Standing::Stranger { _place: place };
        peer
    }

    /// A call of `principal` came from it: its connection is one of that principal's from its first call on.
    pub(super) fn known_as(&self, principal: &str, admission: &Arc<Admission>) -> Result<(), NotAdmitted> {
        let mut standing = self.seen.standing();
        if matches!(*standing, Standing::Stranger { .. }) {
            *standing = Standing::Known {
                _connected: admission.connect(principal, std::time::Instant::now())?,
            };
        }
        Ok(())
    }

    pub(super) fn is_known(&self) -> bool {
        matches!(*self.seen.standing(), Standing::Known { .. })
    }

    /// A call came from nobody who is known. A few are mistakes; each costs a look into the database or a signature.
    pub(super) fn refused(&self) {
        if self.seen.refusals.fetch_add(1, Ordering::Relaxed) + 1 >= REFUSALS_PER_CONNECTION_MAX {
            self.seen.unwelcome.cancel();
        }
    }

    /// Waits until too many calls were refused.
    pub(super) async fn unwelcome(&self) {
        self.seen.unwelcome.cancelled().await;
    }

    /// A request came.
    pub(super) fn called(&self) {
        *self.seen.last_call.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// When the last request came, or the connection was made.
    pub(super) fn last_call(&self) -> Instant {
        *self.seen.last_call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An answer is about to be sent.
    pub(super) fn answering(&self) -> Answering {
        let mut answers = self.seen.answers();
        let number = answers.next;
        answers.next += 1;
        answers.begun.insert(number, Instant::now());
        Answering {
            seen: self.seen.clone(),
            number,
        }
    }

    /// Since when there is an answer that was not taken.
    pub(super) fn oldest_answer(&self) -> Option<Instant> {
        self.seen.answers().begun.first_key_value().map(|(_, begun)| *begun)
    }

    /// Its connection is over.
    pub(super) fn leave(&self) {
        *self.seen.standing() = Standing::Gone;
    }
}

impl Seen {
    fn standing(&self) -> std::sync::MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.seen.answers().begun.remove(&self.number);
    }
}
