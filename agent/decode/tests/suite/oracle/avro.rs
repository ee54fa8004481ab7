//! Recorded answers of the `schema` form: a datum and an Avro schema, what `from_avro` made of it.

use base64::Engine;
use serde_json::Value;
use stream_decode::decoder::Decoder;
use stream_decode::plan::{Plan, compile};
use stream_spec::schema::avro::{Reading, UnionNames, parse_as_spark};

use super::element;

/// What a datum is read by.
pub(crate) struct AvroSchemas {
    pub(crate) writer: String,
    /// The reader's schema, where it is another.
    pub(crate) reader: Option<String>,
    pub(crate) reading: Reading,
}

impl AvroSchemas {
    /// The schemas and options of a line.
    pub(super) fn of(line: &Value) -> Self {
        let options = &line["options"];
        let option = |name: &str| options[name].as_str();
        let union_names = match option("enableStableIdentifiersForUnionType") {
            Some("true") => UnionNames::OfBranches {
                prefix: option("stableIdentifierPrefixForUnionType").unwrap_or("member_").to_owned(),
            },
            _ => UnionNames::Numbered,
        };
        let levels = option("recursiveFieldMaxDepth").map(|text| text.parse().expect("a number"));
        Self {
            writer: line["schema"].as_str().unwrap_or_default().to_owned(),
            reader: option("avroSchema").map(str::to_owned),
            reading: Reading {
                recursive_levels: levels.unwrap_or(0),
                union_names,
            },
        }
    }
}

/// The answer of a line. Where Spark has no type for the schema, the whole query fails.
pub(super) fn expected(line: &Value) -> Value {
    match &line["spark_type"] {
        refusal if refusal["$error"].is_string() => refusal.clone(),
        _ => sorted(with_texts_repaired(&line["expected"])),
    }
}

/// A decoder by schemas that are read as Spark reads them, refusals of this product aside.
pub(crate) fn decoder(schemas: &AvroSchemas) -> Result<Decoder, String> {
    let parse = |text: &str| {
        let shown = |problems: Vec<_>| problems.iter().map(|problem| format!("{problem}; ")).collect::<String>();
        parse_as_spark(text, &schemas.reading).map_err(shown)
    };
    let writer = parse(&schemas.writer)?;
    let plan = match &schemas.reader {
        Some(reader) => compile(&writer, &parse(reader)?),
        None => compile(&writer, &writer),
    };
    Decoder::new(vec![plan.map_err(|error| error.to_string())?]).map_err(|error| error.to_string())
}

/// One datum decoded by itself, maps sorted by key. A schema we refuse is an `$error`.
pub(crate) fn decode_one(schemas: &AvroSchemas, input: Option<&[u8]>) -> Value {
    match decoder(schemas) {
        Ok(mut decoder) => sorted(element(&decoder.decode(&[input], &[]).expect("a batch of one").array, 0)),
        Err(error) => serde_json::json!({ "$error": error }),
    }
}

/// Maps, which are lists of pairs that begin with a text, sorted by key: Java's order is nobody's business.
pub(crate) fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.into_iter().map(sorted).collect();
            let is_pair = |item: &Value| item.as_array().is_some_and(|pair| pair.len() == 2 && pair[0].is_string());
            if items.iter().all(is_pair) {
                items.sort_by(|left, right| left[0].as_str().cmp(&right[0].as_str()));
            }
            Value::Array(items)
        }
        Value::Object(members) => members.into_iter().map(|(name, member)| (name, sorted(member))).collect(),
        other => other,
    }
}

/// An answer with the texts that Spark keeps as malformed bytes the way that a side without a schema stores them.
pub(crate) fn with_texts_repaired(value: &Value) -> Value {
    match value {
        Value::Object(members) if members.len() == 1 && members.contains_key("base64") => {
            let bytes = members["base64"]
                .as_str()
                .map(|text| base64::engine::general_purpose::STANDARD.decode(text));
            let bytes = bytes.expect("a text").expect("base64");
            let mut decoder = Decoder::new(vec![Plan::text()]).expect("one plan");
            element(&decoder.decode(&[Some(&bytes)], &[]).expect("a batch of one").array, 0)
        }
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), with_texts_repaired(member)))
            .collect(),
        Value::Array(items) => items.iter().map(with_texts_repaired).collect(),
        other => other.clone(),
    }
}
