//! Spark's recorded answers as cases: a message, its schema, what Spark made of it.
//!
//! Shared by the tests that assert them and the example that lists disagreements. `ddl` reads a schema in Spark's DDL, `avro`
//! one in Avro, `protobuf` one in a `.proto` text, `render` writes our columns the way the answers are written.

pub(crate) mod avro;
pub(crate) mod ddl;
pub(crate) mod protobuf;
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
    pub(crate) schema: CaseSchema,
    pub(crate) input: Option<Vec<u8>>,
    pub(crate) expected: Value,
}

/// What a message is read by; each file has cases of one form.
pub(crate) enum CaseSchema {
    /// `from_json` with a type in Spark's DDL.
    Json { ddl: String },
    /// `from_avro` with a schema, or two.
    Avro(avro::AvroSchemas),
    /// `from_protobuf` with a `.proto` text and a message's name.
    Protobuf { proto: String, message: String },
}

impl std::fmt::Display for CaseSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Json { ddl } => f.write_str(ddl),
            Self::Avro(schemas) => write!(f, "{} {}", schemas.writer, schemas.reader.as_deref().unwrap_or_default()),
            Self::Protobuf { proto, message } => write!(f, "{message} of {}", proto.split_whitespace().collect::<Vec<_>>().join(" ")),
        }
    }
}

/// The cases of a file, one a line.
pub(crate) fn load(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(parse_case).collect()
}

/// A case from its line.
pub(crate) fn parse_case(line: &str) -> Case {
    let case: Value = serde_json::from_str(line).expect("a case is JSON");
    let text = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
    let (schema, input, expected) = if case["proto"].is_string() {
        let (proto, message) = (text("proto"), text("message"));
        let schema = CaseSchema::Protobuf { proto, message };
        (schema, protobuf::input(&case), protobuf::expected(&case))
    } else if case["schema"].is_string() {
        let schema = CaseSchema::Avro(avro::AvroSchemas::of(&case));
        (schema, protobuf::input(&case), avro::expected(&case))
    } else {
        (
            CaseSchema::Json { ddl: text("ddl_schema") },
            json_input(&case),
            case["expected"].clone(),
        )
    };
    Case {
        id: text("id"),
        schema,
        input,
        expected,
    }
}

fn json_input(case: &Value) -> Option<Vec<u8>> {
    let input = case["input"].as_str()?;
    Some(match case["input_encoding"].as_str() {
        Some("base64") => base64::engine::general_purpose::STANDARD.decode(input).expect("base64"),
        _ => input.as_bytes().to_vec(),
    })
}

/// Our answer, rendered as the expected ones are. A schema we refuse is an `$error`.
pub(crate) fn answer(case: &Case) -> Value {
    match &case.schema {
        CaseSchema::Json { ddl } => decode_one(ddl, case.input.as_deref()),
        CaseSchema::Avro(schemas) => avro::decode_one(schemas, case.input.as_deref()),
        CaseSchema::Protobuf { proto, message } => protobuf::decode_one(proto, message, case.input.as_deref()),
    }
}

/// As `answer`, by JSON's exact way alone; other formats have one way only.
pub(crate) fn exact_answer(case: &Case) -> Value {
    match &case.schema {
        CaseSchema::Json { ddl } => decode_by(ddl, case.input.as_deref(), Decoder::without_fast_way),
        _ => answer(case),
    }
}

/// One message decoded by itself with the schema of a DDL text.
pub(crate) fn decode_one(ddl: &str, input: Option<&[u8]>) -> Value {
    decode_by(ddl, input, std::convert::identity)
}

fn decode_by(ddl: &str, input: Option<&[u8]>, way: fn(Decoder) -> Decoder) -> Value {
    match ddl::parse(ddl).and_then(|data_type| Plan::json(&data_type).map_err(|error| error.to_string())) {
        Ok(plan) => {
            let mut decoder = way(Decoder::new(vec![plan]).expect("one plan"));
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
