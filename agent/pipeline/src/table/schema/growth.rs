//! How a table's schema text takes in wanted columns: new fields are appended, present ones keep their place and metadata.

use serde_json::Value;
use stream_spec::types::{DataType, Field};

use super::delta::{field_value, parse};
use super::joined;

/// Why a table cannot take the wanted columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::table) enum GrowthError {
    /// INT is wanted as BIGINT: the files must be rewritten first.
    Widening(String),
    /// Another type is wanted; the text says which column, and both types.
    Type(String),
    /// The text is not what Delta writes.
    Text(String),
}

/// The schema text with the wanted columns in it; nothing if it has them all.
pub(in crate::table) fn grow(text: &str, wanted: &[Field]) -> Result<Option<String>, GrowthError> {
    let present = parse(text).map_err(GrowthError::Text)?;
    let mut value: Value = serde_json::from_str(text).map_err(|error| GrowthError::Text(error.to_string()))?;
    let grown = grow_fields("", &mut value, &present, wanted)?;
    Ok(grown.then(|| value.to_string()))
}

fn grow_fields(parent: &str, value: &mut Value, present: &[Field], wanted: &[Field]) -> Result<bool, GrowthError> {
    let Some(fields) = value.get_mut("fields").and_then(Value::as_array_mut) else {
        return Err(GrowthError::Text(format!("column `{parent}` has no fields")));
    };
    let mut grown = false;
    for field in wanted {
        let found = present
            .iter()
            .zip(fields.iter_mut())
            .find(|(candidate, _)| candidate.name == field.name);
        match found {
            Some((candidate, in_text)) => {
                let Some(type_in_text) = in_text.get_mut("type") else {
                    return Err(GrowthError::Text(format!("column `{}` has no type", field.name)));
                };
                grown |= grow_type(&joined(parent, &field.name), type_in_text, &candidate.data_type, &field.data_type)?;
            }
            None => {
                fields.push(field_value(field));
                grown = true;
            }
        }
    }
    Ok(grown)
}

fn grow_type(path: &str, value: &mut Value, present: &DataType, wanted: &DataType) -> Result<bool, GrowthError> {
    let inner = |value: &mut Value, key: &str, place: &str, present: &DataType, wanted: &DataType| match value.get_mut(key) {
        Some(inner) => grow_type(&joined(path, place), inner, present, wanted),
        None => Err(GrowthError::Text(format!("column `{path}` has no `{key}`"))),
    };
    match (present, wanted) {
        (DataType::Struct(present), DataType::Struct(wanted)) => grow_fields(path, value, present, wanted),
        (DataType::Array(present), DataType::Array(wanted)) => inner(value, "elementType", "element", present, wanted),
        (DataType::Map(present_key, present_value), DataType::Map(wanted_key, wanted_value)) => {
            let key = inner(value, "keyType", "key", present_key, wanted_key)?;
            Ok(inner(value, "valueType", "value", present_value, wanted_value)? || key)
        }
        (present, wanted) if present == wanted => Ok(false),
        // Columns are the union of all versions: one that was widened stays so.
        (DataType::BigInt, DataType::Int) => Ok(false),
        (DataType::Int, DataType::BigInt) => Err(GrowthError::Widening(path.to_owned())),
        (present, wanted) => Err(GrowthError::Type(format!(
            "column `{path}` is {present} and cannot become {wanted}"
        ))),
    }
}
