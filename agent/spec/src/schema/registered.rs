//! Schemas as registries keep them: a text that may use what other texts define, and messages that say by which schema they were
//! written.
//!
//! A *pinned* schema is one that a table has columns of: the same is refused in it as in a text of the user's own. A *writer's* schema
//! only has to tell how bytes lie: what the pinned schema has no use for may be anything. Kept is a pinned schema as one text that
//! needs no other ([`self_contained`]).

use std::borrow::Cow;

use super::{ParsedSchema, SchemaFormat, SchemaPath, SchemaProblem, Wire, avro, check_length, json, protobuf};
use crate::limits::{REFERENCES_BYTES_MAX, REFERENCES_MAX};
use crate::stream::SchemaText;

/// A text that another one refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferencedText {
    /// What it is referred to by: in Protobuf the import's name; in Avro the name of a type, which only messages for people use.
    pub name: String,
    /// The text.
    pub text: String,
}

/// Which message of a Protobuf text is meant. Avro has nothing to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageChoice<'c> {
    /// The one of that full name, as users write it.
    Named(&'c str),
    /// The one at that place among the text's messages, and then among those declared inside, as messages say it. Entries of
    /// maps are not counted, as in Confluent's Java library.
    At(&'c [u32]),
}

/// A text with all that it refers to, directly or by way of others. What is not used is not looked at. Files of Protobuf may also be
/// compiled descriptors in base64, as Confluent's serializers register them.
#[derive(Clone, Copy, Debug)]
pub struct RegisteredText<'t> {
    /// The language of all of the texts.
    pub format: SchemaFormat,
    /// The text.
    pub text: &'t str,
    /// The others, each name once.
    pub references: &'t [ReferencedText],
    /// The message, of a Protobuf text.
    pub message: MessageChoice<'t>,
}

/// Parses a text that a table can have a column of, or says everything that is wrong with it.
pub fn parse_with(registered: &RegisteredText<'_>) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    check(registered)?;
    match registered.format {
        SchemaFormat::Json => Err(vec![no_references_in_json()]),
        SchemaFormat::Avro => avro::parse_with(registered.text, registered.references),
        SchemaFormat::Protobuf => {
            let (text, references) = spelled(registered);
            protobuf::parse_with(&text, &references, registered.message)
        }
    }
}

/// How the bytes of messages of a writer's schema lie, for reading them as `reader`.
///
/// What no stream may be created with (in Protobuf `Duration`, `Any`, maps of other keys and the like, and what contains itself) is
/// left out where the reader has no field of that number: decoding then steps over it as over any unknown field. In Avro it is kept,
/// because only its schema tells its length.
pub fn parse_writer(registered: &RegisteredText<'_>, reader: &ParsedSchema) -> Result<Wire, Vec<SchemaProblem>> {
    check(registered)?;
    match (registered.format, &reader.wire) {
        (SchemaFormat::Avro, _) => avro::read_writer(registered.text, registered.references).map(Wire::Avro),
        (SchemaFormat::Protobuf, Wire::Protobuf(wanted)) => {
            let (text, references) = spelled(registered);
            protobuf::read_writer(&text, &references, registered.message, wanted).map(Wire::Protobuf)
        }
        (format, _) => Err(vec![whole(
            "messages of one schema language cannot be read by another",
            format!("written in {format}, read by {}", reader.format),
            "use one language for both".into(),
        )]),
    }
}

/// A schema as one text that needs no other: parsing it gives columns in the same order, the same bytes, and the same answers to
/// every writer's schema. Names that resolution goes by (in Avro those of types and their aliases; of a Protobuf schema its message's
/// own), defaults and the order of fields are kept, which a [`super::normal_form`] forgets. JSON Schema, which
/// no registry gives, is in its normal form.
pub fn self_contained(parsed: &ParsedSchema) -> SchemaText {
    match &parsed.wire {
        Wire::Json => SchemaText::Json(json::normal_form(parsed)),
        Wire::Avro(schema) => SchemaText::Avro(avro::self_contained(schema)),
        Wire::Protobuf(message) => SchemaText::Proto {
            schema_text: protobuf::self_contained(message),
            message_name: message.full_name.clone(),
        },
    }
}

/// The texts, where some were registered as compiled descriptors.
fn spelled<'t>(registered: &RegisteredText<'t>) -> (Cow<'t, str>, Cow<'t, [ReferencedText]>) {
    let text = protobuf::text_of_descriptor(registered.text).map_or(Cow::Borrowed(registered.text), Cow::Owned);
    let mut references = Cow::Borrowed(registered.references);
    for (index, reference) in registered.references.iter().enumerate() {
        if let Some(text) = protobuf::text_of_descriptor(&reference.text)
            && let Some(reference) = references.to_mut().get_mut(index)
        {
            reference.text = text;
        }
    }
    (text, references)
}

fn check(registered: &RegisteredText<'_>) -> Result<(), Vec<SchemaProblem>> {
    check_length(registered.text)?;
    let references = registered.references;
    if references.len() > REFERENCES_MAX {
        return Err(vec![whole(
            "the schema refers to too many others",
            format!("{} references", references.len()),
            format!("keep them within {REFERENCES_MAX}, those of references counted"),
        )]);
    }
    let bytes: usize = references.iter().map(|reference| reference.text.len()).sum();
    if bytes > REFERENCES_BYTES_MAX {
        return Err(vec![whole(
            "the schemas that it refers to are too long together",
            format!("{bytes} bytes"),
            format!("keep them within {REFERENCES_BYTES_MAX} bytes"),
        )]);
    }
    Ok(())
}

fn no_references_in_json() -> SchemaProblem {
    whole(
        "JSON Schema is not taken from a registry",
        SchemaFormat::Json.to_string(),
        "declare the schema in the stream itself, in `direct_schemas`".into(),
    )
}

/// A problem of the schema as a whole.
fn whole(problem: &str, found: String, remedy: String) -> SchemaProblem {
    SchemaProblem {
        location: String::new(),
        path: SchemaPath::new(),
        problem: problem.into(),
        found,
        remedy,
    }
}
