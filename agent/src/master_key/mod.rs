//! The master key of an agent at its start, and its rotation. The invariant: the key is never in the database's folder by
//! default, and no new key is made for a database whose secrets are sealed under another one.

mod rotate;
mod source;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use agent_control::governance::secrets::Vault;
use agent_control::governance::secrets::key_file;
use agent_control::governance::secrets::master::{KeyWrapper, MasterKeys};
use agent_control::store::Store;
use anyhow::bail;
use clap::Args;

use crate::config::Config;
use crate::limits::NAMES_IN_A_MESSAGE_MAX;

pub(crate) use rotate::{RotateArguments, rotate};
pub(crate) use source::{FormerKeySource, MasterKeySource};
use source::{VARIABLE, read};

/// Settings of the master key, as flags or in the environment.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct MasterKeyArguments {
    /// File of the key that secrets are sealed under, readable by its owner alone [default: `featurestore/master.key` in the
    /// user's XDG configuration directory]. Or put the key, base64 of 32 bytes, into FEATURESTORE_AGENT_MASTER_KEY.
    #[arg(long, value_name = "FILE", env = "FEATURESTORE_AGENT_MASTER_KEY_FILE")]
    pub(crate) master_key_file: Option<PathBuf>,

    /// AWS KMS key that secrets are sealed under, by its ARN or id, instead of a key in a file. Region and credentials come from
    /// the agent's AWS environment; they must allow kms:Encrypt and kms:Decrypt.
    #[arg(long, value_name = "ARN", env = "FEATURESTORE_AGENT_MASTER_KEY_KMS")]
    pub(crate) master_key_kms: Option<String>,

    /// File of another key that secrets may still be sealed under, as after a rotation that was interrupted: it opens what it
    /// sealed, and seals nothing. Or put it into FEATURESTORE_AGENT_FORMER_MASTER_KEY.
    #[arg(long, value_name = "FILE", env = "FEATURESTORE_AGENT_FORMER_MASTER_KEY_FILE")]
    pub(crate) former_master_key_file: Option<PathBuf>,

    /// The same, where that other key is in AWS KMS.
    #[arg(long, value_name = "ARN", env = "FEATURESTORE_AGENT_FORMER_MASTER_KEY_KMS")]
    pub(crate) former_master_key_kms: Option<String>,
}

/// The keys of an agent at its start. One that only this machine reaches makes its key when it has none; any other one must
/// be given it.
pub(crate) async fn at_start(config: &Config, store: &Arc<dyn Store>) -> anyhow::Result<MasterKeys> {
    let source = &config.master_key;
    let is_local = config.listen.ip().is_loopback();
    if !is_local && matches!(source, MasterKeySource::DefaultFile(_) | MasterKeySource::Nowhere) {
        bail!(
            "an agent that listens on {} must be given the master key of its secrets: make one with `openssl rand -base64 32`, keep it \
             in a file of mode 600 and name that with --master-key-file, or put it into {VARIABLE}; or name an AWS KMS key with \
             --master-key-kms",
            config.listen
        );
    }
    let remedy = source.remedy();
    let current = match (read(source)?, source) {
        (Some(key), _) => key,
        (None, MasterKeySource::File(file) | MasterKeySource::DefaultFile(file)) => {
            let holds_secrets = !store.scope_keys(None, 1).await?.is_empty();
            if holds_secrets {
                tracing::error!(file = %file.display(), "the master key file is gone; secrets cannot be read until it is back");
                return Ok(MasterKeys::none(remedy));
            }
            if !is_local {
                bail!(
                    "the master key file {} is not there; put the key there, or name another file with --master-key-file",
                    file.display()
                );
            }
            let key = key_file::create(file)?;
            tracing::info!(file = %file.display(), key = key.id(), "made a master key; keep a copy of it: without it no secret can be read");
            Arc::new(key)
        }
        (None, _) => return Ok(MasterKeys::none(remedy)),
    };
    Ok(MasterKeys::new(current, others(source, &config.former_master_key)?, remedy))
}

/// Keys beside the master key: the one that is set, and the one that a rotation in place was going to when it was interrupted,
/// as some scopes may be sealed under it already.
fn others(source: &MasterKeySource, former: &FormerKeySource) -> anyhow::Result<Vec<Arc<dyn KeyWrapper>>> {
    let next = match source {
        MasterKeySource::File(file) | MasterKeySource::DefaultFile(file) => key_file::read(&key_file::next_to(file))?,
        MasterKeySource::Environment(_) | MasterKeySource::Kms(_) | MasterKeySource::Nowhere => None,
    };
    let next = next.map(|key| Arc::new(key) as _);
    Ok(former.read()?.into_iter().chain(next).collect())
}

/// Says at the start which scopes cannot be read; the agent serves all the others.
pub(crate) async fn warn_of_lost_keys(vault: &Vault) -> anyhow::Result<()> {
    let elsewhere = vault.sealed_elsewhere(NAMES_IN_A_MESSAGE_MAX).await?;
    for (scope, key) in elsewhere {
        tracing::error!(%scope, key, "the secrets of the scope are sealed under a master key that this agent does not have");
    }
    Ok(())
}
