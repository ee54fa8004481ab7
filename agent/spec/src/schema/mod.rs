//! Schema texts and what they mean: the type that messages decode to, and what the update verdict needs beside it.
//!
//! One folder per schema language, with the same file names inside; this file holds what they share. Two texts mean the
//! same exactly when their normal forms are equal.

pub mod avro;
mod json;
pub mod protobuf;
mod registered;

use std::collections::BTreeSet;

pub use registered::{MessageChoice, ReferencedText, RegisteredText, parse_with, parse_writer, self_contained};

use crate::limits::SCHEMA_TEXT_BYTES_MAX;
use crate::stream::SchemaText;
use crate::types::DataType;
use crate::violation::Violation;

/// A schema language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchemaFormat {
    /// IETF JSON Schema.
    Json,
    /// Apache Avro.
    Avro,
    /// Protocol Buffers.
    Protobuf,
}

impl SchemaFormat {
    /// The language of a text.
    pub fn of(text: &SchemaText) -> Self {
        match text {
            SchemaText::Json(_) => Self::Json,
            SchemaText::Avro(_) => Self::Avro,
            SchemaText::Proto { .. } => Self::Protobuf,
        }
    }
}

impl std::fmt::Display for SchemaFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Json => "JSON Schema",
            Self::Avro => "Avro",
            Self::Protobuf => "Protobuf",
        })
    }
}

/// A schema that can be decoded by.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedSchema {
    /// Its language.
    pub format: SchemaFormat,
    /// Whether messages are objects with fields, or one scalar.
    pub root: Root,
    /// The type of the decoded side. Everything in it is nullable.
    pub data_type: DataType,
    /// Fields that the schema says every message has. Decoding ignores it; the update verdict does not.
    pub required: BTreeSet<SchemaPath>,
    /// How values lie in a message's bytes, where the type alone does not say it.
    pub wire: Wire,
}

/// How values lie in a message's bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Wire {
    /// Text, read by the type.
    Json,
    /// Avro's binary encoding of this schema.
    Avro(avro::tree::AvroType),
    /// Protobuf's wire format of this message.
    Protobuf(protobuf::tree::ProtoMessage),
}

impl Wire {
    /// The language whose bytes they are.
    pub fn format(&self) -> SchemaFormat {
        match self {
            Self::Json => SchemaFormat::Json,
            Self::Avro(_) => SchemaFormat::Avro,
            Self::Protobuf(_) => SchemaFormat::Protobuf,
        }
    }
}

/// What a message of the schema is as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// An object, record or message: `data_type` is a struct.
    Struct,
    /// One scalar: a STRING is the message's text as it is, anything else is read as one JSON scalar.
    Scalar,
}

/// A place inside a schema's type, from its root.
pub type SchemaPath = Vec<SchemaStep>;

/// One step of a place inside a type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchemaStep {
    /// Into a struct's field.
    Field(String),
    /// Into an array's elements.
    Element,
    /// Into a map's values.
    MapValue,
}

/// `path` below `column` as messages show it: `value.items[].sku`, `value.labels{}`.
pub fn show_path(column: &str, path: &[SchemaStep]) -> String {
    path.iter().fold(column.to_owned(), |mut shown, step| {
        match step {
            SchemaStep::Field(name) => {
                shown.push('.');
                shown.push_str(name);
            }
            SchemaStep::Element => shown.push_str("[]"),
            SchemaStep::MapValue => shown.push_str("{}"),
        }
        shown
    })
}

/// One reason why a schema text cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} (found {found}); {remedy}", self.placed())]
pub struct SchemaProblem {
    /// Where in the text, empty for the whole: a JSON pointer; in Protobuf `line:column`; in Avro the way through the schema,
    /// `fields[2].type.items`, which follows names to what they stand for.
    pub location: String,
    /// The decoded field it concerns, as far as the location tells.
    pub path: SchemaPath,
    /// What is wrong, lower case, no final period.
    pub problem: String,
    /// What was found there, shortened.
    pub found: String,
    /// What is supported, or what to do.
    pub remedy: String,
}

impl SchemaProblem {
    /// The problem as a violation of the attribute that holds the text.
    pub fn violation(&self, field: impl Into<String>) -> Violation {
        Violation {
            field: field.into(),
            value: self.found.clone(),
            problem: self.placed(),
            remedy: self.remedy.clone(),
        }
    }

    /// What is wrong, and where.
    pub(crate) fn placed(&self) -> String {
        match self.location.as_str() {
            "" => format!("{} at the root", self.problem),
            location => format!("{} at `{location}`", self.problem),
        }
    }
}

/// Parses a schema text, or says everything that is wrong with it.
pub fn parse(text: &SchemaText) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    match text {
        SchemaText::Json(text) => {
            check_length(text)?;
            json::parse(text)
        }
        SchemaText::Avro(text) => {
            check_length(text)?;
            avro::parse(text)
        }
        SchemaText::Proto { schema_text, message_name } => {
            check_length(schema_text)?;
            protobuf::parse(schema_text, message_name)
        }
    }
}

/// True when both texts decode every message to the same rows and leave the same updates open. Texts that cannot be
/// parsed mean the same only when they are the same text.
pub fn same_meaning(left: &SchemaText, right: &SchemaText) -> bool {
    if left == right {
        return true;
    }
    match (normal_form(left), normal_form(right)) {
        (Ok(left_form), Ok(right_form)) => SchemaFormat::of(left) == SchemaFormat::of(right) && left_form == right_form,
        _ => false,
    }
}

/// The one text that stands for all texts of the same meaning. Parsing it gives the same meaning again (a Protobuf text's message is
/// then `M`).
pub fn normal_form(text: &SchemaText) -> Result<String, Vec<SchemaProblem>> {
    let parsed = parse(text)?;
    Ok(match &parsed.wire {
        Wire::Json => json::normal_form(&parsed),
        Wire::Avro(schema) => avro::normal_form(schema),
        Wire::Protobuf(message) => protobuf::normal_form(message),
    })
}

fn check_length(text: &str) -> Result<(), Vec<SchemaProblem>> {
    if text.len() <= SCHEMA_TEXT_BYTES_MAX {
        return Ok(());
    }
    Err(vec![SchemaProblem {
        location: String::new(),
        path: SchemaPath::new(),
        problem: "the schema text is too long".into(),
        found: format!("{} bytes", text.len()),
        remedy: format!("keep it within {SCHEMA_TEXT_BYTES_MAX} bytes"),
    }])
}
