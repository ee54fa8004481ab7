//! What a provider, resource or data source looks like: attributes, and what a change of each one means.
//!
//! A schema is written once, as one expression. The engine reads the declarations on it, so that no resource has to plan
//! defaults, equal texts or replacements by hand. How it goes over the wire is `wire/get_provider_schema.rs`'s business.
//! Invariant: only attributes, never blocks, and every attribute says in words what it is.

pub mod attribute;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::path::{AttributePath, Step};
use crate::schema::attribute::{Attribute, AttributeType, Nesting};
use crate::value::Value;
use crate::value::types::Type;

/// Attributes by name.
pub type Attributes = BTreeMap<String, Attribute>;

/// Puts back into a new object what differs from the one before in form alone, where the rest of both objects says so.
pub type KeepForm = Arc<dyn Fn(&Value, &mut Value) + Send + Sync>;

/// A provider's, resource's or data source's shape.
#[derive(Clone, Default)]
pub struct Schema {
    /// Counts up when stored state must be rewritten; see [`crate::resource::UpgradeState`].
    pub version: u32,
    /// What it is, in Markdown.
    pub description: String,
    /// Since when not to use it any more and what instead; empty otherwise.
    pub deprecation: String,
    /// Its attributes.
    pub attributes: Attributes,
    /// What means the same only beside other attributes.
    keeps: Option<KeepForm>,
}

impl fmt::Debug for Schema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Schema")
            .field("version", &self.version)
            .field("attributes", &self.attributes)
            .finish_non_exhaustive()
    }
}

impl Schema {
    /// A schema of version 0.
    pub fn new<Name: Into<String>>(description: impl Into<String>, attributes: impl IntoIterator<Item = (Name, Attribute)>) -> Self {
        Self {
            description: description.into(),
            attributes: named(attributes),
            ..Self::default()
        }
    }

    /// The same under another version.
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// Attributes that mean the same, or not, by what is beside them: `keep` compares the objects as wholes, after what the attributes
    /// declare of themselves. It may put values of the object before into the new one, which plan and state then keep, and nothing else.
    #[must_use]
    pub fn keeping(mut self, keep: impl Fn(&Value, &mut Value) + Send + Sync + 'static) -> Self {
        self.keeps = Some(Arc::new(keep));
        self
    }

    /// Puts back what differs in form alone from the object before.
    pub(crate) fn keep_form(&self, before: &Value, new: &mut Value) {
        if let Some(keep) = self.keeps.as_ref().filter(|_| before.is_present() && new.is_present()) {
            keep(before, new);
        }
    }

    /// The type of the whole.
    pub fn value_type(&self) -> Type {
        object_type(&self.attributes)
    }

    /// The attribute at a path, looking through lists, sets and maps of nested attributes.
    pub fn attribute(&self, path: &AttributePath) -> Option<&Attribute> {
        let mut attributes = &self.attributes;
        let mut found = None;
        for step in path.steps() {
            // An index or key stays at the attribute whose element it names.
            let Step::Attribute(name) = step else { continue };
            let attribute = attributes.get(name)?;
            found = Some(attribute);
            match &attribute.attribute_type {
                AttributeType::Nested { attributes: inner, .. } => attributes = inner,
                AttributeType::Plain(_) => break,
            }
        }
        found
    }

    /// The path of a dotted name as far as this schema knows it: `options.a.b` is the path of `options` if that is a map,
    /// so that a message about a part of a value points at the attribute that holds it.
    pub fn path(&self, dotted: &str) -> AttributePath {
        let mut path = AttributePath::root();
        let mut attributes = Some(&self.attributes);
        for name in dotted.split('.') {
            let Some(attribute) = attributes.and_then(|attributes| attributes.get(name)) else {
                break;
            };
            path = path.attribute(name);
            attributes = match &attribute.attribute_type {
                AttributeType::Nested {
                    nesting: Nesting::Single,
                    attributes,
                } => Some(attributes),
                _ => None,
            };
        }
        path
    }
}

/// The attributes of a schema or of a nested object, from an array of names and attributes.
pub fn named<Name: Into<String>>(attributes: impl IntoIterator<Item = (Name, Attribute)>) -> Attributes {
    attributes.into_iter().map(|(name, attribute)| (name.into(), attribute)).collect()
}

/// The type of an object with these attributes.
pub(crate) fn object_type(attributes: &Attributes) -> Type {
    Type::Object(
        attributes
            .iter()
            .map(|(name, attribute)| (name.clone(), attribute.value_type()))
            .collect(),
    )
}
