//! Files of tables, behind one trait: the only part of this room that touches storage.
//!
//! What a file means is not known here. Calls block, so the room makes them on blocking threads. Invariant: a file is
//! visible under its name completely and durably, or not at all.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;

pub(super) mod local;
mod local_lock;
pub(super) mod table_files;

/// What tells two files of one name apart: a file that was replaced, even by an equally long one, has another identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileFacts {
    /// The inode of a local file; an object store's entity tag in short.
    pub identity: u64,
    /// Length.
    pub bytes: u64,
    /// Last change, in nanoseconds since 1970.
    pub modified_ns: i64,
}

impl FileFacts {
    /// Last change, in milliseconds since 1970.
    pub(super) fn modified_ms(&self) -> i64 {
        self.modified_ns.div_euclid(1_000_000)
    }
}

/// How an attempt to write a log entry ended. An error instead means that nobody knows: the log must be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryOutcome {
    /// The entry is there, and durable.
    Written(FileFacts),
    /// Another writer's entry (or our own, of an attempt that was thought lost) has this version.
    VersionTaken,
    /// The entry before is not the one that was expected, or the log is gone.
    PreviousChanged,
}

/// How moving a folder ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveOutcome {
    /// It is at the new place.
    Moved,
    /// There was nothing to move.
    SourceMissing,
    /// Something is at the new place.
    TargetExists,
}

/// A file that is being written; dropped without [`NewFile::finish`], it leaves nothing under its name.
pub(super) trait NewFile: Write + Send {
    /// Makes the file durable and visible.
    fn finish(self: Box<Self>) -> io::Result<FileFacts>;
}

/// A file that is read in pieces.
pub(super) trait RandomRead: Send + Sync {
    /// Length.
    fn bytes(&self) -> u64;
    /// Fills the buffer from that offset on.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

/// What a listing says of one name in a folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed<'a> {
    /// Name inside the folder.
    pub name: &'a str,
    /// Whether it is a folder.
    pub folder: bool,
}

/// How an attempt to lock a file ended.
#[derive(Debug)]
pub(super) enum LockOutcome {
    /// This process has the lock, until the value is dropped or the process ends.
    Held(Box<dyn FileLock>),
    /// Another holder has it; this is what it wrote there.
    HeldByAnother(String),
    /// There are no locks here.
    Unsupported(io::Error),
}

/// A lock that is held.
pub(super) trait FileLock: fmt::Debug + Send {
    /// Whether the file that is locked is still the one of that name.
    fn is_in_place(&self) -> io::Result<bool>;
}

/// Storage of one warehouse. Paths are relative to it, with `/`.
pub(super) trait TableStore: fmt::Debug + Send + Sync {
    /// Where a path is, for people and readers.
    fn location(&self, path: &str) -> String;
    /// The whole file, or nothing if there is none.
    fn read(&self, path: &str) -> io::Result<Option<Bytes>>;
    /// Opens a file for reading in pieces, or nothing if there is none.
    fn open(&self, path: &str) -> io::Result<Option<Arc<dyn RandomRead>>>;
    /// Facts of a file or folder, or nothing if there is none.
    fn facts(&self, path: &str) -> io::Result<Option<FileFacts>>;
    /// Begins a file that replaces one of that name when it is finished. Its folder must exist.
    fn create(&self, path: &str) -> io::Result<Box<dyn NewFile>>;
    /// Calls `visit` for each name in a folder, in no order; false if there is no such folder.
    fn list(&self, folder: &str, visit: &mut dyn FnMut(Listed<'_>)) -> io::Result<bool>;
    /// Deletes a file; one that is missing is success.
    fn delete(&self, path: &str) -> io::Result<()>;
    /// Creates a folder and those above it; one that exists is success.
    fn create_folder(&self, folder: &str) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, folder: &str) -> io::Result<()>;
    /// Moves a folder with all it holds, in one step, never onto another one.
    fn move_folder(&self, from: &str, to: &str) -> io::Result<MoveOutcome>;
    /// Deletes a folder with all it holds, as long as it is to go on; false if it ended before. One that is missing is success.
    fn delete_folder(&self, folder: &str, go_on: &dyn Fn() -> bool) -> io::Result<bool>;
    /// Locks a file, which is made if it is missing, and writes `holder` into it. Its folder must exist.
    fn lock(&self, path: &str, holder: &[u8]) -> io::Result<LockOutcome>;
    /// Writes a log entry if no file has its name and, where given, the entry `previous` still is what it was.
    fn write_entry(&self, folder: &str, name: &str, bytes: &[u8], previous: Option<(&str, FileFacts)>) -> io::Result<EntryOutcome>;
}

/// How the name of an unfinished file ends.
pub(super) const TEMPORARY_SUFFIX: &str = ".tmp";
