//! Terraform's values as plain data, with constructors and accessors that never panic.
//!
//! Encodings live beside this file (`msgpack.rs`, `json.rs`); which value fits where is the schema's business.
//! Invariant: a value knows nothing of its schema, and two sets are equal in whatever order their elements stand.

pub mod codec_error;
pub mod conform;
pub mod json;
pub mod msgpack;
pub mod number;
pub mod refinement;
pub mod types;

use std::collections::BTreeMap;
use std::fmt;

use crate::path::{AttributePath, Step};
use crate::value::number::Number;
use crate::value::refinement::Refinement;

/// One value of Terraform's language. It may be a secret, so outside of debug builds its `Debug` form tells no text.
#[derive(Clone, Default)]
pub enum Value {
    /// No value, of whatever type.
    #[default]
    Null,
    /// Known only after apply. `None`: nothing is known of it but its type.
    Unknown(Option<Box<Refinement>>),
    /// true or false.
    Bool(bool),
    /// A number, kept as it was written.
    Number(Number),
    /// Text, in Unicode's composed form as Terraform keeps it.
    String(String),
    /// Elements in order.
    List(Vec<Value>),
    /// Elements in no order.
    Set(Vec<Value>),
    /// Elements by a key that the user chooses.
    Map(BTreeMap<String, Value>),
    /// Attributes by a name that the schema chooses.
    Object(BTreeMap<String, Value>),
}

/// What a missing attribute reads as.
static NULL: Value = Value::Null;

impl Value {
    /// A value of which nothing is known.
    pub const UNKNOWN: Self = Self::Unknown(None);

    /// A text.
    pub fn string(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    /// A text, or null.
    pub fn optional_string(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Null, |text| Self::String(text.into()))
    }

    /// An object of these attributes.
    pub fn object<Name: Into<String>>(attributes: impl IntoIterator<Item = (Name, Self)>) -> Self {
        Self::Object(attributes.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// A map of these elements.
    pub fn map<Key: Into<String>>(elements: impl IntoIterator<Item = (Key, Self)>) -> Self {
        Self::Map(elements.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// A set of texts.
    pub fn string_set<Text: Into<String>>(texts: impl IntoIterator<Item = Text>) -> Self {
        Self::Set(texts.into_iter().map(Self::string).collect())
    }

    /// What kind of value it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Unknown(_) => "an unknown value",
            Self::Bool(_) => "a bool",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::List(_) => "a list",
            Self::Set(_) => "a set",
            Self::Map(_) => "a map",
            Self::Object(_) => "an object",
        }
    }

    /// Is it null?
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Is it unknown itself (parts of a known value may still be)?
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    /// Is it neither null nor unknown?
    pub fn is_present(&self) -> bool {
        !self.is_null() && !self.is_unknown()
    }

    /// Is it known in all its parts?
    pub fn is_wholly_known(&self) -> bool {
        match self {
            Self::Unknown(_) => false,
            Self::List(elements) | Self::Set(elements) => elements.iter().all(Self::is_wholly_known),
            Self::Map(entries) | Self::Object(entries) => entries.values().all(Self::is_wholly_known),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => true,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The number, if it is one, whole, and fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// The elements of a list or set; of anything else, none.
    pub fn elements(&self) -> &[Self] {
        match self {
            Self::List(elements) | Self::Set(elements) => elements,
            _ => &[],
        }
    }

    /// The entries of a map or object, if it is one.
    pub fn entries(&self) -> Option<&BTreeMap<String, Self>> {
        match self {
            Self::Map(entries) | Self::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// An attribute of an object or an element of a map. An unknown's attributes are unknown, everything else's null.
    pub fn get(&self, name: &str) -> &Self {
        match self {
            Self::Map(entries) | Self::Object(entries) => entries.get(name).unwrap_or(&NULL),
            Self::Unknown(_) => &Self::UNKNOWN,
            _ => &NULL,
        }
    }

    /// What stands at a dotted path of attribute names, such as `a.b.c`, under the rules of [`Value::get`].
    pub fn dig(&self, dotted: &str) -> &Self {
        dotted.split('.').fold(self, |value, name| value.get(name))
    }

    /// What stands at a path; null where nothing does.
    pub fn at(&self, path: &AttributePath) -> &Self {
        path.steps().iter().fold(self, |value, step| match step {
            Step::Attribute(name) | Step::Key(name) => value.get(name),
            Step::Index(index) => match value {
                Self::Unknown(_) => &Self::UNKNOWN,
                _ => usize::try_from(*index)
                    .ok()
                    .and_then(|index| value.elements().get(index))
                    .unwrap_or(&NULL),
            },
        })
    }

    /// Puts a value at a path. Says false, and changes nothing, where the path leads through something that is not there.
    #[must_use]
    pub fn set_at(&mut self, path: &AttributePath, new: Self) -> bool {
        let mut here = self;
        for (depth, step) in path.steps().iter().enumerate() {
            let last = depth + 1 == path.steps().len();
            let next = match (here, step) {
                (Self::Object(entries) | Self::Map(entries), Step::Attribute(name) | Step::Key(name)) => {
                    if last {
                        Some(entries.entry(name.clone()).or_default())
                    } else {
                        entries.get_mut(name)
                    }
                }
                (Self::List(elements), Step::Index(index)) => usize::try_from(*index).ok().and_then(|index| elements.get_mut(index)),
                _ => None,
            };
            match next {
                Some(next) => here = next,
                None => return false,
            }
        }
        *here = new;
        true
    }

    /// Puts an attribute into an object; of anything else, nothing happens.
    pub fn set(&mut self, name: impl Into<String>, new: Self) {
        if let Self::Object(entries) | Self::Map(entries) = self {
            entries.insert(name.into(), new);
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => write!(out, "null"),
            Self::Unknown(None) => write!(out, "unknown"),
            Self::Unknown(Some(refinement)) if cfg!(debug_assertions) => write!(out, "unknown({refinement:?})"),
            Self::Unknown(Some(_)) => write!(out, "unknown(refined)"),
            Self::Bool(truth) => write!(out, "{truth}"),
            Self::Number(number) => write!(out, "{number}"),
            Self::String(text) if cfg!(debug_assertions) => write!(out, "{text:?}"),
            Self::String(text) => write!(out, "[{} bytes]", text.len()),
            Self::List(elements) => out.debug_list().entries(elements).finish(),
            Self::Set(elements) => {
                write!(out, "set")?;
                out.debug_list().entries(elements).finish()
            }
            Self::Map(entries) | Self::Object(entries) => out.debug_map().entries(entries).finish(),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Unknown(left), Self::Unknown(right)) => left == right,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            (Self::Number(left), Self::Number(right)) => left == right,
            (Self::String(left), Self::String(right)) => left == right,
            (Self::List(left), Self::List(right)) => left == right,
            (Self::Set(left), Self::Set(right)) => same_elements(left, right),
            (Self::Map(left), Self::Map(right)) => left == right,
            (Self::Object(left), Self::Object(right)) => left == right,
            _ => false,
        }
    }
}

impl Eq for Value {}

/// Do two sets hold the same? Most often they even stand in the same order.
fn same_elements(left: &[Value], right: &[Value]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let mut open: Vec<&Value> = right.iter().collect();
    left.iter()
        .all(|element| match open.iter().position(|candidate| *candidate == element) {
            Some(index) => {
                open.remove(index);
                true
            }
            None => false,
        })
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(Number::from(number))
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(Number::from(number))
    }
}

impl<Inner: Into<Self>> From<Option<Inner>> for Value {
    fn from(value: Option<Inner>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests;
