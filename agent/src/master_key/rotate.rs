//! `rotate-master-key`: seals every scope of a stopped agent's database under a new master key. The invariant: a key in a file is
//! replaced only after every scope is sealed under the next one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_control::governance::secrets::key_file;
use agent_control::governance::secrets::master::{KeyWrapper, MasterKeys};
use agent_control::governance::secrets::{Rotation, SecretValue, Vault};
use agent_control::store::sqlite::SqliteStore;
use anyhow::{Context, bail};
use clap::Args;

use super::others;
use super::source::{FORMER_VARIABLE, MasterKeySource, from_variable, in_kms, read};
use crate::cli::ServeArguments;
use crate::config::Config;
use crate::limits::NAMES_IN_A_MESSAGE_MAX;
use crate::serve::announce;

/// The variable that holds the key that a rotation goes to.
const NEW_VARIABLE: &str = "FEATURESTORE_AGENT_NEW_MASTER_KEY";

/// What `rotate-master-key` takes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RotateArguments {
    #[command(flatten)]
    pub(crate) serve: ServeArguments,

    /// File of the new key; it is made if it is not there [default: a new key takes the place of the old one, where that is in a
    /// file]. Or put the new key into FEATURESTORE_AGENT_NEW_MASTER_KEY.
    #[arg(long, value_name = "FILE")]
    pub(crate) new_master_key_file: Option<PathBuf>,

    /// AWS KMS key that is the new one, by its ARN or id.
    #[arg(long, value_name = "ARN")]
    pub(crate) new_master_key_kms: Option<String>,

    /// Give every scope a new data key too, and seal all secrets anew.
    #[arg(long)]
    pub(crate) data_keys: bool,
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
    let (next, in_place) = next_key(arguments, source)?;
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
            "until then give the agent both keys: one as its master key, the other in --former-master-key-file, \
             --former-master-key-kms or {FORMER_VARIABLE}"
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

/// The key that a rotation goes to, and the file whose place it takes in the end, if it does.
fn next_key<'a>(arguments: &RotateArguments, source: &'a MasterKeySource) -> anyhow::Result<(Arc<dyn KeyWrapper>, Option<&'a Path>)> {
    let in_environment = std::env::var(NEW_VARIABLE).ok().filter(|key| !key.is_empty());
    let named = (in_environment, &arguments.new_master_key_file, &arguments.new_master_key_kms);
    Ok(match (named, source) {
        ((Some(key), None, None), _) => (from_variable(NEW_VARIABLE, &SecretValue::from(key))?, None),
        ((None, Some(file), None), _) => (Arc::new(key_file::create(file)?), None),
        ((None, None, Some(name)), _) => (in_kms("--new-master-key-kms", name)?, None),
        ((None, None, None), MasterKeySource::File(file) | MasterKeySource::DefaultFile(file)) => {
            (Arc::new(key_file::create(&key_file::next_to(file))?), Some(file))
        }
        ((None, None, None), _) => {
            bail!("say where the new master key is with --new-master-key-file, --new-master-key-kms or {NEW_VARIABLE}")
        }
        _ => {
            bail!("there is more than one new master key: leave only one of --new-master-key-file, --new-master-key-kms and {NEW_VARIABLE}")
        }
    })
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
