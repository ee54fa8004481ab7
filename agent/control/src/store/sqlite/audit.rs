//! Statements on audit events. Each function is the work of one transaction or a part of it.

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize};

use super::{SqliteStore, WorkError, facts};
use crate::audit::{AuditEvent, NOT_RECORDED};
use crate::limits::{AUDIT_EVENTS_HIGH, AUDIT_EVENTS_MAX};
use crate::store::audit::{AuditOutbox, AuditStore, StoredAuditEvent};
use crate::store::{StoreError, payload};

const WHAT: &str = "audit event";
const GAP: &str = "gap of audit events";

/// How many were not recorded since there was room last, and when the first of them was.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Gap {
    count: u64,
    first_ms: i64,
}

/// How many wait.
fn waiting(transaction: &Transaction<'_>) -> Result<i64, WorkError> {
    // Numbers are given without gaps and forgotten from the front, so the ends tell how many there are.
    Ok(transaction.query_row(
        "SELECT coalesce((SELECT max(sequence) FROM audit_events) - (SELECT min(sequence) FROM audit_events) + 1, 0)",
        [],
        |row| row.get(0),
    )?)
}

fn insert(transaction: &Transaction<'_>, event: &AuditEvent) -> Result<(), WorkError> {
    let payload = payload::encode(WHAT, &event.request_id, event)?;
    transaction.execute("INSERT INTO audit_events (payload) VALUES (?1)", [payload])?;
    Ok(())
}

/// Appends the event of what changed nothing, or counts it where the room that is left is for changes.
fn append(transaction: &Transaction<'_>, event: &AuditEvent) -> Result<bool, WorkError> {
    let gap = gap(transaction)?;
    if waiting(transaction)? >= AUDIT_EVENTS_HIGH {
        let gap = Gap {
            count: gap.map_or(0, |gap| gap.count).saturating_add(1),
            first_ms: gap.map_or(event.time_ms, |gap| gap.first_ms),
        };
        facts::set_audit_gap(transaction, &payload::encode(GAP, "audit", &gap)?)?;
        return Ok(false);
    }
    if let Some(gap) = gap {
        insert(transaction, &gap.event())?;
        facts::forget_audit_gap(transaction)?;
    }
    insert(transaction, event)?;
    Ok(true)
}

/// Appends the event of a change, or refuses the change.
pub(super) fn append_with_change(transaction: &Transaction<'_>, event: &AuditEvent) -> Result<(), WorkError> {
    if waiting(transaction)? >= AUDIT_EVENTS_MAX {
        return Err(StoreError::AuditFull { bound: AUDIT_EVENTS_MAX }.into());
    }
    insert(transaction, event)
}

fn gap(transaction: &Transaction<'_>) -> Result<Option<Gap>, WorkError> {
    let found = facts::audit_gap(transaction)?;
    let gap = found.map(|text| payload::decode(GAP, "audit", &text)).transpose()?;
    Ok(gap)
}

impl Gap {
    fn event(self) -> AuditEvent {
        AuditEvent {
            time_ms: self.first_ms,
            outcome: NOT_RECORDED.to_owned(),
            detail: format!("{} events of reads, denials and refused callers are in the log alone", self.count),
            ..AuditEvent::default()
        }
    }
}

fn list(transaction: &Transaction<'_>, after: i64, limit: usize) -> Result<Vec<StoredAuditEvent>, WorkError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut prepared = transaction.prepare("SELECT sequence, payload FROM audit_events WHERE sequence > ?1 ORDER BY sequence LIMIT ?2")?;
    let rows = prepared.query_map(params![after, limit], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    let mut events = Vec::new();
    for row in rows {
        let (sequence, text) = row?;
        events.push(StoredAuditEvent {
            sequence,
            event: payload::decode(WHAT, &sequence.to_string(), &text)?,
        });
    }
    Ok(events)
}

fn outbox(transaction: &Transaction<'_>) -> Result<AuditOutbox, WorkError> {
    let id = facts::audit_outbox(transaction, &new_outbox_id())?;
    let last_sequence = transaction
        .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'audit_events'", [], |row| row.get(0))
        .optional()?
        .unwrap_or(0);
    Ok(AuditOutbox { id, last_sequence })
}

fn new_outbox_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

#[async_trait]
impl AuditStore for SqliteStore {
    async fn append_audit_event(&self, event: &AuditEvent) -> Result<bool, StoreError> {
        let event = event.clone();
        self.run("write an audit event", move |transaction| append(transaction, &event))
            .await
    }

    async fn audit_outbox(&self) -> Result<AuditOutbox, StoreError> {
        self.run("read which outbox of audit events this is", outbox).await
    }

    async fn renew_audit_outbox(&self) -> Result<(), StoreError> {
        self.run("renew the outbox of audit events", |transaction| {
            facts::renew_audit_outbox(transaction, &new_outbox_id())
        })
        .await
    }

    async fn audit_events(&self, after: i64, limit: usize) -> Result<Vec<StoredAuditEvent>, StoreError> {
        self.run("read audit events", move |transaction| list(transaction, after, limit))
            .await
    }

    async fn forget_audit_events(&self, up_to: i64) -> Result<(), StoreError> {
        self.run("forget audit events", move |transaction| {
            transaction.execute("DELETE FROM audit_events WHERE sequence <= ?1", [up_to])?;
            Ok(())
        })
        .await
    }
}
