//! A master key in a file: one line of base64, readable by its owner alone.
//!
//! The invariant: the file at the path is there whole or not at all, whenever the process or the machine stops. A rotation
//! writes the next key beside it first, and puts it in its place last; the former key stays under a name of its own, because
//! copies of the database may need it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use super::cipher::Key;
use super::master::{KeyWrapper, LocalKey};
use crate::limits::MASTER_KEY_FILE_BYTES_MAX;

/// Why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The system refused.
    #[error("cannot {action} the master key file {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// Others may read it.
    #[error("the master key file {} may be read or changed by others (mode {mode:03o}); make it yours alone: chmod 600 {}", path.display(), path.display())]
    NotPrivate {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It holds something else.
    #[error("the file {} holds no master key; a master key is one line of base64 of 32 random bytes, as `openssl rand -base64 32` makes it", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// No random numbers.
    #[error("cannot make a master key: the system gave no random numbers")]
    Random,
}

/// The key in a file; `None` if there is no file.
pub fn read(path: &Path) -> Result<Option<LocalKey>, KeyFileError> {
    let failed = |source| KeyFileError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    // Of the open file, not of the name: nobody can put another one there in between.
    let mode = file.metadata().map_err(failed)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeyFileError::NotPrivate {
            path: path.to_owned(),
            mode,
        });
    }
    let mut text = Zeroizing::new(String::with_capacity(MASTER_KEY_FILE_BYTES_MAX));
    let no_key = || KeyFileError::NoKey { path: path.to_owned() };
    let limit = u64::try_from(MASTER_KEY_FILE_BYTES_MAX).unwrap_or(u64::MAX);
    file.take(limit).read_to_string(&mut text).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => no_key(),
        _ => failed(error),
    })?;
    from_base64(&text).map(Some).ok_or_else(no_key)
}

/// The key of a text: base64 of 32 bytes, white space around it.
pub fn from_base64(text: &str) -> Option<LocalKey> {
    let bytes = Zeroizing::new(STANDARD.decode(text.trim()).ok()?);
    LocalKey::from_bytes(&bytes)
}

/// Makes a file with a new key. A file that is there already, be it since a moment ago, is read instead.
pub fn create(path: &Path) -> Result<LocalKey, KeyFileError> {
    let failed = |source| KeyFileError::Io {
        action: "create",
        path: path.to_owned(),
        source,
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(failed)?;
    let key = Key::random().map_err(|_| KeyFileError::Random)?;
    let text = Zeroizing::new(format!("{}\n", STANDARD.encode(key.bytes())));
    let being_written = beside(path, &format!(".{}.new", std::process::id()));
    let write = || {
        // Left by a process of the same number that was killed.
        match std::fs::remove_file(&being_written) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&being_written)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().map_err(failed)?;
    // Refuses to replace a file, unlike a renaming.
    let linked = std::fs::hard_link(&being_written, path);
    std::fs::remove_file(&being_written).map_err(failed)?;
    match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    sync_folder(path).map_err(failed)?;
    read(path)?.ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))
}

/// Where a rotation keeps the next key until every scope is sealed under it.
pub fn next_to(path: &Path) -> PathBuf {
    beside(path, ".next")
}

/// Puts the next key in the place of the current one, which stays beside it under its own name. Returns that name.
pub fn promote(path: &Path) -> Result<PathBuf, KeyFileError> {
    let failed = |source| KeyFileError::Io {
        action: "replace",
        path: path.to_owned(),
        source,
    };
    let current = read(path)?.ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))?;
    let former = beside(path, &format!(".{}", current.id().replace('/', "-")));
    match std::fs::hard_link(path, &former) {
        // From a rotation that was interrupted here.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        linked => linked.map_err(failed)?,
    }
    std::fs::rename(next_to(path), path).map_err(failed)?;
    sync_folder(path).map_err(failed)?;
    Ok(former)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn sync_folder(path: &Path) -> std::io::Result<()> {
    File::open(
        path.parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new(".")),
    )?
    .sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_read_by_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/master.key");
        assert!(read(&path).unwrap().is_none());
        let made = create(&path).unwrap();
        assert_eq!(create(&path).unwrap().id(), made.id(), "what is there stays");
        assert_eq!(read(&path).unwrap().unwrap().id(), made.id());
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "nothing is left beside it"
        );
        for (mode, private) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o620, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            match read(&path) {
                Ok(key) => assert!(private && key.is_some(), "{mode:o}"),
                Err(error) => assert!(!private && error.to_string().contains("chmod 600"), "{mode:o} {error}"),
            }
        }
    }

    #[test]
    fn what_is_no_key_is_refused_without_being_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        let (short, long) = (STANDARD.encode([1; 31]), STANDARD.encode([1; 33]));
        for text in ["", "hunter2", short.as_str(), long.as_str(), "AAAA\nAAAA", &"A".repeat(1 << 20)] {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            let error = read(&path).err().unwrap().to_string();
            assert!(error.contains("openssl rand") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn the_next_key_takes_the_place_and_the_former_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        let (current, next) = (create(&path).unwrap(), create(&next_to(&path)).unwrap());
        let former = promote(&path).unwrap();
        assert_eq!(read(&path).unwrap().unwrap().id(), next.id());
        assert_eq!(read(&former).unwrap().unwrap().id(), current.id());
        assert!(read(&next_to(&path)).unwrap().is_none());
    }
}
