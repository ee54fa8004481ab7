//! Statements for the rotation of keys. Each function is the work of one transaction. The invariant: a scope's secrets are
//! sealed under the scope's data key before and after each of them.

use rusqlite::{Row, Transaction, params};

use super::WorkError;
use super::secrets::{by_scope, list, scope_key};
use crate::governance::secrets::ScopeId;
use crate::store::secrets::{ScopeKey, SealedSecret};
use crate::store::{Replaced, StoreError};

pub(super) fn page(transaction: &Transaction<'_>, after: Option<&str>, limit: usize) -> Result<Vec<(ScopeId, ScopeKey)>, WorkError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut prepared =
        transaction.prepare("SELECT key_id, master_key_id, wrapped, scope FROM scope_keys WHERE scope > ?1 ORDER BY scope LIMIT ?2")?;
    let rows = prepared.query_map(params![after.unwrap_or_default(), limit], |row| {
        Ok((row.get::<_, String>(3)?, read(row)?))
    })?;
    let mut keys = Vec::new();
    for row in rows {
        let (text, key) = row?;
        let scope = ScopeId::parse(&text).ok_or_else(|| StoreError::Payload {
            what: "key of a scope",
            id: text,
            problem: "the text names no scope".into(),
        })?;
        keys.push((scope, key));
    }
    Ok(keys)
}

pub(super) fn with_secrets(transaction: &Transaction<'_>, scope: &ScopeId) -> Result<Option<(ScopeKey, Vec<SealedSecret>)>, WorkError> {
    let Some(scope_key) = scope_key(transaction, scope)? else {
        return Ok(None);
    };
    Ok(Some((scope_key, by_scope(transaction, scope)?)))
}

pub(super) fn replace(
    transaction: &Transaction<'_>,
    scope: &ScopeId,
    old: &ScopeKey,
    new: &ScopeKey,
    secrets: &[SealedSecret],
) -> Result<Replaced, WorkError> {
    match scope_key(transaction, scope)? {
        None => return Ok(Replaced::Missing),
        Some(found) if found != *old => return Ok(Replaced::Conflict),
        Some(_) => {}
    }
    let text = scope.to_string();
    if new.key_id != old.key_id {
        let mut left_out = list(transaction, scope, None, usize::MAX)?;
        left_out.retain(|now| {
            !secrets
                .iter()
                .any(|secret| secret.key == now.key && secret.revision == now.revision)
        });
        if !left_out.is_empty() {
            return Ok(Replaced::Conflict);
        }
    }
    transaction.execute(
        "UPDATE scope_keys SET key_id = ?2, master_key_id = ?3, wrapped = ?4 WHERE scope = ?1",
        params![text, new.key_id, new.master_key_id, new.wrapped],
    )?;
    for secret in secrets {
        transaction.execute(
            "UPDATE secrets SET sealed = ?4 WHERE scope = ?1 AND key = ?2 AND revision = ?3",
            params![text, secret.key.as_str(), secret.revision, secret.sealed],
        )?;
    }
    Ok(Replaced::Done)
}

/// Columns `key_id`, `master_key_id` and `wrapped`.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<ScopeKey> {
    Ok(ScopeKey {
        key_id: row.get(0)?,
        master_key_id: row.get(1)?,
        wrapped: row.get(2)?,
    })
}
