//! Avro: from a text to the type that its messages decode to, and to the tree that says how their bytes lie.
//!
//! Three passes over the document that `json::text` reads: `names` finds what is defined, `read` follows names and builds the
//! tree, `finish` turns the tree into a type. `normal` goes back from a tree to text.
//!
//! Not by the crate `apache-avro`: it refuses what Spark reads (a default that does not fit its field) and reads what Spark refuses
//! (a `type` around a union), says no place in its errors, and keeps no logical type that it does not know the base of. The one
//! invariant: what [`parse_as_spark`] accepts is what Spark's `from_avro` can be given, and [`parse`] accepts no more than that.

pub mod default;
mod finish;
mod logical;
mod names;
mod normal;
mod read;
mod self_contained;
pub mod tree;

#[cfg(test)]
mod tests;

pub(crate) use normal::{logical_name, normal_form};
pub(super) use self_contained::self_contained;

use super::json::{Problems as JsonProblems, text};
use super::{ParsedSchema, ReferencedText, SchemaPath, SchemaProblem};
use crate::limits::SCHEMA_PROBLEMS_MAX;
use crate::violation::shortened;

use self::finish::Target;
use self::names::Document;
use self::tree::AvroType;

/// How a schema is read: what Spark has options for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// How often a record may stand inside itself before it is left out; with 0 a schema that contains itself is refused.
    pub recursive_levels: usize,
    /// How the fields of a union's struct are named.
    pub union_names: UnionNames,
}

/// Names of the fields of a union's struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnionNames {
    /// `member0`, `member1`, … without counting null.
    Numbered,
    /// The prefix and the branch's own name without its namespace.
    OfBranches {
        /// What stands before the name.
        prefix: String,
    },
}

impl Reading {
    /// As every stream reads schemas: no recursion, union fields named by their branches.
    pub fn of_streams() -> Self {
        Self {
            recursive_levels: 0,
            union_names: UnionNames::OfBranches { prefix: String::new() },
        }
    }
}

/// Parses an Avro schema that a table can have a column of, or says everything that is wrong with it.
pub(super) fn parse(text: &str) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    parse_with(text, &[])
}

/// The same of a text that uses what others define.
pub(super) fn parse_with(text: &str, references: &[ReferencedText]) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    run(text, references, &Reading::of_streams(), Target::Table)
}

/// Parses an Avro schema as Spark does, whatever a table can hold: `null` becomes STRING.
///
/// For comparing with Spark. Streams use [`super::parse`].
pub fn parse_as_spark(text: &str, reading: &Reading) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    run(text, &[], reading, Target::AsSpark)
}

/// How values of a writer's schema lie in bytes. It may contain itself and have whatever no table has, because nothing of it but
/// its bytes counts.
pub(super) fn read_writer(text: &str, references: &[ReferencedText]) -> Result<AvroType, Vec<SchemaProblem>> {
    let mut problems = Problems::default();
    let tree = tree(text, references, WRITERS_RECURSIVE_LEVELS, &mut problems);
    match tree {
        Some(tree) if problems.0.is_empty() => Ok(tree),
        _ => Err(problems.0),
    }
}

/// The inner one is not read: decoding goes back to the outer one to step over it.
const WRITERS_RECURSIVE_LEVELS: usize = 1;

fn run(text: &str, references: &[ReferencedText], reading: &Reading, target: Target) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    let mut problems = Problems::default();
    let parsed = tree(text, references, reading.recursive_levels, &mut problems)
        .and_then(|tree| finish::root(tree, &reading.union_names, target, &mut problems));
    match parsed {
        Some(parsed) if problems.0.is_empty() => Ok(parsed),
        _ => Err(problems.0),
    }
}

fn tree(text: &str, references: &[ReferencedText], recursive_levels: usize, problems: &mut Problems) -> Option<AvroType> {
    let mut documents = vec![Document::of(None, text, problems)?];
    for reference in references {
        documents.push(Document::of(Some(&reference.name), &reference.text, problems)?);
    }
    read::root(&documents, recursive_levels, problems)
}

/// A place in a schema: the way to it, and the decoded field it concerns.
#[derive(Clone, Default)]
struct Place {
    location: String,
    path: SchemaPath,
}

impl Place {
    /// The root of a text that is referred to by that name, or of the schema itself.
    fn root(reference: Option<&str>) -> Self {
        Self {
            location: reference.map(|name| format!("({name})")).unwrap_or_default(),
            path: SchemaPath::new(),
        }
    }

    /// Goes one step down and says where to return to.
    fn enter(&mut self, step: &str, field: Option<super::SchemaStep>) -> (usize, usize) {
        let here = (self.location.len(), self.path.len());
        if !self.location.is_empty() && !step.starts_with('[') {
            self.location.push('.');
        }
        self.location.push_str(step);
        self.path.extend(field);
        here
    }

    fn leave(&mut self, (location, path): (usize, usize)) {
        self.location.truncate(location);
        self.path.truncate(path);
    }
}

/// The problems found so far. Every pass adds to it and goes on where it can.
#[derive(Default)]
struct Problems(Vec<SchemaProblem>);

impl Problems {
    /// The text as JSON. Duplicate keys are refused: which of two wins depends on the reader.
    fn document(&mut self, text: &str, place: &Place) -> Option<text::Json> {
        let mut problems = JsonProblems::default();
        let document = text::parse(text, &mut problems);
        self.0.extend(problems.0.into_iter().map(|problem| SchemaProblem {
            location: location_of_pointer(place, &problem.location),
            path: SchemaPath::new(),
            ..problem
        }));
        document
    }

    fn add(&mut self, place: &Place, problem: impl Into<String>, found: String, remedy: impl Into<String>) {
        let problem = problem.into();
        let said = self
            .0
            .iter()
            .any(|known| known.location == place.location && known.problem == problem);
        if said || self.0.len() >= SCHEMA_PROBLEMS_MAX {
            return;
        }
        self.0.push(SchemaProblem {
            location: place.location.clone(),
            path: place.path.clone(),
            problem,
            found: shortened(&found),
            remedy: remedy.into(),
        });
    }
}

/// `/fields/2/type` as `fields[2].type`.
fn location_of_pointer(root: &Place, pointer: &str) -> String {
    let mut place = root.clone();
    for step in pointer.split('/').skip(1) {
        let is_index = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
        let step = if is_index {
            format!("[{step}]")
        } else {
            step.replace("~1", "/").replace("~0", "~")
        };
        place.enter(&step, None);
    }
    place.location
}
