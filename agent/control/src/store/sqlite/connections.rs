//! Statements on connections. Each function is the work of one transaction.

use rusqlite::{OptionalExtension, Transaction, params};
use stream_spec::name::ConnectionName;

use super::{WorkError, grants, streams};
use crate::governance::privilege::SecurableType;
use crate::limits::NAMES_IN_A_MESSAGE_MAX;
use crate::store::payload;
use crate::store::records::ConnectionRecord;
use crate::store::{DeletedConnection, Replaced};

pub(super) fn insert(transaction: &Transaction<'_>, record: &ConnectionRecord) -> Result<bool, WorkError> {
    let name = record.spec.name.as_str();
    let inserted = transaction.execute(
        "INSERT INTO connections (name, generation, payload) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO NOTHING",
        params![name, record.generation, payload::encode("connection", name, record)?],
    )?;
    Ok(inserted > 0)
}

pub(super) fn by_name(transaction: &Transaction<'_>, name: &str) -> Result<Option<ConnectionRecord>, WorkError> {
    let text: Option<String> = transaction
        .prepare("SELECT payload FROM connections WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    Ok(text.map(|text| payload::decode("connection", name, &text)).transpose()?)
}

pub(super) fn list(transaction: &Transaction<'_>, after: Option<&str>, limit: usize) -> Result<Vec<ConnectionRecord>, WorkError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut prepared = transaction.prepare("SELECT name, payload FROM connections WHERE name > ?1 ORDER BY name LIMIT ?2")?;
    let rows = prepared.query_map(params![after.unwrap_or_default(), limit], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let mut records = Vec::new();
    for row in rows {
        let (name, text) = row?;
        records.push(payload::decode("connection", &name, &text)?);
    }
    Ok(records)
}

pub(super) fn replace(transaction: &Transaction<'_>, generation: u64, record: &ConnectionRecord) -> Result<Replaced, WorkError> {
    let name = record.spec.name.as_str();
    let Some(found) = by_name(transaction, name)? else {
        return Ok(Replaced::Missing);
    };
    // Another life of the name is another connection: its uid differs.
    if found.generation != generation || found.uid != record.uid {
        return Ok(Replaced::Conflict);
    }
    transaction.execute(
        "UPDATE connections SET generation = ?2, payload = ?3 WHERE name = ?1",
        params![name, record.generation, payload::encode("connection", name, record)?],
    )?;
    Ok(Replaced::Done)
}

pub(super) fn delete(
    transaction: &Transaction<'_>,
    name: &ConnectionName,
    uid: &str,
    even_if_used: bool,
) -> Result<DeletedConnection, WorkError> {
    let found = by_name(transaction, name.as_str())?;
    if found.is_none_or(|found| !uid.is_empty() && found.uid != uid) {
        return Ok(DeletedConnection::Missing);
    }
    if !even_if_used {
        let users = streams::on_connection(transaction, name.as_str(), NAMES_IN_A_MESSAGE_MAX)?;
        if !users.is_empty() {
            return Ok(DeletedConnection::InUse(users));
        }
    }
    transaction.execute("DELETE FROM connections WHERE name = ?1", [name.as_str()])?;
    grants::forget(transaction, SecurableType::Connection, name.as_str())?;
    Ok(DeletedConnection::Deleted)
}
