//! Statements on facts: what is true of the agent as a whole, a row for each. Each function is the work of one transaction.

use rusqlite::{OptionalExtension, Transaction};

use super::WorkError;

/// Id of the warehouse.
const WAREHOUSE_ID: &str = "warehouse_id";

/// Audit events that were not recorded.
const AUDIT_GAP: &str = "audit_gap";

/// Id of the outbox of audit events.
const AUDIT_OUTBOX: &str = "audit_outbox";

pub(super) fn warehouse_id(transaction: &Transaction<'_>) -> Result<Option<String>, WorkError> {
    let found = transaction
        .query_row("SELECT value FROM facts WHERE name = ?1", [WAREHOUSE_ID], |row| row.get(0))
        .optional()?;
    Ok(found)
}

pub(super) fn remember_warehouse(transaction: &Transaction<'_>, id: &str) -> Result<(), WorkError> {
    transaction.execute(
        "INSERT INTO facts (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING",
        [WAREHOUSE_ID, id],
    )?;
    Ok(())
}

/// The id of the outbox: `new_id` where it has none yet.
pub(super) fn audit_outbox(transaction: &Transaction<'_>, new_id: &str) -> Result<String, WorkError> {
    transaction.execute(
        "INSERT INTO facts (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING",
        [AUDIT_OUTBOX, new_id],
    )?;
    Ok(transaction.query_row("SELECT value FROM facts WHERE name = ?1", [AUDIT_OUTBOX], |row| row.get(0))?)
}

/// What is known of events that were not recorded.
pub(super) fn audit_gap(transaction: &Transaction<'_>) -> Result<Option<String>, WorkError> {
    let found = transaction
        .query_row("SELECT value FROM facts WHERE name = ?1", [AUDIT_GAP], |row| row.get(0))
        .optional()?;
    Ok(found)
}

pub(super) fn set_audit_gap(transaction: &Transaction<'_>, gap: &str) -> Result<(), WorkError> {
    transaction.execute(
        "INSERT INTO facts (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [AUDIT_GAP, gap],
    )?;
    Ok(())
}

pub(super) fn forget_audit_gap(transaction: &Transaction<'_>) -> Result<(), WorkError> {
    transaction.execute("DELETE FROM facts WHERE name = ?1", [AUDIT_GAP])?;
    Ok(())
}

pub(super) fn renew_audit_outbox(transaction: &Transaction<'_>, new_id: &str) -> Result<(), WorkError> {
    transaction.execute(
        "INSERT INTO facts (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [AUDIT_OUTBOX, new_id],
    )?;
    Ok(())
}
