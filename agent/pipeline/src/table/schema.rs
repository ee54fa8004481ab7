//! Columns: the product's types, Delta's schema text and Arrow's types, and how one set of columns grows into another.
//!
//! No rows here. Invariant: a text that other writers touched keeps everything of theirs (comments, metadata, columns).

use stream_spec::types::{DataType, Field};

/// Checks that every expected field is there with a type that still holds it; the error names the first that is not.
pub(super) fn expect_fields(actual: &[Field], expected: &[Field]) -> Result<(), String> {
    expect_fields_under("", actual, expected)
}

fn expect_fields_under(parent: &str, actual: &[Field], expected: &[Field]) -> Result<(), String> {
    for field in expected {
        let path = if parent.is_empty() { field.name.clone() } else { format!("{parent}.{}", field.name) };
        let Some(found) = actual.iter().find(|candidate| candidate.name == field.name) else {
            return Err(format!("column `{path}` is missing, it should be {}", field.data_type));
        };
        expect_type(&path, &found.data_type, &field.data_type)?;
    }
    Ok(())
}

fn expect_type(path: &str, actual: &DataType, expected: &DataType) -> Result<(), String> {
    match (actual, expected) {
        (DataType::Struct(actual), DataType::Struct(expected)) => expect_fields_under(path, actual, expected),
        (DataType::Array(actual), DataType::Array(expected)) => expect_type(&format!("{path}.element"), actual, expected),
        (DataType::Map(actual_key, actual_value), DataType::Map(expected_key, expected_value)) => {
            expect_type(&format!("{path}.key"), actual_key, expected_key)?;
            expect_type(&format!("{path}.value"), actual_value, expected_value)
        }
        (actual, expected) if actual == expected => Ok(()),
        (actual, expected) => Err(format!("column `{path}` is {actual}, it should be {expected}")),
    }
}
