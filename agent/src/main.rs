//! The agent's binary: command line, configuration and wiring, nothing else. What it runs is in `agent-control` and
//! `stream-pipeline`.

mod cli;
mod config;
mod demo;
mod duration;
mod limits;
mod logs;
mod serve;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let outcome = match cli::Cli::parse().command {
        cli::Command::Serve(arguments) => config::Config::load(&arguments).and_then(serve::run),
        cli::Command::Demo(arguments) => demo::run(arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The chain on one line: supervisors show lines.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
