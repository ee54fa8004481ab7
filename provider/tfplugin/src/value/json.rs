//! Values as JSON: the form of stored state, and one that requests may use.
//!
//! Invariant: tolerant of attributes that the type does not have, because state may come from another version of us; and a
//! number keeps its digits, so nothing here goes through a float.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::path::AttributePath;
use crate::value::Value;
use crate::value::codec_error::{CodecError, CodecProblem};
use crate::value::number::Number;
use crate::value::types::Type;

/// Reads a value of that type. Attributes that the type does not have are dropped, missing ones are null.
///
/// # Errors
/// When the text is not JSON or another kind of value stands where the type wants one.
pub fn decode(value_type: &Type, text: &[u8]) -> Result<Value, CodecError> {
    decode_raw(value_type, parse(text, &AttributePath::root())?, &AttributePath::root())
}

/// Writes a value as state holds it: compact, numbers with all their digits, sets as lists. State holds no unknown values;
/// one that is handed in is written as null.
pub fn encode(value: &Value) -> String {
    let mut text = String::new();
    encode_into(&mut text, value);
    text
}

fn encode_into(text: &mut String, value: &Value) {
    match value {
        Value::Null | Value::Unknown(_) => text.push_str("null"),
        Value::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) => text.push_str(&number.to_json()),
        Value::String(inner) => encode_text(text, inner),
        Value::List(elements) | Value::Set(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                encode_into(text, element);
            }
            text.push(']');
        }
        Value::Map(entries) | Value::Object(entries) => {
            text.push('{');
            for (index, (key, element)) in entries.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                encode_text(text, key);
                text.push(':');
                encode_into(text, element);
            }
            text.push('}');
        }
    }
}

fn encode_text(text: &mut String, inner: &str) {
    text.push_str(&serde_json::Value::from(inner).to_string());
}

fn decode_raw(value_type: &Type, raw: &RawValue, path: &AttributePath) -> Result<Value, CodecError> {
    let text = raw.get().as_bytes();
    let found = kind(text);
    match (value_type, found) {
        (_, "null") => Ok(Value::Null),
        (Type::Bool, "a bool") => Ok(Value::Bool(parse(text, path)?)),
        (Type::Number, "a number") => Number::parse(raw.get())
            .map(Value::Number)
            .map_err(|_| CodecProblem::NotANumber.at(path)),
        (Type::String, "a string") => Ok(Value::String(parse(text, path)?)),
        (Type::List(element_type), "a list") => Ok(Value::List(decode_elements(element_type, text, path)?)),
        (Type::Set(element_type), "a list") => Ok(Value::Set(decode_elements(element_type, text, path)?)),
        (Type::Map(element_type), "an object") => {
            let mut decoded = BTreeMap::new();
            for (key, raw) in parse::<BTreeMap<String, &RawValue>>(text, path)? {
                let below = path.clone().key(key.clone());
                decoded.insert(key, decode_raw(element_type, raw, &below)?);
            }
            Ok(Value::Map(decoded))
        }
        (Type::Object(attributes), "an object") => {
            let raws: BTreeMap<String, &RawValue> = parse(text, path)?;
            let mut decoded = BTreeMap::new();
            for (name, attribute_type) in attributes {
                let value = match raws.get(name) {
                    Some(raw) => decode_raw(attribute_type, raw, &path.clone().attribute(name.clone()))?,
                    None => Value::Null,
                };
                decoded.insert(name.clone(), value);
            }
            Ok(Value::Object(decoded))
        }
        (_, found) => Err(CodecProblem::Kind {
            wanted: value_type.kind(),
            found,
        }
        .at(path)),
    }
}

fn decode_elements(element_type: &Type, text: &[u8], path: &AttributePath) -> Result<Vec<Value>, CodecError> {
    let raws: Vec<&RawValue> = parse(text, path)?;
    raws.into_iter()
        .enumerate()
        .map(|(index, raw)| decode_raw(element_type, raw, &path.clone().index(index)))
        .collect()
}

fn parse<'a, Parsed: Deserialize<'a>>(text: &'a [u8], path: &AttributePath) -> Result<Parsed, CodecError> {
    serde_json::from_slice(text).map_err(|error| {
        CodecProblem::NotJson {
            line: error.line(),
            column: error.column(),
        }
        .at(path)
    })
}

/// What kind of value a JSON text is, by its first character.
fn kind(text: &[u8]) -> &'static str {
    match text.first() {
        Some(b'n') => "null",
        Some(b't' | b'f') => "a bool",
        Some(b'"') => "a string",
        Some(b'[') => "a list",
        Some(b'{') => "an object",
        _ => "a number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_read_by_its_type_and_forgives_strange_attributes() {
        let wanted = Type::Object(BTreeMap::from([
            ("big".to_owned(), Type::Number),
            ("names".to_owned(), Type::set(Type::String)),
            ("new".to_owned(), Type::Bool),
        ]));
        let text = br#" {"names":["b","a"],"gone":{"x":[1]},"big":1234567890123456789012345.5} "#;
        let decoded = decode(&wanted, text).unwrap();
        assert_eq!(decoded.get("big").as_number().unwrap().to_string(), "1234567890123456789012345.5");
        assert_eq!(*decoded.get("names"), Value::string_set(["a", "b"]));
        assert!(decoded.get("new").is_null());
        assert!(decoded.entries().unwrap().len() == 3);
    }

    #[test]
    fn what_is_not_json_or_not_of_the_type_is_an_error_with_its_place() {
        let wanted = Type::list(Type::map(Type::Bool));
        let cases: [(&[u8], &str); 4] = [
            (b"[{\"k\":1}]", "`[0][\"k\"]`: wanted a bool, found a number"),
            (b"[", "``: not JSON: line 1, column 1"),
            (b"", "``: not JSON: line 1, column 0"),
            (b"{}", "``: wanted a list, found an object"),
        ];
        for (text, expected) in cases {
            assert_eq!(decode(&wanted, text).unwrap_err().to_string(), expected);
        }
    }
}
