//! Where master keys are. The invariant: the settings name one place or none, and reading it asks nobody but this machine: an
//! agent whose KMS is away starts, and serves all that needs no secret.

use std::path::PathBuf;
use std::sync::Arc;

use agent_control::governance::secrets::SecretValue;
use agent_control::governance::secrets::aws_kms::KmsKey;
use agent_control::governance::secrets::key_file;
use agent_control::governance::secrets::master::KeyWrapper;
use anyhow::{Context, bail};

/// The variable that holds a key: base64 of 32 bytes. It is no flag, because other users see a process's flags.
pub(super) const VARIABLE: &str = "FEATURESTORE_AGENT_MASTER_KEY";

/// The variable that holds a key that only opens what it sealed.
pub(super) const FORMER_VARIABLE: &str = "FEATURESTORE_AGENT_FORMER_MASTER_KEY";

/// How an agent is given a key beside its master key.
const FORMER_REMEDY: &str = "name another key that secrets are sealed under with --former-master-key-file or --former-master-key-kms, or put it into FEATURESTORE_AGENT_FORMER_MASTER_KEY";

/// Where the master key is.
#[derive(Clone, Debug)]
pub(crate) enum MasterKeySource {
    /// In the environment.
    Environment(SecretValue),
    /// In a file that a setting names.
    File(PathBuf),
    /// In AWS KMS, under that name.
    Kms(String),
    /// In the file that is the default.
    DefaultFile(PathBuf),
    /// There is no setting, and no folder for the default.
    Nowhere,
}

impl MasterKeySource {
    /// Decides by the settings and the environment.
    pub(crate) fn decide(file: Option<PathBuf>, kms: Option<String>, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        let in_environment = variable(VARIABLE).filter(|key| !key.is_empty());
        Ok(match (in_environment, file, kms) {
            (None, None, None) => default_file(variable).map_or(Self::Nowhere, Self::DefaultFile),
            (Some(key), None, None) => Self::Environment(SecretValue::from(key)),
            (None, Some(file), None) => Self::File(file),
            (None, None, Some(key)) => Self::Kms(key),
            (key, file, kms) => bail!(more_than_one("master key", key.map(|_| VARIABLE), file, kms)),
        })
    }

    /// The folder of the key's file.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        match self {
            Self::File(file) | Self::DefaultFile(file) => std::path::absolute(file).ok()?.parent().map(PathBuf::from),
            Self::Environment(_) | Self::Kms(_) | Self::Nowhere => None,
        }
    }

    /// How an agent with this source gets its key.
    pub(super) fn remedy(&self) -> String {
        match self {
            Self::Environment(_) => format!("put the right key into {VARIABLE}, or {FORMER_REMEDY}"),
            Self::File(file) | Self::DefaultFile(file) => {
                format!("put the right key into the file {}, or {FORMER_REMEDY}", file.display())
            }
            Self::Kms(_) => format!("name the right AWS KMS key with --master-key-kms, or {FORMER_REMEDY}"),
            Self::Nowhere => format!("name a file with --master-key-file, or put a key into {VARIABLE}"),
        }
    }
}

/// Where the key is that only opens what it sealed.
#[derive(Clone, Debug, Default)]
pub(crate) enum FormerKeySource {
    /// There is none.
    #[default]
    None,
    /// In the environment.
    Environment(SecretValue),
    /// In a file that a setting names.
    File(PathBuf),
    /// In AWS KMS, under that name.
    Kms(String),
}

impl FormerKeySource {
    /// Decides by the settings and the environment.
    pub(crate) fn decide(file: Option<PathBuf>, kms: Option<String>, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        let in_environment = variable(FORMER_VARIABLE).filter(|key| !key.is_empty());
        Ok(match (in_environment, file, kms) {
            (None, None, None) => Self::None,
            (Some(key), None, None) => Self::Environment(SecretValue::from(key)),
            (None, Some(file), None) => Self::File(file),
            (None, None, Some(key)) => Self::Kms(key),
            (key, file, kms) => bail!(more_than_one("former master key", key.map(|_| FORMER_VARIABLE), file, kms)),
        })
    }

    pub(super) fn read(&self) -> anyhow::Result<Option<Arc<dyn KeyWrapper>>> {
        match self {
            Self::None => Ok(None),
            Self::Environment(text) => from_variable(FORMER_VARIABLE, text).map(Some),
            Self::Kms(name) => in_kms("former_master_key_kms", name).map(Some),
            Self::File(file) => match key_file::read(file)? {
                Some(key) => Ok(Some(Arc::new(key))),
                None => bail!(
                    "the former master key file {} is not there; put the key there, or leave --former-master-key-file out once no \
                     scope needs it",
                    file.display()
                ),
            },
        }
    }
}

/// What to tell whoever set a key in several places.
fn more_than_one(what: &str, variable: Option<&str>, file: Option<PathBuf>, kms: Option<String>) -> String {
    let places = [
        variable.map(|variable| format!("in {variable}")),
        file.map(|file| format!("in the file {}", file.display())),
        kms.map(|key| format!("the AWS KMS key `{key}`")),
    ];
    let places: Vec<String> = places.into_iter().flatten().collect();
    format!("there is more than one {what}, {}; leave only one of them", places.join(" and "))
}

/// The key of a source; `None` if there is none yet.
pub(super) fn read(source: &MasterKeySource) -> anyhow::Result<Option<Arc<dyn KeyWrapper>>> {
    Ok(match source {
        MasterKeySource::Environment(text) => Some(from_variable(VARIABLE, text)?),
        MasterKeySource::File(file) | MasterKeySource::DefaultFile(file) => key_file::read(file)?.map(|key| Arc::new(key) as _),
        MasterKeySource::Kms(name) => Some(in_kms("master_key_kms", name)?),
        MasterKeySource::Nowhere => None,
    })
}

/// A key of AWS KMS, which is not asked yet.
pub(super) fn in_kms(setting: &str, name: &str) -> anyhow::Result<Arc<dyn KeyWrapper>> {
    Ok(Arc::new(KmsKey::parse(name).with_context(|| format!("cannot use {setting}"))?))
}

pub(super) fn from_variable(name: &str, text: &SecretValue) -> anyhow::Result<Arc<dyn KeyWrapper>> {
    let key = text.expose_text().and_then(key_file::from_base64);
    match key {
        Some(key) => Ok(Arc::new(key)),
        None => bail!("{name} holds no master key; a master key is base64 of 32 random bytes, as `openssl rand -base64 32` makes it"),
    }
}

/// `featurestore/master.key` in the user's configuration directory, as the XDG base directory specification has it.
fn default_file(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    // The specification says to ignore relative paths.
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("featurestore/master.key"))
}
