//! Fresh messages at every run, answered by an executable description of `from_json` (`tests/model/json_model.py`), which agrees
//! with every recorded answer of Spark and shares no line with the decoder. Both of JSON's ways have to agree with it.
//!
//! `DECODE_MODEL_SEED` repeats a run, `DECODE_MODEL_CASES` makes it longer. Needs python3 and nothing else.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use crate::oracle;

/// Messages of an ordinary run.
const CASES: usize = 5_000;

/// Disagreements that are shown.
const SHOWN: usize = 20;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn fresh_messages_decode_as_the_model_says() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = number("DECODE_MODEL_SEED").unwrap_or(u64::from(now.subsec_nanos()));
    let cases = number("DECODE_MODEL_CASES").map_or(CASES, |cases| cases as usize);
    println!("DECODE_MODEL_SEED={seed} DECODE_MODEL_CASES={cases} repeats this run");
    let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/model/generate.py");
    let mut python = Command::new("python3")
        .arg("-B")
        .arg(program)
        .args([seed.to_string(), cases.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 runs the model; install it");
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in BufReader::new(python.stdout.take().unwrap()).lines() {
        let case = oracle::parse_case(&line.unwrap());
        count += 1;
        for (way, ours) in [("both ways", oracle::answer(&case)), ("the exact way", oracle::exact_answer(&case))] {
            if !oracle::agree(&case.expected, &ours) {
                let input = String::from_utf8_lossy(case.input.as_deref().unwrap_or_default()).into_owned();
                let (schema, expected) = (&case.schema, &case.expected);
                wrong.push(format!(
                    "{}, {way}\n  schema {schema}\n  input  {input:?}\n  model  {expected}\n  ours   {ours}",
                    case.id
                ));
            }
        }
    }
    assert!(python.wait().unwrap().success(), "the model came to its end");
    assert!(count >= cases, "{count} of {cases} messages");
    let shown = wrong.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {count} differ, seed {seed}:\n{shown}", wrong.len());
}
