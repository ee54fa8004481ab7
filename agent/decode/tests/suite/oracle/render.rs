//! Our columns in the form of the recorded answers.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use base64::Engine;
use serde_json::{Map, Value, json};

/// One element of an array.
pub(crate) fn element(array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::Int8 => json!(array.as_primitive::<Int8Type>().value(row)),
        DataType::Int16 => json!(array.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => json!(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => double(f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(..) => json!(array.as_primitive::<Decimal128Type>().value_as_string(row)),
        DataType::Utf8 => json!(array.as_string::<i32>().value(row)),
        DataType::Binary => json!(base64::engine::general_purpose::STANDARD.encode(array.as_binary::<i32>().value(row))),
        DataType::Date32 => json!(array.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(..) => json!(array.as_primitive::<TimestampMicrosecondType>().value(row)),
        DataType::Struct(_) => fields(array, row),
        DataType::List(_) => elements(&array.as_list::<i32>().value(row)),
        DataType::Map(..) => entries(array, row),
        other => panic!("no decoder makes {other}"),
    }
}

fn double(value: f64) -> Value {
    match value {
        _ if value.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        finite => json!(finite),
    }
}

fn fields(array: &ArrayRef, row: usize) -> Value {
    let columns = array.as_struct();
    let members = columns.fields().iter().zip(columns.columns());
    Value::Object(
        members
            .map(|(field, column)| (field.name().clone(), element(column, row)))
            .collect::<Map<_, _>>(),
    )
}

fn elements(array: &ArrayRef) -> Value {
    (0..array.len()).map(|row| element(array, row)).collect()
}

fn entries(array: &ArrayRef, row: usize) -> Value {
    let entries = array.as_map().value(row);
    (0..entries.len())
        .map(|entry| json!([element(entries.column(0), entry), element(entries.column(1), entry)]))
        .collect()
}
