//! What is kept of tokens. They are found by their id, which is part of their text; the secret part is kept as a hash only.

use async_trait::async_trait;

use super::StoreError;
use crate::governance::authentication::tokens::TokenHash;

/// What is kept of one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// Its name in lists, in order of the times they were made.
    pub id: String,
    /// SHA-256 of its text.
    pub hash: TokenHash,
    /// Who it speaks for.
    pub principal: String,
    /// Who made it.
    pub created_by: String,
    /// Milliseconds since 1970.
    pub create_time_ms: i64,
    /// Milliseconds since 1970; `None`: it does not expire.
    pub expire_time_ms: Option<i64>,
    /// Milliseconds since 1970, to the minute or so.
    pub last_use_time_ms: Option<i64>,
}

impl TokenRecord {
    /// True once its time is over.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.expire_time_ms.is_some_and(|end| end <= now_ms)
    }
}

/// Outcome of a token's insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertedToken {
    /// It is good from now on.
    Inserted,
    /// Another token has its id.
    IdTaken,
    /// Its principal has as many as it may have.
    TooMany,
}

/// Durable state of tokens. Every method is atomic and durable when it returns.
#[async_trait]
pub trait TokenStore: Send + Sync + 'static {
    /// Keeps a token if its id is free and its principal may have another one; those that have expired at `now_ms` make room.
    async fn insert_token(&self, token: &TokenRecord, now_ms: i64) -> Result<InsertedToken, StoreError>;

    /// The token of that id.
    async fn token(&self, id: &str) -> Result<Option<TokenRecord>, StoreError>;

    /// Tokens in order of their ids, of one principal or all, those after `after` first, at most `limit`.
    async fn list_tokens(&self, principal: Option<&str>, after: Option<&str>, limit: usize) -> Result<Vec<TokenRecord>, StoreError>;

    /// Notes that a token was used. One that is not there is fine.
    async fn use_token(&self, id: &str, now_ms: i64) -> Result<(), StoreError>;

    /// Forgets a token; false if there is none.
    async fn delete_token(&self, id: &str) -> Result<bool, StoreError>;
}
