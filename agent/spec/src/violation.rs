//! What is wrong with a declaration, in a form that every surface can show: the field, the value seen, the remedy.

use serde::{Deserialize, Serialize};

/// One thing a user must mend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{field}: {problem} (found {value}); {remedy}")]
pub struct Violation {
    /// Dotted attribute path from the resource's root, as in the public API:
    /// `schema_config.direct_schemas.payload_schema.json_schema`.
    pub field: String,
    /// What was found there, quoted and shortened to 200 characters; `nothing` when absent.
    pub value: String,
    /// What is wrong, lower case, no final period.
    pub problem: String,
    /// What to do, lower case, no final period.
    pub remedy: String,
}

impl Violation {
    /// Most characters of a seen value that a message repeats: enough to recognise it, never a whole schema text.
    pub const VALUE_CHARS_MAX: usize = 200;

    /// A violation whose seen value is `value`, quoted and shortened.
    pub fn new(field: impl Into<String>, value: &str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        let mut shown: String = value.chars().take(Self::VALUE_CHARS_MAX).collect();
        if shown.len() < value.len() {
            shown.push('…');
        }
        Self { field: field.into(), value: format!("{shown:?}"), problem: problem.into(), remedy: remedy.into() }
    }

    /// A violation of a field that is missing.
    pub fn missing(field: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { field: field.into(), value: "nothing".into(), problem: problem.into(), remedy: remedy.into() }
    }
}
