//! The types that values have on the wire, and their spelling in a schema.
//!
//! Invariant: no dynamic type. Its values would carry their types along, in two different forms for plan and state.

use std::collections::BTreeMap;

use serde_json::json;

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// true or false.
    Bool,
    /// Any decimal number.
    Number,
    /// Text.
    String,
    /// Ordered elements of one type.
    List(Box<Type>),
    /// Unordered distinct elements of one type.
    Set(Box<Type>),
    /// Elements of one type by key.
    Map(Box<Type>),
    /// Attributes, each with its type.
    Object(BTreeMap<String, Type>),
}

impl Type {
    /// A list of `element`s.
    pub fn list(element: Self) -> Self {
        Self::List(Box::new(element))
    }

    /// A set of `element`s.
    pub fn set(element: Self) -> Self {
        Self::Set(Box::new(element))
    }

    /// A map of `element`s.
    pub fn map(element: Self) -> Self {
        Self::Map(Box::new(element))
    }

    /// What kind of value it wants, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Bool => "a bool",
            Self::Number => "a number",
            Self::String => "a string",
            Self::List(_) => "a list",
            Self::Set(_) => "a set",
            Self::Map(_) => "a map",
            Self::Object(_) => "an object",
        }
    }

    /// Terraform's spelling as JSON, such as `["set","string"]`.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Bool => json!("bool"),
            Self::Number => json!("number"),
            Self::String => json!("string"),
            Self::List(element) => json!(["list", element.to_json()]),
            Self::Set(element) => json!(["set", element.to_json()]),
            Self::Map(element) => json!(["map", element.to_json()]),
            Self::Object(attributes) => {
                let spelled: serde_json::Map<_, _> = attributes.iter().map(|(name, inner)| (name.clone(), inner.to_json())).collect();
                json!(["object", spelled])
            }
        }
    }
}
