//! From the document to shapes: keywords of one schema, local references, `allOf`, `oneOf` and `anyOf`.
//!
//! Keywords that only check values (`minLength`, `pattern`, `if`, …) or describe (`title`, `default`, …) are not looked
//! at. A schema that cannot be mapped is reported where it stands and read on around.

use super::shape::{ArrayShape, Kind, ObjectShape, Property, Shape};
use super::text::Json;
use super::{Problems, combine, pointer};
use crate::limits::{JSON_DEPTH_MAX, SCHEMA_PARTS_MAX};
use crate::types::DataType;

const TYPES: &str = "supported types: object, array, string, integer, number, boolean, timestamp, binary";
const STRING_FORMATS: &str = "supported: date-time, date; leave `format` out to keep the text as STRING";
const INTEGER_FORMATS: &str = "supported: int32 (INT, also without a format), int64 (BIGINT)";

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

struct Reader<'t, 'p> {
    document: &'t Json,
    problems: &'p mut Problems,
    /// Pointers of the references that lead to the schema being read, to see a circle.
    open_references: Vec<String>,
    parts: usize,
    depth: usize,
}

impl<'t> Reader<'t, '_> {
    /// The shape of the schema at `at`.
    fn read(&mut self, schema: &'t Json, at: &str) -> Shape {
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

    fn broken(&mut self, at: &str, problem: impl Into<String>, found: &Json, remedy: impl Into<String>) -> Shape {
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

    /// What `type` and the keywords beside it say.
    fn read_own(&mut self, schema: &'t Json, at: &str) -> Shape {
        match schema.get("type") {
            None => self.read_untyped(schema, at),
            Some(Json::Text(name)) => self.read_typed(schema, name, at),
            Some(Json::List(names)) => self.read_type_list(schema, names, at),
            Some(found) => self.broken(&pointer::child(at, "type"), "`type` is not a name", found, TYPES),
        }
    }

    fn read_type_list(&mut self, schema: &'t Json, names: &'t [Json], at: &str) -> Shape {
        let location = pointer::child(at, "type");
        let list = || Json::List(names.to_vec());
        let mut others: Vec<&str> = names.iter().filter_map(Json::as_text).filter(|name| *name != "null").collect();
        others.sort_unstable();
        others.dedup();
        if names.is_empty() || names.iter().any(|name| name.as_text().is_none()) {
            return self.broken(&location, "`type` is not a list of names", &list(), TYPES);
        }
        match others.as_slice() {
            [] => Shape::new(at, Kind::Null),
            [name] => self.read_typed(schema, name, at),
            ["integer", "number"] => Shape::new(at, Kind::Scalar(DataType::Double)),
            _ => {
                let remedy = "a column has one type: keep one of them, with or without \"null\"";
                self.broken(&location, format!("several types, {}", others.join(" and ")), &list(), remedy)
            }
        }
    }

    fn read_typed(&mut self, schema: &'t Json, name: &str, at: &str) -> Shape {
        let kind = match name {
            "string" => return self.read_format(schema, at, string_format, "string", STRING_FORMATS),
            "integer" => return self.read_format(schema, at, integer_format, "integer", INTEGER_FORMATS),
            "number" => Kind::Scalar(DataType::Double),
            "boolean" => Kind::Scalar(DataType::Boolean),
            // Not JSON Schema, but accepted by the public client.
            "timestamp" => Kind::Scalar(DataType::Timestamp),
            "binary" => Kind::Scalar(DataType::Binary),
            "null" => Kind::Null,
            "object" => Kind::Object(self.read_members(schema, at, true)),
            "array" => return self.read_items(schema, at, true),
            _ => {
                let location = pointer::child(at, "type");
                return self.broken(&location, format!("unsupported type '{name}'"), &Json::Text(name.into()), TYPES);
            }
        };
        Shape::new(at, kind)
    }

    fn read_format(
        &mut self,
        schema: &Json,
        at: &str,
        formats: fn(Option<&str>) -> Option<DataType>,
        type_name: &str,
        supported: &str,
    ) -> Shape {
        let found = schema.get("format");
        match (found, found.and_then(Json::as_text)) {
            (Some(found), None) => self.broken(&pointer::child(at, "format"), "`format` is not a string", found, supported),
            (_, format) => match formats(format) {
                Some(data_type) => Shape::new(at, Kind::Scalar(data_type)),
                None => {
                    let format = format.unwrap_or_default();
                    let problem = format!("unsupported {type_name} format '{format}'");
                    self.broken(&pointer::child(at, "format"), problem, &Json::Text(format.into()), supported)
                }
            },
        }
    }

    /// Without `type`: what the structural keywords imply, or what the listed values have in common.
    fn read_untyped(&mut self, schema: &'t Json, at: &str) -> Shape {
        let has = |keyword: &str| schema.get(keyword).is_some();
        let has_member_schema = matches!(schema.get("additionalProperties"), Some(Json::Object(_)));
        if has("properties") || has("patternProperties") || has_member_schema {
            let members = self.read_members(schema, at, false);
            return Shape::new(at, Kind::Object(members));
        }
        if has("items") || has("prefixItems") {
            return self.read_items(schema, at, false);
        }
        let (keyword, values) = match (schema.get("const"), schema.get("enum")) {
            (Some(value), _) => ("const", std::slice::from_ref(value)),
            (None, Some(Json::List(values))) => ("enum", values.as_slice()),
            (None, Some(found)) => return self.broken(&pointer::child(at, "enum"), "`enum` is not a list", found, "list the values"),
            (None, None) => return Shape::new(at, Kind::Anything),
        };
        match type_of_values(values) {
            Some(kind) => Shape::new(at, kind),
            None => {
                let problem = format!("the values of `{keyword}` do not say one type");
                let remedy = "add `type` (and for integers beyond 32 bits \"format\": \"int64\")";
                self.broken(&pointer::child(at, keyword), problem, &Json::List(values.to_vec()), remedy)
            }
        }
    }

    fn read_members(&mut self, schema: &'t Json, at: &str, typed: bool) -> ObjectShape {
        let mut object = ObjectShape {
            typed,
            patterns: schema.get("patternProperties").is_some(),
            ..ObjectShape::default()
        };
        match schema.get("properties") {
            Some(Json::Object(members)) => {
                let location = pointer::child(at, "properties");
                let property = |(name, member): &'t (String, Json)| Property {
                    name: name.clone(),
                    shape: self.read(member, &pointer::child(&location, name)),
                };
                object.properties = Some(members.iter().map(property).collect());
            }
            Some(found) => {
                let location = pointer::child(at, "properties");
                let shape = self.broken(&location, "`properties` is not an object", found, "write name and schema pairs");
                object.properties = Some(vec![Property {
                    name: "properties".into(),
                    shape,
                }]);
            }
            None => match schema.get("additionalProperties") {
                None | Some(Json::Bool(_)) => {}
                Some(values) => {
                    let values = self.read(values, &pointer::child(at, "additionalProperties"));
                    object.additional = Some(Box::new(values));
                }
            },
        }
        object
    }

    /// An array's element type; positions of a tuple must agree on one.
    fn read_items(&mut self, schema: &'t Json, at: &str, typed: bool) -> Shape {
        let (positions, positions_keyword, rest_keyword) = match (schema.get("prefixItems"), schema.get("items")) {
            (Some(Json::List(positions)), _) => (positions.as_slice(), "prefixItems", "items"),
            (Some(found), _) => {
                return self.broken(
                    &pointer::child(at, "prefixItems"),
                    "`prefixItems` is not a list",
                    found,
                    "use `items`",
                );
            }
            (None, Some(Json::List(positions))) => (positions.as_slice(), "items", "additionalItems"),
            (None, _) => (&[][..], "prefixItems", "items"),
        };
        let location = pointer::child(at, positions_keyword);
        let mut elements: Vec<Shape> = Vec::new();
        for (index, position) in positions.iter().enumerate() {
            elements.push(self.read(position, &pointer::child(&location, &index.to_string())));
        }
        match schema.get(rest_keyword) {
            // Beside positions, a boolean only says whether more may follow.
            Some(Json::Bool(_)) if !positions.is_empty() => {}
            Some(rest) => elements.push(self.read(rest, &pointer::child(at, rest_keyword))),
            None => {}
        }
        let mut elements = elements.into_iter();
        let mut items = elements.next();
        for other in elements {
            let same = items.as_ref().and_then(|items| combine::either(items, &other));
            if same.is_none() {
                let remedy = "an ARRAY has one element type: use `items` with one schema, or an object";
                return self.broken(&location, "positions of two types", schema, remedy);
            }
            items = same;
        }
        Shape::new(
            at,
            Kind::Array(ArrayShape {
                typed,
                items: items.map(Box::new),
            }),
        )
    }
}

fn string_format(format: Option<&str>) -> Option<DataType> {
    match format {
        None => Some(DataType::String),
        Some("date-time") => Some(DataType::Timestamp),
        Some("date") => Some(DataType::Date),
        Some(_) => None,
    }
}

fn integer_format(format: Option<&str>) -> Option<DataType> {
    match format {
        None | Some("int32") => Some(DataType::Int),
        Some("int64") => Some(DataType::BigInt),
        Some(_) => None,
    }
}

/// The kind that all listed values (nulls aside) have in common.
fn type_of_values(values: &[Json]) -> Option<Kind> {
    let mut kinds = values.iter().filter(|value| **value != Json::Null).map(|value| match value {
        Json::Text(_) => Some(DataType::String),
        Json::Bool(_) => Some(DataType::Boolean),
        Json::Integer(number) => i32::try_from(*number).ok().map(|_| DataType::Int),
        Json::Number(_) => Some(DataType::Double),
        _ => None,
    });
    let Some(first) = kinds.next() else {
        return (!values.is_empty()).then_some(Kind::Null);
    };
    let mut common = first?;
    for kind in kinds {
        common = match (common, kind?) {
            (left, right) if left == right => left,
            (DataType::Int, DataType::Double) | (DataType::Double, DataType::Int) => DataType::Double,
            _ => return None,
        };
    }
    Some(Kind::Scalar(common))
}
