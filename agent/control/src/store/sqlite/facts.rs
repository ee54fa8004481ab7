//! Statements on facts: what is true of the agent as a whole, a row for each. Each function is the work of one transaction.

use rusqlite::{OptionalExtension, Transaction};

use super::WorkError;

/// Id of the warehouse.
const WAREHOUSE_ID: &str = "warehouse_id";

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
