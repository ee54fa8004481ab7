//! The Arrow types of a table's columns. Names of list elements and map entries are those that end up in its Parquet files.

use std::sync::Arc;

use arrow_schema::{DataType as Arrow, Field as ArrowField, Fields, Schema, SchemaRef, TimeUnit};
use stream_spec::types::{DataType, Field};

/// The schema of batches and files of a table with these columns.
pub(in crate::table) fn arrow_schema(columns: &[Field]) -> SchemaRef {
    Arc::new(Schema::new(arrow_fields(columns)))
}

fn arrow_fields(fields: &[Field]) -> Fields {
    fields
        .iter()
        .map(|field| ArrowField::new(&field.name, arrow_type(&field.data_type), true))
        .collect()
}

fn arrow_type(data_type: &DataType) -> Arrow {
    match data_type {
        DataType::Boolean => Arrow::Boolean,
        DataType::TinyInt => Arrow::Int8,
        DataType::SmallInt => Arrow::Int16,
        DataType::Int => Arrow::Int32,
        DataType::BigInt => Arrow::Int64,
        DataType::Float => Arrow::Float32,
        DataType::Double => Arrow::Float64,
        DataType::Decimal { precision, scale } => Arrow::Decimal128(*precision, i8::try_from(*scale).unwrap_or(i8::MAX)),
        DataType::String => Arrow::Utf8,
        DataType::Binary => Arrow::Binary,
        DataType::Date => Arrow::Date32,
        DataType::Timestamp => Arrow::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        DataType::TimestampNtz => Arrow::Timestamp(TimeUnit::Microsecond, None),
        DataType::Struct(fields) => Arrow::Struct(arrow_fields(fields)),
        DataType::Array(element) => Arrow::List(Arc::new(ArrowField::new("element", arrow_type(element), true))),
        DataType::Map(key, value) => {
            let entries = vec![
                ArrowField::new("key", arrow_type(key), false),
                ArrowField::new("value", arrow_type(value), true),
            ];
            Arrow::Map(Arc::new(ArrowField::new("key_value", Arrow::Struct(entries.into()), false)), false)
        }
    }
}
