//! Recorded answers of the `proto` form: bytes, a `.proto` text and a message's name, what `from_protobuf` made of it.

use base64::Engine;
use serde_json::Value;
use stream_decode::decoder::Decoder;
use stream_decode::plan::compile;
use stream_spec::schema::protobuf::parse_as_spark;

use super::element;

/// The message of a line.
pub(super) fn input(line: &Value) -> Option<Vec<u8>> {
    let text = line["input_base64"].as_str()?;
    Some(base64::engine::general_purpose::STANDARD.decode(text).expect("base64"))
}

/// The answer of a line. Where Spark has no type for the schema, the whole query fails.
pub(super) fn expected(line: &Value) -> Value {
    match &line["spark_type"] {
        refusal if refusal["$error"].is_string() => refusal.clone(),
        _ => line["expected"].clone(),
    }
}

/// A decoder of messages of that type, read as open-source Spark reads them, refusals of this product aside.
pub(crate) fn decoder(proto: &str, message: &str) -> Result<Decoder, String> {
    let schema =
        parse_as_spark(proto, message).map_err(|problems| problems.iter().map(|problem| format!("{problem}; ")).collect::<String>())?;
    let plan = compile(&schema, &schema).map_err(|error| error.to_string())?;
    Decoder::new(vec![plan]).map_err(|error| error.to_string())
}

/// One message decoded by itself, the fast way and the exact one. A schema we refuse is an `$error`.
pub(crate) fn decode_one(proto: &str, message: &str, input: Option<&[u8]>) -> Value {
    let mut decoder = match decoder(proto, message) {
        Ok(decoder) => decoder,
        Err(error) => return serde_json::json!({ "$error": error }),
    };
    let fast = decoder.decode(&[input], &[]).expect("a batch of one").array;
    let exact = decoder.without_fast_way().decode(&[input], &[]).expect("a batch of one").array;
    assert_eq!(&fast, &exact, "the two ways agree on {input:x?} of {proto}");
    element(&fast, 0)
}
