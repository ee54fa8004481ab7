//! Sealed secrets as the store keeps them. It cannot open one; that is the vault's work (`governance::secrets`).

use async_trait::async_trait;
use stream_spec::name::SecretKey;

use super::{Replaced, StoreError};
use crate::governance::secrets::ScopeId;

/// The data key of a scope, sealed by a master key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeKey {
    /// Random; names this data key.
    pub key_id: String,
    /// Which master key sealed it.
    pub master_key_id: String,
    /// The data key, sealed.
    pub wrapped: Vec<u8>,
}

/// A secret, sealed under its scope's data key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedSecret {
    /// Its key in the scope.
    pub key: SecretKey,
    /// Random, new with every write of the value.
    pub revision: String,
    /// Milliseconds since 1970.
    pub update_time_ms: i64,
    /// Who wrote the value.
    pub updated_by: String,
    /// The value, sealed.
    pub sealed: Vec<u8>,
}

/// What may be told of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretEntry {
    /// Its key in the scope.
    pub key: SecretKey,
    /// Random, new with every write of the value.
    pub revision: String,
    /// Milliseconds since 1970.
    pub update_time_ms: i64,
    /// Who wrote the value.
    pub updated_by: String,
}

impl SealedSecret {
    /// What may be told of it.
    pub fn entry(&self) -> SecretEntry {
        SecretEntry {
            key: self.key.clone(),
            revision: self.revision.clone(),
            update_time_ms: self.update_time_ms,
            updated_by: self.updated_by.clone(),
        }
    }
}

impl SecretEntry {
    /// The secret with its sealed value.
    pub fn sealed(self, sealed: Vec<u8>) -> SealedSecret {
        let Self {
            key,
            revision,
            update_time_ms,
            updated_by,
        } = self;
        SealedSecret {
            key,
            revision,
            update_time_ms,
            updated_by,
            sealed,
        }
    }
}

/// A change of a scope's secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretsWrite {
    /// Which scope.
    pub scope: ScopeId,
    /// The life of the scope that is meant, if a name names it; empty: any.
    pub life: String,
    /// The data key that `put` is sealed under: the scope's own, or its first.
    pub key: ScopeKey,
    /// Everything that the scope had goes, its data key too.
    pub anew: bool,
    /// What must be there of each key in `put`.
    pub expected: Expected,
    /// Values to keep, each in place of the one under its key.
    pub put: Vec<SealedSecret>,
    /// Keys to remove.
    pub remove: Vec<SecretKey>,
}

/// What must be there for a value to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// Whatever it is.
    #[default]
    Anything,
    /// Nothing.
    Nothing,
    /// The value of that revision.
    Revision(String),
}

/// Outcome of a change of secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretsWritten {
    /// Written.
    Done,
    /// The scope has another data key than the values were sealed under.
    KeyChanged,
    /// There is something else than was expected.
    Unexpected,
    /// There is no secret scope of that name.
    ScopeMissing,
    /// Another life of the scope has its name.
    AnotherLife,
    /// The scope would hold more secrets than one may.
    Full,
}

/// The part of a store that keeps secrets. Every method is atomic and durable when it returns.
#[async_trait]
pub trait SecretStore: Send + Sync {
    /// The data key of a scope; it has one exactly while it has a secret.
    async fn scope_key(&self, scope: &ScopeId) -> Result<Option<ScopeKey>, StoreError>;

    /// A secret and the data key that it is sealed under, both as they are at one moment.
    async fn secret(&self, scope: &ScopeId, key: &SecretKey) -> Result<Option<(ScopeKey, SealedSecret)>, StoreError>;

    /// Secrets of a scope in order of their keys, those after `after` first, at most `limit`.
    async fn list_secrets(&self, scope: &ScopeId, after: Option<&str>, limit: usize) -> Result<Vec<SecretEntry>, StoreError>;

    /// Changes the secrets of a scope, all of it or nothing.
    async fn write_secrets(&self, write: &SecretsWrite) -> Result<SecretsWritten, StoreError>;

    /// Deletes a secret; false if there was none.
    async fn delete_secret(&self, scope: &ScopeId, key: &SecretKey) -> Result<bool, StoreError>;

    /// Scopes that have secrets, with their data keys, in order of their texts, those after `after` first, at most `limit`.
    async fn scope_keys(&self, after: Option<&ScopeId>, limit: usize) -> Result<Vec<(ScopeId, ScopeKey)>, StoreError>;

    /// Everything that is sealed in a scope, as it is at one moment.
    async fn sealed_secrets(&self, scope: &ScopeId) -> Result<Option<(ScopeKey, Vec<SealedSecret>)>, StoreError>;

    /// Replaces a scope's data key, or the master key that sealed it, and the sealed bytes of `secrets`, if the key is still
    /// `old`. A new data key comes with all secrets of the scope: it is a conflict if they are others by now.
    async fn replace_scope_key(
        &self,
        scope: &ScopeId,
        old: &ScopeKey,
        new: &ScopeKey,
        secrets: &[SealedSecret],
    ) -> Result<Replaced, StoreError>;
}
