//! The agent's binary: command line, configuration and wiring, nothing else. What it runs is in `agent-control` and
//! `stream-pipeline`.

mod access;
mod cli;
mod client;
mod config;
mod demo;
mod duration;
mod limits;
mod logs;
mod master_key;
mod offline;
mod serve;
mod sql;
mod token;

use std::process::ExitCode;

use clap::Parser;

use limits::{ANSWER_IS_NO, ENDED_CUT_SHORT};
use offline::Answer;
use serve::Ended;

fn main() -> ExitCode {
    // Before any thread is there.
    stream_pipeline::share_arenas();
    let outcome = match cli::Cli::parse().command {
        cli::Command::Serve(arguments) => config::Config::load(&arguments).and_then(serve::run).map(code_of_end),
        cli::Command::RotateMasterKey(arguments) => master_key::rotate(&arguments).map(|()| ExitCode::SUCCESS),
        cli::Command::Demo(arguments) => demo::run(arguments).map(code_of_end),
        cli::Command::Token(command) => token::run(command).map(|()| ExitCode::SUCCESS),
        cli::Command::Sql(arguments) => sql::run(arguments).map(|()| ExitCode::SUCCESS),
        cli::Command::Decode(arguments) => offline::decode(&arguments).map(code_of_answer),
        cli::Command::Schema(command) => offline::schema(&command).map(code_of_answer),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            // The chain on one line: supervisors show lines.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn code_of_end(ended: Ended) -> ExitCode {
    match ended {
        Ended::InOrder => ExitCode::SUCCESS,
        Ended::CutShort => ExitCode::from(ENDED_CUT_SHORT),
    }
}

fn code_of_answer(answer: Answer) -> ExitCode {
    match answer {
        Answer::Yes => ExitCode::SUCCESS,
        Answer::No => ExitCode::from(ANSWER_IS_NO),
    }
}
