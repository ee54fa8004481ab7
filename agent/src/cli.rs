//! The command line. Every setting is a flag and an environment variable; the file has them too (`config.rs`).

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use agent_control::governance::authentication::certificate::NameField;
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Deserialize;

use crate::duration;
use crate::master_key::{MasterKeyArguments, RotateArguments};
use crate::offline::{DecodeArguments, SchemaCommand};
use crate::sql::SqlArguments;
use crate::token::TokenCommand;

/// A build for tests says that it is one: what is tested must be what was meant to be tested.
const VERSION: &str = if stream_pipeline::failpoint::ENABLED {
    concat!(env!("CARGO_PKG_VERSION"), " (failpoints)")
} else {
    env!("CARGO_PKG_VERSION")
};

/// Runs streams from Apache Kafka into Delta tables.
#[derive(Debug, Parser)]
#[command(name = "featurestore-agent", version = VERSION, about)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What the agent is asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the agent until it is told to stop (SIGTERM, SIGINT).
    ///
    /// It ends within 28 s then, with exit code 0, or 3 where a last commit failed or something hung: what was in flight is read
    /// again at the next start.
    Serve(ServeArguments),
    /// Seal the secrets of a stopped agent under a new master key.
    ///
    /// It may be interrupted at any moment: run it again, and it goes on. Until it is done the agent reads secrets under both keys,
    /// where the key is in a file that is replaced.
    RotateMasterKey(RotateArguments),
    /// Try things out: run the agent with a Kafka broker inside, which forgets its records when it stops.
    Demo(DemoArguments),
    /// Decode messages by a schema as a stream would, and say of each that does not fit why.
    Decode(DecodeArguments),
    /// Ask about schemas: what columns one gives a table, and whether another can follow it in place.
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Make, list and revoke the tokens of an agent that runs.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Run one SQL statement about the connections of an agent that runs.
    Sql(SqlArguments),
}

/// The few settings of a demo. They are flags only: neither the file nor the environment of an agent that is meant to last
/// may have a say in it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct DemoArguments {
    /// A new or empty folder for the database and the tables [default: one in the folder for temporary files].
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    /// Address and port to listen on; port 0 takes a free one [default: 127.0.0.1:7070].
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,

    /// Least level of logs, which go to standard error [default: info].
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
}

/// Settings as flags or in the environment. One that is absent comes from the file, else it has its default.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServeArguments {
    /// Configuration file (TOML) with the same settings.
    #[arg(long, value_name = "FILE", env = "FEATURESTORE_AGENT_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// Folder of the agent's database [default: `featurestore` in the user's XDG data directory].
    #[arg(long, value_name = "DIR", env = "FEATURESTORE_AGENT_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    /// Folder, or file:// URL of one, that holds the tables [default: `warehouse` in the data folder].
    #[arg(long, value_name = "URL", env = "FEATURESTORE_AGENT_WAREHOUSE")]
    pub(crate) warehouse: Option<String>,

    #[command(flatten)]
    pub(crate) master_key: MasterKeyArguments,

    /// Address and port to listen on; port 0 takes a free one [default: 127.0.0.1:7070].
    #[arg(long, value_name = "ADDRESS", env = "FEATURESTORE_AGENT_LISTEN")]
    pub(crate) listen: Option<SocketAddr>,

    /// Do not ask callers who they are: whoever reaches the port may do everything. For this machine only.
    #[arg(
        long,
        env = "FEATURESTORE_AGENT_INSECURE_LOCAL",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub(crate) insecure_local: Option<bool>,

    /// PEM file of the certificate to serve TLS with, and those that lead from it to an authority; read again when it changes.
    #[arg(long, value_name = "FILE", env = "FEATURESTORE_AGENT_TLS_CERT_FILE")]
    pub(crate) tls_cert_file: Option<PathBuf>,

    /// PEM file of the certificate's key.
    #[arg(long, value_name = "FILE", env = "FEATURESTORE_AGENT_TLS_KEY_FILE")]
    pub(crate) tls_key_file: Option<PathBuf>,

    /// PEM file of the authorities whose certificates may say who calls.
    #[arg(long, value_name = "FILE", env = "FEATURESTORE_AGENT_CLIENT_CA_FILE")]
    pub(crate) client_ca_file: Option<PathBuf>,

    /// Field of such a certificate that is the principal's name: common_name, uri, dns or email [default: common_name].
    #[arg(long, value_name = "FIELD", env = "FEATURESTORE_AGENT_CLIENT_PRINCIPAL")]
    pub(crate) client_principal: Option<NameField>,

    /// How logs are written to standard error [default: text].
    #[arg(long, value_enum, value_name = "FORMAT", env = "FEATURESTORE_AGENT_LOG_FORMAT")]
    pub(crate) log_format: Option<LogFormat>,

    /// Least level of logs, or a filter as in `info,stream_pipeline=debug`; with `trace` the Kafka client tells all that it does
    /// [default: info].
    #[arg(long, value_name = "LEVEL", env = "FEATURESTORE_AGENT_LOG_LEVEL")]
    pub(crate) log_level: Option<String>,

    /// How long a deleted table can be restored; 0s removes it at once [default: 7d].
    #[arg(long, value_name = "DURATION", env = "FEATURESTORE_AGENT_TRASH_RETENTION", value_parser = duration::parse)]
    pub(crate) trash_retention: Option<Duration>,

    /// How far back readers can go in a table's history [default: 7d].
    #[arg(long, value_name = "DURATION", env = "FEATURESTORE_AGENT_TABLE_HISTORY", value_parser = duration::parse)]
    pub(crate) table_history: Option<Duration>,

    /// Commits of a table between two checkpoints of its log; a long log spaces them further [default: 50].
    #[arg(long, value_name = "COMMITS", env = "FEATURESTORE_AGENT_TABLE_CHECKPOINT_COMMITS")]
    pub(crate) table_checkpoint_commits: Option<NonZeroU32>,

    /// Small files of a table that are put together once there are so many [default: 64].
    #[arg(long, value_name = "FILES", env = "FEATURESTORE_AGENT_TABLE_COMPACT_FILES")]
    pub(crate) table_compact_files: Option<NonZeroU32>,

    /// How often new topics and partitions are looked for [default: 30s].
    #[arg(long, value_name = "DURATION", env = "FEATURESTORE_AGENT_DISCOVERY_INTERVAL", value_parser = duration::parse)]
    pub(crate) discovery_interval: Option<Duration>,

    /// Most Kafka clients at once; streams of one connection share a client where their topics differ [default: 256].
    #[arg(long, value_name = "CLIENTS", env = "FEATURESTORE_AGENT_KAFKA_CLIENTS_MAX")]
    pub(crate) kafka_clients_max: Option<NonZeroU32>,

    /// How long a stream with a schema registry goes on before it takes the latest versions of its subjects [default: 4h].
    #[arg(long, value_name = "DURATION", env = "FEATURESTORE_AGENT_REGISTRY_RESTART_INTERVAL", value_parser = duration::parse)]
    pub(crate) registry_restart_interval: Option<Duration>,

    /// Whether audit events go into the table `system.audit.events` of the warehouse; the log has them in any case [default: true].
    #[arg(
        long,
        env = "FEATURESTORE_AGENT_AUDIT_TABLE",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub(crate) audit_table: Option<bool>,
}

/// How logs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_setting_has_its_environment_variable() {
        let command = Cli::command();
        let serve = command.find_subcommand("serve").unwrap();
        for argument in serve.get_arguments().filter(|argument| argument.get_id() != "help") {
            let expected = format!("FEATURESTORE_AGENT_{}", argument.get_id().as_str().to_uppercase());
            assert_eq!(argument.get_env().and_then(|name| name.to_str()), Some(expected.as_str()));
        }
    }
}
