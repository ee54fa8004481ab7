//! Where in a value: the address that diagnostics, replacements and checks point with.
//!
//! Invariant: no step leads into a set. Its elements have no address, so a path ends at the set.

use std::fmt;

/// One step down.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Into an attribute of an object.
    Attribute(String),
    /// Into an element of a map.
    Key(String),
    /// Into an element of a list.
    Index(i64),
}

/// An address inside a resource, data source or provider configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttributePath {
    steps: Vec<Step>,
}

impl AttributePath {
    /// The whole value.
    pub fn root() -> Self {
        Self::default()
    }

    /// The path of dotted attribute names, such as `a.b.c`. It does not look at a schema; see
    /// [`crate::schema::Schema::path`] for names that may run on into a map's keys.
    pub fn attributes(dotted: &str) -> Self {
        dotted
            .split('.')
            .filter(|name| !name.is_empty())
            .fold(Self::root(), |path, name| path.attribute(name))
    }

    /// One attribute further.
    #[must_use]
    pub fn attribute(mut self, name: impl Into<String>) -> Self {
        self.steps.push(Step::Attribute(name.into()));
        self
    }

    /// One map element further.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.steps.push(Step::Key(key.into()));
        self
    }

    /// One list element further.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.steps.push(Step::Index(i64::try_from(index).unwrap_or(i64::MAX)));
        self
    }

    /// The steps from the root.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Is it the whole value?
    pub fn is_root(&self) -> bool {
        self.steps.is_empty()
    }

    /// Is `ancestor` this path or above it?
    pub fn starts_with(&self, ancestor: &Self) -> bool {
        self.steps.starts_with(&ancestor.steps)
    }
}

impl fmt::Display for AttributePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, step) in self.steps.iter().enumerate() {
            match step {
                Step::Attribute(name) if depth == 0 => write!(out, "{name}")?,
                Step::Attribute(name) => write!(out, ".{name}")?,
                Step::Key(key) => write!(out, "[{key:?}]")?,
                Step::Index(index) => write!(out, "[{index}]")?,
            }
        }
        Ok(())
    }
}
