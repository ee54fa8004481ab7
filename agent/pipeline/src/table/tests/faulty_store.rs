//! A store that counts what is read, and fails where a test says.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bytes::Bytes;

use crate::table::store::local::LocalStore;
use crate::table::store::{EntryOutcome, FileFacts, Listed, LockOutcome, MoveOutcome, NewFile, RandomRead, TableStore};

/// What happens at the next write of a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryFault {
    /// It fails and is not there.
    NotWritten,
    /// It fails and is there.
    Written,
    /// It fails, is there, and the next look at the log fails too.
    WrittenAndUnreadable,
}

/// A local store with faults and counts.
#[derive(Debug)]
pub(super) struct FaultyStore {
    inner: LocalStore,
    entry_fault: Mutex<Option<EntryFault>>,
    unreadable_looks: AtomicUsize,
    failing_creates: AtomicUsize,
    failing_lists: AtomicUsize,
    failing_syncs: AtomicUsize,
    lockless: AtomicBool,
    creates_gate: Mutex<Option<Receiver<()>>>,
    /// Told when a file has come to the gate.
    at_the_gate: Condvar,
    reads: AtomicUsize,
    opens: AtomicUsize,
    unsynced: bool,
}

impl FaultyStore {
    pub(super) fn new(inner: LocalStore) -> Arc<Self> {
        Arc::new(Self::with_sync(inner, true))
    }

    /// A store that does not wait for the disk: for scenarios of very many commits.
    pub(super) fn unsynced(inner: LocalStore) -> Arc<Self> {
        Arc::new(Self::with_sync(inner, false))
    }

    fn with_sync(inner: LocalStore, synced: bool) -> Self {
        Self {
            inner,
            unsynced: !synced,
            entry_fault: Mutex::new(None),
            unreadable_looks: AtomicUsize::new(0),
            failing_creates: AtomicUsize::new(0),
            failing_lists: AtomicUsize::new(0),
            failing_syncs: AtomicUsize::new(0),
            lockless: AtomicBool::new(false),
            creates_gate: Mutex::default(),
            at_the_gate: Condvar::new(),
            reads: AtomicUsize::new(0),
            opens: AtomicUsize::new(0),
        }
    }

    fn create_entry(&self, folder: &str, name: &str, bytes: &[u8]) -> io::Result<EntryOutcome> {
        let path = format!("{folder}/{name}");
        let mut file = std::fs::File::create_new(self.inner.location(&path))?;
        io::Write::write_all(&mut file, bytes)?;
        Ok(EntryOutcome::Written(self.inner.facts(&path)?.unwrap()))
    }

    pub(super) fn fail_next_entry(&self, fault: EntryFault) {
        *self.entry_fault.lock().unwrap() = Some(fault);
    }

    pub(super) fn fail_creates(&self, count: usize) {
        self.failing_creates.store(count, Ordering::SeqCst);
    }

    pub(super) fn fail_lists(&self, count: usize) {
        self.failing_lists.store(count, Ordering::SeqCst);
    }

    pub(super) fn fail_syncs(&self, count: usize) {
        self.failing_syncs.store(count, Ordering::SeqCst);
    }

    /// The next file to be created hangs until the answer is dropped.
    pub(super) fn hang_next_create(&self) -> Sender<()> {
        let (gate, waits) = channel();
        *self.creates_gate.lock().unwrap() = Some(waits);
        gate
    }

    /// Waits for the file that is to hang; false if none has come by then.
    pub(super) fn hangs_within(&self, wait: Duration) -> bool {
        let gate = self.creates_gate.lock().unwrap();
        let (_gate, late) = self.at_the_gate.wait_timeout_while(gate, wait, |gate| gate.is_some()).unwrap();
        !late.timed_out()
    }

    /// Whether the file that was to hang does, or has.
    pub(super) fn has_hung(&self) -> bool {
        self.creates_gate.lock().unwrap().is_none()
    }

    pub(super) fn take_locks_away(&self) {
        self.lockless.store(true, Ordering::SeqCst);
    }

    pub(super) fn give_locks_back(&self) {
        self.lockless.store(false, Ordering::SeqCst);
    }

    /// Files read since the last call.
    pub(super) fn take_reads(&self) -> usize {
        self.reads.swap(0, Ordering::SeqCst) + self.opens.swap(0, Ordering::SeqCst)
    }

    fn count_down(counter: &AtomicUsize) -> bool {
        counter
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            .is_ok()
    }
}

impl TableStore for FaultyStore {
    fn location(&self, path: &str) -> String {
        self.inner.location(path)
    }

    fn read(&self, path: &str) -> io::Result<Option<Bytes>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.inner.read(path)
    }

    fn open(&self, path: &str) -> io::Result<Option<Arc<dyn RandomRead>>> {
        self.opens.fetch_add(1, Ordering::SeqCst);
        self.inner.open(path)
    }

    fn facts(&self, path: &str) -> io::Result<Option<FileFacts>> {
        if Self::count_down(&self.unreadable_looks) {
            return Err(io::Error::other("the disk does not answer"));
        }
        self.inner.facts(path)
    }

    fn create(&self, path: &str) -> io::Result<Box<dyn NewFile>> {
        let gate = self.creates_gate.lock().unwrap().take();
        if let Some(gate) = gate {
            self.at_the_gate.notify_all();
            let _opened_by_dropping = gate.recv();
        }
        if Self::count_down(&self.failing_creates) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.inner.create(path)
    }

    fn list(&self, folder: &str, visit: &mut dyn FnMut(Listed<'_>)) -> io::Result<bool> {
        if Self::count_down(&self.failing_lists) {
            return Err(io::Error::other("the disk does not answer"));
        }
        self.inner.list(folder, visit)
    }

    fn delete(&self, path: &str) -> io::Result<()> {
        self.inner.delete(path)
    }

    fn create_folder(&self, folder: &str) -> io::Result<()> {
        self.inner.create_folder(folder)
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        if Self::count_down(&self.failing_syncs) {
            return Err(io::Error::other("the disk does not answer"));
        }
        self.inner.sync_folder(folder)
    }

    fn move_folder(&self, from: &str, to: &str) -> io::Result<MoveOutcome> {
        self.inner.move_folder(from, to)
    }

    fn delete_folder(&self, folder: &str, go_on: &dyn Fn() -> bool) -> io::Result<bool> {
        self.inner.delete_folder(folder, go_on)
    }

    fn lock(&self, path: &str, holder: &[u8]) -> io::Result<LockOutcome> {
        if self.lockless.load(Ordering::SeqCst) {
            return Ok(LockOutcome::Unsupported(io::ErrorKind::Unsupported.into()));
        }
        self.inner.lock(path, holder)
    }

    fn write_entry(&self, folder: &str, name: &str, bytes: &[u8], previous: Option<(&str, FileFacts)>) -> io::Result<EntryOutcome> {
        // Faults are those of logs, not of the warehouse's mark.
        if folder.is_empty() {
            return self.inner.write_entry(folder, name, bytes, previous);
        }
        let fault = self.entry_fault.lock().unwrap().take();
        let failure = || Err(io::Error::other("the answer was lost"));
        match fault {
            None if self.unsynced => self.create_entry(folder, name, bytes),
            None => self.inner.write_entry(folder, name, bytes, previous),
            Some(EntryFault::NotWritten) => failure(),
            Some(EntryFault::Written) => self.inner.write_entry(folder, name, bytes, previous).and_then(|_| failure()),
            Some(EntryFault::WrittenAndUnreadable) => {
                self.inner.write_entry(folder, name, bytes, previous)?;
                self.unreadable_looks.store(1, Ordering::SeqCst);
                failure()
            }
        }
    }
}
