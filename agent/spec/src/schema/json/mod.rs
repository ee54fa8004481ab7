//! JSON Schema: from a text to the type its messages decode to.
//!
//! Three passes: `text` keeps the document's order, `read` follows references and combinators into shapes, `finish`
//! turns a shape into a type. `normal` goes back from a type to text. No value of a message is ever checked here.

mod combine;
mod finish;
mod normal;
mod pointer;
mod read;
mod shape;
pub(super) mod text;
mod typed;

#[cfg(test)]
mod tests;

pub(super) use normal::normal_form;

use super::{ParsedSchema, SchemaPath, SchemaProblem};
use crate::limits::SCHEMA_PROBLEMS_MAX;
use crate::violation::shortened;

/// Parses a JSON Schema, or says everything that is wrong with it.
pub(super) fn parse(text: &str) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    let mut problems = Problems::default();
    let parsed = text::parse(text, &mut problems)
        .and_then(|document| read::root(&document, &mut problems))
        .and_then(|shape| finish::root(&shape, &mut problems));
    match parsed {
        Some(parsed) if problems.0.is_empty() => Ok(parsed),
        _ => Err(problems.0),
    }
}

/// The problems found so far. Every pass adds to it and goes on where it can.
#[derive(Default)]
pub(super) struct Problems(pub(super) Vec<SchemaProblem>);

impl Problems {
    /// Adds a problem at a JSON pointer. `found` is shown as JSON, shortened.
    fn add(&mut self, location: &str, problem: impl Into<String>, found: &text::Json, remedy: impl Into<String>) {
        self.add_shown(location, problem, found.to_string(), remedy);
    }

    /// Adds a problem whose finding is words rather than JSON.
    fn add_shown(&mut self, location: &str, problem: impl Into<String>, found: String, remedy: impl Into<String>) {
        let problem = problem.into();
        // A definition is read once per reference to it; what is wrong with it is said once.
        let said = self.0.iter().any(|known| known.location == location && known.problem == problem);
        if said || self.0.len() >= SCHEMA_PROBLEMS_MAX {
            return;
        }
        let path: SchemaPath = pointer::schema_path(location);
        self.0.push(SchemaProblem {
            location: location.to_owned(),
            path,
            problem,
            found: shortened(&found),
            remedy: remedy.into(),
        });
    }
}
