//! From the document to the tree: names are followed, each use of a named type becomes a copy of it.
//!
//! A schema that cannot be read is reported where it stands and read on around. Attributes that decoding does not use
//! (`doc`, unknown ones) are not looked at, but for `order` and `aliases`, which Avro checks; defaults are kept as they are, fitting
//! or not, as in Spark.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::names::{self, Definition, Document, NamedKind};
use super::tree::{AvroField, AvroType, Encoding};
use super::{Place, Problems, logical};
use crate::limits::{AVRO_TEXTS_BYTES_MAX, SCHEMA_ENUM_VALUES_MAX, SCHEMA_PARTS_MAX, TYPE_DEPTH_MAX};
use crate::schema::SchemaStep;
use crate::schema::json::text::{Json, quoted};

const TYPES: &str = "supported types: null, boolean, int, long, float, double, bytes, string, record, enum, fixed, array, map, \
                     a list of types as a union, and names that the schema defines";

/// The tree of the first of the texts, which may use what the others define.
pub(super) fn root(documents: &[Document], recursive_levels: usize, problems: &mut Problems) -> Option<AvroType> {
    let definitions = names::collect(documents, problems);
    let mut reader = Reader {
        definitions: &definitions,
        recursive_levels,
        problems,
        place: Place::default(),
        open: Vec::new(),
        broken: HashSet::new(),
        parts: 0,
        enum_values: 0,
        text_bytes: 0,
        depth: 0,
    };
    reader.schema(documents.first()?.json(), "")
}

struct Reader<'t, 'p> {
    definitions: &'t HashMap<String, Definition<'t>>,
    recursive_levels: usize,
    problems: &'p mut Problems,
    place: Place,
    /// Full names of the records around the place.
    open: Vec<&'t str>,
    /// Named types whose problems are known: what is wrong in one is said once, not at each use.
    broken: HashSet<&'t str>,
    parts: usize,
    enum_values: usize,
    text_bytes: usize,
    depth: usize,
}

impl<'t> Reader<'t, '_> {
    fn refuse<T>(&mut self, problem: impl Into<String>, found: &Json, remedy: impl Into<String>) -> Option<T> {
        self.problems.add(&self.place, problem, found.to_string(), remedy);
        None
    }

    /// Refuses what is too much of the whole. Said once: the place where the count ran out tells nothing.
    fn refuse_whole<T>(&mut self, problem: String, remedy: &str) -> Option<T> {
        self.problems.add(&Place::default(), problem, "a larger schema".into(), remedy);
        None
    }

    /// Counts text that is about to be copied into the tree. Once there is too much, nothing is copied and not even measured.
    fn take_text(&mut self, bytes: impl FnOnce() -> usize) -> Option<()> {
        if self.text_bytes <= AVRO_TEXTS_BYTES_MAX {
            self.text_bytes = self.text_bytes.saturating_add(bytes());
        }
        if self.text_bytes <= AVRO_TEXTS_BYTES_MAX {
            return Some(());
        }
        let problem = format!("more than {AVRO_TEXTS_BYTES_MAX} bytes of names, aliases, symbols and defaults once names are followed");
        self.refuse_whole(
            problem,
            "shorten them, or use fewer named types: those of one count at each use of it",
        )
    }

    /// Reads what stands one step down.
    fn below(&mut self, step: &str, field: Option<SchemaStep>, schema: &'t Json, namespace: &str) -> Option<AvroType> {
        let here = self.place.enter(step, field);
        let read = self.schema(schema, namespace);
        self.place.leave(here);
        read
    }

    /// Reads the inside of a type that is one level of a column's type.
    fn level<T>(&mut self, schema: &'t Json, inside: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        // What is inside is a level too, as the decoder counts them.
        if self.depth + 1 >= TYPE_DEPTH_MAX {
            return self.refuse(
                format!("the type is nested more than {TYPE_DEPTH_MAX} levels deep"),
                schema,
                "flatten it",
            );
        }
        self.depth += 1;
        let read = inside(self);
        self.depth -= 1;
        read
    }

    fn schema(&mut self, schema: &'t Json, namespace: &str) -> Option<AvroType> {
        self.parts += 1;
        if self.parts > SCHEMA_PARTS_MAX {
            let remedy = "use fewer, or smaller, named types: each use of one counts as much as it holds";
            return self.refuse_whole(format!("more than {SCHEMA_PARTS_MAX} parts once names are followed"), remedy);
        }
        match schema {
            Json::Text(name) => self.by_name(name, schema, namespace),
            Json::List(branches) => self.union(schema, branches, namespace),
            Json::Object(_) => self.object(schema, namespace),
            _ => self.refuse("not a schema", schema, TYPES),
        }
    }

    fn object(&mut self, schema: &'t Json, namespace: &str) -> Option<AvroType> {
        let word = match schema.get("type") {
            Some(Json::Text(word)) => word.as_str(),
            Some(inner) => {
                let remedy = "write the inner schema itself, without the object around it";
                return self.refuse("the `type` of a schema is not a name", inner, remedy);
            }
            None => return self.refuse("a schema without `type`", schema, TYPES),
        };
        let encoding = match word {
            "array" => self
                .container(schema, "items", SchemaStep::Element, namespace)
                .map(Encoding::Array)?,
            "map" => self
                .container(schema, "values", SchemaStep::MapValue, namespace)
                .map(Encoding::Map)?,
            _ if NamedKind::of(word).is_some() => return self.named(&names::full_name(schema, namespace)),
            _ => match primitive(word) {
                Some(encoding) => return self.annotated(encoding, schema),
                None => return self.by_name(word, schema, namespace),
            },
        };
        Some(plain(encoding))
    }

    fn annotated(&mut self, encoding: Encoding, schema: &Json) -> Option<AvroType> {
        match logical::of(&encoding, schema) {
            Ok(logical) => Some(AvroType { encoding, logical }),
            Err(precision) => {
                let problem = format!("a decimal of {precision} digits");
                let remedy = format!(
                    "use a precision of at most {}, or leave the logical type out",
                    logical::DECIMAL_PRECISION_MAX
                );
                self.refuse(problem, schema, remedy)
            }
        }
    }

    fn by_name(&mut self, name: &str, found: &Json, namespace: &str) -> Option<AvroType> {
        if let Some(encoding) = primitive(name) {
            return Some(plain(encoding));
        }
        let full = names::completed(name, namespace);
        // As Avro does, a name that its namespace does not have may be one without a namespace.
        let known = [full.as_str(), name].into_iter().find(|name| self.definitions.contains_key(*name));
        match known {
            Some(known) => self.named(known),
            None => self.refuse(format!("no type is named `{full}`"), found, TYPES),
        }
    }

    fn named(&mut self, full: &str) -> Option<AvroType> {
        // Without a definition the name was refused when names were collected.
        let (full, definition) = self.definitions.get_key_value(full)?;
        let full = full.as_str();
        if self.broken.contains(full) {
            return None;
        }
        let schema = definition.schema;
        let kind = definition.kind;
        let copied = self.take_text(|| full.len() + names::aliases_cost(schema, names::namespace_of(full).len()));
        let read = copied.and_then(|()| self.check_aliases(schema)).and_then(|()| match kind {
            NamedKind::Record => self.record(full, schema),
            NamedKind::Enum => self.enumeration(full, schema).map(plain),
            NamedKind::Fixed => {
                let size = self.size(schema)?;
                let name = names::with_aliases(schema, full);
                self.annotated(Encoding::Fixed { name, size }, schema)
            }
        });
        if read.is_none() {
            self.broken.insert(full);
        }
        read
    }

    fn check_aliases(&mut self, schema: &Json) -> Option<()> {
        let fit = match schema.get("aliases") {
            None => true,
            Some(Json::List(aliases)) => aliases.iter().all(|alias| alias.as_text().is_some()),
            Some(_) => false,
        };
        if fit {
            Some(())
        } else {
            self.refuse(
                "`aliases` that are no list of names",
                schema,
                "write a list of names, or leave them out",
            )
        }
    }

    fn record(&mut self, full: &'t str, schema: &'t Json) -> Option<AvroType> {
        let name = names::with_aliases(schema, full);
        let levels = self.open.iter().filter(|open| **open == full).count();
        if levels > 0 && self.recursive_levels == 0 {
            let remedy = "a column's type is finite: end it at a level, or keep the inner part as `string` or `bytes`";
            self.problems
                .add(&self.place, format!("the record `{full}` contains itself"), quoted(full), remedy);
            return None;
        }
        if levels > 0 && levels >= self.recursive_levels {
            return Some(plain(Encoding::Recursion(name)));
        }
        let Some(Json::List(list)) = schema.get("fields") else {
            return self.refuse("a record without a list of `fields`", schema, "write \"fields\": [ … ]");
        };
        self.open.push(full);
        let fields = self.level(schema, |reader| reader.fields(list, names::namespace_of(full)));
        self.open.pop();
        Some(plain(Encoding::Record { name, fields: fields? }))
    }

    fn fields(&mut self, list: &'t [Json], namespace: &str) -> Option<Vec<AvroField>> {
        let mut fields = Vec::with_capacity(list.len());
        let mut known = BTreeSet::new();
        for (index, field) in list.iter().enumerate() {
            let here = self.place.enter(&format!("fields[{index}]"), None);
            let read = self.field(field, &mut known, namespace);
            self.place.leave(here);
            fields.extend(read);
        }
        (fields.len() == list.len()).then_some(fields)
    }

    fn field(&mut self, field: &'t Json, known: &mut BTreeSet<&'t str>, namespace: &str) -> Option<AvroField> {
        let (name, schema) = match (field.get("name"), field.get("type")) {
            (Some(Json::Text(name)), Some(schema)) => (name.as_str(), schema),
            _ => return self.refuse("a field without `name` or `type`", field, "write both"),
        };
        if !names::is_legal(name) {
            return self.refuse(format!("`{name}` is not a legal name"), field, names::NAME_REMEDY);
        }
        if !known.insert(name) {
            return self.refuse(format!("two fields are named `{name}`"), field, "rename one");
        }
        let order = field.get("order").map(|order| order.as_text().unwrap_or_default().to_lowercase());
        if order.is_some_and(|order| !["ascending", "descending", "ignore"].contains(&order.as_str())) {
            return self.refuse(
                "a field's `order` that Avro does not know",
                field,
                "write ascending, descending or ignore, or leave it out",
            );
        }
        let default = field.get("default");
        self.take_text(|| name.len() + names::aliases_cost(field, 0) + default.map_or(0, value_cost))?;
        self.check_aliases(field)?;
        let schema = self.below("type", Some(SchemaStep::Field(name.to_owned())), schema, namespace)?;
        Some(AvroField {
            name: name.to_owned(),
            aliases: names::aliases(field).map(str::to_owned).collect(),
            default: default.map(value),
            schema,
        })
    }

    fn enumeration(&mut self, full: &str, schema: &Json) -> Option<Encoding> {
        let Some(Json::List(list)) = schema.get("symbols") else {
            return self.refuse("an enum without a list of `symbols`", schema, "write \"symbols\": [ … ]");
        };
        self.enum_values = self.enum_values.saturating_add(list.len());
        if self.enum_values > SCHEMA_ENUM_VALUES_MAX {
            let remedy = "use fewer: an enum's symbols count once for each place that uses it";
            return self.refuse_whole(
                format!("more than {SCHEMA_ENUM_VALUES_MAX} enum symbols once names are followed"),
                remedy,
            );
        }
        self.take_text(|| list.iter().filter_map(Json::as_text).map(str::len).sum())?;
        let mut symbols: Vec<String> = Vec::with_capacity(list.len());
        let mut known = HashSet::new();
        for symbol in list {
            match symbol.as_text() {
                Some(text) if names::is_legal(text) && known.insert(text) => symbols.push(text.to_owned()),
                Some(text) if names::is_legal(text) => {
                    return self.refuse(format!("the symbol `{text}` is there twice"), symbol, "drop one");
                }
                _ => return self.refuse("a symbol that is not a legal name", symbol, names::NAME_REMEDY),
            }
        }
        let default = match schema.get("default") {
            None => None,
            Some(default) => match default.as_text() {
                Some(text) if known.contains(text) => Some(text.to_owned()),
                _ => return self.refuse("the enum's default is none of its symbols", default, "name one of the symbols"),
            },
        };
        Some(Encoding::Enum {
            name: names::with_aliases(schema, full),
            symbols,
            default,
        })
    }

    fn size(&mut self, schema: &Json) -> Option<usize> {
        let size = match schema.get("size") {
            Some(Json::Integer(size)) => i32::try_from(*size).ok().and_then(|size| usize::try_from(size).ok()),
            _ => None,
        };
        size.or_else(|| {
            self.refuse(
                "a fixed without a `size`",
                schema,
                "say how many bytes each value has, 0 to 2147483647",
            )
        })
    }

    fn container(&mut self, schema: &'t Json, key: &str, step: SchemaStep, namespace: &str) -> Option<Box<AvroType>> {
        let Some(inner) = schema.get(key) else {
            return self.refuse(format!("no `{key}`"), schema, "say the type of what is inside");
        };
        self.level(schema, |reader| reader.below(key, Some(step), inner, namespace).map(Box::new))
    }

    fn union(&mut self, schema: &'t Json, list: &'t [Json], namespace: &str) -> Option<AvroType> {
        let values = list.iter().filter(|branch| branch.as_text() != Some("null")).count();
        if values > 1 {
            return self.level(schema, |reader| reader.branches(list, namespace));
        }
        self.branches(list, namespace)
    }

    fn branches(&mut self, list: &'t [Json], namespace: &str) -> Option<AvroType> {
        let mut branches = Vec::with_capacity(list.len());
        let mut known = HashSet::new();
        for (index, branch) in list.iter().enumerate() {
            let here = self.place.enter(&format!("[{index}]"), None);
            if matches!(branch, Json::List(_)) {
                self.refuse::<()>("a union inside a union", branch, "put its branches into the outer one");
            } else if let Some(read) = self.schema(branch, namespace) {
                if known.insert(branch_name(&read.encoding).to_owned()) {
                    branches.push(read);
                } else {
                    let problem = format!("two branches of the union are `{}`", branch_name(&read.encoding));
                    self.refuse::<()>(problem, branch, "drop one: a union has each type once, logical types or not");
                }
            }
            self.place.leave(here);
        }
        (branches.len() == list.len()).then(|| plain(Encoding::Union(branches)))
    }
}

/// What tells a union's branches apart: the full name of a named type, the type's word otherwise.
fn branch_name(encoding: &Encoding) -> &str {
    encoding.name().map_or(encoding.word(), |name| &name.full)
}

fn plain(encoding: Encoding) -> AvroType {
    AvroType { encoding, logical: None }
}

fn primitive(word: &str) -> Option<Encoding> {
    Some(match word {
        "null" => Encoding::Null,
        "boolean" => Encoding::Boolean,
        "int" => Encoding::Int,
        "long" => Encoding::Long,
        "float" => Encoding::Float,
        "double" => Encoding::Double,
        "bytes" => Encoding::Bytes,
        "string" => Encoding::String,
        _ => return None,
    })
}

/// A default as `serde_json` has values: order and exact numbers do not matter here.
fn value(json: &Json) -> serde_json::Value {
    use serde_json::Value;
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::from(*value),
        Json::Integer(integer) => i64::try_from(*integer).map_or_else(|_| Value::from(*integer as f64), Value::from),
        Json::Number(number) => Value::from(*number),
        Json::Text(text) => Value::from(text.as_str()),
        Json::List(items) => items.iter().map(value).collect(),
        Json::Object(members) => members.iter().map(|(key, member)| (key.clone(), value(member))).collect(),
    }
}

/// Bytes that a default takes in the tree, about.
fn value_cost(json: &Json) -> usize {
    // A map takes its memory in nodes of up to eleven members, at least one node.
    const MAP_NODE: usize = 11 * (size_of::<String>() + size_of::<serde_json::Value>());
    let content = match json {
        Json::Text(text) => text.len(),
        Json::List(items) => items.iter().map(value_cost).sum(),
        Json::Object(members) => {
            let cost = |(key, member): &(String, Json)| 2 * size_of::<String>() + key.len() + value_cost(member);
            MAP_NODE + members.iter().map(cost).sum::<usize>()
        }
        _ => 0,
    };
    size_of::<serde_json::Value>() + content
}
