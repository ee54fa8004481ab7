//! Statements on connections. Each function is the work of one transaction.

use rusqlite::{OptionalExtension, Transaction, params};
use stream_spec::name::ConnectionName;

use super::{WorkError, grants, secrets, streams};
use crate::governance::privilege::SecurableType;
use crate::governance::secrets::ScopeId;
use crate::limits::USERS_LOOKED_AT_MAX;
use crate::store::payload;
use crate::store::records::ConnectionRecord;
use crate::store::secrets::SecretsWritten;
use crate::store::{DeletedConnection, LiteralSecrets, Replaced};

pub(super) fn insert(transaction: &Transaction<'_>, record: &ConnectionRecord, literals: &LiteralSecrets) -> Result<bool, WorkError> {
    let name = record.spec.name.as_str();
    let inserted = transaction.execute(
        "INSERT INTO connections (name, generation, payload) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO NOTHING",
        params![name, record.generation, payload::encode("connection", name, record)?],
    )?;
    // A new life has no key yet that the secrets could have been sealed under instead.
    Ok(inserted > 0 && write_literals(transaction, record, literals)?)
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

/// False, with nothing written, if the secrets are under another key than the new ones were sealed under.
fn write_literals(transaction: &Transaction<'_>, record: &ConnectionRecord, literals: &LiteralSecrets) -> Result<bool, WorkError> {
    match literals {
        LiteralSecrets::Stay => Ok(true),
        LiteralSecrets::Go => secrets::forget(transaction, &literals_of(record)).map(|()| true),
        LiteralSecrets::Change(write) => Ok(secrets::write(transaction, write)? == SecretsWritten::Done),
    }
}

fn literals_of(record: &ConnectionRecord) -> ScopeId {
    ScopeId::Connection(record.uid.clone())
}

pub(super) fn replace(
    transaction: &Transaction<'_>,
    generation: u64,
    record: &ConnectionRecord,
    literals: &LiteralSecrets,
) -> Result<Replaced, WorkError> {
    let name = record.spec.name.as_str();
    let Some(found) = by_name(transaction, name)? else {
        return Ok(Replaced::Missing);
    };
    // Another life of the name is another connection: its uid differs.
    if found.generation != generation || found.uid != record.uid {
        return Ok(Replaced::Conflict);
    }
    if !write_literals(transaction, record, literals)? {
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
    let Some(found) = by_name(transaction, name.as_str())?.filter(|found| uid.is_empty() || found.uid == uid) else {
        return Ok(DeletedConnection::Missing);
    };
    if !even_if_used {
        let users = streams::on_connection(transaction, name.as_str(), USERS_LOOKED_AT_MAX)?;
        if !users.is_empty() {
            return Ok(DeletedConnection::InUse(users));
        }
    }
    transaction.execute("DELETE FROM connections WHERE name = ?1", [name.as_str()])?;
    secrets::forget(transaction, &literals_of(&found))?;
    grants::forget(transaction, SecurableType::Connection, name.as_str())?;
    Ok(DeletedConnection::Deleted)
}
