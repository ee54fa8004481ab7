//! The admin token of the agent's own machine: a file of mode 600 in the data folder that the provider and the command line find
//! by themselves. Invariant: after a start there is exactly one such token, the one in the file.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stream_spec::place::ADMIN_TOKEN_FILE;

use super::tokens::TokenText;
use crate::clock::now_ms;
use crate::governance::principal::ADMIN;
use crate::limits::TOKENS_PER_PRINCIPAL_MAX;
use crate::store::tokens::{InsertedToken, TokenRecord};
use crate::store::{Store, StoreError};

/// Who the admin token is made by: no principal has that name, because names have no spaces at their ends.
const MADE_BY: &str = " the agent";

/// Why there is no admin token.
#[derive(Debug, thiserror::Error)]
pub enum AdminTokenError {
    /// The file cannot be read or written.
    #[error("cannot {action} the admin token file {path}: {source}")]
    File {
        /// What was tried.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system gave no random numbers.
    #[error("the system gave no random numbers: {0}")]
    Random(#[source] getrandom::Error),
    /// There are too many tokens for another one.
    #[error("the principal `{ADMIN}` has {TOKENS_PER_PRINCIPAL_MAX} tokens already; revoke some of them")]
    TooMany,
}

/// Makes sure of the token and says where it is. One that is there and known is left alone; one that the database does not know
/// is replaced; a former one is worthless from then on.
pub async fn ensure(store: &Arc<dyn Store>, data_dir: &Path) -> Result<PathBuf, AdminTokenError> {
    let path = data_dir.join(ADMIN_TOKEN_FILE);
    let now = now_ms();
    if let Some(token) = blocking(&path, "read", read).await? {
        let known = store.token(token.id()).await?;
        if known.is_some_and(|known| token.is(&known.hash) && known.principal == ADMIN && !known.is_expired(now)) {
            return Ok(path);
        }
    }
    for former in store.list_tokens(Some(ADMIN), None, TOKENS_PER_PRINCIPAL_MAX).await? {
        if former.created_by == MADE_BY {
            store.delete_token(&former.id).await?;
        }
    }
    let token = TokenText::generate(now).map_err(AdminTokenError::Random)?;
    let record = TokenRecord {
        id: token.id().to_owned(),
        hash: token.hash(),
        principal: ADMIN.to_owned(),
        created_by: MADE_BY.to_owned(),
        create_time_ms: now,
        expire_time_ms: None,
        last_use_time_ms: None,
    };
    // In this order: a process that ends in between leaves a token that nobody has, which the next start deletes.
    match store.insert_token(&record, now).await? {
        InsertedToken::Inserted => {}
        InsertedToken::IdTaken | InsertedToken::TooMany => return Err(AdminTokenError::TooMany),
    }
    blocking(&path, "write", move |path| write(path, &token)).await?;
    tracing::info!(path = %path.display(), "made a new admin token");
    Ok(path)
}

async fn blocking<T: Send + 'static>(
    path: &Path,
    action: &'static str,
    work: impl FnOnce(&Path) -> std::io::Result<T> + Send + 'static,
) -> Result<T, AdminTokenError> {
    let file = path.to_owned();
    let done = tokio::task::spawn_blocking(move || work(&file)).await;
    done.unwrap_or_else(|broken| Err(std::io::Error::other(broken)))
        .map_err(|source| AdminTokenError::File {
            action,
            path: path.to_owned(),
            source,
        })
}

/// The token in the file, `None` if there is none. A file that others could read is made private: the token may be known to
/// them already, but the operator decides that, by deleting it.
fn read(path: &Path) -> std::io::Result<Option<TokenText>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "others could read the admin token; delete the file and start again if that matters");
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    let mut text = String::new();
    // Longer than any token: then it is none.
    file.take(1024).read_to_string(&mut text)?;
    Ok(TokenText::parse(text.trim()))
}

fn write(path: &Path, token: &TokenText) -> std::io::Result<()> {
    let fresh = path.with_extension("token.new");
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    writeln!(file, "{}", token.expose())?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::SqliteStore;

    #[tokio::test]
    async fn after_each_start_the_file_holds_the_one_admin_token() {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
        let start = async || {
            let path = ensure(&store, folder.path()).await.unwrap();
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            let text = fs::read_to_string(&path).unwrap();
            let tokens = store.list_tokens(None, None, 10).await.unwrap();
            assert_eq!(tokens.len(), 1, "{tokens:?}");
            assert!(TokenText::parse(text.trim()).unwrap().is(&tokens[0].hash));
            assert!(!text.contains(&tokens[0].created_by));
            text
        };
        let path = folder.path().join(ADMIN_TOKEN_FILE);
        let first = start().await;
        assert_eq!(start().await, first, "a token that is known stays");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(start().await, first);
        fs::remove_file(&path).unwrap();
        let second = start().await;
        assert_ne!(second, first);
        for text in [first.as_str(), "", "no token", "fst_"] {
            fs::write(&path, text).unwrap();
            assert!(start().await != first, "{text} is not of this database");
        }
        fs::write(&path, vec![0xff; 4096]).unwrap();
        let error = ensure(&store, folder.path()).await.unwrap_err().to_string();
        assert!(error.contains("admin.token"), "{error}");
    }
}
