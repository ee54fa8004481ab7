//! A local folder as a warehouse: every change is made relative to an open folder, then fsynced with that folder.
//!
//! Invariant: after a call returned success, a power loss takes nothing of it back.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::{EntryOutcome, FileFacts, Listed, LockOutcome, MoveOutcome, NewFile, RandomRead, TableStore};
use crate::failpoint::{self, Point};
use crate::table::limits::LOG_FILE_BYTES_MAX;

/// Mode of new files, before the process's mask.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR).union(Mode::RGRP).union(Mode::ROTH);
/// Mode of new folders, before the process's mask.
const FOLDER_MODE: Mode = Mode::RWXU.union(Mode::RGRP).union(Mode::XGRP).union(Mode::ROTH).union(Mode::XOTH);

/// A folder on this machine.
#[derive(Debug)]
pub(in crate::table) struct LocalStore {
    root: PathBuf,
}

impl LocalStore {
    /// A store in that folder, which is created with the first table.
    pub(in crate::table) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    fn absolute(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }

    /// Opens the folder that a path is in, and names the path's last part.
    fn parent<'a>(&self, path: &'a str) -> io::Result<(OwnedFd, &'a str)> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((open_folder(&self.absolute(folder))?, name))
    }
}

impl TableStore for LocalStore {
    fn location(&self, path: &str) -> String {
        self.absolute(path).display().to_string()
    }

    fn read(&self, path: &str) -> io::Result<Option<Bytes>> {
        let Some(file) = present(File::open(self.absolute(path)))? else {
            return Ok(None);
        };
        let bytes = file.metadata()?.len();
        if bytes > LOG_FILE_BYTES_MAX {
            return Err(io::Error::other(format!(
                "`{path}` has {bytes} bytes, more than the {LOG_FILE_BYTES_MAX} that are read whole"
            )));
        }
        let mut content = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
        file.read_exact_at(&mut content, 0)?;
        Ok(Some(content.into()))
    }

    fn open(&self, path: &str) -> io::Result<Option<Arc<dyn RandomRead>>> {
        let Some(file) = present(File::open(self.absolute(path)))? else {
            return Ok(None);
        };
        let bytes = file.metadata()?.len();
        Ok(Some(Arc::new(LocalFile { file, bytes })))
    }

    fn facts(&self, path: &str) -> io::Result<Option<FileFacts>> {
        let stat = rustix::fs::statat(CWD, self.absolute(path), AtFlags::empty()).map_err(io::Error::from);
        Ok(present(stat)?.map(|stat| facts_of(&stat)))
    }

    fn create(&self, path: &str) -> io::Result<Box<dyn NewFile>> {
        let (folder, name) = self.parent(path)?;
        let temporary = temporary_name(name);
        let file = create_exclusive(&folder, &temporary)?;
        Ok(Box::new(LocalNewFile {
            folder,
            file,
            temporary,
            name: name.to_owned(),
            finished: false,
        }))
    }

    fn list(&self, folder: &str, visit: &mut dyn FnMut(Listed<'_>)) -> io::Result<bool> {
        let Some(handle) = present(open_folder(&self.absolute(folder)))? else {
            return Ok(false);
        };
        for entry in Dir::read_from(handle)? {
            let entry = entry?;
            // Names of ours and of every Delta writer are UTF-8; others are nobody's business here.
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name != "." && name != ".." {
                visit(Listed {
                    name,
                    folder: entry.file_type().is_dir(),
                });
            }
        }
        Ok(true)
    }

    fn delete(&self, path: &str) -> io::Result<()> {
        present(std::fs::remove_file(self.absolute(path))).map(|_| ())
    }

    fn create_folder(&self, folder: &str) -> io::Result<()> {
        let absolute = self.absolute(folder);
        let mut missing = Vec::new();
        let mut next: &Path = &absolute;
        while !next.exists() {
            missing.push(next);
            let Some(above) = next.parent() else { break };
            next = above;
        }
        for path in missing.into_iter().rev() {
            match rustix::fs::mkdirat(CWD, path, FOLDER_MODE) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            if let Some(above) = path.parent() {
                rustix::fs::fsync(open_folder(above)?)?;
            }
        }
        // Also those that were there: whoever made them may have ended before this.
        for above in absolute.ancestors().skip(1).take_while(|above| above.starts_with(&self.root)) {
            rustix::fs::fsync(open_folder(above)?)?;
        }
        Ok(())
    }

    fn sync_folder(&self, folder: &str) -> io::Result<()> {
        Ok(rustix::fs::fsync(open_folder(&self.absolute(folder))?)?)
    }

    fn move_folder(&self, from: &str, to: &str) -> io::Result<MoveOutcome> {
        let Some((from_folder, from_name)) = present(self.parent(from))? else {
            return Ok(MoveOutcome::SourceMissing);
        };
        if let Some((above, _)) = to.rsplit_once('/') {
            self.create_folder(above)?;
        }
        let (to_folder, to_name) = self.parent(to)?;
        let moved = match rustix::fs::renameat_with(&from_folder, from_name, &to_folder, to_name, RenameFlags::NOREPLACE) {
            // A file system without the flag: a plain rename replaces at most an empty folder.
            Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(&from_folder, from_name, &to_folder, to_name),
            other => other,
        };
        match moved {
            Ok(()) => {
                rustix::fs::fsync(&to_folder)?;
                rustix::fs::fsync(&from_folder)?;
                Ok(MoveOutcome::Moved)
            }
            Err(Errno::NOENT) => Ok(MoveOutcome::SourceMissing),
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => Ok(MoveOutcome::TargetExists),
            Err(error) => Err(error.into()),
        }
    }

    fn delete_folder(&self, folder: &str, go_on: &dyn Fn() -> bool) -> io::Result<bool> {
        delete_folder(&self.absolute(folder), go_on)
    }

    fn lock(&self, path: &str, holder: &[u8]) -> io::Result<LockOutcome> {
        super::local_lock::lock(self.absolute(path), holder)
    }

    fn write_entry(&self, folder: &str, name: &str, bytes: &[u8], previous: Option<(&str, FileFacts)>) -> io::Result<EntryOutcome> {
        // From here on the folder's handle is used and not its path: a table that is swapped meanwhile gets nothing of ours.
        let Some(log) = present(open_folder(&self.absolute(folder)))? else {
            return Ok(EntryOutcome::PreviousChanged);
        };
        if let Some((previous_name, expected)) = previous
            && entry_facts(&log, previous_name)? != Some(expected)
        {
            return Ok(EntryOutcome::PreviousChanged);
        }
        failpoint::pass(Point::CommitBeforeEntry)?;
        let temporary = temporary_name(name);
        let linked = link_new_file(&log, &temporary, name, bytes);
        // The temporary name has done its work either way; a left-over one is swept later.
        let unlinked = rustix::fs::unlinkat(&log, temporary.as_str(), AtFlags::empty());
        match linked {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(EntryOutcome::VersionTaken),
            Err(error) => return Err(error.into()),
        }
        unlinked?;
        failpoint::pass(Point::CommitAfterEntry)?;
        rustix::fs::fsync(&log)?;
        match entry_facts(&log, name)? {
            Some(facts) => Ok(EntryOutcome::Written(facts)),
            None => Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("entry `{name}` vanished after it was written"),
            )),
        }
    }
}

struct LocalFile {
    file: File,
    bytes: u64,
}

impl RandomRead for LocalFile {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

struct LocalNewFile {
    folder: OwnedFd,
    file: File,
    temporary: String,
    name: String,
    finished: bool,
}

impl Write for LocalNewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl NewFile for LocalNewFile {
    fn finish(mut self: Box<Self>) -> io::Result<FileFacts> {
        self.file.sync_all()?;
        failpoint::pass(Point::FileBeforeName)?;
        rustix::fs::renameat(&self.folder, self.temporary.as_str(), &self.folder, self.name.as_str())?;
        self.finished = true;
        failpoint::pass(Point::FileAfterName)?;
        rustix::fs::fsync(&self.folder)?;
        Ok(facts_of(&rustix::fs::fstat(&self.file)?))
    }
}

impl Drop for LocalNewFile {
    fn drop(&mut self) {
        if !self.finished
            && let Err(error) = rustix::fs::unlinkat(&self.folder, self.temporary.as_str(), AtFlags::empty())
        {
            tracing::debug!(file = self.temporary, %error, "a temporary file stays until the next sweep");
        }
    }
}

/// The name of a file while it is not yet what its name promises. Delta readers pass over it, and sweeps know it.
fn temporary_name(name: &str) -> String {
    format!(".{name}.{}{}", uuid::Uuid::new_v4().simple(), super::TEMPORARY_SUFFIX)
}

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(
        CWD,
        path,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}

/// Deletes file by file, so that a folder of many can be left off and gone on with.
fn delete_folder(folder: &Path, go_on: &dyn Fn() -> bool) -> io::Result<bool> {
    let Some(entries) = present(std::fs::read_dir(folder))? else {
        return Ok(true);
    };
    for entry in entries {
        if !go_on() {
            return Ok(false);
        }
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            present(std::fs::remove_file(entry.path()))?;
        } else if !delete_folder(&entry.path(), go_on)? {
            return Ok(false);
        }
    }
    present(std::fs::remove_dir(folder)).map(|_| true)
}

fn create_exclusive(folder: &OwnedFd, name: &str) -> Result<File, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, FILE_MODE).map(File::from)
}

/// Writes a temporary file durably and gives it its final name, unless that is taken (`EXIST`).
fn link_new_file(folder: &OwnedFd, temporary: &str, name: &str, bytes: &[u8]) -> Result<(), Errno> {
    let mut file = create_exclusive(folder, temporary)?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| failpoint::pass(Point::CommitAfterTemporary))
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    rustix::fs::linkat(folder, temporary, folder, name, AtFlags::empty())
}

fn entry_facts(folder: &OwnedFd, name: &str) -> io::Result<Option<FileFacts>> {
    let stat = rustix::fs::statat(folder, name, AtFlags::empty()).map_err(io::Error::from);
    Ok(present(stat)?.map(|stat| facts_of(&stat)))
}

fn facts_of(stat: &Stat) -> FileFacts {
    FileFacts {
        identity: stat.st_ino,
        bytes: u64::try_from(stat.st_size).unwrap_or_default(),
        modified_ns: stat
            .st_mtime
            .saturating_mul(1_000_000_000)
            .saturating_add(i64::try_from(stat.st_mtime_nsec).unwrap_or_default()),
    }
}

/// Turns "there is none" (also below something that is no folder) into nothing.
fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}
