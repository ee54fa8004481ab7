//! Java's regular expressions (`java.util.regex.Pattern`): topic patterns and RLIKE are written in them.

use std::sync::Arc;

/// A pattern that was translated. Two are equal when their texts are.
#[derive(Clone, Debug)]
pub struct JavaPattern {
    text: Arc<str>,
}

impl JavaPattern {
    /// The pattern as the user wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for JavaPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
