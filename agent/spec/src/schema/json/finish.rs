//! From a whole shape to a type: what the root may be, which names a table can hold, how deep a type may go.

use std::collections::{BTreeMap, BTreeSet};

use super::Problems;
use super::shape::{Kind, ObjectShape, Property, Shape};
use crate::limits::TYPE_DEPTH_MAX;
use crate::schema::{ParsedSchema, Root, SchemaFormat, SchemaPath, SchemaStep, Wire};
use crate::types::{DataType, Field};

/// Characters that Delta refuses in column names.
const NAME_CHARACTERS_REFUSED: &[char] = &[' ', ',', ';', '{', '}', '(', ')', '\n', '\t', '='];

const ROOTS: &str = "supported roots: an object with properties, string, integer, number, boolean";

/// The schema of a whole document.
pub(super) fn root(shape: &Shape, problems: &mut Problems) -> Option<ParsedSchema> {
    let refusal = match &shape.kind {
        Kind::Broken => return None,
        Kind::Object(ObjectShape { properties: Some(_), .. }) => None,
        Kind::Scalar(DataType::String | DataType::Int | DataType::BigInt | DataType::Double | DataType::Boolean) => None,
        Kind::Object(_) => Some("the root is an object without properties"),
        Kind::Array(_) => Some("the root is an array"),
        Kind::Null => Some("the root is only null"),
        Kind::Anything => Some("the root says no type"),
        Kind::Scalar(_) => Some("the root is a scalar that a message cannot be as a whole"),
    };
    if let Some(problem) = refusal {
        problems.add_shown("", problem, shape.describe(), ROOTS);
        return None;
    }
    let mut finisher = Finisher {
        problems,
        required: BTreeSet::new(),
        path: SchemaPath::new(),
    };
    let data_type = finisher.data_type(shape);
    let required = finisher.required;
    let root = if matches!(data_type, DataType::Struct(_)) {
        Root::Struct
    } else {
        Root::Scalar
    };
    Some(ParsedSchema {
        wire: Wire::Json,
        format: SchemaFormat::Json,
        root,
        data_type,
        required,
    })
}

struct Finisher<'p> {
    problems: &'p mut Problems,
    required: BTreeSet<SchemaPath>,
    path: SchemaPath,
}

impl Finisher<'_> {
    fn refuse(&mut self, shape: &Shape, problem: impl Into<String>, remedy: impl Into<String>) -> DataType {
        self.problems.add_shown(&shape.location, problem, shape.describe(), remedy);
        DataType::String
    }

    fn below(&mut self, step: SchemaStep, shape: &Shape) -> DataType {
        self.path.push(step);
        let data_type = self.data_type(shape);
        self.path.pop();
        data_type
    }

    fn data_type(&mut self, shape: &Shape) -> DataType {
        // The root is a level, and so is what is inside an array or map that says nothing of it, as the decoder counts them.
        if self.path.len() + usize::from(holds_what_is_not_said(&shape.kind)) >= TYPE_DEPTH_MAX {
            return self.refuse(
                shape,
                format!("the type is nested more than {TYPE_DEPTH_MAX} levels deep"),
                "flatten it",
            );
        }
        match &shape.kind {
            // Broken was reported already; its type is never seen.
            Kind::Broken | Kind::Anything => DataType::String,
            Kind::Null => self.refuse(
                shape,
                "`null` alone says no type",
                "add the type that the value has when it is there",
            ),
            Kind::Scalar(data_type) => data_type.clone(),
            Kind::Array(array) if !array.typed => self.refuse(shape, "`items` without `type`", "add \"type\": \"array\""),
            Kind::Array(array) => {
                let element = array.items.as_deref().map(|items| self.below(SchemaStep::Element, items));
                DataType::Array(Box::new(element.unwrap_or(DataType::String)))
            }
            // At the root an object is the obvious reading; further in, a forgotten `type` may as well be a slip.
            Kind::Object(object) if !object.typed && !self.path.is_empty() => {
                self.refuse(shape, "an object's keywords without `type`", "add \"type\": \"object\"")
            }
            Kind::Object(object) => self.object(shape, object),
        }
    }

    fn object(&mut self, shape: &Shape, object: &ObjectShape) -> DataType {
        let Some(properties) = &object.properties else {
            if object.patterns {
                let remedy = "name the members in `properties`, or describe all of them in `additionalProperties`";
                return self.refuse(shape, "`patternProperties` without `properties`", remedy);
            }
            let values = object.additional.as_deref().map(|values| self.below(SchemaStep::MapValue, values));
            return DataType::Map(Box::new(DataType::String), Box::new(values.unwrap_or(DataType::String)));
        };
        if properties.is_empty() {
            let remedy = "declare a property, or leave `properties` out for a MAP<STRING, STRING>";
            return self.refuse(shape, "an object with no property", remedy);
        }
        self.check_names(properties);
        let mut fields = Vec::with_capacity(properties.len());
        for property in properties {
            let step = SchemaStep::Field(property.name.clone());
            if shape.required.contains(&property.name) {
                let mut path = self.path.clone();
                path.push(step.clone());
                self.required.insert(path);
            }
            fields.push(Field::new(property.name.clone(), self.below(step, &property.shape)));
        }
        DataType::Struct(fields)
    }

    fn check_names(&mut self, properties: &[Property]) {
        let mut folded: BTreeMap<String, &str> = BTreeMap::new();
        for Property { name, shape } in properties {
            let refused = name.chars().find(|c| NAME_CHARACTERS_REFUSED.contains(c));
            let refusal = match refused {
                _ if name.is_empty() => Some(("a property with an empty name".to_owned(), "give it a name")),
                _ if name.contains('.') => Some((
                    format!("the name `{name}` holds a dot"),
                    "rename it: dots separate the parts of a column's path",
                )),
                Some(bad) => Some((
                    format!("the name `{name}` holds {bad:?}"),
                    "rename it: Delta has no column with such a name",
                )),
                None => None,
            };
            if let Some((problem, remedy)) = refusal {
                self.problems.add_shown(&shape.location, problem, super::text::quoted(name), remedy);
            }
            if let Some(twin) = folded.insert(name.to_lowercase(), name) {
                let problem = format!("the names `{twin}` and `{name}` differ only in case");
                let remedy = "rename one: a table has one column for both";
                self.problems.add_shown(&shape.location, problem, super::text::quoted(name), remedy);
            }
        }
    }
}

/// True for an array or map whose inside, of which no schema speaks, is text.
fn holds_what_is_not_said(kind: &Kind) -> bool {
    match kind {
        Kind::Array(array) => array.items.is_none(),
        Kind::Object(object) => object.properties.is_none() && object.additional.is_none(),
        _ => false,
    }
}
