//! How many Kafka clients are open, and how often they asked: reported, and the clients bounded.
//!
//! Invariant: a client counts from before it is opened until it is closed, however long closing takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::error::{PipelineError, Retry};

/// The clients of an agent.
#[derive(Debug)]
pub(crate) struct ClientCount {
    /// As many as may be open.
    max: usize,
    open: AtomicUsize,
    metadata_requests: AtomicU64,
    offset_requests: AtomicU64,
}

/// One client's place among them.
#[derive(Debug)]
pub(crate) struct ClientPlace(Arc<ClientCount>);

impl ClientCount {
    /// None yet.
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            open: AtomicUsize::new(0),
            metadata_requests: AtomicU64::new(0),
            offset_requests: AtomicU64::new(0),
        })
    }

    /// For clients that are neither reported nor bounded: those by which a connection is tried.
    pub(crate) fn apart() -> Arc<Self> {
        Self::new(usize::MAX)
    }

    /// Takes a place for a client, if there is one.
    pub(crate) fn take_place(self: &Arc<Self>) -> Result<ClientPlace, PipelineError> {
        let one_more = |open: usize| (open < self.max).then_some(open + 1);
        match self.open.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more) {
            Ok(_) => Ok(ClientPlace(self.clone())),
            Err(_) => Err(PipelineError::Source {
                reason: "TooManyClients",
                message: format!(
                    "the agent has {} Kafka clients open, as many as its setting `kafka_clients_max` allows; let fewer streams read one topic, or \
                     give them the same connection and `extra_options`, because then they share a client where their topics differ, or raise the \
                     setting",
                    self.max
                ),
                retry: Retry::Later,
            }),
        }
    }

    /// As many as may be open.
    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// Clients that are open, those that are being closed among them.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    /// Questions about topics so far.
    pub(crate) fn metadata_requests(&self) -> u64 {
        self.metadata_requests.load(Ordering::Relaxed)
    }

    /// Questions about offsets so far.
    pub(crate) fn offset_requests(&self) -> u64 {
        self.offset_requests.load(Ordering::Relaxed)
    }

    /// A client asks about topics.
    pub(crate) fn note_metadata_request(&self) {
        self.metadata_requests.fetch_add(1, Ordering::Relaxed);
    }

    /// A client asks about offsets.
    pub(crate) fn note_offset_request(&self) {
        self.offset_requests.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for ClientPlace {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}
