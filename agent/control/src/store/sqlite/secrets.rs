//! Statements on secrets. Each function is the work of one transaction, or a part of a larger one.
//!
//! The invariant: a scope has a data key exactly while it has a secret. So a scope whose key is lost is usable again when
//! its secrets are deleted.

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use stream_spec::name::SecretKey;

use super::{DOCUMENT_POINTS, SqliteStore, WorkError};
use crate::governance::secrets::ScopeId;
use crate::store::StoreError;
use crate::store::documents::DocumentKind;
use crate::store::secrets::{ScopeKey, SealedSecret, SecretEntry, SecretStore, SecretsWrite, SecretsWritten};

#[async_trait]
impl SecretStore for SqliteStore {
    async fn scope_key(&self, scope: &ScopeId) -> Result<Option<ScopeKey>, StoreError> {
        let scope = scope.clone();
        self.run("read a scope's key", move |transaction| scope_key(transaction, &scope))
            .await
    }

    async fn secret(&self, scope: &ScopeId, key: &SecretKey) -> Result<Option<(ScopeKey, SealedSecret)>, StoreError> {
        let (scope, key) = (scope.clone(), key.clone());
        self.run("read a secret", move |transaction| by_key(transaction, &scope, &key))
            .await
    }

    async fn list_secrets(&self, scope: &ScopeId, after: Option<&str>, limit: usize) -> Result<Vec<SecretEntry>, StoreError> {
        let (scope, after) = (scope.clone(), after.map(str::to_owned));
        self.run("list secrets", move |transaction| {
            list(transaction, &scope, after.as_deref(), limit)
        })
        .await
    }

    async fn write_secrets(&self, change: &SecretsWrite) -> Result<SecretsWritten, StoreError> {
        let change = change.clone();
        self.change("write secrets", DOCUMENT_POINTS, move |transaction| write(transaction, &change))
            .await
    }

    async fn delete_secret(&self, scope: &ScopeId, key: &SecretKey) -> Result<bool, StoreError> {
        let (scope, key) = (scope.clone(), key.clone());
        self.change("delete a secret", DOCUMENT_POINTS, move |transaction| {
            delete(transaction, &scope, &key)
        })
        .await
    }
}

fn scope_key(transaction: &Transaction<'_>, scope: &ScopeId) -> Result<Option<ScopeKey>, WorkError> {
    let found = transaction
        .prepare("SELECT key_id, master_key_id, wrapped FROM scope_keys WHERE scope = ?1")?
        .query_row([scope.to_string()], |row| {
            Ok(ScopeKey {
                key_id: row.get(0)?,
                master_key_id: row.get(1)?,
                wrapped: row.get(2)?,
            })
        })
        .optional()?;
    Ok(found)
}

fn by_key(transaction: &Transaction<'_>, scope: &ScopeId, key: &SecretKey) -> Result<Option<(ScopeKey, SealedSecret)>, WorkError> {
    let Some(scope_key) = scope_key(transaction, scope)? else {
        return Ok(None);
    };
    let found = transaction
        .prepare("SELECT key, revision, update_time_ms, updated_by, sealed FROM secrets WHERE scope = ?1 AND key = ?2")?
        .query_row([scope.to_string().as_str(), key.as_str()], |row| Ok((entry(row)?, row.get(4)?)))
        .optional()?;
    let Some((found, sealed)) = found else {
        return Ok(None);
    };
    let SecretEntry {
        key,
        revision,
        update_time_ms,
        updated_by,
    } = found.parse(scope)?;
    let secret = SealedSecret {
        key,
        revision,
        update_time_ms,
        updated_by,
        sealed,
    };
    Ok(Some((scope_key, secret)))
}

fn list(transaction: &Transaction<'_>, scope: &ScopeId, after: Option<&str>, limit: usize) -> Result<Vec<SecretEntry>, WorkError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut prepared = transaction
        .prepare("SELECT key, revision, update_time_ms, updated_by FROM secrets WHERE scope = ?1 AND key > ?2 ORDER BY key LIMIT ?3")?;
    let rows = prepared.query_map(params![scope.to_string(), after.unwrap_or_default(), limit], entry)?;
    let mut entries = Vec::new();
    for row in rows {
        entries.push(row?.parse(scope)?);
    }
    Ok(entries)
}

/// Also a part of the transactions that write connections.
pub(super) fn write(transaction: &Transaction<'_>, write: &SecretsWrite) -> Result<SecretsWritten, WorkError> {
    if let ScopeId::Named(name) = &write.scope {
        let exists: bool = transaction.query_row(
            "SELECT EXISTS (SELECT 1 FROM documents WHERE kind = ?1 AND name = ?2)",
            [DocumentKind::Scope.name(), name.as_str()],
            |row| row.get(0),
        )?;
        if !exists {
            return Ok(SecretsWritten::ScopeMissing);
        }
    }
    if write.anew {
        forget(transaction, &write.scope)?;
    }
    let scope = write.scope.to_string();
    match scope_key(transaction, &write.scope)? {
        Some(found) if found.key_id != write.key.key_id => return Ok(SecretsWritten::KeyChanged),
        Some(_) => {}
        None => insert_key(transaction, &scope, &write.key)?,
    }
    for key in &write.remove {
        transaction.execute("DELETE FROM secrets WHERE scope = ?1 AND key = ?2", [scope.as_str(), key.as_str()])?;
    }
    for secret in &write.put {
        transaction.execute(
            "INSERT INTO secrets (scope, key, revision, update_time_ms, updated_by, sealed) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
             ON CONFLICT (scope, key) DO UPDATE SET revision = ?3, update_time_ms = ?4, updated_by = ?5, sealed = ?6",
            params![
                scope,
                secret.key.as_str(),
                secret.revision,
                secret.update_time_ms,
                secret.updated_by,
                secret.sealed
            ],
        )?;
    }
    forget_unused_key(transaction, &scope)?;
    Ok(SecretsWritten::Done)
}

fn delete(transaction: &Transaction<'_>, scope: &ScopeId, key: &SecretKey) -> Result<bool, WorkError> {
    let scope = scope.to_string();
    let deleted = transaction.execute("DELETE FROM secrets WHERE scope = ?1 AND key = ?2", [scope.as_str(), key.as_str()])?;
    forget_unused_key(transaction, &scope)?;
    Ok(deleted > 0)
}

/// Removes all secrets of a scope and its key; a part of the transactions that delete what they belong to.
pub(super) fn forget(transaction: &Transaction<'_>, scope: &ScopeId) -> Result<(), WorkError> {
    let scope = scope.to_string();
    transaction.execute("DELETE FROM secrets WHERE scope = ?1", [&scope])?;
    forget_unused_key(transaction, &scope)
}

fn insert_key(transaction: &Transaction<'_>, scope: &str, key: &ScopeKey) -> Result<(), WorkError> {
    transaction.execute(
        "INSERT INTO scope_keys (scope, key_id, master_key_id, wrapped) VALUES (?1, ?2, ?3, ?4)",
        params![scope, key.key_id, key.master_key_id, key.wrapped],
    )?;
    Ok(())
}

fn forget_unused_key(transaction: &Transaction<'_>, scope: &str) -> Result<(), WorkError> {
    transaction.execute(
        "DELETE FROM scope_keys WHERE scope = ?1 AND NOT EXISTS (SELECT 1 FROM secrets WHERE scope = ?1)",
        [scope],
    )?;
    Ok(())
}

/// Columns of an entry.
struct RawEntry {
    key: String,
    revision: String,
    update_time_ms: i64,
    updated_by: String,
}

fn entry(row: &Row<'_>) -> rusqlite::Result<RawEntry> {
    Ok(RawEntry {
        key: row.get(0)?,
        revision: row.get(1)?,
        update_time_ms: row.get(2)?,
        updated_by: row.get(3)?,
    })
}

impl RawEntry {
    fn parse(self, scope: &ScopeId) -> Result<SecretEntry, StoreError> {
        let key = SecretKey::parse(&self.key).map_err(|error| StoreError::Payload {
            what: "secret",
            id: format!("{scope}/{}", self.key),
            problem: error.to_string(),
        })?;
        Ok(SecretEntry {
            key,
            revision: self.revision,
            update_time_ms: self.update_time_ms,
            updated_by: self.updated_by,
        })
    }
}
