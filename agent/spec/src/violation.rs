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
        let value = format!("{:?}", shortened(value));
        Self {
            field: field.into(),
            value,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    /// A violation of a field that is missing.
    pub fn missing(field: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            value: "nothing".into(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

/// The first [`Violation::VALUE_CHARS_MAX`] characters of `text`, with `…` where more followed.
pub(crate) fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(Violation::VALUE_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
