//! Where the master key comes from, and its rotation. The invariant: the key is never in the database's folder by default, and
//! no new key is made for a database whose secrets are sealed under another one.

use std::path::PathBuf;
use std::sync::Arc;

use agent_control::governance::secrets::key_file;
use agent_control::governance::secrets::master::{KeyWrapper, MasterKeys};
use agent_control::governance::secrets::{Rotation, SecretValue, Vault};
use agent_control::store::Store;
use agent_control::store::sqlite::SqliteStore;
use anyhow::{Context, bail};
use clap::Args;

use crate::cli::ServeArguments;
use crate::config::Config;
use crate::limits::NAMES_IN_A_MESSAGE_MAX;
use crate::serve::announce;

/// The variable that holds a key: base64 of 32 bytes. It is no flag, because other users see a process's flags.
const VARIABLE: &str = "FEATURESTORE_AGENT_MASTER_KEY";

/// The variable that holds the key that a rotation goes to.
const NEW_VARIABLE: &str = "FEATURESTORE_AGENT_NEW_MASTER_KEY";

/// The variable that holds a key that only opens what it sealed.
const FORMER_VARIABLE: &str = "FEATURESTORE_AGENT_FORMER_MASTER_KEY";

/// How an agent is given a key beside its master key.
const FORMER_REMEDY: &str = "name the file of another key that secrets are sealed under with --former-master-key-file, or put it into FEATURESTORE_AGENT_FORMER_MASTER_KEY";

/// Settings of the master key, as flags or in the environment.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct MasterKeyArguments {
    /// File of the key that secrets are sealed under, readable by its owner alone [default: `featurestore/master.key` in the
    /// user's XDG configuration directory]. Or put the key, base64 of 32 bytes, into FEATURESTORE_AGENT_MASTER_KEY.
    #[arg(long, value_name = "FILE", env = "FEATURESTORE_AGENT_MASTER_KEY_FILE")]
    pub(crate) master_key_file: Option<PathBuf>,

    /// File of another key that secrets may still be sealed under, as after a rotation that was interrupted: it opens what it
    /// sealed, and seals nothing. Or put it into FEATURESTORE_AGENT_FORMER_MASTER_KEY.
    #[arg(long, value_name = "FILE", env = "FEATURESTORE_AGENT_FORMER_MASTER_KEY_FILE")]
    pub(crate) former_master_key_file: Option<PathBuf>,
}

/// What `rotate-master-key` takes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RotateArguments {
    #[command(flatten)]
    pub(crate) serve: ServeArguments,

    /// File of the new key; it is made if it is not there [default: a new key takes the place of the old one, where that is in a
    /// file]. Or put the new key into FEATURESTORE_AGENT_NEW_MASTER_KEY.
    #[arg(long, value_name = "FILE")]
    pub(crate) new_master_key_file: Option<PathBuf>,

    /// Give every scope a new data key too, and seal all secrets anew.
    #[arg(long)]
    pub(crate) data_keys: bool,
}

/// Where the master key is.
#[derive(Clone, Debug)]
pub(crate) enum MasterKeySource {
    /// In the environment.
    Environment(SecretValue),
    /// In a file that a setting names.
    File(PathBuf),
    /// In the file that is the default.
    DefaultFile(PathBuf),
    /// There is no setting, and no folder for the default.
    Nowhere,
}

impl MasterKeySource {
    /// Decides by the setting and the environment.
    pub(crate) fn decide(file: Option<PathBuf>, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        let in_environment = variable(VARIABLE).filter(|key| !key.is_empty());
        Ok(match (in_environment, file) {
            (Some(_), Some(file)) => bail!(
                "the master key is both in {VARIABLE} and in the file {}; leave one of them out",
                file.display()
            ),
            (Some(key), None) => Self::Environment(SecretValue::from(key)),
            (None, Some(file)) => Self::File(file),
            (None, None) => default_file(variable).map_or(Self::Nowhere, Self::DefaultFile),
        })
    }

    /// The folder of the key's file.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        match self {
            Self::File(file) | Self::DefaultFile(file) => std::path::absolute(file).ok()?.parent().map(PathBuf::from),
            Self::Environment(_) | Self::Nowhere => None,
        }
    }

    /// How an agent with this source gets its key.
    fn remedy(&self) -> String {
        match self {
            Self::Environment(_) => format!("put the right key into {VARIABLE}, or {FORMER_REMEDY}"),
            Self::File(file) | Self::DefaultFile(file) => {
                format!("put the right key into the file {}, or {FORMER_REMEDY}", file.display())
            }
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
}

impl FormerKeySource {
    /// Decides by the setting and the environment.
    pub(crate) fn decide(file: Option<PathBuf>, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        let in_environment = variable(FORMER_VARIABLE).filter(|key| !key.is_empty());
        Ok(match (in_environment, file) {
            (Some(_), Some(file)) => bail!(
                "the former master key is both in {FORMER_VARIABLE} and in the file {}; leave one of them out",
                file.display()
            ),
            (Some(key), None) => Self::Environment(SecretValue::from(key)),
            (None, Some(file)) => Self::File(file),
            (None, None) => Self::None,
        })
    }

    fn read(&self) -> anyhow::Result<Option<Arc<dyn KeyWrapper>>> {
        match self {
            Self::None => Ok(None),
            Self::Environment(text) => from_variable(FORMER_VARIABLE, text).map(Some),
            Self::File(file) => match key_file::read(file)? {
                Some(key) => Ok(Some(Arc::new(key))),
                None => bail!(
                    "the former master key file {} is not there; put the key there, or leave --former-master-key-file out once no                      scope needs it",
                    file.display()
                ),
            },
        }
    }
}

/// The key of a source; `None` if there is none yet.
fn read(source: &MasterKeySource) -> anyhow::Result<Option<Arc<dyn KeyWrapper>>> {
    Ok(match source {
        MasterKeySource::Environment(text) => Some(from_variable(VARIABLE, text)?),
        MasterKeySource::File(file) | MasterKeySource::DefaultFile(file) => key_file::read(file)?.map(|key| Arc::new(key) as _),
        MasterKeySource::Nowhere => None,
    })
}

fn from_variable(name: &str, text: &SecretValue) -> anyhow::Result<Arc<dyn KeyWrapper>> {
    let key = text.expose_text().and_then(key_file::from_base64);
    match key {
        Some(key) => Ok(Arc::new(key)),
        None => bail!("{name} holds no master key; a master key is base64 of 32 random bytes, as `openssl rand -base64 32` makes it"),
    }
}

/// The keys of an agent at its start. One that only this machine reaches makes its key when it has none; any other one must
/// be given it.
pub(crate) async fn at_start(config: &Config, store: &Arc<dyn Store>) -> anyhow::Result<MasterKeys> {
    let source = &config.master_key;
    let is_local = config.listen.ip().is_loopback();
    if !is_local && matches!(source, MasterKeySource::DefaultFile(_) | MasterKeySource::Nowhere) {
        bail!(
            "an agent that listens on {} must be given the master key of its secrets: make one with `openssl rand -base64 32`, keep it \
             in a file of mode 600 and name that with --master-key-file, or put it into {VARIABLE}",
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
        MasterKeySource::Environment(_) | MasterKeySource::Nowhere => None,
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

/// Seals every scope of a stopped agent's database under a new master key.
pub(crate) fn rotate(arguments: &RotateArguments) -> anyhow::Result<()> {
    let config = Config::load(&arguments.serve)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(rotate_in(&config, arguments))
}

async fn rotate_in(config: &Config, arguments: &RotateArguments) -> anyhow::Result<()> {
    let source = &config.master_key;
    let Some(current) = read(source)? else {
        bail!("there is no master key to rotate; {}", source.remedy());
    };
    let database = config.data_dir.join("agent.db");
    if !database.exists() {
        bail!("there is no database {}; name its folder with --data-dir", database.display());
    }
    let sqlite = SqliteStore::open(&database).await;
    let sqlite = Arc::new(sqlite.context("cannot open the agent's database; stop the agent first")?);
    let in_environment = std::env::var(NEW_VARIABLE).ok().filter(|key| !key.is_empty());
    let (next, in_place): (Arc<dyn KeyWrapper>, _) = match (in_environment, &arguments.new_master_key_file, source) {
        (Some(_), Some(_), _) => bail!("the new master key is both in {NEW_VARIABLE} and in a file; leave one of them out"),
        (Some(key), None, _) => (from_variable(NEW_VARIABLE, &SecretValue::from(key))?, None),
        (None, Some(file), _) => (Arc::new(key_file::create(file)?), None),
        (None, None, MasterKeySource::File(file) | MasterKeySource::DefaultFile(file)) => {
            (Arc::new(key_file::create(&key_file::next_to(file))?), Some(file))
        }
        (None, None, _) => bail!("say where the new master key is with --new-master-key-file or {NEW_VARIABLE}"),
    };
    let mut others = others(source, &config.former_master_key)?;
    others.insert(0, current);
    let keys = MasterKeys::new(next.clone(), others, source.remedy());
    let vault = Vault::new(sqlite.clone(), keys);
    let rotated = match arguments.data_keys {
        true => vault.rotate_data_keys().await,
        false => vault.rotate_master_key().await,
    };
    // A database that others copy must not bring back what is sealed under the former key.
    let compacted = sqlite.compact().await;
    sqlite.close().await;
    let meanwhile = match in_place {
        Some(_) => "until then the agent finds both keys".to_owned(),
        None => format!(
            "until then give the agent both keys: one as its master key, the other in --former-master-key-file or {FORMER_VARIABLE}"
        ),
    };
    let rotated = rotated.with_context(|| format!("the rotation was interrupted; run it again to finish it; {meanwhile}"))?;
    refuse_half_a_rotation(&rotated, &meanwhile)?;
    compacted.context("every scope is sealed under the new key, but what was under the former one may still be in the database's file; run the rotation again")?;
    announce(&format!(
        "sealed {} scopes under the master key {}; {} were already",
        rotated.sealed,
        next.id(),
        rotated.unchanged
    ))?;
    match in_place {
        Some(file) => {
            let former = key_file::promote(file)?;
            announce(&format!(
                "the new key is in {}; the former one is in {}: copies of the database need it, remove it with them",
                file.display(),
                former.display()
            ))
        }
        None => announce("start the agent with the new key from now on"),
    }
}

fn refuse_half_a_rotation(rotated: &Rotation, meanwhile: &str) -> anyhow::Result<()> {
    if rotated.failed.is_empty() {
        return Ok(());
    }
    let problems: Vec<String> = rotated
        .failed
        .iter()
        .take(NAMES_IN_A_MESSAGE_MAX)
        .map(ToString::to_string)
        .collect();
    bail!(
        "{} scopes are sealed under the new master key, and {} are not, so both keys stay in use: {}. Mend these and run the rotation again; {meanwhile}",
        rotated.sealed + rotated.unchanged,
        rotated.failed.len(),
        problems.join("; ")
    )
}

/// `featurestore/master.key` in the user's configuration directory, as the XDG base directory specification has it.
fn default_file(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    // The specification says to ignore relative paths.
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("featurestore/master.key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(file: Option<&str>, variables: &[(&str, &str)]) -> anyhow::Result<MasterKeySource> {
        MasterKeySource::decide(file.map(PathBuf::from), |name| {
            variables.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[tokio::test]
    async fn after_an_interrupted_rotation_an_agent_is_given_both_keys() {
        use agent_control::governance::secrets::ScopeId;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let sqlite = Arc::new(SqliteStore::open(&at("agent.db")).await.unwrap());
        let store: Arc<dyn Store> = sqlite.clone();
        let (first, second): (Arc<dyn KeyWrapper>, Arc<dyn KeyWrapper>) = (
            Arc::new(key_file::create(&at("first")).unwrap()),
            Arc::new(key_file::create(&at("second")).unwrap()),
        );
        let scope = |name: &str| ScopeId::Connection(name.to_owned());
        let key = stream_spec::name::SecretKey::parse("k").unwrap();
        for (name, master) in [("done", &second), ("not-yet", &first)] {
            let vault = Vault::new(store.clone(), MasterKeys::new(master.clone(), Vec::new(), ""));
            vault
                .put(&scope(name), &key, &SecretValue::from(name.to_owned()), "ada")
                .await
                .unwrap();
        }
        let config = |former: Option<&str>| {
            let mut arguments = ServeArguments {
                data_dir: Some(folder.path().to_owned()),
                ..ServeArguments::default()
            };
            arguments.master_key.master_key_file = Some(at("second"));
            arguments.master_key.former_master_key_file = former.map(at);
            Config::load(&arguments).unwrap()
        };
        let vault = |keys| Vault::new(store.clone(), keys);
        let without = vault(at_start(&config(None), &store).await.unwrap());
        let error = without.read(&scope("not-yet"), &key).await.unwrap_err().to_string();
        assert!(error.contains("--former-master-key-file") && error.contains(first.id()), "{error}");
        let with = vault(at_start(&config(Some("first")), &store).await.unwrap());
        for name in ["done", "not-yet"] {
            assert_eq!(with.read(&scope(name), &key).await.unwrap().expose(), name.as_bytes());
        }
        assert_eq!(with.sealed_elsewhere(1).await.unwrap(), []);
        let error = at_start(&config(Some("absent")), &store).await.err().unwrap().to_string();
        assert!(error.contains("absent") && error.contains("--former-master-key-file"), "{error}");
    }

    #[test]
    fn the_key_is_in_the_environment_or_in_one_file() {
        let cases = [
            (
                None,
                vec![("HOME", "/home/u")],
                "DefaultFile(\"/home/u/.config/featurestore/master.key\")",
            ),
            (
                None,
                vec![("HOME", "/home/u"), ("XDG_CONFIG_HOME", "/c")],
                "DefaultFile(\"/c/featurestore/master.key\")",
            ),
            (None, vec![("XDG_CONFIG_HOME", "relative")], "Nowhere"),
            (Some("/k"), vec![("HOME", "/home/u")], "File(\"/k\")"),
            (None, vec![(VARIABLE, "hunter2")], "Environment([redacted])"),
            (Some("/k"), vec![(VARIABLE, "")], "File(\"/k\")"),
        ];
        for (file, variables, expected) in cases {
            assert_eq!(format!("{:?}", decide(file, &variables).unwrap()), expected);
        }
        let error = decide(Some("/k"), &[(VARIABLE, "hunter2")]).unwrap_err().to_string();
        assert!(
            error.contains(VARIABLE) && error.contains("/k") && !error.contains("hunter2"),
            "{error}"
        );
        let error = read(&decide(None, &[(VARIABLE, "hunter2")]).unwrap()).err().unwrap().to_string();
        assert!(error.contains("openssl rand") && !error.contains("hunter2"), "{error}");
    }
}
