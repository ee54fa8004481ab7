//! Logs: to standard error, as lines for people or as JSON. Standard output has one line only, when the agent is ready
//! (in a demo, one more about its broker).

use std::io::IsTerminal;

use anyhow::{Context, anyhow};
use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;

/// Starts logging for the whole process.
pub(crate) fn start(format: LogFormat, level: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level).with_context(|| format!("the log level `{level}` is not understood"))?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => logs.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogFormat::Json => logs.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow!("cannot start logging: {error}"))
}
