//! From a writer's and a reader's message type to the nodes that messages are read by.
//!
//! Fields meet by number. The writer's type says how bytes are read and what makes a message unreadable; the reader's says which
//! columns there are and what stands in for what did not come. The one invariant: a node's children are the reader's columns, each
//! filled by exactly one field or by one entry of `missing`.

use std::collections::HashMap;

use stream_spec::schema::protobuf::data_type;
use stream_spec::schema::protobuf::tree::{ProtoDefault, ProtoField, ProtoKind, ProtoLabel, ProtoMessage};
use stream_spec::types::DataType;

use super::names::EnumNames;
use super::node::{
    Absent, Content, FieldNode, HiddenColumn, Lookup, MapNode, MessageNode, MissingNode, Place, Preset, Single, Time, Value,
};
use super::scalar::{Scalar, Zero};
use super::wire::{DELIMITED, Tag};
use crate::error::CompileError;
use crate::limits::TYPE_DEPTH_MAX;

/// The nodes of a message type.
pub(super) fn message(writer: &ProtoMessage, reader: &ProtoMessage) -> Result<MessageNode, CompileError> {
    Compiler { path: Vec::new() }.message(writer, reader)
}

struct Compiler<'a> {
    /// Names of the fields around the one that is being compiled.
    path: Vec<&'a str>,
}

impl<'a> Compiler<'a> {
    fn message(&mut self, writer: &'a ProtoMessage, reader: &'a ProtoMessage) -> Result<MessageNode, CompileError> {
        let columns: Vec<&ProtoField> = reader.fields.iter().filter(|field| data_type(field).is_some()).collect();
        let children: HashMap<u32, usize> = columns.iter().enumerate().map(|(child, field)| (field.number, child)).collect();
        let mut oneofs: Vec<&str> = Vec::new();
        let mut filled = vec![false; columns.len()];
        let mut fields = Vec::with_capacity(writer.fields.len());
        // Most writers write fields in the order of their numbers.
        let mut ordered: Vec<&ProtoField> = writer.fields.iter().collect();
        ordered.sort_by_key(|field| field.number);
        for field in ordered {
            let oneof = field.oneof.as_deref().map(|name| position_or_push(&mut oneofs, name));
            let child = children.get(&field.number).copied();
            self.path.push(&field.name);
            let reader_field = child.and_then(|child| columns.get(child).copied());
            fields.push(self.field(field, child.zip(reader_field), oneof)?);
            self.path.pop();
            if let Some(filled) = child.and_then(|child| filled.get_mut(child)) {
                *filled = true;
            }
        }
        let unfilled = columns.iter().zip(filled).enumerate().filter(|(_, (_, filled))| !filled);
        let missing: Vec<MissingNode> = unfilled
            .map(|(child, (field, _))| MissingNode {
                child,
                absent: absent_field(field),
            })
            .collect();
        let fast = super::fast::prepare(&mut fields);
        let below: usize = fields.iter().map(FieldNode::cells).sum();
        Ok(MessageNode {
            lookup: Lookup::new(&fields),
            oneofs: vec![None; oneofs.len()],
            columns: columns.len(),
            cells: below + missing.len() + 1,
            missing,
            fields,
            open: false,
            flaw: None,
            fast,
        })
    }

    fn field(
        &mut self,
        writer: &'a ProtoField,
        reader: Option<(usize, &'a ProtoField)>,
        oneof: Option<usize>,
    ) -> Result<FieldNode, CompileError> {
        if self.path.len() > TYPE_DEPTH_MAX {
            return Err(CompileError::TooDeep { max: TYPE_DEPTH_MAX });
        }
        let (place, reader) = match reader {
            Some((child, reader)) => (Place::Child(child), reader),
            None => (Place::Hidden(Box::new(HiddenColumn::new(hidden_type(writer)))), writer),
        };
        if (writer.label == ProtoLabel::Repeated) != (reader.label == ProtoLabel::Repeated) {
            return Err(self.differ(writer, reader));
        }
        let repeated = writer.label == ProtoLabel::Repeated;
        let (content, wire_kind) = match (&writer.kind, &reader.kind) {
            (ProtoKind::Map { key, value }, ProtoKind::Map { value: read_value, .. }) => {
                let ProtoKind::String { verified } = **key else {
                    return Err(CompileError::MapKey { key: kind_type(key) });
                };
                let node = self.value(value, read_value).ok_or_else(|| self.differ(writer, reader))??;
                let value_wire_kind = node.wire_kind(matches!(**value, ProtoKind::Group(_)));
                let absent = absent_map_value(&node, value);
                let map = MapNode {
                    key_verified: verified,
                    value_wire_kind,
                    value: Single::new(node, absent, Zero::Value),
                };
                (Content::Map(Box::new(map)), DELIMITED)
            }
            (kind, read_kind) => {
                let value = self.value(kind, read_kind).ok_or_else(|| self.differ(writer, reader))??;
                let wire_kind = value.wire_kind(matches!(kind, ProtoKind::Group(_)));
                let zero = match writer.label {
                    ProtoLabel::Implicit => Zero::Absent,
                    _ => Zero::Value,
                };
                let content = if repeated {
                    Content::List(value)
                } else {
                    Content::Single(Single::new(value, absent_field(reader), zero))
                };
                (content, wire_kind)
            }
        };
        let packable = matches!(content, Content::List(Value::Scalar(_))) && wire_kind != DELIMITED;
        Ok(FieldNode {
            number: writer.number,
            tag: Tag {
                number: writer.number,
                kind: wire_kind,
            }
            .bits(),
            bit: 0,
            excludes: 0,
            wire_kind,
            packable,
            required: writer.label == ProtoLabel::Required,
            oneof,
            place,
            content,
        })
    }

    /// How a value is read, or none if the two do not fit together.
    fn value(&mut self, writer: &'a ProtoKind, reader: &'a ProtoKind) -> Option<Result<Value, CompileError>> {
        match (writer, reader) {
            (ProtoKind::Message(writer), ProtoKind::Message(reader)) | (ProtoKind::Group(writer), ProtoKind::Group(reader)) => {
                Some(self.message(writer, reader).map(|node| Value::Message(Box::new(node))))
            }
            (ProtoKind::Wrapper(writer), ProtoKind::Wrapper(reader)) => scalar(writer, reader).map(|scalar| Ok(Value::Wrapper(scalar))),
            (ProtoKind::Timestamp, ProtoKind::Timestamp) | (ProtoKind::Duration, ProtoKind::Duration) => {
                Some(Ok(Value::Time(Time::default())))
            }
            _ => scalar(writer, reader).map(|scalar| Ok(Value::Scalar(scalar))),
        }
    }

    fn differ(&self, writer: &ProtoField, reader: &ProtoField) -> CompileError {
        CompileError::ProtobufField {
            field: self.path.join("."),
            number: writer.number,
            writer: described(writer),
            reader: described(reader),
        }
    }
}

/// The type of a column that nobody sees. A field that has none, because its message has no field, is counted there all the same.
fn hidden_type(field: &ProtoField) -> DataType {
    if let Some(data_type) = data_type(field) {
        return data_type;
    }
    let nothing = DataType::Struct(Vec::new());
    match (&field.kind, &field.label) {
        (ProtoKind::Map { key, .. }, _) => DataType::Map(Box::new(kind_type(key)), Box::new(nothing)),
        (_, ProtoLabel::Repeated) => DataType::Array(Box::new(nothing)),
        _ => nothing,
    }
}

fn kind_type(kind: &ProtoKind) -> DataType {
    let field = ProtoField {
        name: String::new(),
        number: 1,
        label: ProtoLabel::Implicit,
        kind: kind.clone(),
        oneof: None,
    };
    data_type(&field).unwrap_or(DataType::Struct(Vec::new()))
}

fn position_or_push<'a>(names: &mut Vec<&'a str>, name: &'a str) -> usize {
    names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

/// A scalar that is read as itself or as a wider one whose every value has the same bytes.
fn scalar(writer: &ProtoKind, reader: &ProtoKind) -> Option<Scalar> {
    use ProtoKind as Kind;
    Some(match (writer, reader) {
        (Kind::Int32, Kind::Int32 | Kind::Int64) => Scalar::Int32,
        (Kind::Int64, Kind::Int64) => Scalar::Int64,
        (Kind::Uint32, Kind::Uint32 | Kind::Int64 | Kind::Uint64) => Scalar::Uint32,
        (Kind::Uint64, Kind::Uint64) => Scalar::Uint64,
        (Kind::Sint32, Kind::Sint32 | Kind::Sint64) => Scalar::Sint32,
        (Kind::Sint64, Kind::Sint64) => Scalar::Sint64,
        (Kind::Fixed32, Kind::Fixed32) | (Kind::Sfixed32, Kind::Sfixed32) => Scalar::Fixed32,
        (Kind::Fixed64, Kind::Fixed64) | (Kind::Sfixed64, Kind::Sfixed64) => Scalar::Fixed64,
        (Kind::Float, Kind::Float) => Scalar::Float,
        (Kind::Double, Kind::Double) => Scalar::Double,
        (Kind::Bool, Kind::Bool) => Scalar::Bool,
        (Kind::String { verified }, Kind::String { .. }) => Scalar::Text { verified: *verified },
        (Kind::Bytes, Kind::Bytes) => Scalar::Bytes,
        // The writer's names: it knows the values that it writes.
        (Kind::Enum(declared), Kind::Enum(_)) => Scalar::Enum(Box::new(EnumNames::new(declared))),
        _ => return None,
    })
}

fn absent_field(field: &ProtoField) -> Absent {
    match &field.label {
        ProtoLabel::Repeated if matches!(field.kind, ProtoKind::Map { .. }) => Absent::EmptyMap,
        ProtoLabel::Repeated => Absent::EmptyList,
        ProtoLabel::Explicit { default: Some(default) } => Absent::Preset(Box::new(match default {
            ProtoDefault::Integer(value) => Preset::Integer(*value),
            ProtoDefault::Double(value) => Preset::Double(*value),
            ProtoDefault::Bool(value) => Preset::Bool(*value),
            ProtoDefault::Text(value) => Preset::Bytes(value.as_bytes().into()),
            ProtoDefault::Bytes(value) => Preset::Bytes(value.as_slice().into()),
        })),
        ProtoLabel::Explicit { default: None } | ProtoLabel::Implicit | ProtoLabel::Required => Absent::Null,
    }
}

/// A map entry without a value has the zero value, which for a message is the one without fields.
fn absent_map_value(value: &Value, kind: &ProtoKind) -> Absent {
    match value {
        Value::Wrapper(_) => Absent::Null,
        Value::Message(_) => Absent::EmptyMessage,
        Value::Time(_) => Absent::Preset(Box::new(Preset::Integer(0))),
        Value::Scalar(scalar) => Absent::Preset(Box::new(match scalar {
            Scalar::Int32
            | Scalar::Int64
            | Scalar::Uint32
            | Scalar::Uint64
            | Scalar::Sint32
            | Scalar::Sint64
            | Scalar::Fixed32
            | Scalar::Fixed64 => Preset::Integer(0),
            Scalar::Float | Scalar::Double => Preset::Double(0.0),
            Scalar::Bool => Preset::Bool(false),
            Scalar::Text { .. } | Scalar::Bytes => Preset::Bytes(Box::default()),
            Scalar::Enum(_) => Preset::Bytes(first_name(kind).as_bytes().into()),
        })),
    }
}

/// An enum without a value has its first declared one; its number may have a name that was declared before.
fn first_name(kind: &ProtoKind) -> &str {
    match kind {
        ProtoKind::Enum(declared) => declared.values.first().map_or("", |(name, _)| name),
        _ => "",
    }
}

impl FieldNode {
    /// Cells that the field takes in one more row.
    fn cells(&self) -> usize {
        match &self.content {
            Content::Single(Single {
                value: Value::Message(node),
                ..
            }) => node.cells,
            Content::Single(_) | Content::List(_) | Content::Map(_) => 1,
        }
    }
}

/// A field as its text declares it, as far as decoding goes.
fn described(field: &ProtoField) -> String {
    let kind = described_kind(&field.kind);
    match field.label {
        ProtoLabel::Repeated if !matches!(field.kind, ProtoKind::Map { .. }) => format!("repeated {kind}"),
        _ => kind,
    }
}

fn described_kind(kind: &ProtoKind) -> String {
    match kind {
        ProtoKind::Int32 => "int32".into(),
        ProtoKind::Int64 => "int64".into(),
        ProtoKind::Uint32 => "uint32".into(),
        ProtoKind::Uint64 => "uint64".into(),
        ProtoKind::Sint32 => "sint32".into(),
        ProtoKind::Sint64 => "sint64".into(),
        ProtoKind::Fixed32 => "fixed32".into(),
        ProtoKind::Fixed64 => "fixed64".into(),
        ProtoKind::Sfixed32 => "sfixed32".into(),
        ProtoKind::Sfixed64 => "sfixed64".into(),
        ProtoKind::Float => "float".into(),
        ProtoKind::Double => "double".into(),
        ProtoKind::Bool => "bool".into(),
        ProtoKind::String { .. } => "string".into(),
        ProtoKind::Bytes => "bytes".into(),
        ProtoKind::Enum(declared) => format!("enum {}", declared.full_name),
        ProtoKind::Message(message) => format!("message {}", message.full_name),
        ProtoKind::Group(message) => format!("group {}", message.full_name),
        ProtoKind::Map { key, value } => format!("map<{}, {}>", described_kind(key), described_kind(value)),
        ProtoKind::Wrapper(kind) => format!("wrapper of {}", described_kind(kind)),
        ProtoKind::Timestamp => "a Timestamp".into(),
        ProtoKind::Duration => "a Duration".into(),
    }
}
