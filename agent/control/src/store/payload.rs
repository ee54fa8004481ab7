//! Stored bytes: JSON with a format version beside the value. Every version is read, the newest is written; a change of
//! meaning in a stored type needs a new version and a reader for the old one here.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::StoreError;

/// The format written today.
const FORMAT: u64 = 1;

/// The bytes of a value.
pub(crate) fn encode<T: Serialize>(what: &'static str, id: &str, value: &T) -> Result<String, StoreError> {
    let value = serde_json::to_value(value).map_err(|error| unreadable(what, id, error.to_string()))?;
    Ok(json!({ "format": FORMAT, "value": value }).to_string())
}

/// The value of the bytes.
pub(crate) fn decode<T: DeserializeOwned>(what: &'static str, id: &str, text: &str) -> Result<T, StoreError> {
    let mut envelope: Value = serde_json::from_str(text).map_err(|error| unreadable(what, id, error.to_string()))?;
    match envelope.get("format").and_then(Value::as_u64) {
        Some(FORMAT) => {
            let value = envelope.get_mut("value").map(Value::take).unwrap_or_default();
            serde_json::from_value(value).map_err(|error| unreadable(what, id, error.to_string()))
        }
        found => Err(unreadable(
            what,
            id,
            format!("its format is {found:?} and this agent reads format {FORMAT}"),
        )),
    }
}

fn unreadable(what: &'static str, id: &str, problem: String) -> StoreError {
    StoreError::Payload {
        what,
        id: id.to_owned(),
        problem,
    }
}
