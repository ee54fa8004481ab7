//! Private state: what a resource keeps with Terraform beside its state and never shows.
//!
//! Invariant: bytes that we cannot read are treated as absent. They may come from an older or newer version of us, and a
//! resource must be able to live without them.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A resource's notes to itself, by name.
#[derive(Clone, Default, PartialEq)]
pub struct Private {
    notes: serde_json::Map<String, serde_json::Value>,
}

impl Private {
    /// The note of that name, if there is one and it has that form.
    pub fn get<Note: DeserializeOwned>(&self, name: &str) -> Option<Note> {
        self.notes.get(name).and_then(|note| Note::deserialize(note).ok())
    }

    /// Keeps a note, replacing an earlier one of that name. A note that has no JSON form is dropped.
    pub fn set(&mut self, name: impl Into<String>, note: impl Serialize) {
        if let Ok(note) = serde_json::to_value(note) {
            self.notes.insert(name.into(), note);
        }
    }

    /// Forgets a note.
    pub fn remove(&mut self, name: &str) {
        self.notes.remove(name);
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Self::default();
        }
        match serde_json::from_slice(bytes) {
            Ok(notes) => Self { notes },
            Err(error) => {
                tracing::warn!(
                    bytes = bytes.len(),
                    line = error.line(),
                    "private state is not ours, going on without it"
                );
                Self::default()
            }
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        if self.notes.is_empty() {
            return Vec::new();
        }
        serde_json::to_vec(&self.notes).unwrap_or_default()
    }
}

impl std::fmt::Debug for Private {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The names tell what is there; the notes may be anything.
        out.debug_set().entries(self.notes.keys()).finish()
    }
}
