//! `stream-spec` types as Arrow types. The pipeline builds its table batches by the same mapping.
//!
//! Names of list and map children are the ones Delta readers and writers expect; everything is nullable but map keys.

use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field as ArrowField, FieldRef, TimeUnit};
use stream_spec::types::{DataType, Field};

/// The time zone of TIMESTAMP columns.
pub const TIMESTAMP_ZONE: &str = "UTC";

const LIST_ELEMENT: &str = "element";
const MAP_ENTRIES: &str = "key_value";
const MAP_KEY: &str = "key";
const MAP_VALUE: &str = "value";

/// The Arrow type of a column.
pub fn arrow_type(data_type: &DataType) -> ArrowType {
    match data_type {
        DataType::Boolean => ArrowType::Boolean,
        DataType::TinyInt => ArrowType::Int8,
        DataType::SmallInt => ArrowType::Int16,
        DataType::Int => ArrowType::Int32,
        DataType::BigInt => ArrowType::Int64,
        DataType::Float => ArrowType::Float32,
        DataType::Double => ArrowType::Float64,
        DataType::Decimal { precision, scale } => ArrowType::Decimal128(*precision, scale.cast_signed()),
        DataType::String => ArrowType::Utf8,
        DataType::Binary => ArrowType::Binary,
        DataType::Date => ArrowType::Date32,
        DataType::Timestamp => ArrowType::Timestamp(TimeUnit::Microsecond, Some(TIMESTAMP_ZONE.into())),
        DataType::TimestampNtz => ArrowType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Struct(fields) => ArrowType::Struct(fields.iter().map(arrow_field).collect()),
        DataType::Array(element) => ArrowType::List(list_element(element)),
        DataType::Map(key, value) => ArrowType::Map(map_entries(key, value), false),
    }
}

/// The Arrow field of a column or struct member, nullable.
pub fn arrow_field(field: &Field) -> ArrowField {
    ArrowField::new(&field.name, arrow_type(&field.data_type), true)
}

pub(crate) fn list_element(element: &DataType) -> FieldRef {
    Arc::new(ArrowField::new(LIST_ELEMENT, arrow_type(element), true))
}

pub(crate) fn map_entries(key: &DataType, value: &DataType) -> FieldRef {
    let key = ArrowField::new(MAP_KEY, arrow_type(key), false);
    let value = ArrowField::new(MAP_VALUE, arrow_type(value), true);
    Arc::new(ArrowField::new(
        MAP_ENTRIES,
        ArrowType::Struct([key, value].into_iter().collect()),
        false,
    ))
}
