//! From the tree to a type. A field whose message type has no field has no column.

use std::collections::BTreeSet;

use super::tree::{ProtoField, ProtoKind, ProtoLabel, ProtoMessage};
use crate::schema::{ParsedSchema, Root, SchemaFormat, SchemaPath, SchemaStep, Wire};
use crate::types::{DataType, Field};

/// The schema of a whole message.
pub(super) fn parsed(message: ProtoMessage) -> ParsedSchema {
    let mut required = BTreeSet::new();
    collect_required(&message, &mut SchemaPath::new(), &mut required);
    ParsedSchema {
        format: SchemaFormat::Protobuf,
        root: Root::Struct,
        data_type: DataType::Struct(columns(&message)),
        required,
        wire: Wire::Protobuf(message),
    }
}

/// The type of a field's column; nothing where it has none.
pub fn data_type(field: &ProtoField) -> Option<DataType> {
    let kind = kind_type(&field.kind)?;
    match (&field.label, &field.kind) {
        (_, ProtoKind::Map { .. }) | (ProtoLabel::Implicit | ProtoLabel::Explicit { .. } | ProtoLabel::Required, _) => Some(kind),
        (ProtoLabel::Repeated, _) => Some(DataType::Array(Box::new(kind))),
    }
}

/// What the wrapper of `google.protobuf` with that full name wraps.
pub(super) fn wrapped_kind(full_name: &str) -> Option<ProtoKind> {
    Some(match full_name.strip_prefix("google.protobuf.")? {
        "DoubleValue" => ProtoKind::Double,
        "FloatValue" => ProtoKind::Float,
        "Int64Value" => ProtoKind::Int64,
        "UInt64Value" => ProtoKind::Uint64,
        "Int32Value" => ProtoKind::Int32,
        "UInt32Value" => ProtoKind::Uint32,
        "BoolValue" => ProtoKind::Bool,
        "StringValue" => ProtoKind::String { verified: true },
        "BytesValue" => ProtoKind::Bytes,
        _ => return None,
    })
}

fn columns(message: &ProtoMessage) -> Vec<Field> {
    let column = |field: &ProtoField| Some(Field::new(field.name.clone(), data_type(field)?));
    message.fields.iter().filter_map(column).collect()
}

fn kind_type(kind: &ProtoKind) -> Option<DataType> {
    Some(match kind {
        ProtoKind::Int32 | ProtoKind::Sint32 | ProtoKind::Sfixed32 | ProtoKind::Fixed32 => DataType::Int,
        ProtoKind::Int64 | ProtoKind::Sint64 | ProtoKind::Sfixed64 | ProtoKind::Fixed64 | ProtoKind::Uint32 => DataType::BigInt,
        ProtoKind::Uint64 => DataType::Decimal { precision: 20, scale: 0 },
        ProtoKind::Float => DataType::Float,
        ProtoKind::Double => DataType::Double,
        ProtoKind::Bool => DataType::Boolean,
        ProtoKind::String { .. } | ProtoKind::Enum(_) => DataType::String,
        ProtoKind::Bytes => DataType::Binary,
        ProtoKind::Timestamp => DataType::Timestamp,
        // There is no interval type here: its microseconds.
        ProtoKind::Duration => DataType::BigInt,
        ProtoKind::Wrapper(value) => kind_type(value)?,
        ProtoKind::Map { key, value } => DataType::Map(Box::new(kind_type(key)?), Box::new(kind_type(value)?)),
        ProtoKind::Message(message) | ProtoKind::Group(message) => {
            let fields = columns(message);
            if fields.is_empty() {
                return None;
            }
            DataType::Struct(fields)
        }
    })
}

/// The places of required fields that have a column.
fn collect_required(message: &ProtoMessage, path: &mut SchemaPath, required: &mut BTreeSet<SchemaPath>) {
    for field in &message.fields {
        if kind_type(&field.kind).is_none() {
            continue;
        }
        let depth = path.len();
        path.push(SchemaStep::Field(field.name.clone()));
        if field.label == ProtoLabel::Required {
            required.insert(path.clone());
        }
        match (&field.kind, &field.label) {
            (ProtoKind::Map { value, .. }, _) => {
                path.push(SchemaStep::MapValue);
                collect_inside(value, path, required);
            }
            (kind, ProtoLabel::Repeated) => {
                path.push(SchemaStep::Element);
                collect_inside(kind, path, required);
            }
            (kind, _) => collect_inside(kind, path, required),
        }
        path.truncate(depth);
    }
}

fn collect_inside(kind: &ProtoKind, path: &mut SchemaPath, required: &mut BTreeSet<SchemaPath>) {
    if let ProtoKind::Message(message) | ProtoKind::Group(message) = kind {
        collect_required(message, path, required);
    }
}
