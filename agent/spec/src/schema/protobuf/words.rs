//! Names of kinds as a text spells them, for messages and for the normal form.

use super::tree::{ProtoField, ProtoKind, ProtoLabel};

/// The keyword of a scalar; nothing for what is declared or imported.
pub(super) fn scalar(kind: &ProtoKind) -> Option<&'static str> {
    Some(match kind {
        ProtoKind::Int32 => "int32",
        ProtoKind::Int64 => "int64",
        ProtoKind::Uint32 => "uint32",
        ProtoKind::Uint64 => "uint64",
        ProtoKind::Sint32 => "sint32",
        ProtoKind::Sint64 => "sint64",
        ProtoKind::Fixed32 => "fixed32",
        ProtoKind::Fixed64 => "fixed64",
        ProtoKind::Sfixed32 => "sfixed32",
        ProtoKind::Sfixed64 => "sfixed64",
        ProtoKind::Float => "float",
        ProtoKind::Double => "double",
        ProtoKind::Bool => "bool",
        ProtoKind::String { .. } => "string",
        ProtoKind::Bytes => "bytes",
        _ => return None,
    })
}

/// The name of a wrapper's message in `google.protobuf`.
pub(super) fn wrapper(value: &ProtoKind) -> &'static str {
    match value {
        ProtoKind::Double => "DoubleValue",
        ProtoKind::Float => "FloatValue",
        ProtoKind::Int64 => "Int64Value",
        ProtoKind::Uint64 => "UInt64Value",
        ProtoKind::Int32 => "Int32Value",
        ProtoKind::Uint32 => "UInt32Value",
        ProtoKind::Bool => "BoolValue",
        ProtoKind::Bytes => "BytesValue",
        _ => "StringValue",
    }
}

/// A kind in a few words: `int32`, `enum`, `map<string, message>`, `google.protobuf.Timestamp`.
fn kind(kind: &ProtoKind) -> String {
    match kind {
        ProtoKind::Enum(_) => "enum".into(),
        ProtoKind::Message(_) => "message".into(),
        ProtoKind::Group(_) => "group".into(),
        ProtoKind::Map { key, value } => format!("map<{}, {}>", self::kind(key), self::kind(value)),
        ProtoKind::Wrapper(value) => format!("google.protobuf.{}", wrapper(value)),
        ProtoKind::Timestamp => "google.protobuf.Timestamp".into(),
        ProtoKind::Duration => "google.protobuf.Duration".into(),
        other => scalar(other).unwrap_or_default().into(),
    }
}

/// A field's type in a few words: `repeated int32`.
pub(crate) fn of_field(field: &ProtoField) -> String {
    let repeated = field.label == ProtoLabel::Repeated && !matches!(field.kind, ProtoKind::Map { .. });
    format!("{}{}", if repeated { "repeated " } else { "" }, kind(&field.kind))
}
