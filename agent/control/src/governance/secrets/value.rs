//! Secret bytes in memory. The invariant: they are wiped when they are dropped, and printing shows none of them.

use zeroize::Zeroizing;

/// A secret's value.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(Zeroizing<Vec<u8>>);

impl SecretValue {
    /// Takes the bytes over. Copies that were made of them before are the caller's to wipe.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes, for whoever opens a client with them.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as a text, if they are one.
    pub fn expose_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl From<String> for SecretValue {
    fn from(text: String) -> Self {
        Self::new(text.into_bytes())
    }
}

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}
