//! Where INT columns stand that are on their way to BIGINT, and the columns once they have arrived.
//!
//! A place is the names of the fields on the way to it, the outermost first; inside an array follows `element`, inside a map
//! `key` or `value`. Invariant: nothing but INT changes.

use std::collections::BTreeSet;

use stream_spec::types::{DataType, Field};

/// Places of INT columns.
pub(in crate::table) type Places = BTreeSet<Vec<String>>;

/// What stands inside an array.
pub(super) const ELEMENT: &str = "element";
/// A map's keys.
pub(super) const KEY: &str = "key";
/// A map's values.
pub(super) const VALUE: &str = "value";

/// The columns with BIGINT at these places.
pub(in crate::table) fn widened(columns: &[Field], places: &Places) -> Vec<Field> {
    if places.is_empty() {
        return columns.to_vec();
    }
    fields(&mut Vec::new(), columns, places)
}

fn fields(at: &mut Vec<String>, columns: &[Field], places: &Places) -> Vec<Field> {
    let widen = |field: &Field| Field {
        data_type: inside(at, &field.name, &field.data_type, places),
        ..field.clone()
    };
    columns.iter().map(widen).collect()
}

fn inside(at: &mut Vec<String>, name: &str, data_type: &DataType, places: &Places) -> DataType {
    at.push(name.to_owned());
    let widened = match data_type {
        DataType::Int if places.contains(at) => DataType::BigInt,
        DataType::Struct(columns) => DataType::Struct(fields(at, columns, places)),
        DataType::Array(element) => DataType::Array(Box::new(inside(at, ELEMENT, element, places))),
        DataType::Map(key, value) => DataType::Map(Box::new(inside(at, KEY, key, places)), Box::new(inside(at, VALUE, value, places))),
        other => other.clone(),
    };
    at.pop();
    widened
}
