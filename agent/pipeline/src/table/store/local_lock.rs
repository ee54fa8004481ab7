//! A lock on a local file, by `flock`: it goes with the process that holds it, at the latest when that ends.
//!
//! Invariant: what is held is a lock on the file that has the name now, or `is_in_place` says that it is not. The text in it is
//! for people, and the lock holds also where it cannot be written: on a disk that is full, or read-only.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::{FileLock, LockOutcome};
use crate::table::limits::{LOCK_ATTEMPTS_MAX, LOCK_HOLDER_BYTES_MAX};

/// Mode of the file, before the process's mask.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR).union(Mode::RGRP).union(Mode::ROTH);

/// A file that this process has locked.
#[derive(Debug)]
struct LocalLock {
    path: PathBuf,
    file: File,
}

/// Locks the file at that path and says in it who did.
pub(super) fn lock(path: PathBuf, holder: &[u8]) -> io::Result<LockOutcome> {
    for _ in 0..LOCK_ATTEMPTS_MAX {
        // Not open for writing where that can be: it would keep people from making the disk read-only.
        let mut file = match open(&path, OFlags::RDONLY) {
            Ok(file) => file,
            Err(error) if cannot_be_made(&error) => return Ok(LockOutcome::Unsupported(error)),
            Err(error) => return Err(error),
        };
        let mut locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        if locked == Err(Errno::BADF) {
            // Network file systems lock only what is open for writing.
            file = open(&path, OFlags::RDWR)?;
            locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        }
        match locked {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(LockOutcome::HeldByAnother(text_of(&mut file).unwrap_or_default())),
            Err(error @ (Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)) => {
                return Ok(LockOutcome::Unsupported(error.into()));
            }
            Err(error) => return Err(error.into()),
        }
        let lock = LocalLock { path: path.clone(), file };
        // Someone may have removed the file between the two calls: then a lock on it keeps nobody out.
        if lock.is_in_place()? {
            if let Err(error) = say_in(&path, holder) {
                tracing::warn!(%error, path = %path.display(), "the warehouse is locked, but who has it cannot be written down");
            }
            return Ok(LockOutcome::Held(Box::new(lock)));
        }
    }
    Err(io::Error::other(format!("`{}` is removed again and again", path.display())))
}

fn say_in(path: &Path, holder: &[u8]) -> io::Result<()> {
    let words = open(path, OFlags::RDWR)?;
    words.set_len(0)?;
    words.write_all_at(holder, 0)
}

impl FileLock for LocalLock {
    fn is_in_place(&self) -> io::Result<bool> {
        let held = self.file.metadata()?;
        match std::fs::metadata(&self.path) {
            Ok(named) => Ok((named.dev(), named.ino()) == (held.dev(), held.ino())),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn open(path: &Path, access: OFlags) -> io::Result<File> {
    Ok(File::from(rustix::fs::openat(
        CWD,
        path,
        access | OFlags::CREATE | OFlags::CLOEXEC,
        MODE,
    )?))
}

/// Whether a disk has no file yet and takes none: it can be read, and what it holds can be deleted, all the same.
fn cannot_be_made(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn text_of(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(LOCK_HOLDER_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
