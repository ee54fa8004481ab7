//! The planning rules that hold for every resource, driven by what its schema declares. Pure functions over values.
//!
//! Invariant: whatever a schema declares, a plan made here is one that Terraform accepts; `check.rs` says what that is.

pub(crate) mod changes;
#[cfg(any(debug_assertions, test, feature = "testing"))]
pub(crate) mod check;
pub(crate) mod meaning;
pub(crate) mod settle;
pub(crate) mod write_only;

#[cfg(test)]
mod tests;
