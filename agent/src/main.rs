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

use limits::ENDED_CUT_SHORT;
use serve::Ended;

fn main() -> ExitCode {
    // Before any thread is there.
    stream_pipeline::share_arenas();
    let outcome = match cli::Cli::parse().command {
        cli::Command::Serve(arguments) => config::Config::load(&arguments).and_then(serve::run),
        cli::Command::Demo(arguments) => demo::run(arguments),
    };
    match outcome {
        Ok(Ended::InOrder) => ExitCode::SUCCESS,
        Ok(Ended::CutShort) => ExitCode::from(ENDED_CUT_SHORT),
        Err(error) => {
            // The chain on one line: supervisors show lines.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
