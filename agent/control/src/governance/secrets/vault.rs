//! The calls on secrets, for services and connectors; who may make them is decided before.
//!
//! The invariant: a value is written together with the data key that it was sealed under, or not at all: if the scope's
//! key changed in between, the value is sealed again.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use stream_spec::name::SecretKey;
use uuid::Uuid;

use super::cipher::Key;
use super::error::VaultError;
use super::master::{KeyUse, KeyWrapper, MasterKeys, WrapError};
use super::scope::ScopeId;
use super::value::SecretValue;
use crate::clock;
use crate::limits::WRITE_ATTEMPTS_MAX;
use crate::store::documents::ScopeRecord;
use crate::store::secrets::{Expected, ScopeKey, SealedSecret, SecretEntry, SecretsWrite, SecretsWritten};
use crate::store::{Store, documents};

/// A value to keep.
pub struct NewSecret {
    /// Its key in the scope.
    pub key: SecretKey,
    /// The value.
    pub value: SecretValue,
}

/// When a value is written.
#[derive(Clone, Debug, Default)]
pub struct PutCondition {
    /// What must be there.
    pub expected: Expected,
    /// The life of the scope that is meant; empty: any.
    pub scope_uid: String,
    /// Repeats of one write have the same id; empty: no repeat is known.
    pub request_id: String,
}

impl PutCondition {
    /// The revision that all repeats of the write have.
    fn revision(&self, scope: &ScopeId, key: &SecretKey) -> Option<String> {
        if self.request_id.is_empty() {
            return None;
        }
        let mut digest = Sha256::new_with_prefix("featurestore secret revision");
        for part in [&scope.to_string(), key.as_str(), &self.request_id] {
            digest.update(part.len().to_be_bytes());
            digest.update(part);
        }
        let digest = digest.finalize();
        Some(digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Secrets of all scopes, over the store.
#[derive(Clone)]
pub struct Vault {
    pub(super) store: Arc<dyn Store>,
    pub(super) master_keys: MasterKeys,
}

impl Vault {
    /// A vault over the store, opened by these keys.
    pub fn new(store: Arc<dyn Store>, master_keys: MasterKeys) -> Self {
        Self { store, master_keys }
    }

    /// A secret's value.
    pub async fn read(&self, scope: &ScopeId, key: &SecretKey) -> Result<SecretValue, VaultError> {
        let Some((scope_key, secret)) = self.store.secret(scope, key).await? else {
            self.must_exist(scope).await?;
            return Err(VaultError::SecretMissing {
                scope: scope.clone(),
                key: key.to_string(),
            });
        };
        let data_key = self.open_key(scope, &scope_key).await?;
        open(scope, &scope_key, &data_key, &secret)
    }

    /// Keeps a value under its key, in place of the one that was there. Returns the random revision of this write.
    pub async fn put(&self, scope: &ScopeId, key: &SecretKey, value: &SecretValue, by: &str) -> Result<SecretEntry, VaultError> {
        self.put_if(scope, key, value, by, &PutCondition::default()).await
    }

    /// The same under a condition, which the store checks as it writes.
    pub async fn put_if(
        &self,
        scope: &ScopeId,
        key: &SecretKey,
        value: &SecretValue,
        by: &str,
        condition: &PutCondition,
    ) -> Result<SecretEntry, VaultError> {
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let (scope_key, data_key) = self.key_of(scope).await?;
            let mut secret = seal(scope, &scope_key, &data_key, key, value, by)?;
            if let Some(revision) = condition.revision(scope, key) {
                // It is sealed with the value: no other one can be given out for it.
                secret = seal_again(scope, &scope_key, &data_key, value, SealedSecret { revision, ..secret })?;
            }
            let entry = secret.entry();
            let write = SecretsWrite {
                scope: scope.clone(),
                life: condition.scope_uid.clone(),
                key: scope_key,
                anew: false,
                expected: condition.expected.clone(),
                put: vec![secret],
                remove: Vec::new(),
            };
            match self.store.write_secrets(&write).await? {
                SecretsWritten::Done => return Ok(entry),
                SecretsWritten::ScopeMissing => return Err(VaultError::ScopeMissing { scope: scope.clone() }),
                SecretsWritten::AnotherLife => return Err(VaultError::AnotherLife { scope: scope.clone() }),
                SecretsWritten::Full => return Err(VaultError::ScopeFull { scope: scope.clone() }),
                SecretsWritten::Unexpected => {
                    return Err(VaultError::Unexpected {
                        scope: scope.clone(),
                        key: key.to_string(),
                        expected: condition.expected.clone(),
                    });
                }
                SecretsWritten::KeyChanged => {}
            }
        }
        Err(VaultError::Busy { scope: scope.clone() })
    }

    /// Deletes a secret; false if there was none.
    pub async fn delete(&self, scope: &ScopeId, key: &SecretKey) -> Result<bool, VaultError> {
        Ok(self.store.delete_secret(scope, key).await?)
    }

    /// What is kept in a scope, in order of the keys, those after `after` first, at most `limit`. No master key is needed.
    pub async fn list(&self, scope: &ScopeId, after: Option<&str>, limit: usize) -> Result<Vec<SecretEntry>, VaultError> {
        self.must_exist(scope).await?;
        Ok(self.store.list_secrets(scope, after, limit).await?)
    }

    /// Seals the literal secrets of a connection, to be written in the transaction that writes the connection. Those in
    /// `remove` go; others stay. A write that finds the scope's key changed is `SecretsWritten::KeyChanged`: seal again.
    pub async fn seal_for_connection(
        &self,
        uid: &str,
        put: &[NewSecret],
        remove: Vec<SecretKey>,
        by: &str,
    ) -> Result<SecretsWrite, VaultError> {
        let scope = ScopeId::Connection(uid.to_owned());
        let (scope_key, data_key) = self.key_of(&scope).await?;
        seal_all(scope, scope_key, &data_key, put, by).map(|write| SecretsWrite { remove, ..write })
    }

    /// The same for a connection whose literal secrets were all sent: what was kept before goes, and need not be readable.
    pub async fn seal_all_for_connection(&self, uid: &str, put: &[NewSecret], by: &str) -> Result<SecretsWrite, VaultError> {
        let scope = ScopeId::Connection(uid.to_owned());
        let (scope_key, data_key) = self.new_key(&scope).await?;
        seal_all(scope, scope_key, &data_key, put, by).map(|write| SecretsWrite { anew: true, ..write })
    }

    async fn must_exist(&self, scope: &ScopeId) -> Result<(), VaultError> {
        match scope {
            ScopeId::Connection(_) => Ok(()),
            ScopeId::Named(name) => match documents::get::<ScopeRecord>(&self.store, name.as_str()).await? {
                Some(_) => Ok(()),
                None => Err(VaultError::ScopeMissing { scope: scope.clone() }),
            },
        }
    }

    /// The scope's data key, a new one if it has none yet.
    async fn key_of(&self, scope: &ScopeId) -> Result<(ScopeKey, Key), VaultError> {
        match self.store.scope_key(scope).await? {
            Some(found) => {
                let key = self.open_key(scope, &found).await?;
                Ok((found, key))
            }
            None => self.new_key(scope).await,
        }
    }

    pub(super) async fn new_key(&self, scope: &ScopeId) -> Result<(ScopeKey, Key), VaultError> {
        let Some(master) = self.master_keys.current() else {
            return Err(VaultError::NoMasterKey {
                remedy: self.master_keys.remedy().to_owned(),
            });
        };
        let key = Key::random().map_err(|_| VaultError::CipherFailed { scope: scope.clone() })?;
        let key_id = Uuid::new_v4().to_string();
        let wrapped = wrap(master.as_ref(), scope, &key_id, &key).await?;
        let scope_key = ScopeKey {
            key_id,
            master_key_id: master.id().to_owned(),
            wrapped,
        };
        Ok((scope_key, key))
    }

    pub(super) async fn open_key(&self, scope: &ScopeId, found: &ScopeKey) -> Result<Key, VaultError> {
        let master_key_id = found.master_key_id.clone();
        let Some(master) = self.master_keys.find(&master_key_id) else {
            return Err(VaultError::MasterKeyMissing {
                scope: scope.clone(),
                wanted: master_key_id,
                found: match self.master_keys.current() {
                    Some(key) => format!("this agent has `{}`", key.id()),
                    None => "this agent has none".to_owned(),
                },
                remedy: self.master_keys.remedy().to_owned(),
            });
        };
        let text = scope.to_string();
        let purpose = KeyUse {
            scope: &text,
            key_id: &found.key_id,
        };
        let scope = scope.clone();
        match master.open_key(purpose, &found.wrapped).await {
            Ok(key) => Ok(key),
            Err(WrapError::NotAuthentic) => Err(VaultError::KeyDamaged { scope, master_key_id }),
            Err(WrapError::Unavailable(problem)) => Err(VaultError::MasterKeyUnavailable {
                scope,
                master_key_id,
                problem,
            }),
        }
    }
}

pub(super) async fn wrap(master: &dyn KeyWrapper, scope: &ScopeId, key_id: &str, key: &Key) -> Result<Vec<u8>, VaultError> {
    let text = scope.to_string();
    let purpose = KeyUse { scope: &text, key_id };
    master
        .seal_key(purpose, key)
        .await
        .map_err(|error| VaultError::MasterKeyUnavailable {
            scope: scope.clone(),
            master_key_id: master.id().to_owned(),
            problem: match error {
                WrapError::NotAuthentic => "it refused the request".to_owned(),
                WrapError::Unavailable(problem) => problem,
            },
        })
}

fn seal_all(scope: ScopeId, scope_key: ScopeKey, data_key: &Key, put: &[NewSecret], by: &str) -> Result<SecretsWrite, VaultError> {
    let put = put
        .iter()
        .map(|new| seal(&scope, &scope_key, data_key, &new.key, &new.value, by))
        .collect::<Result<_, _>>()?;
    Ok(SecretsWrite {
        scope,
        life: String::new(),
        key: scope_key,
        anew: false,
        expected: Expected::Anything,
        put,
        remove: Vec::new(),
    })
}

fn seal(
    scope: &ScopeId,
    scope_key: &ScopeKey,
    data_key: &Key,
    key: &SecretKey,
    value: &SecretValue,
    by: &str,
) -> Result<SealedSecret, VaultError> {
    let unsealed = SealedSecret {
        key: key.clone(),
        revision: Uuid::new_v4().to_string(),
        update_time_ms: clock::now_ms(),
        updated_by: by.to_owned(),
        sealed: Vec::new(),
    };
    seal_again(scope, scope_key, data_key, value, unsealed)
}

/// The same write of the secret under another key.
pub(super) fn seal_again(
    scope: &ScopeId,
    scope_key: &ScopeKey,
    data_key: &Key,
    value: &SecretValue,
    secret: SealedSecret,
) -> Result<SealedSecret, VaultError> {
    let text = scope.to_string();
    let sealed = data_key
        .seal(&bound_to(&text, scope_key, &secret.key, &secret.revision), value.expose())
        .map_err(|_| VaultError::CipherFailed { scope: scope.clone() })?;
    Ok(SealedSecret { sealed, ..secret })
}

pub(super) fn open(scope: &ScopeId, scope_key: &ScopeKey, data_key: &Key, secret: &SealedSecret) -> Result<SecretValue, VaultError> {
    let text = scope.to_string();
    data_key
        .open(&bound_to(&text, scope_key, &secret.key, &secret.revision), &secret.sealed)
        .map_err(|_| VaultError::SecretDamaged {
            scope: scope.clone(),
            key: secret.key.to_string(),
        })
}

/// What a sealed value is for: the scope by its name and by the random id of its key, the secret, and this write of it.
fn bound_to<'a>(scope: &'a str, scope_key: &'a ScopeKey, key: &'a SecretKey, revision: &'a str) -> [&'a str; 5] {
    ["secret", scope, &scope_key.key_id, key.as_str(), revision]
}
