//! Statements on streams. Each function is the work of one transaction.

use rusqlite::{OptionalExtension, Row, Transaction, params};
use stream_spec::name::StreamName;

use super::{WorkError, grants};
use crate::governance::named;
use crate::store::payload;
use crate::store::records::{DeclaredStream, ObservedStream, StreamRecord};
use crate::store::{InsertedStream, Parent, Replaced, StoreError};

const COLUMNS: &str = "uid, revision, declared, observed";

/// A row before its payloads are read.
struct RawStream {
    uid: String,
    revision: u64,
    declared: String,
    observed: String,
}

impl RawStream {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            uid: row.get(0)?,
            revision: row.get(1)?,
            declared: row.get(2)?,
            observed: row.get(3)?,
        })
    }

    fn parse(self) -> Result<StreamRecord, StoreError> {
        Ok(StreamRecord {
            declared: payload::decode("stream", &self.uid, &self.declared)?,
            observed: payload::decode("stream status", &self.uid, &self.observed)?,
            revision: self.revision,
            uid: self.uid,
        })
    }
}

pub(super) fn insert(transaction: &Transaction<'_>, uid: &str, declared: &DeclaredStream) -> Result<InsertedStream, WorkError> {
    let spec = &declared.spec;
    if let Some(existing) = by_name(transaction, spec.name.as_str())? {
        return Ok(InsertedStream::NameTaken(Box::new(existing)));
    }
    let table = spec.ingestion.destination.as_str();
    if let Some(by) = of_table(transaction, table)? {
        return Ok(InsertedStream::TableTaken { by });
    }
    for name in named::connections(spec) {
        let exists: bool = transaction.query_row(
            "SELECT EXISTS (SELECT 1 FROM connections WHERE name = ?1)",
            [name.as_str()],
            |row| row.get(0),
        )?;
        if !exists {
            return Ok(InsertedStream::ConnectionMissing { name: name.clone() });
        }
    }
    let record = StreamRecord {
        uid: uid.to_owned(),
        revision: 1,
        declared: declared.clone(),
        observed: ObservedStream::default(),
    };
    transaction.execute(
        "INSERT INTO streams (uid, name, catalog, schema, table_name, connection_name, revision, declared, observed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8)",
        params![
            uid,
            spec.name.as_str(),
            spec.name.catalog(),
            spec.name.schema(),
            table,
            declared.connection_name().map(|name| name.as_str()),
            payload::encode("stream", uid, declared)?,
            payload::encode("stream status", uid, &record.observed)?,
        ],
    )?;
    grants::forget_former_stream(transaction, &spec.name)?;
    Ok(InsertedStream::Inserted(Box::new(record)))
}

pub(super) fn by_name(transaction: &Transaction<'_>, name: &str) -> Result<Option<StreamRecord>, WorkError> {
    let statement = format!("SELECT {COLUMNS} FROM streams WHERE name = ?1");
    let raw = transaction.prepare(&statement)?.query_row([name], RawStream::read).optional()?;
    Ok(raw.map(RawStream::parse).transpose()?)
}

pub(super) fn by_uid(transaction: &Transaction<'_>, uid: &str) -> Result<Option<StreamRecord>, WorkError> {
    let statement = format!("SELECT {COLUMNS} FROM streams WHERE uid = ?1");
    let raw = transaction.prepare(&statement)?.query_row([uid], RawStream::read).optional()?;
    Ok(raw.map(RawStream::parse).transpose()?)
}

pub(super) fn of_table(transaction: &Transaction<'_>, table: &str) -> Result<Option<StreamName>, WorkError> {
    let name: Option<String> = transaction
        .query_row("SELECT name FROM streams WHERE table_name = ?1", [table], |row| row.get(0))
        .optional()?;
    Ok(name.map(stored_name).transpose()?)
}

pub(super) fn list(
    transaction: &Transaction<'_>,
    parent: &Parent,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<StreamRecord>, WorkError> {
    let statement = format!(
        "SELECT {COLUMNS} FROM streams
         WHERE catalog = ?1 AND (?2 IS NULL OR schema = ?2) AND name > ?3 ORDER BY name LIMIT ?4"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut prepared = transaction.prepare(&statement)?;
    let rows = prepared.query_map(
        params![parent.catalog, parent.schema, after.unwrap_or_default(), limit],
        RawStream::read,
    )?;
    let mut records = Vec::new();
    for raw in rows {
        records.push(raw?.parse()?);
    }
    Ok(records)
}

pub(super) fn uids(transaction: &Transaction<'_>) -> Result<Vec<String>, WorkError> {
    let mut prepared = transaction.prepare("SELECT uid FROM streams ORDER BY uid")?;
    let rows = prepared.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn declare(transaction: &Transaction<'_>, uid: &str, revision: u64, declared: &DeclaredStream) -> Result<Replaced, WorkError> {
    let changed = transaction.execute(
        "UPDATE streams SET revision = revision + 1, declared = ?3 WHERE uid = ?1 AND revision = ?2",
        params![uid, revision, payload::encode("stream", uid, declared)?],
    )?;
    if changed > 0 {
        return Ok(Replaced::Done);
    }
    let exists: bool = transaction.query_row("SELECT EXISTS (SELECT 1 FROM streams WHERE uid = ?1)", [uid], |row| row.get(0))?;
    Ok(if exists { Replaced::Conflict } else { Replaced::Missing })
}

pub(super) fn observe(transaction: &Transaction<'_>, uid: &str, observed: &ObservedStream) -> Result<(), WorkError> {
    // No row: it was forgotten meanwhile, and there is nothing to say about it any more.
    transaction.execute(
        "UPDATE streams SET observed = ?2 WHERE uid = ?1",
        params![uid, payload::encode("stream status", uid, observed)?],
    )?;
    Ok(())
}

pub(super) fn forget(transaction: &Transaction<'_>, uid: &str) -> Result<(), WorkError> {
    let Some(record) = by_uid(transaction, uid)? else { return Ok(()) };
    grants::leave_former_stream(transaction, &record)?;
    transaction.execute("DELETE FROM streams WHERE uid = ?1", [uid])?;
    Ok(())
}

pub(super) fn on_connection(transaction: &Transaction<'_>, connection: &str, limit: usize) -> Result<Vec<StreamName>, WorkError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    // Its own, or its registry's.
    let mut prepared = transaction.prepare(
        "SELECT name FROM streams
         WHERE connection_name = ?1 OR json_extract(declared, '$.value.spec.schemas.registry.uc_connection') = ?1
         ORDER BY name LIMIT ?2",
    )?;
    let rows = prepared.query_map(params![connection, limit], |row| row.get::<_, String>(0))?;
    let mut names = Vec::new();
    for name in rows {
        names.push(stored_name(name?)?);
    }
    Ok(names)
}

fn stored_name(text: String) -> Result<StreamName, StoreError> {
    StreamName::parse(&text).map_err(|error| StoreError::Payload {
        what: "stream",
        id: text,
        problem: error.to_string(),
    })
}
