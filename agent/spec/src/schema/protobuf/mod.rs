//! Protobuf: from a `.proto` text and a message's name to the type that its messages decode to, and to the tree that says how their
//! bytes lie.
//!
//! Three passes: `text` compiles the text without reading any file, `read` turns descriptors into the tree, `finish` turns the tree
//! into a type. [`parse_as_spark`] answers whatever open-source Spark decodes; `refuse` adds what this product does not take.

mod built_in;
mod choice;
mod descriptor;
mod editions;
mod finish;
mod normal;
mod read;
mod refuse;
mod scan;
mod self_contained;
mod text;
pub mod tree;
pub(crate) mod words;

#[cfg(test)]
mod tests;

pub(super) use descriptor::as_text as text_of_descriptor;
pub use finish::data_type;
pub(crate) use normal::{normal_form, shown_name as enum_name};
pub(super) use self_contained::self_contained;

use super::{MessageChoice, ParsedSchema, ReferencedText, SchemaPath, SchemaProblem};
use crate::limits::SCHEMA_PROBLEMS_MAX;
use crate::violation::shortened;

use self::tree::ProtoMessage;

/// Parses a Protobuf schema, or says everything that is wrong with it.
pub(super) fn parse(schema_text: &str, message_name: &str) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    parse_with(schema_text, &[], MessageChoice::Named(message_name))
}

/// The same of a text that imports others.
pub(super) fn parse_with(
    schema_text: &str,
    references: &[ReferencedText],
    message: MessageChoice<'_>,
) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    read(Rules::Product, schema_text, references, message).map(finish::parsed)
}

/// Parses a Protobuf schema as open-source Spark's `from_protobuf` does, with unsigned integers widened and wrappers unwrapped:
/// also types that no stream may be created with. What Spark itself cannot decode (recursion) is refused here too.
pub fn parse_as_spark(schema_text: &str, message_name: &str) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    read(Rules::Spark, schema_text, &[], MessageChoice::Named(message_name)).map(finish::parsed)
}

/// How messages of a writer's schema lie in bytes, for reading them as `reader`. Left out are fields that no stream may be created
/// with, where the reader has none of that number.
pub(super) fn read_writer(
    schema_text: &str,
    references: &[ReferencedText],
    message: MessageChoice<'_>,
    reader: &ProtoMessage,
) -> Result<ProtoMessage, Vec<SchemaProblem>> {
    read(Rules::Writer(reader), schema_text, references, message)
}

/// Whose schemas are legal.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rules<'r> {
    /// Whatever open-source Spark decodes.
    Spark,
    /// What a stream may be created with.
    Product,
    /// Whatever messages are written by that are read as this one.
    Writer(&'r ProtoMessage),
}

fn read(
    rules: Rules<'_>,
    schema_text: &str,
    references: &[ReferencedText],
    message: MessageChoice<'_>,
) -> Result<ProtoMessage, Vec<SchemaProblem>> {
    let mut problems = Problems::default();
    let read = text::compile(schema_text, references, &mut problems).and_then(|source| read::root(&source, message, rules, &mut problems));
    match read {
        Some(read) if problems.0.is_empty() => Ok(read),
        _ => Err(problems.0),
    }
}

/// The problems found so far. Every pass adds to it and goes on where it can.
#[derive(Default)]
struct Problems(Vec<SchemaProblem>);

impl Problems {
    /// Adds a problem at `line:column` of the text, or at an attribute.
    fn add(&mut self, location: impl Into<String>, path: &SchemaPath, problem: impl Into<String>, found: &str, remedy: impl Into<String>) {
        let (location, problem) = (location.into(), problem.into());
        // A message type is read once per use of it; what is wrong with it is said once.
        let said = self.0.iter().any(|known| known.location == location && known.problem == problem);
        if said || self.0.len() >= SCHEMA_PROBLEMS_MAX {
            return;
        }
        self.0.push(SchemaProblem {
            location,
            path: path.clone(),
            problem,
            found: shortened(found),
            remedy: remedy.into(),
        });
    }
}
