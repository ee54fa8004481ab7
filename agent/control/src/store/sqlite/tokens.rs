//! Statements on tokens. Each function is the work of one transaction.

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde::{Deserialize, Serialize};

use super::{DOCUMENT_POINTS, SqliteStore, WorkError};
use crate::limits::TOKENS_PER_PRINCIPAL_MAX;
use crate::store::tokens::{InsertedToken, TokenRecord, TokenStore};
use crate::store::{StoreError, payload};

const COLUMNS: &str = "id, hash, principal, expire_time_ms, last_use_time_ms, payload";

/// What nobody looks for.
#[derive(Serialize, Deserialize)]
struct Making {
    created_by: String,
    create_time_ms: i64,
}

#[async_trait]
impl TokenStore for SqliteStore {
    async fn insert_token(&self, token: &TokenRecord, now_ms: i64) -> Result<InsertedToken, StoreError> {
        let token = token.clone();
        self.change("insert a token", DOCUMENT_POINTS, move |transaction| {
            insert(transaction, &token, now_ms)
        })
        .await
    }

    async fn token(&self, id: &str) -> Result<Option<TokenRecord>, StoreError> {
        let id = id.to_owned();
        self.run("read a token", move |transaction| by_id(transaction, &id)).await
    }

    async fn list_tokens(&self, principal: Option<&str>, after: Option<&str>, limit: usize) -> Result<Vec<TokenRecord>, StoreError> {
        let (principal, after) = (principal.map(str::to_owned), after.map(str::to_owned));
        self.run("list tokens", move |transaction| {
            list(transaction, principal.as_deref(), after.as_deref(), limit)
        })
        .await
    }

    async fn use_token(&self, id: &str, now_ms: i64) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.change("note a token's use", DOCUMENT_POINTS, move |transaction| {
            note_use(transaction, &id, now_ms)
        })
        .await
    }

    async fn delete_token(&self, id: &str) -> Result<bool, StoreError> {
        let id = id.to_owned();
        self.change("delete a token", DOCUMENT_POINTS, move |transaction| delete(transaction, &id))
            .await
    }
}

/// Those that have expired make room: nobody can use them, and their number has no bound otherwise.
fn insert(transaction: &Transaction<'_>, token: &TokenRecord, now_ms: i64) -> Result<InsertedToken, WorkError> {
    transaction.execute("DELETE FROM tokens WHERE expire_time_ms <= ?1", params![now_ms])?;
    let count: usize = transaction.query_row(
        "SELECT count(*) FROM tokens WHERE principal = ?1",
        params![token.principal],
        |row| row.get(0),
    )?;
    if count >= TOKENS_PER_PRINCIPAL_MAX {
        return Ok(InsertedToken::TooMany);
    }
    let making = Making {
        created_by: token.created_by.clone(),
        create_time_ms: token.create_time_ms,
    };
    let inserted = transaction.execute(
        "INSERT INTO tokens (id, hash, principal, expire_time_ms, last_use_time_ms, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT DO NOTHING",
        params![
            token.id,
            token.hash,
            token.principal,
            token.expire_time_ms,
            token.last_use_time_ms,
            payload::encode("token", &token.id, &making)?
        ],
    )?;
    Ok(if inserted > 0 {
        InsertedToken::Inserted
    } else {
        InsertedToken::IdTaken
    })
}

fn by_id(transaction: &Transaction<'_>, id: &str) -> Result<Option<TokenRecord>, WorkError> {
    let found = transaction
        .prepare(&format!("SELECT {COLUMNS} FROM tokens WHERE id = ?1"))?
        .query_row(params![id], |row| Ok(read(row)))
        .optional()?;
    found.transpose()
}

fn list(transaction: &Transaction<'_>, principal: Option<&str>, after: Option<&str>, limit: usize) -> Result<Vec<TokenRecord>, WorkError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut prepared = transaction.prepare(&format!(
        "SELECT {COLUMNS} FROM tokens WHERE (?1 IS NULL OR principal = ?1) AND id > ?2 ORDER BY id LIMIT ?3"
    ))?;
    let rows = prepared.query_map(params![principal, after.unwrap_or_default(), limit], |row| Ok(read(row)))?;
    rows.map(|row| row?).collect()
}

/// A use never goes back in time.
fn note_use(transaction: &Transaction<'_>, id: &str, now_ms: i64) -> Result<(), WorkError> {
    transaction.execute(
        "UPDATE tokens SET last_use_time_ms = ?2 WHERE id = ?1 AND (last_use_time_ms IS NULL OR last_use_time_ms < ?2)",
        params![id, now_ms],
    )?;
    Ok(())
}

fn delete(transaction: &Transaction<'_>, id: &str) -> Result<bool, WorkError> {
    Ok(transaction.execute("DELETE FROM tokens WHERE id = ?1", params![id])? > 0)
}

fn read(row: &Row<'_>) -> Result<TokenRecord, WorkError> {
    let id: String = row.get(0)?;
    let making: Making = payload::decode("token", &id, &row.get::<_, String>(5)?)?;
    Ok(TokenRecord {
        id,
        hash: row.get(1)?,
        principal: row.get(2)?,
        expire_time_ms: row.get(3)?,
        last_use_time_ms: row.get(4)?,
        created_by: making.created_by,
        create_time_ms: making.create_time_ms,
    })
}
