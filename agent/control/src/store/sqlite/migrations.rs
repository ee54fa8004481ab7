//! The database's schema and how it grows. Forward only: each step takes a database of one version to the next, in one
//! transaction with the version number. A step that was released never changes; a database of each version is kept
//! under `tests/data/` and opened by a test.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::store::StoreError;

/// Step `n` (from 0) makes version `n + 1`.
const STEPS: [&str; 3] = [
    // What is looked up or must be unique has columns of its own; everything else is a payload with a format version.
    "CREATE TABLE connections (
        name TEXT PRIMARY KEY NOT NULL,
        generation INTEGER NOT NULL,
        payload TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE streams (
        uid TEXT PRIMARY KEY NOT NULL,
        name TEXT NOT NULL UNIQUE,
        catalog TEXT NOT NULL,
        schema TEXT NOT NULL,
        table_name TEXT NOT NULL UNIQUE,
        connection_name TEXT,
        revision INTEGER NOT NULL,
        declared TEXT NOT NULL,
        observed TEXT NOT NULL
    ) STRICT;
    CREATE INDEX streams_by_parent ON streams (catalog, schema, name);
    CREATE INDEX streams_by_connection ON streams (connection_name, name) WHERE connection_name IS NOT NULL;",
    // What is true of the agent as a whole, a row for each.
    "CREATE TABLE facts (
        name TEXT PRIMARY KEY NOT NULL,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;",
    // Governance. A secret's value is sealed under the data key of its scope, and that under a master key that is not here.
    // `scope` is a secret scope's name, or names the connection whose literal secrets are kept. Audit events wait here until
    // they are in their table.
    "CREATE TABLE documents (
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        generation INTEGER NOT NULL,
        payload TEXT NOT NULL,
        PRIMARY KEY (kind, name)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE scope_keys (
        scope TEXT PRIMARY KEY NOT NULL,
        key_id TEXT NOT NULL,
        master_key_id TEXT NOT NULL,
        wrapped BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE secrets (
        scope TEXT NOT NULL REFERENCES scope_keys (scope),
        key TEXT NOT NULL,
        revision TEXT NOT NULL,
        update_time_ms INTEGER NOT NULL,
        updated_by TEXT NOT NULL,
        sealed BLOB NOT NULL,
        PRIMARY KEY (scope, key)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE tokens (
        id TEXT PRIMARY KEY NOT NULL,
        hash BLOB NOT NULL UNIQUE,
        principal TEXT NOT NULL,
        expire_time_ms INTEGER,
        last_use_time_ms INTEGER,
        payload TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tokens_by_principal ON tokens (principal, id);
    CREATE TABLE audit_events (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        payload TEXT NOT NULL
    ) STRICT;",
];

/// The version that this agent writes.
pub(super) const VERSION: i64 = STEPS.len() as i64;

/// Brings a database to `VERSION`.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |source: rusqlite::Error| StoreError::Database {
        action: "migrate the database",
        source: Box::new(source),
    };
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    let done = match usize::try_from(found) {
        Ok(done) if done <= STEPS.len() => done,
        _ => {
            return Err(StoreError::TooNew {
                path: path.display().to_string(),
                found,
                known: VERSION,
            });
        }
    };
    for (step, version) in STEPS.iter().zip(1i64..).skip(done) {
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        transaction.execute_batch(step).map_err(failed)?;
        transaction.pragma_update(None, "user_version", version).map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}
