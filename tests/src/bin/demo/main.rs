//! `make demo`: the product's main job in front of your eyes, on this machine, in a folder of its own. An agent with a broker
//! inside and a real Terraform run `examples/quickstart`. Invariant: it leaves nothing running, and ends with success or says
//! why not.
//!
//! ```text
//! demo [--terraform COMMAND] [--folder DIR]   the demonstration
//! demo send HOST:PORT [COUNT]                 sends card transactions to a broker, for going on by hand
//! demo rows TABLE-FOLDER                      shows what is in a table
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a demonstration stops at the first surprise"
)]

mod agent;
mod by_hand;
mod folder;
mod rows;
mod steps;
mod table;
mod terraform;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "demo [--terraform COMMAND] [--folder DIR] | demo send HOST:PORT [COUNT] | demo rows TABLE-FOLDER";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["send", bootstrap] => by_hand::send(bootstrap, by_hand::USUAL_COUNT),
        ["send", bootstrap, count] => match count.parse() {
            Ok(count) => by_hand::send(bootstrap, count),
            Err(_) => return usage(),
        },
        ["rows", folder] => by_hand::rows(Path::new(folder)),
        options => match Options::parse(options) {
            Some(options) => steps::run(options.terraform, &options.folder),
            None => return usage(),
        },
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: {USAGE}");
    ExitCode::FAILURE
}

struct Options {
    terraform: PathBuf,
    folder: PathBuf,
}

impl Options {
    fn parse(mut arguments: &[&str]) -> Option<Self> {
        // `target/debug/demo` is this program.
        let target = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().to_owned();
        let mut options = Self {
            terraform: "terraform".into(),
            folder: target.join("demo"),
        };
        while let [name, value, rest @ ..] = arguments {
            match *name {
                "--terraform" => options.terraform = value.into(),
                "--folder" => options.folder = value.into(),
                _ => return None,
            }
            arguments = rest;
        }
        arguments.is_empty().then_some(options)
    }
}
