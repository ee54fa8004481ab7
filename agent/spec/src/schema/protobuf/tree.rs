//! A Protobuf message type with every name and feature resolved: what decoding and the update verdict work on.
//!
//! A message type stands in full wherever it is used, so that this is a tree; recursive ones do not get this far.

/// A message type.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtoMessage {
    /// Package and name, dotted, without a leading dot.
    pub full_name: String,
    /// The fields as they are declared, members of a oneof among them.
    pub fields: Vec<ProtoField>,
}

/// A field of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtoField {
    /// The name in the text, never the JSON name.
    pub name: String,
    /// The number on the wire.
    pub number: u32,
    /// How often it comes, and what is read when it does not.
    pub label: ProtoLabel,
    /// What a value is.
    pub kind: ProtoKind,
    /// Name of the oneof that it is a member of; never one that the compiler made for a proto3 `optional`.
    pub oneof: Option<String>,
}

/// How often a field comes, and what it is when it does not come.
#[derive(Clone, Debug, PartialEq)]
pub enum ProtoLabel {
    /// At most once, without presence: the zero value reads as absent.
    Implicit,
    /// At most once, with presence. A default of the text's own stands in for an absent value.
    Explicit {
        /// `[default = …]` in the text.
        default: Option<ProtoDefault>,
    },
    /// Exactly once: a message without it is refused as a whole (proto2, and editions' LEGACY_REQUIRED).
    Required,
    /// Any number of times; a map is repeated.
    Repeated,
}

/// A default value in a text. An enum's is its name.
#[derive(Clone, Debug, PartialEq)]
pub enum ProtoDefault {
    /// Any of the signed and unsigned integers.
    Integer(i128),
    /// `float` (widened exactly) and `double`.
    Double(f64),
    /// `bool`.
    Bool(bool),
    /// `string`, and the name of an enum's value.
    Text(String),
    /// `bytes`.
    Bytes(Vec<u8>),
}

/// What a value is on the wire.
#[derive(Clone, Debug, PartialEq)]
pub enum ProtoKind {
    /// Varint.
    Int32,
    /// Varint.
    Int64,
    /// Varint.
    Uint32,
    /// Varint.
    Uint64,
    /// Zig-zag varint.
    Sint32,
    /// Zig-zag varint.
    Sint64,
    /// Four bytes.
    Fixed32,
    /// Eight bytes.
    Fixed64,
    /// Four bytes.
    Sfixed32,
    /// Eight bytes.
    Sfixed64,
    /// Four bytes.
    Float,
    /// Eight bytes.
    Double,
    /// Varint.
    Bool,
    /// Length-delimited.
    String {
        /// True where malformed UTF-8 makes the whole message unreadable (proto3, `utf8_validation = VERIFY`); else it is replaced.
        verified: bool,
    },
    /// Length-delimited.
    Bytes,
    /// Varint.
    Enum(ProtoEnum),
    /// Length-delimited.
    Message(ProtoMessage),
    /// Between a start and an end tag (a proto2 group, `message_encoding = DELIMITED`).
    Group(ProtoMessage),
    /// Length-delimited entries with the fields `key = 1` and `value = 2`; its field is repeated.
    Map {
        /// An integer, bool or string.
        key: Box<ProtoKind>,
        /// Anything but a map.
        value: Box<ProtoKind>,
    },
    /// Length-delimited: one of `google.protobuf`'s wrappers, whose field 1 without presence this is.
    Wrapper(Box<ProtoKind>),
    /// Length-delimited: a message named `Timestamp` whose fields are exactly `int64 seconds = 1` and `int32 nanos = 2`.
    Timestamp,
    /// Length-delimited: a message named `Duration` whose fields are exactly `int64 seconds = 1` and `int32 nanos = 2`.
    Duration,
}

/// An enum type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtoEnum {
    /// Package and name, dotted.
    pub full_name: String,
    /// Names and numbers as declared; the first of several names of one number is the one that is shown.
    pub values: Vec<(String, i32)>,
    /// True where an undeclared number counts as an unknown field (proto2, `enum_type = CLOSED`).
    pub closed: bool,
}
