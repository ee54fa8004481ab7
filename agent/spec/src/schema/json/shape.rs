//! What a schema says about a value before it is known to be a column: several schemas (`allOf`) can describe one shape,
//! so what is missing in one may be said by another. Only `finish` judges a shape as a whole.

use std::collections::BTreeSet;

use crate::types::DataType;

/// What is known about one value.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// JSON pointer of the schema that said most of it, for messages.
    pub(super) location: String,
    /// What kind of value.
    pub(super) kind: Kind,
    /// Members that must be there, where the value is an object.
    pub(super) required: BTreeSet<String>,
}

/// What kind of value a schema describes.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// A problem was found and reported; nothing built on it is reported again.
    Broken,
    /// Nothing was said.
    Anything,
    /// Only `null`.
    Null,
    /// A value without parts.
    Scalar(DataType),
    /// An object.
    Object(ObjectShape),
    /// An array.
    Array(ArrayShape),
}

/// What is known about an object.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectShape {
    /// `type: object` was said, not only implied by a keyword.
    pub(super) typed: bool,
    /// Named members in order; `None` without a `properties` keyword.
    pub(super) properties: Option<Vec<Property>>,
    /// Schema of all other members.
    pub(super) additional: Option<Box<Shape>>,
    /// `patternProperties` was there.
    pub(super) patterns: bool,
}

/// A named member of an object.
#[derive(Clone, Debug)]
pub(super) struct Property {
    /// Exact name.
    pub(super) name: String,
    /// Its value.
    pub(super) shape: Shape,
}

/// What is known about an array.
#[derive(Clone, Debug, Default)]
pub(super) struct ArrayShape {
    /// `type: array` was said, not only implied by a keyword.
    pub(super) typed: bool,
    /// Its elements; `None` when nothing was said about them.
    pub(super) items: Option<Box<Shape>>,
}

impl Shape {
    /// A shape of that kind without required members.
    pub(super) fn new(location: &str, kind: Kind) -> Self {
        Self {
            location: location.to_owned(),
            kind,
            required: BTreeSet::new(),
        }
    }

    /// A word for messages: what this is, without its parts.
    pub(super) fn describe(&self) -> String {
        match &self.kind {
            Kind::Broken => "a refused schema".into(),
            Kind::Anything => "STRING".into(),
            Kind::Null => "null".into(),
            Kind::Scalar(data_type) => data_type.to_string(),
            Kind::Object(object) if object.properties.is_some() => "STRUCT".into(),
            Kind::Object(_) => "MAP".into(),
            Kind::Array(_) => "ARRAY".into(),
        }
    }
}
