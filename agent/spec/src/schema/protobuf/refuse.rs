//! What Spark decodes and no stream may be created with (product part D4): each refusal says what to write instead.
//!
//! Only decides. `read` asks where it meets a type, and says where that was.

use std::collections::BTreeMap;

use protox::prost_reflect::{FileDescriptor, Kind, MessageDescriptor};

use super::finish;
use super::text::Source;
use super::tree::{ProtoKind, ProtoMessage};

/// Why something cannot be in a schema.
pub(super) struct Refusal {
    /// What is wrong.
    pub(super) problem: String,
    /// What to write instead.
    pub(super) remedy: &'static str,
}

const TIMESTAMP: &str = "google.protobuf.Timestamp";

/// Well-known messages by their short names, and what to use in their place.
const WELL_KNOWN: &[(&str, &str)] = &[
    (
        "Duration",
        "encode it as int64 in a unit that the field's name says, as in `timeout_millis`",
    ),
    ("Struct", "declare a message with the members, or encode it as a string of JSON"),
    ("Value", "declare the type that it has, or encode it as a string of JSON"),
    ("ListValue", "declare a repeated field, or encode it as a string of JSON"),
    ("Any", "declare the message that it holds, or encode it as bytes"),
    ("FieldMask", "declare a repeated string"),
    ("Empty", "leave the field out, or declare a bool"),
];

const OTHERS: &str = "supported: google.protobuf.Timestamp and the wrappers (google.protobuf.Int64Value and the like); declare a message or enum of your own";

/// The unsigned fixed-width integers.
pub(super) fn scalar(kind: &Kind) -> Option<Refusal> {
    let (name, remedy) = match kind {
        Kind::Fixed32 => ("fixed32", "declare it sfixed32 (the same bytes, signed), or encode it as uint32"),
        Kind::Fixed64 => ("fixed64", "declare it sfixed64 (the same bytes, signed), or encode it as uint64"),
        _ => return None,
    };
    Some(Refusal {
        problem: format!("the type {name} is not supported"),
        remedy,
    })
}

/// Keys of another type than string.
pub(super) fn map_key(kind: &Kind) -> Option<Refusal> {
    (*kind != Kind::String).then(|| Refusal {
        problem: format!("a map with keys of the type {kind:?} is not supported"),
        remedy: "use string keys, or a repeated message with the fields `key = 1` and `value = 2` (the same bytes)",
    })
}

/// A message or enum of one of the compiler's own files.
pub(super) fn imported(source: &Source, file: &FileDescriptor, full_name: &str) -> Option<Refusal> {
    if source.is_users(file) || full_name == TIMESTAMP || finish::wrapped_kind(full_name).is_some() {
        return None;
    }
    let short = full_name.rsplit('.').next().unwrap_or_default();
    let remedy = WELL_KNOWN
        .iter()
        .find(|(name, _)| *name == short)
        .map_or(OTHERS, |(_, remedy)| remedy);
    Some(Refusal {
        problem: format!("`{full_name}` is not supported"),
        remedy,
    })
}

/// A message with the name of a well-known one that is not quite it, so that Spark would read it otherwise than it looks.
pub(super) fn looks_well_known(message: &MessageDescriptor, kind: &ProtoKind) -> Option<Refusal> {
    let (name, full_name) = (message.name(), message.full_name());
    let (problem, remedy) = match kind {
        ProtoKind::Timestamp | ProtoKind::Wrapper(_) => return None,
        ProtoKind::Duration => (
            format!("`{full_name}` is read as an interval, which is not supported"),
            "give the message another name than Duration",
        ),
        _ if finish::wrapped_kind(full_name).is_some() => (
            format!("`{full_name}` is not the wrapper of that name"),
            "import google/protobuf/wrappers.proto and use its encoding, or give the message another name",
        ),
        _ => {
            let fields: Vec<&str> = message.descriptor_proto().field.iter().map(|field| field.name()).collect();
            if !matches!(name, "Timestamp" | "Duration") || fields != ["seconds", "nanos"] {
                return None;
            }
            (
                format!("`{full_name}` has the names of google.protobuf.{name}, but not its numbers, types and encoding"),
                "import google/protobuf/timestamp.proto for a time, or give the message another name",
            )
        }
    };
    Some(Refusal { problem, remedy })
}

/// Two columns of one message whose names differ only in case, by the later one's name.
pub(super) fn twins(message: &ProtoMessage) -> Vec<(String, Refusal)> {
    let mut folded: BTreeMap<String, &str> = BTreeMap::new();
    let mut twins = Vec::new();
    for field in message.fields.iter().filter(|field| finish::data_type(field).is_some()) {
        if let Some(twin) = folded.insert(field.name.to_lowercase(), &field.name) {
            let refusal = Refusal {
                problem: format!("the names `{twin}` and `{}` differ only in case", field.name),
                remedy: "rename one: a table has one column for both",
            };
            twins.push((field.name.clone(), refusal));
        }
    }
    twins
}
