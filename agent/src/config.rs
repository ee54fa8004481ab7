//! Settings: a flag or environment variable over the file over the default. A key that is not known is refused, because
//! a setting that is silently ignored is worse than one that is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_control::governance::authentication::certificate::NameField;
use anyhow::{Context, bail};
use serde::Deserialize;
use stream_spec::place::default_data_dir;

use crate::access::{Access, IssuerInFile};
use crate::cli::{LogFormat, ServeArguments};
use crate::duration;
use crate::limits::{CONFIG_BYTES_MAX, TRASH_RETENTION};
use crate::master_key::{FormerKeySource, MasterKeySource};

/// The configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    data_dir: Option<PathBuf>,
    warehouse: Option<String>,
    master_key_file: Option<PathBuf>,
    master_key_kms: Option<String>,
    former_master_key_file: Option<PathBuf>,
    former_master_key_kms: Option<String>,
    listen: Option<SocketAddr>,
    insecure_local: Option<bool>,
    log_format: Option<LogFormat>,
    log_level: Option<String>,
    #[serde(default, deserialize_with = "duration::from_file")]
    trash_retention: Option<Duration>,
    #[serde(default, deserialize_with = "duration::from_file")]
    table_history: Option<Duration>,
    table_checkpoint_commits: Option<NonZeroU32>,
    table_compact_files: Option<NonZeroU32>,
    #[serde(default, deserialize_with = "duration::from_file")]
    discovery_interval: Option<Duration>,
    kafka_clients_max: Option<NonZeroU32>,
    #[serde(default, deserialize_with = "duration::from_file")]
    registry_restart_interval: Option<Duration>,
    tls_cert_file: Option<PathBuf>,
    tls_key_file: Option<PathBuf>,
    client_ca_file: Option<PathBuf>,
    client_principal: Option<NameField>,
    /// Issuers of JSON web tokens.
    #[serde(default)]
    oidc: Vec<IssuerInFile>,
    audit_table: Option<bool>,
    /// Groups with their members.
    #[serde(default)]
    groups: BTreeMap<String, BTreeSet<String>>,
}

/// Every setting, decided.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) data_dir: PathBuf,
    pub(crate) warehouse: String,
    pub(crate) master_key: MasterKeySource,
    pub(crate) former_master_key: FormerKeySource,
    pub(crate) listen: SocketAddr,
    pub(crate) access: Access,
    pub(crate) log_format: LogFormat,
    pub(crate) log_level: String,
    pub(crate) trash_retention: Duration,
    /// `None`: the pipeline's default.
    pub(crate) table_history: Option<Duration>,
    /// `None`: the pipeline's default.
    pub(crate) table_checkpoint_commits: Option<NonZeroU32>,
    /// `None`: the pipeline's default.
    pub(crate) table_compact_files: Option<NonZeroU32>,
    /// `None`: the pipeline's default.
    pub(crate) discovery_interval: Option<Duration>,
    /// `None`: the pipeline's default.
    pub(crate) kafka_clients_max: Option<NonZeroU32>,
    /// `None`: the pipeline's default.
    pub(crate) registry_restart_interval: Option<Duration>,
    /// Whether audit events go into a table beside the log.
    pub(crate) audit_table: bool,
    /// Groups with their members.
    pub(crate) groups: BTreeMap<String, BTreeSet<String>>,
}

impl Config {
    /// Reads the file, if one is named, and decides every setting.
    pub(crate) fn load(arguments: &ServeArguments) -> anyhow::Result<Self> {
        let file = match &arguments.config {
            Some(path) => read(path).with_context(|| format!("cannot use the configuration file {}", path.display()))?,
            None => File::default(),
        };
        let data_dir = match arguments.data_dir.clone().or(file.data_dir) {
            Some(folder) => folder,
            None => default_data_dir(|name| std::env::var_os(name).map(PathBuf::from))
                .context("neither XDG_DATA_HOME nor HOME is an absolute path; say where the database goes with --data-dir")?,
        };
        let warehouse = match arguments.warehouse.clone().or(file.warehouse) {
            Some(warehouse) => warehouse,
            None => utf8(&data_dir.join("warehouse"))?,
        };
        let keys = &arguments.master_key;
        let variable = |name: &str| std::env::var(name).ok();
        let master_key = MasterKeySource::decide(
            keys.master_key_file.clone().or(file.master_key_file),
            keys.master_key_kms.clone().or(file.master_key_kms),
            variable,
        )?;
        let former_master_key = FormerKeySource::decide(
            keys.former_master_key_file.clone().or(file.former_master_key_file),
            keys.former_master_key_kms.clone().or(file.former_master_key_kms),
            variable,
        )?;
        Ok(Self {
            warehouse,
            master_key,
            former_master_key,
            data_dir,
            listen: arguments
                .listen
                .or(file.listen)
                .unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 7070))),
            access: Access {
                insecure_local: arguments.insecure_local.or(file.insecure_local).unwrap_or(false),
                tls_cert_file: arguments.tls_cert_file.clone().or(file.tls_cert_file),
                tls_key_file: arguments.tls_key_file.clone().or(file.tls_key_file),
                client_ca_file: arguments.client_ca_file.clone().or(file.client_ca_file),
                client_principal: arguments.client_principal.or(file.client_principal).unwrap_or_default(),
                issuers: file.oidc,
            },
            log_format: arguments.log_format.or(file.log_format).unwrap_or_default(),
            log_level: arguments.log_level.clone().or(file.log_level).unwrap_or_else(|| "info".to_owned()),
            trash_retention: arguments.trash_retention.or(file.trash_retention).unwrap_or(TRASH_RETENTION),
            table_history: arguments.table_history.or(file.table_history),
            table_checkpoint_commits: arguments.table_checkpoint_commits.or(file.table_checkpoint_commits),
            table_compact_files: arguments.table_compact_files.or(file.table_compact_files),
            discovery_interval: arguments.discovery_interval.or(file.discovery_interval),
            kafka_clients_max: arguments.kafka_clients_max.or(file.kafka_clients_max),
            registry_restart_interval: arguments.registry_restart_interval.or(file.registry_restart_interval),
            audit_table: arguments.audit_table.or(file.audit_table).unwrap_or(true),
            groups: file.groups,
        })
    }

    /// Refuses settings under which this version must not serve.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.access.check(self.listen)
    }
}

fn read(path: &Path) -> anyhow::Result<File> {
    let bytes = std::fs::metadata(path)?.len();
    if bytes > CONFIG_BYTES_MAX {
        bail!("it has {bytes} bytes, more than {CONFIG_BYTES_MAX}");
    }
    Ok(toml::from_str(&std::fs::read_to_string(path)?)?)
}

fn utf8(path: &Path) -> anyhow::Result<String> {
    path.to_str()
        .map(str::to_owned)
        .with_context(|| format!("the path {} is not UTF-8; use another one", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(file: &str, arguments: ServeArguments) -> anyhow::Result<Config> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.toml");
        std::fs::write(&path, file).unwrap();
        Config::load(&ServeArguments {
            config: Some(path),
            data_dir: Some("/d".into()),
            ..arguments
        })
    }

    #[test]
    fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
        let file = "listen = '127.0.0.1:1'\ntrash_retention = '0s'\nlog_format = 'json'\ninsecure_local = true\n";
        let config = load(
            file,
            ServeArguments {
                listen: Some("127.0.0.1:2".parse().unwrap()),
                ..Default::default()
            },
        )
        .unwrap();
        assert_eq!(config.listen.port(), 2);
        assert_eq!(
            (config.trash_retention, config.log_format, config.access.insecure_local),
            (Duration::ZERO, LogFormat::Json, true)
        );
        assert_eq!((config.log_level.as_str(), config.warehouse.as_str()), ("info", "/d/warehouse"));
        let overridden = load(
            file,
            ServeArguments {
                insecure_local: Some(false),
                ..Default::default()
            },
        )
        .unwrap();
        assert!(!overridden.access.insecure_local);
    }

    #[test]
    fn a_file_that_is_not_understood_is_refused() {
        for (file, said) in [
            ("listne = '127.0.0.1:1'", "listne"),
            ("trash_retention = 7", "string"),
            ("trash_retention = '7'", "no duration"),
            ("listen = 'x'", "listen"),
        ] {
            let error = format!("{:#}", load(file, ServeArguments::default()).unwrap_err());
            assert!(error.contains(said) && error.contains("agent.toml"), "{error}");
        }
        let error = Config::load(&ServeArguments {
            config: Some("/nowhere/agent.toml".into()),
            ..Default::default()
        })
        .unwrap_err();
        assert!(format!("{error:#}").contains("/nowhere/agent.toml"));
    }
}
