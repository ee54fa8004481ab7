//! What can go wrong between a filter and the batches it is meant for; never anything that a record holds.

use arrow_schema::ArrowError;

/// A filter does not go with a schema, or a kernel refused what it was given.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilterError {
    /// The filter and the columns were not made for each other.
    #[error("the filter expects {expected}, but found {found}")]
    Mismatch {
        /// What the expression is typed as.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Arrow refused.
    #[error("a kernel of the filter failed: {0}")]
    Kernel(#[from] ArrowError),
}

impl FilterError {
    pub(super) fn mismatch(expected: impl Into<String>, found: impl ToString) -> Self {
        Self::Mismatch {
            expected: expected.into(),
            found: found.to_string(),
        }
    }
}
