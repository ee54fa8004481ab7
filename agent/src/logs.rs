//! Logs: to standard error, as lines for people or as JSON. Standard output has one line only, when the agent is ready
//! (in a demo, one more about its broker).
//!
//! The invariant: no level of logs prints what goes to AWS, which the AWS SDK would at `trace`: data keys are in it.

use std::io::IsTerminal;

use anyhow::{Context, anyhow};
use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::cli::LogFormat;

/// Starts logging for the whole process.
pub(crate) fn start(format: LogFormat, level: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level).with_context(|| format!("the log level `{level}` is not understood"))?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let allowed = filter_fn(may_be_logged);
    let started = match format {
        LogFormat::Text => logs.with_ansi(std::io::stderr().is_terminal()).finish().with(allowed).try_init(),
        LogFormat::Json => logs.json().flatten_event(true).finish().with(allowed).try_init(),
    };
    started.map_err(|error| anyhow!("cannot start logging: {error}"))
}

/// The crates of the AWS SDK print requests and the secrets in them below `info`, and nothing there that an operator needs.
fn may_be_logged(of: &Metadata<'_>) -> bool {
    !of.target().starts_with("aws_") || *of.level() <= Level::INFO
}
