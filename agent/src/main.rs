//! The agent's binary: command line, configuration and wiring, nothing else. What it runs is in `agent-control` and
//! `stream-pipeline`.

mod cli;
mod config;
mod duration;
mod limits;
mod logs;
mod serve;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli::Cli {
        command: cli::Command::Serve(arguments),
    } = cli::Cli::parse();
    let outcome = config::Config::load(&arguments).and_then(|config| {
        logs::start(config.log_format, &config.log_level)?;
        serve::run(config)
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The chain on one line: supervisors show lines.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
