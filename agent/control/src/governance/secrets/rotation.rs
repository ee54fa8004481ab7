//! Rotation of keys. The invariant: each scope is under one master key or the other at every moment, and readable by
//! whoever has both; so a rotation may stop anywhere, and running it again finishes it.

use super::error::VaultError;
use super::scope::ScopeId;
use super::vault::{Vault, open, seal_again, wrap};
use crate::limits::{SCOPES_AT_ONCE, WRITE_ATTEMPTS_MAX};
use crate::store::Replaced;
use crate::store::secrets::ScopeKey;

/// What a rotation came to.
#[derive(Debug, Default)]
pub struct Rotation {
    /// Scopes that were sealed anew.
    pub sealed: u64,
    /// Scopes that needed nothing.
    pub unchanged: u64,
    /// Scopes that stay as they are, and why.
    pub failed: Vec<VaultError>,
}

impl Vault {
    /// Seals every scope's data key under the current master key. A scope that does not open stays as it is.
    pub async fn rotate_master_key(&self) -> Result<Rotation, VaultError> {
        self.rotate_every_scope(false).await
    }

    /// Gives every scope a new data key, under the current master key, and seals its secrets anew. Their revisions stay.
    pub async fn rotate_data_keys(&self) -> Result<Rotation, VaultError> {
        self.rotate_every_scope(true).await
    }

    async fn rotate_every_scope(&self, new_data_keys: bool) -> Result<Rotation, VaultError> {
        let mut rotation = Rotation::default();
        let mut after = None;
        loop {
            let found = self.store.scope_keys(after.as_ref(), SCOPES_AT_ONCE).await?;
            let Some((last, _)) = found.last() else { return Ok(rotation) };
            after = Some(last.clone());
            for (scope, _) in found {
                match self.rotate_scope(&scope, new_data_keys).await {
                    Ok(true) => rotation.sealed += 1,
                    Ok(false) => rotation.unchanged += 1,
                    Err(error) if error.is_passing() => return Err(error),
                    Err(error) => rotation.failed.push(error),
                }
            }
        }
    }

    /// Scopes whose master key this agent does not have, at most `limit`, and the keys that they need.
    pub async fn sealed_elsewhere(&self, limit: usize) -> Result<Vec<(ScopeId, String)>, VaultError> {
        let mut elsewhere = Vec::new();
        let mut after = None;
        loop {
            let found = self.store.scope_keys(after.as_ref(), SCOPES_AT_ONCE).await?;
            let Some((last, _)) = found.last() else { return Ok(elsewhere) };
            after = Some(last.clone());
            for (scope, key) in found {
                if self.master_keys.find(&key.master_key_id).is_none() {
                    elsewhere.push((scope, key.master_key_id));
                }
                if elsewhere.len() == limit {
                    return Ok(elsewhere);
                }
            }
        }
    }

    /// True if the scope was sealed anew.
    async fn rotate_scope(&self, scope: &ScopeId, with_data_key: bool) -> Result<bool, VaultError> {
        let Some(master) = self.master_keys.current() else {
            return Err(VaultError::NoMasterKey {
                remedy: self.master_keys.remedy().to_owned(),
            });
        };
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let replaced = if with_data_key {
                let Some((old, secrets)) = self.store.sealed_secrets(scope).await? else {
                    return Ok(false);
                };
                let old_key = self.open_key(scope, &old).await?;
                let (new, new_key) = self.new_key(scope).await?;
                let mut again = Vec::with_capacity(secrets.len());
                for secret in secrets {
                    let value = open(scope, &old, &old_key, &secret)?;
                    again.push(seal_again(scope, &new, &new_key, &value, secret)?);
                }
                self.store.replace_scope_key(scope, &old, &new, &again).await?
            } else {
                let Some(old) = self.store.scope_key(scope).await? else {
                    return Ok(false);
                };
                if old.master_key_id == master.id() {
                    return Ok(false);
                }
                let key = self.open_key(scope, &old).await?;
                let new = ScopeKey {
                    wrapped: wrap(master.as_ref(), scope, &old.key_id, &key).await?,
                    key_id: old.key_id.clone(),
                    master_key_id: master.id().to_owned(),
                };
                self.store.replace_scope_key(scope, &old, &new, &[]).await?
            };
            match replaced {
                Replaced::Done => return Ok(true),
                Replaced::Missing => return Ok(false),
                Replaced::Conflict => {}
            }
        }
        Err(VaultError::Busy { scope: scope.clone() })
    }
}
