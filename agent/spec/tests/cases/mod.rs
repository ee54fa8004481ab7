//! Cases of schema updates as JSON lines: an old and a new schema, the versions before, and the verdict expected.
//! Read by the test and by the example, which differ only in what they do with a disagreement.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use stream_spec::stream::{DirectSchemas, SchemaText};
use stream_spec::verdict::{UpdateQuestion, Verdict, verdict};

/// One line of a case file.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    /// Names the case.
    pub(crate) id: String,
    format: String,
    old: Value,
    new: Value,
    /// `allowed` or `rejected`.
    pub(crate) verdict: String,
    /// Why, for a person.
    pub(crate) why: String,
    #[serde(default)]
    history: Vec<Value>,
    #[serde(default)]
    stream: Stream,
}

#[derive(Debug, Default, Deserialize)]
struct Stream {
    #[serde(default)]
    deduplication_columns: BTreeSet<String>,
    #[serde(default)]
    excluded_columns: BTreeSet<String>,
}

/// How a case came out.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// As expected.
    Agrees,
    /// Otherwise.
    Disagrees(Verdict),
    /// The schema language is not available in this version.
    NotAvailable(String),
}

/// The cases of a file.
pub(crate) fn read(text: &str) -> Result<Vec<Case>, serde_json::Error> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(serde_json::from_str)
        .collect()
}

/// Asks for the verdict of a case, both schemas being the payload's.
pub(crate) fn ask(case: &Case) -> Outcome {
    let text: fn(&Value) -> SchemaText = match case.format.as_str() {
        "json" => |schema| SchemaText::Json(text_of(schema)),
        "avro" => |schema| SchemaText::Avro(text_of(schema)),
        "protobuf" => proto_of,
        other => return Outcome::NotAvailable(other.to_owned()),
    };
    let schemas = |schema: &Value| DirectSchemas {
        key: None,
        payload: Some(text(schema)),
    };
    let history: Vec<DirectSchemas> = case.history.iter().chain([&case.old]).map(schemas).collect();
    let answer = verdict(&UpdateQuestion {
        history: &history,
        table_columns: None,
        deduplication_columns: &case.stream.deduplication_columns,
        record_type_filter: None,
        excluded: &case.stream.excluded_columns,
        new_schemas: &schemas(&case.new),
        new_excluded: &case.stream.excluded_columns,
    });
    let allowed = !matches!(answer, Verdict::Refused { .. });
    if allowed == (case.verdict == "allowed") {
        Outcome::Agrees
    } else {
        Outcome::Disagrees(answer)
    }
}

/// A schema is written as JSON, or as the text itself where its spelling matters.
fn text_of(schema: &Value) -> String {
    match schema {
        Value::String(text) => text.clone(),
        schema => schema.to_string(),
    }
}

/// A Protobuf schema is a text whose message is `M`, or a text and a name.
fn proto_of(schema: &Value) -> SchemaText {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match schema {
        Value::Object(parts) => SchemaText::Proto {
            schema_text: text(parts.get("schema_text").unwrap_or(&Value::Null)),
            message_name: text(parts.get("message_name").unwrap_or(&Value::Null)),
        },
        schema => SchemaText::Proto {
            schema_text: text(schema),
            message_name: "M".into(),
        },
    }
}
