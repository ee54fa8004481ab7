//! Compares the decoder with recorded answers of Spark: `cargo run -p stream-decode --example oracle -- FILE…`.
//!
//! Prints `FILE: agree N of M`, then each disagreement as input, expected answer and ours.

#[allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    dead_code,
    reason = "shared with tests; may stop at the first surprise, and they ask for more"
)]
#[path = "../tests/suite/oracle/mod.rs"]
mod oracle;

use std::path::Path;

fn main() {
    for file in std::env::args().skip(1) {
        let cases = oracle::load(Path::new(&file));
        let answers = cases.iter().map(|case| (case, oracle::answer(case)));
        let differ: Vec<_> = answers.filter(|(case, ours)| !oracle::agree(&case.expected, ours)).collect();
        println!("{file}: agree {} of {}", cases.len() - differ.len(), cases.len());
        for (case, ours) in differ {
            let input = case
                .input
                .as_deref()
                .map_or("NULL".to_owned(), |input| input.escape_ascii().to_string());
            println!(
                "{} [{}]\n  input    {input}\n  expected {}\n  ours     {ours}",
                case.id, case.schema, case.expected
            );
        }
    }
}
