//! What a user is told: errors and warnings, each with the attribute it is about.
//!
//! Invariant: summary in title case, then whole sentences that say what happened and what to do; never a secret.

use crate::path::AttributePath;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The call did not do what was asked.
    Error,
    /// It did, and there is something to know.
    Warning,
}

/// One message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// A title.
    pub summary: String,
    /// What happened and what to do, in sentences.
    pub detail: String,
    /// The attribute that it is about; Terraform then shows the line of the configuration.
    pub path: Option<AttributePath>,
}

impl Diagnostic {
    /// An error about the whole.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            summary: summary.into(),
            detail: detail.into(),
            path: None,
        }
    }

    /// A warning about the whole.
    pub fn warning(summary: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            summary: summary.into(),
            detail: detail.into(),
            path: None,
        }
    }

    /// The same, about one attribute.
    #[must_use]
    pub fn at(mut self, path: AttributePath) -> Self {
        self.path = Some(path);
        self
    }
}

/// Messages in the order in which they arose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    messages: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Nothing to say.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds one.
    pub fn push(&mut self, message: Diagnostic) {
        self.messages.push(message);
    }

    /// Adds an error about the whole.
    pub fn error(&mut self, summary: impl Into<String>, detail: impl Into<String>) {
        self.push(Diagnostic::error(summary, detail));
    }

    /// Adds a warning about the whole.
    pub fn warning(&mut self, summary: impl Into<String>, detail: impl Into<String>) {
        self.push(Diagnostic::warning(summary, detail));
    }

    /// Is there an error among them?
    pub fn has_errors(&self) -> bool {
        self.messages.iter().any(|message| message.severity == Severity::Error)
    }

    /// Is there nothing?
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.messages.iter()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(message: Diagnostic) -> Self {
        Self { messages: vec![message] }
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<Messages: IntoIterator<Item = Diagnostic>>(&mut self, messages: Messages) {
        self.messages.extend(messages);
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<Messages: IntoIterator<Item = Diagnostic>>(messages: Messages) -> Self {
        Self {
            messages: messages.into_iter().collect(),
        }
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.messages.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
