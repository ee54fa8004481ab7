//! One attribute: its type, who sets it, and what a change of it means.
//!
//! Invariant: an attribute that can have a default or keep a value is computed. Terraform refuses values that appear in
//! anything else.

use std::fmt;
use std::sync::Arc;

use crate::schema::{Attributes, named, object_type};
use crate::value::Value;
use crate::value::types::Type;

/// Who sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The user must.
    Required,
    /// The user may; otherwise it is null.
    Optional,
    /// We do.
    Computed,
    /// The user may, otherwise we do.
    OptionalComputed,
}

/// How nested attributes repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// One object.
    Single,
    /// Objects in order.
    List,
    /// Objects in no order.
    Set,
    /// Objects by key.
    Map,
}

/// What values it takes.
#[derive(Clone, Debug)]
pub enum AttributeType {
    /// A value whose parts have no declarations of their own.
    Plain(Type),
    /// Objects with attributes of their own.
    Nested {
        /// How they repeat.
        nesting: Nesting,
        /// The attributes of each.
        attributes: Attributes,
    },
}

impl AttributeType {
    /// One object with these attributes.
    pub fn single<Name: Into<String>>(attributes: impl IntoIterator<Item = (Name, Attribute)>) -> Self {
        Self::Nested {
            nesting: Nesting::Single,
            attributes: named(attributes),
        }
    }

    /// A list of objects with these attributes.
    pub fn list<Name: Into<String>>(attributes: impl IntoIterator<Item = (Name, Attribute)>) -> Self {
        Self::Nested {
            nesting: Nesting::List,
            attributes: named(attributes),
        }
    }

    /// A set of objects with these attributes.
    pub fn set<Name: Into<String>>(attributes: impl IntoIterator<Item = (Name, Attribute)>) -> Self {
        Self::Nested {
            nesting: Nesting::Set,
            attributes: named(attributes),
        }
    }

    /// A map of objects with these attributes.
    pub fn map<Name: Into<String>>(attributes: impl IntoIterator<Item = (Name, Attribute)>) -> Self {
        Self::Nested {
            nesting: Nesting::Map,
            attributes: named(attributes),
        }
    }
}

impl From<Type> for AttributeType {
    fn from(plain: Type) -> Self {
        Self::Plain(plain)
    }
}

/// Do two values mean the same? Asked only of wholly known values that are not null.
pub type SameMeaning = Arc<dyn Fn(&Value, &Value) -> bool + Send + Sync>;

/// One attribute. Made by the constructor that says who sets it; the rest is declared on it.
#[derive(Clone)]
pub struct Attribute {
    /// What values it takes.
    pub attribute_type: AttributeType,
    /// Who sets it.
    pub mode: Mode,
    /// What it is and what a change of it costs, in Markdown.
    pub description: String,
    /// What to use instead; empty unless it is deprecated.
    pub deprecation: String,
    /// Its value is hidden in plans.
    pub sensitive: bool,
    /// Its value is only ever in the configuration, never in plan or state.
    pub write_only: bool,
    /// A change in meaning means another resource.
    pub replaces: bool,
    /// When two different values mean the same.
    pub equal_by: Option<SameMeaning>,
    /// An empty collection and null mean the same.
    pub null_is_empty: bool,
    /// What it is when the user says nothing.
    pub default: Option<Value>,
    /// Once known it stays, whatever else changes.
    pub keeps_prior: bool,
    /// A change of it is no reason for computed values to change.
    pub stands_alone: bool,
}

impl Attribute {
    /// The user must set it.
    pub fn required(attribute_type: impl Into<AttributeType>, description: impl Into<String>) -> Self {
        Self::new(attribute_type.into(), Mode::Required, description.into())
    }

    /// The user may set it; otherwise it is null.
    pub fn optional(attribute_type: impl Into<AttributeType>, description: impl Into<String>) -> Self {
        Self::new(attribute_type.into(), Mode::Optional, description.into())
    }

    /// Only we set it.
    pub fn computed(attribute_type: impl Into<AttributeType>, description: impl Into<String>) -> Self {
        Self::new(attribute_type.into(), Mode::Computed, description.into())
    }

    /// The user may set it, otherwise we do.
    pub fn optional_computed(attribute_type: impl Into<AttributeType>, description: impl Into<String>) -> Self {
        Self::new(attribute_type.into(), Mode::OptionalComputed, description.into())
    }

    fn new(attribute_type: AttributeType, mode: Mode, description: String) -> Self {
        Self {
            attribute_type,
            mode,
            description,
            deprecation: String::new(),
            sensitive: false,
            write_only: false,
            replaces: false,
            equal_by: None,
            null_is_empty: false,
            default: None,
            keeps_prior: false,
            stands_alone: false,
        }
    }

    /// Hidden in plans; the state file still holds it.
    #[must_use]
    pub fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }

    /// In the configuration only: null in every plan and state. Not together with computed.
    #[must_use]
    pub fn write_only(mut self) -> Self {
        self.write_only = true;
        self
    }

    /// Not to be used any more; `instead` says what to do.
    #[must_use]
    pub fn deprecated(mut self, instead: impl Into<String>) -> Self {
        self.deprecation = instead.into();
        self
    }

    /// A change in meaning, here or in anything nested inside, means another resource.
    #[must_use]
    pub fn replaces(mut self) -> Self {
        self.replaces = true;
        self
    }

    /// Two values for which `same` holds mean the same: the plan and the state keep the one that was there.
    #[must_use]
    pub fn equal_by(mut self, same: impl Fn(&Value, &Value) -> bool + Send + Sync + 'static) -> Self {
        self.equal_by = Some(Arc::new(same));
        self
    }

    /// Like [`Attribute::equal_by`] for texts.
    #[must_use]
    pub fn equal_text_by(self, same: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> Self {
        self.equal_by(move |left, right| matches!((left.as_str(), right.as_str()), (Some(left), Some(right)) if same(left, right)))
    }

    /// An empty collection and null mean the same. Going from one to the other is shown as a change, as Terraform wants it,
    /// but it replaces nothing and makes no computed value unknown, and a state keeps the one that was there.
    #[must_use]
    pub fn null_is_empty(mut self) -> Self {
        self.null_is_empty = true;
        self
    }

    /// What it is when the user says nothing, also after having said something. For optional and computed attributes.
    #[must_use]
    pub fn default(mut self, default: impl Into<Value>) -> Self {
        self.default = Some(default.into());
        self
    }

    /// Once known it stays as it is, whatever else changes. Without this a computed value becomes unknown when something
    /// else changes.
    #[must_use]
    pub fn computed_keeps_prior(mut self) -> Self {
        self.keeps_prior = true;
        self
    }

    /// A change of it alone is no reason for computed values to become unknown: a setting of the provider's own.
    #[must_use]
    pub fn stands_alone(mut self) -> Self {
        self.stands_alone = true;
        self
    }

    /// Do we set it where the user says nothing?
    pub fn is_computed(&self) -> bool {
        matches!(self.mode, Mode::Computed | Mode::OptionalComputed)
    }

    /// The type of its values.
    pub fn value_type(&self) -> Type {
        match &self.attribute_type {
            AttributeType::Plain(plain) => plain.clone(),
            AttributeType::Nested { nesting, attributes } => {
                let object = object_type(attributes);
                match nesting {
                    Nesting::Single => object,
                    Nesting::List => Type::list(object),
                    Nesting::Set => Type::set(object),
                    Nesting::Map => Type::map(object),
                }
            }
        }
    }
}

impl fmt::Debug for Attribute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Attribute")
            .field("type", &self.attribute_type)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}
