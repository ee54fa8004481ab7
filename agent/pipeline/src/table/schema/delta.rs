//! Delta's schema text, to and from the product's types.

use serde_json::{Value, json};
use stream_spec::types::{DataType, Field};

use super::joined;

/// Field metadata under which we must not write: values that a writer computes or checks.
const COMPUTED_METADATA: [&str; 4] = [
    "delta.invariants",
    "delta.generationExpression",
    "delta.identity.",
    "delta.columnMapping.",
];

/// The schema text of columns, all nullable.
pub(in crate::table) fn schema_text(columns: &[Field]) -> String {
    struct_value(columns).to_string()
}

/// The columns of a schema text; the error says which column we cannot read or go on writing.
pub(in crate::table) fn parse(text: &str) -> Result<Vec<Field>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("its schema is not readable: {error}"))?;
    fields_of("", &value)
}

/// A field as Delta's schema text has it.
pub(super) fn field_value(field: &Field) -> Value {
    json!({"name": field.name, "type": type_value(&field.data_type), "nullable": true, "metadata": {}})
}

fn struct_value(fields: &[Field]) -> Value {
    json!({"type": "struct", "fields": fields.iter().map(field_value).collect::<Vec<_>>()})
}

fn type_value(data_type: &DataType) -> Value {
    match data_type {
        DataType::Boolean => "boolean".into(),
        DataType::TinyInt => "byte".into(),
        DataType::SmallInt => "short".into(),
        DataType::Int => "integer".into(),
        DataType::BigInt => "long".into(),
        DataType::Float => "float".into(),
        DataType::Double => "double".into(),
        DataType::Decimal { precision, scale } => format!("decimal({precision},{scale})").into(),
        DataType::String => "string".into(),
        DataType::Binary => "binary".into(),
        DataType::Date => "date".into(),
        DataType::Timestamp => "timestamp".into(),
        DataType::TimestampNtz => "timestamp_ntz".into(),
        DataType::Struct(fields) => struct_value(fields),
        DataType::Array(element) => json!({"type": "array", "elementType": type_value(element), "containsNull": true}),
        DataType::Map(key, value) => {
            json!({"type": "map", "keyType": type_value(key), "valueType": type_value(value), "valueContainsNull": true})
        }
    }
}

fn fields_of(parent: &str, value: &Value) -> Result<Vec<Field>, String> {
    let fields = value
        .get("fields")
        .and_then(Value::as_array)
        .ok_or_else(|| format!("column `{parent}` has no fields"))?;
    fields.iter().map(|field| field_of(parent, field)).collect()
}

fn field_of(parent: &str, value: &Value) -> Result<Field, String> {
    let name = value
        .get("name")
        .and_then(Value::as_str)
        .ok_or_else(|| format!("a column under `{parent}` has no name"))?;
    let path = joined(parent, name);
    if value.get("nullable").and_then(Value::as_bool) == Some(false) {
        return Err(format!(
            "column `{path}` is not nullable, and rows of a stream may have null in every column"
        ));
    }
    let metadata = value.get("metadata").and_then(Value::as_object);
    let computed = metadata
        .into_iter()
        .flatten()
        .find(|(key, _)| COMPUTED_METADATA.iter().any(|known| key.starts_with(known)));
    if let Some((key, _)) = computed {
        return Err(format!("column `{path}` has `{key}`, which this agent cannot write"));
    }
    let data_type = value.get("type").ok_or_else(|| format!("column `{path}` has no type"))?;
    Ok(Field::new(name, type_of(&path, data_type)?))
}

fn type_of(path: &str, value: &Value) -> Result<DataType, String> {
    if let Some(name) = value.as_str() {
        return primitive_of(name).ok_or_else(|| format!("column `{path}` has the type `{name}`, which this agent cannot write"));
    }
    let part = |key: &str| value.get(key).ok_or_else(|| format!("column `{path}` has no `{key}`"));
    match value.get("type").and_then(Value::as_str) {
        Some("struct") => Ok(DataType::Struct(fields_of(path, value)?)),
        Some("array") => Ok(DataType::Array(Box::new(type_of(&joined(path, "element"), part("elementType")?)?))),
        Some("map") => {
            let key = type_of(&joined(path, "key"), part("keyType")?)?;
            let value = type_of(&joined(path, "value"), part("valueType")?)?;
            Ok(DataType::Map(Box::new(key), Box::new(value)))
        }
        _ => Err(format!("column `{path}` has a type that this agent cannot write: {value}")),
    }
}

fn primitive_of(name: &str) -> Option<DataType> {
    Some(match name {
        "boolean" => DataType::Boolean,
        "byte" => DataType::TinyInt,
        "short" => DataType::SmallInt,
        "integer" => DataType::Int,
        "long" => DataType::BigInt,
        "float" => DataType::Float,
        "double" => DataType::Double,
        "string" => DataType::String,
        "binary" => DataType::Binary,
        "date" => DataType::Date,
        "timestamp" => DataType::Timestamp,
        "timestamp_ntz" => DataType::TimestampNtz,
        decimal => {
            let (precision, scale) = decimal.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
            DataType::Decimal {
                precision: precision.trim().parse().ok()?,
                scale: scale.trim().parse().ok()?,
            }
        }
    })
}
