//! From the document to shapes: walking it, local references, `allOf`, `oneOf` and `anyOf`. What a single schema says is in
//! `typed`.
//!
//! Keywords that only check values (`minLength`, `pattern`, `if`, …) or describe (`title`, `default`, …) are not looked
//! at. A schema that cannot be mapped is reported where it stands and read on around.

use super::shape::{Kind, Shape};
use super::text::Json;
use super::{Problems, combine, pointer};
use crate::limits::{JSON_DEPTH_MAX, SCHEMA_PARTS_MAX};

pub(super) const TYPES: &str = "supported types: object, array, string, integer, number, boolean, timestamp, binary";

/// Keywords that would change what a `$ref` beside them means, depending on the draft.
const NOT_BESIDE_A_REFERENCE: [&str; 14] = [
    "type",
    "format",
    "properties",
    "additionalProperties",
    "patternProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "enum",
    "const",
    "allOf",
    "oneOf",
    "anyOf",
    "not",
];

/// The shape of the whole document.
pub(super) fn root(document: &Json, problems: &mut Problems) -> Option<Shape> {
    if !matches!(document, Json::Object(_)) {
        problems.add(
            "",
            "the schema is not a JSON object",
            document,
            "write an object, as in {\"type\": \"object\", …}",
        );
        return None;
    }
    let mut reader = Reader {
        document,
        problems,
        open_references: Vec::new(),
        parts: 0,
        depth: 0,
    };
    Some(reader.read(document, ""))
}

pub(super) struct Reader<'t, 'p> {
    document: &'t Json,
    problems: &'p mut Problems,
    /// Pointers of the references that lead to the schema being read, to see a circle.
    open_references: Vec<String>,
    parts: usize,
    depth: usize,
}

impl<'t> Reader<'t, '_> {
    /// The shape of the schema at `at`.
    pub(super) fn read(&mut self, schema: &'t Json, at: &str) -> Shape {
        self.parts += 1;
        if self.parts > SCHEMA_PARTS_MAX {
            // Said once: every further part would say it again.
            if self.parts == SCHEMA_PARTS_MAX + 1 {
                let problem = format!("the schema has more than {SCHEMA_PARTS_MAX} parts once references are followed");
                self.problems.add(at, problem, schema, "make it smaller");
            }
            return Shape::new(at, Kind::Broken);
        }
        if self.depth >= JSON_DEPTH_MAX {
            let problem = format!("the schema is nested more than {JSON_DEPTH_MAX} levels deep");
            return self.broken(at, problem, schema, "flatten it");
        }
        self.depth += 1;
        let shape = match schema {
            Json::Bool(true) => Shape::new(at, Kind::Anything),
            Json::Bool(false) => self.broken(at, "`false` allows no value", schema, TYPES),
            Json::Object(_) => self.read_object(schema, at),
            _ => self.broken(at, "a schema is an object or `true`", schema, TYPES),
        };
        self.depth -= 1;
        shape
    }

    pub(super) fn broken(&mut self, at: &str, problem: impl Into<String>, found: &Json, remedy: impl Into<String>) -> Shape {
        self.problems.add(at, problem, found, remedy);
        Shape::new(at, Kind::Broken)
    }

    fn read_object(&mut self, schema: &'t Json, at: &str) -> Shape {
        for keyword in ["$dynamicRef", "$recursiveRef"] {
            if let Some(found) = schema.get(keyword) {
                let remedy = "use `$ref` with a JSON pointer, as in `#/$defs/Address`";
                return self.broken(&pointer::child(at, keyword), format!("`{keyword}` is not supported"), found, remedy);
            }
        }
        let mut shape = match schema.get("$ref") {
            Some(reference) => self.read_reference(schema, reference, at),
            None => self.read_keywords(schema, at),
        };
        if let Some(Json::List(names)) = schema.get("required") {
            shape.required.extend(names.iter().filter_map(Json::as_text).map(str::to_owned));
        }
        shape
    }

    /// The target of a local reference.
    fn read_reference(&mut self, schema: &Json, reference: &Json, at: &str) -> Shape {
        let location = pointer::child(at, "$ref");
        if let Some(keyword) = NOT_BESIDE_A_REFERENCE.iter().find(|keyword| schema.get(keyword).is_some()) {
            let problem = format!("`{keyword}` beside `$ref` means different things in different drafts");
            return self.broken(
                &location,
                problem,
                reference,
                format!("combine the two with `allOf`, or drop `{keyword}`"),
            );
        }
        let Some(text) = reference.as_text() else {
            return self.broken(
                &location,
                "`$ref` is not a string",
                reference,
                "write a JSON pointer, as in `#/$defs/Address`",
            );
        };
        if !text.starts_with('#') {
            let remedy = "copy the definition into `$defs` and point there, as in `#/$defs/Address`";
            return self.broken(&location, "`$ref` leads out of the schema", reference, remedy);
        }
        let Some((target, target_pointer)) = pointer::resolve(self.document, text) else {
            return self.broken(
                &location,
                "`$ref` leads nowhere",
                reference,
                "point at a definition that exists, as in `#/$defs/Address`",
            );
        };
        if self.open_references.contains(&target_pointer) {
            let remedy = "a column's type is finite: unroll it to the depth you need, or leave `type` out to keep the JSON text";
            return self.broken(&location, "`$ref` is recursive", reference, remedy);
        }
        self.open_references.push(target_pointer.clone());
        let mut shape = self.read(target, &target_pointer);
        self.open_references.pop();
        shape.location = at.to_owned();
        shape
    }

    /// The keywords of one schema, combinators included.
    fn read_keywords(&mut self, schema: &'t Json, at: &str) -> Shape {
        let mut shape = self.read_own(schema, at);
        if let Some(branches) = self.branches(schema, at, "allOf") {
            for branch in branches {
                shape = combine::both(shape, branch, self.problems);
            }
        }
        for keyword in ["oneOf", "anyOf"] {
            if let Some(branches) = self.branches(schema, at, keyword) {
                shape = self.read_alternatives(shape, branches, &pointer::child(at, keyword), schema);
            }
        }
        if matches!(shape.kind, Kind::Anything) && schema.get("not").is_some() {
            return self.broken(at, "`not` alone says no type", schema, TYPES);
        }
        shape
    }

    /// The shapes below a combinator, or nothing without it.
    fn branches(&mut self, schema: &'t Json, at: &str, keyword: &str) -> Option<Vec<Shape>> {
        let found = schema.get(keyword)?;
        let location = pointer::child(at, keyword);
        match found {
            Json::List(items) if !items.is_empty() => {
                let branch = |(index, item)| self.read(item, &pointer::child(&location, &usize::to_string(&index)));
                Some(items.iter().enumerate().map(branch).collect())
            }
            _ => Some(vec![self.broken(
                &location,
                format!("`{keyword}` is not a list of schemas"),
                found,
                "list at least one",
            )]),
        }
    }

    /// `oneOf` and `anyOf`: all branches that are values must have one type. Branches that only restrict a value whose
    /// type is known are no alternatives.
    fn read_alternatives(&mut self, base: Shape, branches: Vec<Shape>, at: &str, schema: &Json) -> Shape {
        let typed = !matches!(base.kind, Kind::Anything);
        let nullable = branches.iter().any(|branch| matches!(branch.kind, Kind::Null));
        let mut values = branches.into_iter().filter(|branch| match branch.kind {
            Kind::Null => false,
            Kind::Anything => !typed,
            _ => true,
        });
        let Some(mut value) = values.next() else {
            return if typed || !nullable {
                base
            } else {
                Shape { kind: Kind::Null, ..base }
            };
        };
        for other in values {
            value = match combine::either(&value, &other) {
                Some(same) => same,
                None => {
                    let problem = format!("alternatives of two types, {} and {}", value.describe(), other.describe());
                    let remedy = "a column has one type: give every alternative (other than null) the same one";
                    return self.broken(at, problem, schema, remedy);
                }
            };
        }
        combine::both(base, value, self.problems)
    }
}
