//! Statements on secrets. Each function is the work of one transaction, or a part of a larger one.
//!
//! The invariant: a scope has a data key exactly while it has a secret. So a scope whose key is lost is usable again when
//! its secrets are deleted.

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use stream_spec::name::SecretKey;

use super::{DOCUMENT_POINTS, SqliteStore, WorkError, documents, scope_keys};
use crate::governance::secrets::ScopeId;
use crate::limits::SECRETS_PER_SCOPE_MAX;
use crate::store::documents::ScopeRecord;
use crate::store::secrets::{Expected, ScopeKey, SealedSecret, SecretEntry, SecretStore, SecretsWrite, SecretsWritten};
use crate::store::{Replaced, StoreError};

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

    async fn scope_keys(&self, after: Option<&ScopeId>, limit: usize) -> Result<Vec<(ScopeId, ScopeKey)>, StoreError> {
        let after = after.map(ToString::to_string);
        self.run("list the keys of scopes", move |transaction| {
            scope_keys::page(transaction, after.as_deref(), limit)
        })
        .await
    }

    async fn sealed_secrets(&self, scope: &ScopeId) -> Result<Option<(ScopeKey, Vec<SealedSecret>)>, StoreError> {
        let scope = scope.clone();
        self.run("read the secrets of a scope", move |transaction| {
            scope_keys::with_secrets(transaction, &scope)
        })
        .await
    }

    async fn replace_scope_key(
        &self,
        scope: &ScopeId,
        old: &ScopeKey,
        new: &ScopeKey,
        secrets: &[SealedSecret],
    ) -> Result<Replaced, StoreError> {
        let (scope, old, new, secrets) = (scope.clone(), old.clone(), new.clone(), secrets.to_vec());
        self.change("replace a scope's key", DOCUMENT_POINTS, move |transaction| {
            scope_keys::replace(transaction, &scope, &old, &new, &secrets)
        })
        .await
    }
}

pub(super) fn scope_key(transaction: &Transaction<'_>, scope: &ScopeId) -> Result<Option<ScopeKey>, WorkError> {
    let found = transaction
        .prepare("SELECT key_id, master_key_id, wrapped FROM scope_keys WHERE scope = ?1")?
        .query_row([scope.to_string()], scope_keys::read)
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
    Ok(Some((scope_key, found.parse(scope)?.sealed(sealed))))
}

/// Everything that is sealed in a scope, in order of the keys.
pub(super) fn by_scope(transaction: &Transaction<'_>, scope: &ScopeId) -> Result<Vec<SealedSecret>, WorkError> {
    let mut prepared =
        transaction.prepare("SELECT key, revision, update_time_ms, updated_by, sealed FROM secrets WHERE scope = ?1 ORDER BY key")?;
    let rows = prepared.query_map([scope.to_string()], |row| Ok((entry(row)?, row.get(4)?)))?;
    let mut secrets = Vec::new();
    for row in rows {
        let (found, sealed) = row?;
        secrets.push(found.parse(scope)?.sealed(sealed));
    }
    Ok(secrets)
}

pub(super) fn list(
    transaction: &Transaction<'_>,
    scope: &ScopeId,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<SecretEntry>, WorkError> {
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
        match documents::life::<ScopeRecord>(transaction, name.as_str())? {
            None => return Ok(SecretsWritten::ScopeMissing),
            Some(life) if !write.life.is_empty() && write.life != life => return Ok(SecretsWritten::AnotherLife),
            Some(_) => {}
        }
    }
    for secret in &write.put {
        let found = revision(transaction, &write.scope, &secret.key)?;
        // The revision is the write's own: its answer was lost, and this is the repeat.
        if found.as_ref() == Some(&secret.revision) {
            return Ok(SecretsWritten::Done);
        }
        let is_expected = match &write.expected {
            Expected::Anything => true,
            Expected::Nothing => found.is_none(),
            Expected::Revision(expected) => found.as_ref() == Some(expected),
        };
        if !is_expected {
            return Ok(SecretsWritten::Unexpected);
        }
    }
    if would_be_too_many(transaction, write)? {
        return Ok(SecretsWritten::Full);
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

fn would_be_too_many(transaction: &Transaction<'_>, write: &SecretsWrite) -> Result<bool, WorkError> {
    let mut kept = match write.anew {
        true => Vec::new(),
        false => list(transaction, &write.scope, None, SECRETS_PER_SCOPE_MAX)?,
    };
    kept.retain(|kept| !write.remove.contains(&kept.key) && !write.put.iter().any(|put| put.key == kept.key));
    Ok(kept.len() + write.put.len() > SECRETS_PER_SCOPE_MAX)
}

pub(super) fn delete(transaction: &Transaction<'_>, scope: &ScopeId, key: &SecretKey) -> Result<bool, WorkError> {
    let scope = scope.to_string();
    let deleted = transaction.execute("DELETE FROM secrets WHERE scope = ?1 AND key = ?2", [scope.as_str(), key.as_str()])?;
    forget_unused_key(transaction, &scope)?;
    Ok(deleted > 0)
}

fn revision(transaction: &Transaction<'_>, scope: &ScopeId, key: &SecretKey) -> Result<Option<String>, WorkError> {
    let found = transaction.query_row(
        "SELECT revision FROM secrets WHERE scope = ?1 AND key = ?2",
        [scope.to_string().as_str(), key.as_str()],
        |row| row.get(0),
    );
    Ok(found.optional()?)
}

pub(super) fn exists(transaction: &Transaction<'_>, scope: &ScopeId, key: &SecretKey) -> Result<bool, WorkError> {
    Ok(transaction.query_row(
        "SELECT EXISTS (SELECT 1 FROM secrets WHERE scope = ?1 AND key = ?2)",
        [scope.to_string().as_str(), key.as_str()],
        |row| row.get(0),
    )?)
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
