//! Runs files of schema update cases and prints how many agree: `cargo run -p stream-spec --example schema_updates -- FILE…`
//!
//! Exits with 1 when a case of an available schema language disagrees.

#[path = "../tests/cases/mod.rs"]
mod cases;

use std::collections::BTreeMap;
use std::process::ExitCode;

use cases::Outcome;

fn main() -> ExitCode {
    let mut all_agree = true;
    for file in std::env::args().skip(1) {
        match run(&file) {
            Ok(agrees) => all_agree &= agrees,
            Err(error) => {
                eprintln!("{file}: {error}");
                all_agree = false;
            }
        }
    }
    if all_agree { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(file: &str) -> Result<bool, Box<dyn std::error::Error>> {
    let (mut agree, mut asked) = (0_usize, 0_usize);
    let mut not_available: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases::read(&std::fs::read_to_string(file)?)? {
        match cases::ask(&case) {
            Outcome::NotAvailable(format) => *not_available.entry(format).or_default() += 1,
            Outcome::Agrees => (agree, asked) = (agree + 1, asked + 1),
            Outcome::Disagrees(answer) => {
                asked += 1;
                println!("{}: expected {} ({}), got {answer:?}", case.id, case.verdict, case.why);
            }
        }
    }
    println!("{file}: agree {agree} of {asked}");
    for (format, count) in not_available {
        println!("{file}: {count} {format} cases are not available in this version");
    }
    Ok(agree == asked)
}
