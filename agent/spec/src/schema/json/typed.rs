//! What one schema says by `type` and the keywords beside it: scalars and their formats, members, elements, listed values.

use super::read::{Reader, TYPES};
use super::shape::{ArrayShape, Kind, ObjectShape, Property, Shape};
use super::text::Json;
use super::{combine, pointer};
use crate::types::DataType;

const STRING_FORMATS: &str = "supported: date-time, date; leave `format` out to keep the text as STRING";
const INTEGER_FORMATS: &str = "supported: int32 (INT, also without a format), int64 (BIGINT)";

impl<'t> Reader<'t, '_> {
    /// What `type` and the keywords beside it say.
    pub(super) fn read_own(&mut self, schema: &'t Json, at: &str) -> Shape {
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
