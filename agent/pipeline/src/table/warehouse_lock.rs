//! The lock of a warehouse: one agent has it at a time.
//!
//! The system gives it back when the holder's process ends, however that ends, so a restart waits for nothing. It lies on the
//! file and not on its name: a folder that is mounted over the one that was locked is locked anew. Invariant: it only spares
//! people trouble; that no row is there twice is each table's own to see to, also where locks do not hold.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::store::{FileLock, LockOutcome, TableStore};

/// The file in the root. Names of catalogs do not start so.
pub(super) const LOCK: &str = "_featurestore_lock";

/// A holder whose words are not there: it has not come to write them, or cannot.
const UNNAMED: &str = "one that is just starting, or that could not say who it is";

/// Why a warehouse is not ours.
#[derive(Debug)]
pub(super) enum NotHeld {
    /// Another process has it; its own words on who it is.
    ByAnother(String),
    /// Nobody knows.
    Failed(io::Error),
}

/// The lock of one warehouse; all clones are one.
#[derive(Clone, Debug)]
pub(super) struct WarehouseLock {
    store: Arc<dyn TableStore>,
    wanted: Arc<AtomicBool>,
    /// Somebody was told that it cannot be had here.
    said_missing: Arc<AtomicBool>,
    held: Arc<Mutex<Option<Box<dyn FileLock>>>>,
}

impl WarehouseLock {
    /// A lock that is not wanted yet.
    pub(super) fn new(store: Arc<dyn TableStore>) -> Self {
        Self {
            store,
            wanted: Arc::default(),
            said_missing: Arc::default(),
            held: Arc::default(),
        }
    }

    /// From now on it is to be held.
    pub(super) fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Takes it, or sees that it is still held; nothing where it is not wanted. The root must be there.
    pub(super) fn hold(&self) -> Result<(), NotHeld> {
        if !self.wanted.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = &*held
            && lock.is_in_place().map_err(NotHeld::Failed)?
        {
            return Ok(());
        }
        // The old one first: what it is on may be the very file that is locked next.
        *held = None;
        match self.store.lock(LOCK, who().as_bytes()).map_err(NotHeld::Failed)? {
            LockOutcome::Held(lock) => {
                self.said_missing.store(false, Ordering::Relaxed);
                *held = Some(lock);
                Ok(())
            }
            LockOutcome::HeldByAnother(holder) if holder.trim().is_empty() => Err(NotHeld::ByAnother(UNNAMED.into())),
            LockOutcome::HeldByAnother(holder) => Err(NotHeld::ByAnother(holder.trim().to_owned())),
            LockOutcome::Unsupported(error) => {
                // Tried again at the next step: a lock daemon comes back, a disk becomes writable.
                if !self.said_missing.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%error, "the warehouse cannot be locked: see to it that no other agent uses it");
                }
                Ok(())
            }
        }
    }
}

/// Who holds the lock, for whoever finds it held.
fn who() -> String {
    let system = rustix::system::uname();
    format!(
        "process {} on host {} since {:.0}\n",
        std::process::id(),
        system.nodename().to_string_lossy(),
        jiff::Timestamp::now()
    )
}
