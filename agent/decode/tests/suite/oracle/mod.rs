//! Spark's recorded answers as cases: a message, a schema in Spark's DDL, what `from_json` made of it.
//!
//! Shared by the test that asserts them and the example that lists disagreements. `ddl` reads the schema, `render` writes
//! our columns the way the answers are written.

pub(crate) mod ddl;
mod render;

use std::path::Path;

use base64::Engine;
use serde_json::Value;
use stream_decode::decoder::Decoder;
use stream_decode::plan::Plan;

pub(crate) use self::render::element;

/// One recorded answer.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) ddl: String,
    pub(crate) input: Option<Vec<u8>>,
    pub(crate) expected: Value,
}

/// The cases of a file, one a line.
pub(crate) fn load(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(parse_case).collect()
}

fn parse_case(line: &str) -> Case {
    let case: Value = serde_json::from_str(line).expect("a case is JSON");
    let text = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
    let input = case["input"].as_str().map(|input| match case["input_encoding"].as_str() {
        Some("base64") => base64::engine::general_purpose::STANDARD.decode(input).expect("base64"),
        _ => input.as_bytes().to_vec(),
    });
    Case {
        id: text("id"),
        ddl: text("ddl_schema"),
        input,
        expected: case["expected"].clone(),
    }
}

/// Our answer, rendered as the expected ones are. A schema we refuse is an `$error`.
pub(crate) fn answer(case: &Case) -> Value {
    decode_one(&case.ddl, case.input.as_deref())
}

/// One message decoded by itself with the schema of a DDL text.
pub(crate) fn decode_one(ddl: &str, input: Option<&[u8]>) -> Value {
    match ddl::parse(ddl).and_then(|data_type| Plan::json(&data_type).map_err(|error| error.to_string())) {
        Ok(plan) => {
            let mut decoder = Decoder::new(vec![plan]).expect("one plan");
            let decoded = decoder.decode(&[input], &[]).expect("a batch of one");
            element(&decoded.array, 0)
        }
        Err(error) => serde_json::json!({ "$error": error }),
    }
}

/// Whether two answers are the same: numbers to the last bit, any refusal equal to any other.
pub(crate) fn agree(expected: &Value, ours: &Value) -> bool {
    match (expected, ours) {
        (Value::Object(expected), Value::Object(ours)) if expected.contains_key("$error") => ours.contains_key("$error"),
        (Value::Object(expected), Value::Object(ours)) => {
            expected.keys().eq(ours.keys()) && expected.values().zip(ours.values()).all(|(expected, ours)| agree(expected, ours))
        }
        (Value::Array(expected), Value::Array(ours)) => {
            expected.len() == ours.len() && expected.iter().zip(ours).all(|(expected, ours)| agree(expected, ours))
        }
        (Value::Number(expected), Value::Number(ours)) if expected.is_f64() || ours.is_f64() => {
            expected.as_f64().map(f64::to_bits) == ours.as_f64().map(f64::to_bits)
        }
        _ => expected == ours,
    }
}
