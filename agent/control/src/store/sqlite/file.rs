//! The database's files: who may read them, and what stays in them. The invariant: nobody but their owner reads them from the
//! first byte on, whatever the folder allows.

use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rusqlite::Connection;

use crate::store::StoreError;

/// Makes the file if it is not there, for its owner alone, and takes it and its log from others who could read them. SQLite gives
/// a new log the permissions of the file.
pub(super) fn make_private(path: &Path) -> Result<(), StoreError> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    // A file that is there is not opened: to close it again would give up the locks of another store in this process.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let private = match made {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => tighten(path),
        Err(error) => Err(error),
    };
    private
        .and_then(|()| tighten(Path::new(&log)))
        .map_err(|source| StoreError::Database {
            action: "make the database its owner's alone",
            source: Box::new(source),
        })
}

fn tighten(path: &Path) -> std::io::Result<()> {
    let mode = match std::fs::metadata(path) {
        Ok(found) => found.permissions().mode() & 0o777,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if mode & 0o077 != 0 {
        tracing::warn!(file = %path.display(), mode = format!("{mode:03o}"), "others could read the database; now its owner alone can");
        std::fs::set_permissions(path, Permissions::from_mode(mode & 0o700))?;
    }
    Ok(())
}

/// Writes the database anew and empties its log.
pub(super) fn compact(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("VACUUM")?;
    // Its first answer is whether somebody was in the way: this connection is the only one.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::governance::secrets::ScopeId;
    use crate::store::secrets::{Expected, ScopeKey, SealedSecret, SecretStore, SecretsWrite};
    use crate::store::sqlite::SqliteStore;
    use stream_spec::name::SecretKey;

    /// Long enough for pages of its own.
    fn sealed() -> Vec<u8> {
        b"canary-5d1e".repeat(2_000)
    }

    fn holds_the_canary(path: &Path) -> bool {
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(11).any(|window| window == b"canary-5d1e")
    }

    async fn with_a_secret(path: &Path) -> (SqliteStore, ScopeId, SecretKey) {
        let store = SqliteStore::open(path).await.unwrap();
        let (scope, key) = (ScopeId::Connection("u".into()), SecretKey::parse("k").unwrap());
        let write = SecretsWrite {
            scope: scope.clone(),
            key: ScopeKey {
                key_id: "1".into(),
                master_key_id: "m".into(),
                wrapped: vec![1],
            },
            put: vec![SealedSecret {
                key: key.clone(),
                revision: "r".into(),
                update_time_ms: 0,
                updated_by: "ada".into(),
                sealed: sealed(),
            }],
            remove: Vec::new(),
            anew: false,
            expected: Expected::Anything,
            life: String::new(),
        };
        store.write_secrets(&write).await.unwrap();
        (store, scope, key)
    }

    #[tokio::test]
    async fn a_deleted_secret_is_not_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.db");
        let (store, scope, key) = with_a_secret(&path).await;
        store.close().await;
        assert!(holds_the_canary(&path));
        let store = SqliteStore::open(&path).await.unwrap();
        store.delete_secret(&scope, &key).await.unwrap();
        store.close().await;
        assert!(!holds_the_canary(&path));
    }

    #[tokio::test]
    async fn compacting_empties_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.db");
        let log = folder.path().join("agent.db-wal");
        let (store, scope, key) = with_a_secret(&path).await;
        assert!(holds_the_canary(&log));
        store.delete_secret(&scope, &key).await.unwrap();
        store.compact().await.unwrap();
        assert_eq!(std::fs::metadata(&log).unwrap().len(), 0);
        assert!(!holds_the_canary(&path));
        store.close().await;
    }

    #[tokio::test]
    async fn the_files_are_their_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.db");
        let log = folder.path().join("agent.db-wal");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (store, ..) = with_a_secret(&path).await;
        assert_eq!((mode(&path), mode(&log)), (0o600, 0o600));
        store.close().await;
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        std::fs::write(&log, b"").unwrap();
        std::fs::set_permissions(&log, Permissions::from_mode(0o664)).unwrap();
        make_private(&path).unwrap();
        assert_eq!((mode(&path), mode(&log)), (0o600, 0o600));
    }
}
