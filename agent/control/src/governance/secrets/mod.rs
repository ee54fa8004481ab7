//! The vault: secrets, encrypted at rest. Each scope has a random data key; values are sealed under it, and the data key is
//! sealed under a master key that is not in the database (`master.rs`).
//!
//! The invariant: outside of a `SecretValue` no secret byte exists in this process except under AES-256-GCM, and what is
//! opened is exactly what was sealed for that scope, key and revision. Nothing here prints a value.

pub mod aws_kms;
mod cipher;
mod error;
pub mod key_file;
pub mod master;
mod rotation;
mod scope;
#[cfg(test)]
mod tests;
mod value;
mod vault;

pub use error::VaultError;
pub use rotation::Rotation;
pub use scope::ScopeId;
pub use value::SecretValue;
pub use vault::{NewSecret, PutCondition, Vault};
