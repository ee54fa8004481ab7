//! Statements on documents. Each function is the work of one transaction.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::{WorkError, grants};
use crate::store::documents::{DocumentKind, Owned, StoredDocument};
use crate::store::{Replaced, payload};

pub(super) fn insert(transaction: &Transaction<'_>, kind: DocumentKind, document: &StoredDocument) -> Result<bool, WorkError> {
    let inserted = transaction.execute(
        "INSERT INTO documents (kind, name, generation, payload) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (kind, name) DO NOTHING",
        params![kind.name(), document.name, document.generation, document.payload],
    )?;
    Ok(inserted > 0)
}

pub(super) fn by_name(transaction: &Transaction<'_>, kind: DocumentKind, name: &str) -> Result<Option<StoredDocument>, WorkError> {
    let found = transaction
        .prepare("SELECT name, generation, payload FROM documents WHERE kind = ?1 AND name = ?2")?
        .query_row(params![kind.name(), name], read)
        .optional()?;
    Ok(found)
}

/// The life that has a name; `None` if there is none.
pub(super) fn life<T: Owned>(transaction: &Transaction<'_>, name: &str) -> Result<Option<String>, WorkError> {
    let Some(found) = by_name(transaction, T::KIND, name)? else {
        return Ok(None);
    };
    let record: T = payload::decode(T::KIND.name(), name, &found.payload)?;
    Ok(Some(record.authorship().uid.clone()))
}

pub(super) fn named(transaction: &Transaction<'_>, kind: DocumentKind, names: &[String]) -> Result<Vec<StoredDocument>, WorkError> {
    let mut prepared = transaction.prepare("SELECT name, generation, payload FROM documents WHERE kind = ?1 AND name = ?2")?;
    let mut found = Vec::new();
    for name in names.iter().collect::<BTreeSet<_>>() {
        found.extend(prepared.query_row(params![kind.name(), name], read).optional()?);
    }
    Ok(found)
}

pub(super) fn list(
    transaction: &Transaction<'_>,
    kind: DocumentKind,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<StoredDocument>, WorkError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    // From the prefix on, in order: the names that begin with it come first and without a gap.
    let mut prepared = transaction.prepare(
        "SELECT name, generation, payload FROM documents WHERE kind = ?1 AND name >= ?2 AND name > ?3 \
         AND substr(name, 1, length(?2)) = ?2 ORDER BY name LIMIT ?4",
    )?;
    let rows = prepared.query_map(params![kind.name(), prefix, after.unwrap_or_default(), limit], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn replace(
    transaction: &Transaction<'_>,
    kind: DocumentKind,
    generation: u64,
    document: &StoredDocument,
) -> Result<Replaced, WorkError> {
    let replaced = transaction.execute(
        "UPDATE documents SET generation = ?4, payload = ?5 WHERE kind = ?1 AND name = ?2 AND generation = ?3",
        params![kind.name(), document.name, generation, document.generation, document.payload],
    )?;
    outcome(transaction, kind, &document.name, replaced)
}

pub(super) fn delete(transaction: &Transaction<'_>, kind: DocumentKind, generation: u64, name: &str) -> Result<Replaced, WorkError> {
    let deleted = transaction.execute(
        "DELETE FROM documents WHERE kind = ?1 AND name = ?2 AND generation = ?3",
        params![kind.name(), name, generation],
    )?;
    if let (1.., Some(securable_type)) = (deleted, kind.securable_type()) {
        grants::forget(transaction, securable_type, name)?;
    }
    outcome(transaction, kind, name, deleted)
}

/// Removes whatever is there, and what is granted on it; a part of larger transactions.
pub(super) fn remove(transaction: &Transaction<'_>, kind: DocumentKind, name: &str) -> Result<(), WorkError> {
    transaction.execute("DELETE FROM documents WHERE kind = ?1 AND name = ?2", params![kind.name(), name])?;
    if let Some(securable_type) = kind.securable_type() {
        grants::forget(transaction, securable_type, name)?;
    }
    Ok(())
}

fn outcome(transaction: &Transaction<'_>, kind: DocumentKind, name: &str, changed: usize) -> Result<Replaced, WorkError> {
    Ok(match (changed, by_name(transaction, kind, name)?) {
        (1.., _) => Replaced::Done,
        (0, Some(_)) => Replaced::Conflict,
        (0, None) => Replaced::Missing,
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredDocument> {
    Ok(StoredDocument {
        name: row.get(0)?,
        generation: row.get(1)?,
        payload: row.get(2)?,
    })
}
