//! Reads the files of volumes, `/Volumes/<catalog>/<schema>/<volume>/…`. Who may is decided before.
//!
//! The invariant: what is read lies in the volume's folder. The kernel holds the path to it, links included
//! (`RESOLVE_BENEATH`), so that nobody who changes the folder meanwhile leads it out.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;
use stream_spec::name::VolumeName;
use stream_spec::volume::{VOLUME_PATH_FORM, VolumePath};
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use super::secrets::SecretValue;
use crate::limits::{VOLUME_FILE_BYTES_MAX, VOLUME_READ_WAIT};
use crate::store::documents::VolumeRecord;
use crate::store::{Store, StoreError, documents};

/// Why a file of a volume cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum VolumeError {
    /// The text is no path of a file in a volume.
    #[error("`{path}` is not a file's path in a volume: {problem}; write {VOLUME_PATH_FORM}")]
    NotAPath {
        /// The text.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// There is no such volume.
    #[error("there is no volume `{volume}`; create it, or name another one")]
    VolumeMissing {
        /// Its name.
        volume: VolumeName,
    },
    /// The volume is in an object store.
    #[error("this agent cannot read `{path}` yet: the volume is at {location}; use a volume in a local folder")]
    ObjectStore {
        /// The file.
        path: String,
        /// Where the volume is.
        location: String,
    },
    /// There is no such file.
    #[error("there is no file `{path}`; the volume is the folder {location}")]
    FileMissing {
        /// The file.
        path: String,
        /// Where the volume is.
        location: String,
    },
    /// The path leads out of the volume.
    #[error("`{path}` leads out of its volume by a link; put the file itself there")]
    Escapes {
        /// The file.
        path: String,
    },
    /// It is a folder, a pipe or a device.
    #[error("`{path}` is not a file")]
    NotAFile {
        /// The path.
        path: String,
    },
    /// It is larger than it may be.
    #[error("the file `{path}` has more than {bytes_max} bytes, and no larger one is read here")]
    TooLarge {
        /// The file.
        path: String,
        /// The bound.
        bytes_max: usize,
    },
    /// The file system hangs.
    #[error("`{path}` is not read in time; see whether the file system that it is on answers")]
    Slow {
        /// The file.
        path: String,
    },
    /// The system refused.
    #[error("cannot read `{path}`: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The store failed.
    #[error("the agent's database failed: {0}")]
    Store(#[from] StoreError),
}

/// Reads files of volumes.
#[derive(Clone)]
pub struct VolumeReader {
    store: Arc<dyn Store>,
    /// One file at a time of each volume: a file system that hangs keeps one thread, and no other volume waits for it.
    turns: Arc<Mutex<HashMap<VolumeName, Weak<Semaphore>>>>,
}

impl VolumeReader {
    /// A reader of the volumes in this store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            turns: Arc::default(),
        }
    }

    /// The bytes of a file of at most `bytes_max` bytes. They may be a private key, so they are wiped after use.
    pub async fn read(&self, path: &str, bytes_max: usize) -> Result<SecretValue, VolumeError> {
        let parsed = VolumePath::parse(path).map_err(|problem| VolumeError::NotAPath {
            path: path.to_owned(),
            problem,
        })?;
        let record: Option<VolumeRecord> = documents::get(&self.store, parsed.volume.as_str()).await?;
        let Some(VolumeRecord { storage_location, .. }) = record else {
            return Err(VolumeError::VolumeMissing { volume: parsed.volume });
        };
        let Some(folder) = local_folder(&storage_location) else {
            return Err(VolumeError::ObjectStore {
                path: path.to_owned(),
                location: storage_location,
            });
        };
        let reading = self.read_in_turn(parsed, folder, path.to_owned(), bytes_max.min(VOLUME_FILE_BYTES_MAX));
        let read = tokio::time::timeout(VOLUME_READ_WAIT, reading).await;
        read.unwrap_or_else(|_| Err(VolumeError::Slow { path: path.to_owned() }))
    }

    async fn read_in_turn(&self, parsed: VolumePath, folder: PathBuf, path: String, bytes_max: usize) -> Result<SecretValue, VolumeError> {
        let failed = |path: String, error: Box<dyn std::error::Error + Send + Sync>| VolumeError::Io {
            path,
            source: std::io::Error::other(error),
        };
        let turn = self.turn(&parsed.volume).acquire_owned().await;
        let turn = turn.map_err(|error| failed(path.clone(), error.into()))?;
        let shown = path.clone();
        let read = tokio::task::spawn_blocking(move || {
            let bytes = read_beneath(&folder, &parsed.below(), &path, bytes_max);
            // Kept by the thread, however long it takes, and not by who waits for it.
            drop(turn);
            bytes
        });
        read.await.unwrap_or_else(|error| Err(failed(shown, error.into())))
    }

    fn turn(&self, volume: &VolumeName) -> Arc<Semaphore> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(volume).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::new(Semaphore::new(1));
        turns.insert(volume.clone(), Arc::downgrade(&turn));
        turn
    }
}

/// The folder of a location; `None` for an object store's URL.
pub(super) fn local_folder(location: &str) -> Option<PathBuf> {
    match location.split_once("://") {
        Some(("file", path)) => Some(PathBuf::from(path)),
        Some(_) => None,
        None => Some(PathBuf::from(location)),
    }
}

fn read_beneath(folder: &std::path::Path, below: &str, path: &str, bytes_max: usize) -> Result<SecretValue, VolumeError> {
    let failed = |error: Errno| match error {
        Errno::NOENT | Errno::NOTDIR => VolumeError::FileMissing {
            path: path.to_owned(),
            location: folder.display().to_string(),
        },
        Errno::XDEV | Errno::LOOP => VolumeError::Escapes { path: path.to_owned() },
        error => VolumeError::Io {
            path: path.to_owned(),
            source: error.into(),
        },
    };
    let root = openat(CWD, folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
    // Without waiting for whoever writes to a pipe of that name.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let file = openat2(&root, below, flags, Mode::empty(), resolve).map_err(failed)?;
    let found = fstat(&file).map_err(failed)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(VolumeError::NotAFile { path: path.to_owned() });
    }
    let too_large = || VolumeError::TooLarge {
        path: path.to_owned(),
        bytes_max,
    };
    if usize::try_from(found.st_size).is_ok_and(|bytes| bytes > bytes_max) {
        return Err(too_large());
    }
    // One byte more tells of a file that grew meanwhile. All room at once: a vector that grows leaves copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(bytes_max + 1));
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    File::from(file)
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|source| VolumeError::Io {
            path: path.to_owned(),
            source,
        })?;
    if bytes.len() > bytes_max {
        return Err(too_large());
    }
    Ok(SecretValue::new(std::mem::take(&mut *bytes)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::store::documents::Authorship;
    use crate::store::sqlite::SqliteStore;

    /// A volume `main.pay.keys` in `inside`, with a secret file beside it in `outside`.
    async fn volume(folder: &std::path::Path, location: &str) -> VolumeReader {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.join("agent.db")).await.unwrap());
        let record = VolumeRecord {
            name: VolumeName::parse("main.pay.keys").unwrap(),
            generation: 1,
            authorship: Authorship::new("me", 1, ""),
            storage_location: location.to_owned(),
        };
        assert!(documents::insert(&store, &record).await.unwrap());
        VolumeReader::new(store)
    }

    #[tokio::test]
    async fn what_is_in_the_volume_is_read_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
        std::fs::create_dir_all(inside.join("a")).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(inside.join("a/key.jks"), "key").unwrap();
        std::fs::write(inside.join("large"), "x".repeat(11)).unwrap();
        std::fs::write(outside.join("secret"), "secret").unwrap();
        symlink("a/key.jks", inside.join("link")).unwrap();
        symlink("../outside/secret", inside.join("out")).unwrap();
        symlink(outside.join("secret"), inside.join("absolute")).unwrap();
        symlink("../outside", inside.join("folder")).unwrap();
        symlink("loop", inside.join("loop")).unwrap();
        symlink("/proc/self/root", inside.join("magic")).unwrap();
        rustix::fs::mknodat(CWD, inside.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let reader = volume(folder.path(), &format!("file://{}", inside.display())).await;
        let cases = [
            ("/Volumes/main/pay/keys/a/key.jks", Ok("key")),
            ("/Volumes/main/pay/keys/link", Ok("key")),
            ("/Volumes/main/pay/keys/none", Err("there is no file")),
            ("/Volumes/main/pay/keys/a/key.jks/x", Err("there is no file")),
            ("/Volumes/main/pay/other/a", Err("there is no volume `main.pay.other`")),
            ("/Volumes/main/pay/keys/a", Err("is not a file")),
            ("/Volumes/main/pay/keys/pipe", Err("is not a file")),
            ("/Volumes/main/pay/keys/large", Err("more than 10 bytes")),
            ("/Volumes/main/pay/keys/out", Err("leads out")),
            ("/Volumes/main/pay/keys/absolute", Err("leads out")),
            ("/Volumes/main/pay/keys/folder/secret", Err("leads out")),
            ("/Volumes/main/pay/keys/loop", Err("leads out")),
            ("/Volumes/main/pay/keys/magic/etc/hostname", Err("leads out")),
            ("/Volumes/main/pay/keys/../../outside/secret", Err("`.` or `..`")),
            ("/Volumes/main/pay/../keys/a", Err("5 parts")),
            ("/Volumes/main/pay/keys/./a", Err("`.` or `..`")),
            ("/Volumes/main/pay/keys//etc/passwd", Err("empty")),
            ("/Volumes/main/pay/keys/", Err("empty")),
            ("/Volumes/main/pay/keys", Err("names no file")),
            ("/Volumes/main/pay/keys/%2e%2e/outside/secret", Err("percent-encoded")),
            ("/Volumes/main/pay/keys/a%2Fkey.jks", Err("percent-encoded")),
            ("/Volumes/main/pay/keys/a\0b", Err("control character")),
            ("/etc/passwd", Err("does not begin")),
            ("a/key.jks", Err("does not begin")),
            ("/Volumes/system/pay/keys/a", Err("belongs to the agent")),
        ];
        for (path, expected) in cases {
            match (reader.read(path, 10).await, expected) {
                (Ok(bytes), Ok(expected)) => assert_eq!(bytes.expose_text(), Some(expected), "{path}"),
                (Err(error), Err(said)) => assert!(error.to_string().contains(said), "{path}: {error}"),
                (found, expected) => panic!("{path:?}: {found:?} and not {expected:?}"),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_volume_that_hangs_is_not_waited_for_without_end_and_keeps_no_other_waiting() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "a").unwrap();
        let reader = volume(folder.path(), folder.path().to_str().unwrap()).await;
        let hangs = reader.turn(&VolumeName::parse("main.pay.keys").unwrap());
        let another = reader.turn(&VolumeName::parse("main.pay.other").unwrap());
        let reading = hangs.acquire_owned().await.unwrap();
        let error = reader.read("/Volumes/main/pay/keys/a", 10).await.unwrap_err();
        assert!(matches!(error, VolumeError::Slow { .. }), "{error}");
        assert_eq!(another.available_permits(), 1);
        drop(reading);
        assert_eq!(reader.read("/Volumes/main/pay/keys/a", 10).await.unwrap().expose_text(), Some("a"));
    }

    #[tokio::test]
    async fn a_bucket_is_not_read_yet() {
        let folder = tempfile::tempdir().unwrap();
        let reader = volume(folder.path(), "s3://bucket/keys").await;
        let error = reader.read("/Volumes/main/pay/keys/a", 10).await.unwrap_err().to_string();
        assert!(error.contains("s3://bucket/keys") && error.contains("cannot read"), "{error}");
    }
}
