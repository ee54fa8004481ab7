//! Names: which are legal, how namespaces complete them, and the definitions of a document by full name.
//!
//! A name may be used before the text defines it, as in Avro's own parser since 1.12.

use std::collections::HashMap;

use super::tree::AvroName;
use super::{Place, Problems};
use crate::limits::AVRO_NAME_BYTES_MAX;
use crate::schema::json::text::{Json, quoted};

/// Names that stand for types without a definition.
pub(super) const PRIMITIVES: [&str; 8] = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"];

const LEGAL: &str = "start with a letter or _, and go on with letters, digits and _";

/// A record, enum or fixed in the document.
#[derive(Clone, Copy)]
pub(super) struct Definition<'t> {
    pub(super) schema: &'t Json,
    pub(super) kind: NamedKind,
}

/// What a definition defines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedKind {
    Record,
    Enum,
    Fixed,
}

impl NamedKind {
    /// By the word in `type`. An `error` is a record.
    pub(super) fn of(word: &str) -> Option<Self> {
        match word {
            "record" | "error" => Some(Self::Record),
            "enum" => Some(Self::Enum),
            "fixed" => Some(Self::Fixed),
            _ => None,
        }
    }
}

/// One of the texts that make up a schema.
pub(super) struct Document {
    root: Place,
    json: Json,
}

impl Document {
    /// The schema's own text, or one that is referred to by a name.
    pub(super) fn of(reference: Option<&str>, text: &str, problems: &mut Problems) -> Option<Self> {
        let root = Place::root(reference);
        let json = problems.document(text, &root)?;
        Some(Self { root, json })
    }

    /// What it says.
    pub(super) fn json(&self) -> &Json {
        &self.json
    }
}

/// All definitions of all texts by full name.
pub(super) fn collect<'t>(documents: &'t [Document], problems: &mut Problems) -> HashMap<String, Definition<'t>> {
    let mut collector = Collector {
        definitions: HashMap::new(),
        problems,
        place: Place::default(),
    };
    for document in documents {
        collector.place = document.root.clone();
        collector.walk(&document.json, "");
    }
    collector.definitions
}

struct Collector<'t, 'p> {
    definitions: HashMap<String, Definition<'t>>,
    problems: &'p mut Problems,
    place: Place,
}

impl<'t> Collector<'t, '_> {
    fn walk(&mut self, schema: &'t Json, namespace: &str) {
        if let Json::List(branches) = schema {
            for (index, branch) in branches.iter().enumerate() {
                self.below(&format!("[{index}]"), branch, namespace);
            }
        }
        let Some(word) = schema.get("type").and_then(Json::as_text) else {
            return;
        };
        if let Some(kind) = NamedKind::of(word) {
            let name = full_name(schema, namespace);
            if name.len() > AVRO_NAME_BYTES_MAX {
                // What is inside would take its namespace on: not looked at.
                let problem = format!("a full name is longer than {AVRO_NAME_BYTES_MAX} bytes");
                let remedy = "shorten the name or its namespace";
                return self.problems.add(&self.place, problem, quoted(&name), remedy);
            }
            self.define(&name, Definition { schema, kind });
            if let Some(Json::List(fields)) = schema.get("fields") {
                for (index, field) in fields.iter().enumerate() {
                    if let Some(inner) = field.get("type") {
                        self.below(&format!("fields[{index}].type"), inner, namespace_of(&name));
                    }
                }
            }
        }
        for (container, key) in [("array", "items"), ("map", "values")] {
            if let (true, Some(inner)) = (word == container, schema.get(key)) {
                self.below(key, inner, namespace);
            }
        }
    }

    fn below(&mut self, step: &str, schema: &'t Json, namespace: &str) {
        let here = self.place.enter(step, None);
        self.walk(schema, namespace);
        self.place.leave(here);
    }

    fn define(&mut self, name: &str, definition: Definition<'t>) {
        let short = name.rsplit('.').next().unwrap_or(name);
        let (problem, remedy) = if name.is_empty() {
            ("a named type without `name`".to_owned(), "give it a name")
        } else if let Some(bad) = name.split('.').find(|part| !is_legal(part)) {
            (format!("`{bad}` is not a legal name"), LEGAL)
        } else if PRIMITIVES.contains(&short) {
            (format!("a type named like the primitive `{short}`"), "give it another name")
        } else if self.definitions.contains_key(name) {
            (
                format!("`{name}` is defined twice"),
                "define it once, and use its name in the other places",
            )
        } else {
            self.definitions.insert(name.to_owned(), definition);
            return;
        };
        self.problems.add(&self.place, problem, quoted(name), remedy);
    }
}

/// True for what Avro allows as one part of a name.
pub(super) fn is_legal(name: &str) -> bool {
    let mut characters = name.chars();
    let first = characters.next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_') && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What to do about an illegal name.
pub(super) const NAME_REMEDY: &str = LEGAL;

/// The full name of a definition inside a namespace; empty without a name.
pub(super) fn full_name(schema: &Json, enclosing: &str) -> String {
    let text = |key: &str| schema.get(key).and_then(Json::as_text);
    let name = text("name").unwrap_or_default();
    let namespace = text("namespace").unwrap_or(enclosing);
    completed(name, namespace)
}

/// The name with its aliases, which are completed by its own namespace.
pub(super) fn with_aliases(schema: &Json, full: &str) -> AvroName {
    let aliases = aliases(schema).map(|alias| completed(alias, namespace_of(full))).collect();
    AvroName {
        full: full.to_owned(),
        aliases,
    }
}

/// Bytes that the aliases of a schema or field take, about, in a namespace of so many.
pub(super) fn aliases_cost(schema: &Json, namespace: usize) -> usize {
    aliases(schema).map(|alias| size_of::<String>() + namespace + alias.len()).sum()
}

/// The texts in `aliases`.
pub(super) fn aliases(schema: &Json) -> impl Iterator<Item = &str> {
    let list = match schema.get("aliases") {
        Some(Json::List(aliases)) => aliases.as_slice(),
        _ => &[],
    };
    list.iter().filter_map(Json::as_text)
}

/// The name itself if it is dotted, else with the namespace before it.
pub(super) fn completed(name: &str, namespace: &str) -> String {
    match (name.strip_prefix('.'), namespace) {
        (Some(bare), _) => bare.to_owned(),
        (None, "") => name.to_owned(),
        (None, _) if name.is_empty() || name.contains('.') => name.to_owned(),
        (None, namespace) => format!("{namespace}.{name}"),
    }
}

/// What a full name has before its last dot.
pub(super) fn namespace_of(full: &str) -> &str {
    full.rsplit_once('.').map_or("", |(namespace, _)| namespace)
}
