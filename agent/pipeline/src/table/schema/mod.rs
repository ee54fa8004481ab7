//! Columns: the product's types, Delta's schema text and Arrow's types, and how one set of columns grows into another.
//!
//! No rows here. Invariant: a text that other writers touched keeps everything of theirs (comments, metadata, columns).

mod arrow;
mod delta;
mod growth;
mod widening;

use std::collections::BTreeSet;

use stream_spec::types::{DataType, Field};

pub(super) use arrow::arrow_schema;
pub(super) use delta::{parse, schema_text};
pub(super) use growth::{GrowthError, Ints, grow};
pub(super) use widening::{Places, widened};

/// Checks that every expected field is there with that type; the error names the first that is not.
pub(super) fn expect_fields(actual: &[Field], expected: &[Field]) -> Result<(), String> {
    expect_fields_under("", actual, expected, false)
}

/// The same of fields of an earlier time: INT may have become BIGINT since.
pub(super) fn expect_kept_fields(actual: &[Field], earlier: &[Field]) -> Result<(), String> {
    expect_fields_under("", actual, earlier, true)
}

fn expect_fields_under(parent: &str, actual: &[Field], expected: &[Field], may_be_wider: bool) -> Result<(), String> {
    for field in expected {
        let path = joined(parent, &field.name);
        let Some(found) = actual.iter().find(|candidate| candidate.name == field.name) else {
            return Err(format!("column `{path}` is missing, it should be {}", field.data_type));
        };
        expect_type(&path, &found.data_type, &field.data_type, may_be_wider)?;
    }
    Ok(())
}

fn expect_type(path: &str, actual: &DataType, expected: &DataType, may_be_wider: bool) -> Result<(), String> {
    match (actual, expected) {
        (DataType::Struct(actual), DataType::Struct(expected)) => expect_fields_under(path, actual, expected, may_be_wider),
        (DataType::Array(actual), DataType::Array(expected)) => expect_type(&joined(path, "element"), actual, expected, may_be_wider),
        (DataType::Map(actual_key, actual_value), DataType::Map(expected_key, expected_value)) => {
            expect_type(&joined(path, "key"), actual_key, expected_key, may_be_wider)?;
            expect_type(&joined(path, "value"), actual_value, expected_value, may_be_wider)
        }
        (actual, expected) if actual == expected => Ok(()),
        (DataType::BigInt, DataType::Int) if may_be_wider => Ok(()),
        (actual, expected) => Err(format!("column `{path}` is {actual}, it should be {expected}")),
    }
}

/// Whether one of the columns is INT where a table has BIGINT.
pub(super) fn is_narrower(columns: &[Field], table: &[Field]) -> bool {
    !stream_spec::table::widened(columns, table).is_empty()
}

/// Refuses columns that no Delta table can have: structs without fields, and names that differ only in case.
pub(crate) fn expect_storable(columns: &[Field]) -> Result<(), String> {
    expect_storable_under("", columns)
}

fn expect_storable_under(parent: &str, fields: &[Field]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for field in fields {
        let path = joined(parent, &field.name);
        if !names.insert(field.name.to_lowercase()) {
            return Err(format!(
                "column `{path}` differs from another one only in case, which a Delta table cannot have; exclude one of them"
            ));
        }
        expect_storable_type(&path, &field.data_type)?;
    }
    Ok(())
}

fn expect_storable_type(path: &str, data_type: &DataType) -> Result<(), String> {
    match data_type {
        DataType::Struct(fields) if fields.is_empty() => Err(format!(
            "column `{path}` is a struct without fields, which a Delta table cannot have; give it a field or exclude it"
        )),
        DataType::Struct(fields) => expect_storable_under(path, fields),
        DataType::Array(element) => expect_storable_type(&joined(path, "element"), element),
        DataType::Map(key, value) => {
            expect_storable_type(&joined(path, "key"), key)?;
            expect_storable_type(&joined(path, "value"), value)
        }
        _ => Ok(()),
    }
}

fn joined(parent: &str, name: &str) -> String {
    if parent.is_empty() {
        name.to_owned()
    } else {
        format!("{parent}.{name}")
    }
}

#[cfg(test)]
mod tests;
