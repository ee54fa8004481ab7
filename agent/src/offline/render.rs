//! Decoded values as JSON text. Invariant: no two different values of a type have the same text.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use base64::Engine;
use serde_json::{Map, Value};

/// One row of a column: structs and maps as objects (a map with a key twice, as a list of pairs), decimals as texts, times in ISO 8601,
/// binaries in base64, floats that JSON has no number for as `"NaN"`, `"Infinity"` and `"-Infinity"`.
pub(super) fn value(array: &ArrayRef, row: usize) -> anyhow::Result<Value> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => serde_json::from_str(&text(array, row)?)?,
        // By its own shortest text: widened to a double it would have more digits than it was written with.
        DataType::Float32 => {
            let single = array.as_primitive::<Float32Type>().value(row);
            if single.is_finite() {
                serde_json::from_str(&single.to_string())?
            } else {
                double(f64::from(single))
            }
        }
        DataType::Float64 => double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Binary => Value::String(base64::engine::general_purpose::STANDARD.encode(array.as_binary::<i32>().value(row))),
        DataType::Struct(_) => fields(array, row)?,
        DataType::List(_) => {
            let elements = array.as_list::<i32>().value(row);
            Value::Array((0..elements.len()).map(|index| value(&elements, index)).collect::<Result<_, _>>()?)
        }
        DataType::Map(..) => entries(array, row)?,
        _ => Value::String(text(array, row)?),
    })
}

fn double(value: f64) -> Value {
    let named = match value {
        _ if value.is_nan() => "NaN",
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        finite => return Value::from(finite),
    };
    Value::from(named)
}

fn fields(array: &ArrayRef, row: usize) -> anyhow::Result<Value> {
    let columns = array.as_struct();
    let mut members = Map::new();
    for (field, column) in columns.fields().iter().zip(columns.columns()) {
        members.insert(field.name().clone(), value(column, row)?);
    }
    Ok(Value::Object(members))
}

fn entries(array: &ArrayRef, row: usize) -> anyhow::Result<Value> {
    let entries = array.as_map().value(row);
    let mut pairs = Vec::with_capacity(entries.len());
    for index in 0..entries.len() {
        let key = match value(entries.column(0), index)? {
            Value::String(key) => key,
            other => other.to_string(),
        };
        pairs.push((key, value(entries.column(1), index)?));
    }
    let members: Map<String, Value> = pairs.iter().cloned().collect();
    if members.len() == pairs.len() {
        return Ok(Value::Object(members));
    }
    Ok(Value::Array(
        pairs
            .into_iter()
            .map(|(key, value)| Value::Array(vec![Value::String(key), value]))
            .collect(),
    ))
}

fn text(array: &ArrayRef, row: usize) -> anyhow::Result<String> {
    Ok(ArrayFormatter::try_new(array.as_ref(), &FormatOptions::default())?
        .value(row)
        .try_to_string()?)
}
