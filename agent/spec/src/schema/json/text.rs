//! A JSON document as an ordered tree: property order is column order, so a map that sorts or shuffles will not do.
//!
//! Duplicate keys are refused: which of two wins depends on the reader, and a schema must not.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{Problems, pointer};
use crate::limits::JSON_DEPTH_MAX;

/// A JSON value with its objects' members in the order of the text.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::schema) enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number without fraction and exponent.
    Integer(i128),
    /// Any other number.
    Number(f64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object; keys are unique.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The member of that name, where this is an object that has it.
    pub(in crate::schema) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The string, where this is one.
    pub(in crate::schema) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Compact JSON, for messages.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index > 0 { "," } else { "" })?;
                }
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (index, (key, value)) in members.iter().enumerate() {
                    write!(f, "{}{}:{value}", if index > 0 { "," } else { "" }, quoted(key))?;
                }
                f.write_str("}")
            }
        }
    }
}

/// A string as JSON writes it.
pub(in crate::schema) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Parses a whole text. Duplicate keys become problems; the first of them is kept so that checking can go on.
pub(in crate::schema) fn parse(text: &str, problems: &mut Problems) -> Option<Json> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // serde_json's own limit is lower than the nesting that a legal schema reaches; `Tree` counts instead.
    deserializer.disable_recursion_limit();
    let tree = Tree {
        location: String::new(),
        depth: 0,
        problems,
    };
    let parsed = tree
        .deserialize(&mut deserializer)
        .and_then(|json| deserializer.end().map(|()| json));
    match parsed {
        Ok(json) => Some(json),
        Err(error) => {
            problems.add_shown("", "the schema is not JSON", text.to_owned(), format!("mend the text: {error}"));
            None
        }
    }
}

/// Builds the value at one place of the document.
struct Tree<'p> {
    location: String,
    depth: usize,
    problems: &'p mut Problems,
}

impl Tree<'_> {
    fn child(&mut self, step: &str) -> Tree<'_> {
        Tree {
            location: pointer::child(&self.location, step),
            depth: self.depth + 1,
            problems: self.problems,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        if self.depth > JSON_DEPTH_MAX {
            return Err(D::Error::custom(format!("nested more than {JSON_DEPTH_MAX} levels deep")));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.child(&list.len().to_string()))? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Json, A::Error> {
        let mut members: Vec<(String, Json)> = Vec::new();
        let mut known = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self.child(&key))?;
            if known.insert(key.clone()) {
                members.push((key, value));
            } else {
                let location = pointer::child(&self.location, &key);
                self.problems
                    .add(&location, format!("the key `{key}` appears twice"), &value, "keep one of the two");
            }
        }
        Ok(Json::Object(members))
    }
}
