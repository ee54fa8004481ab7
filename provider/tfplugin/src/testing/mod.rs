//! What tests of providers need. Behind the feature `testing`; nothing here is in a provider that users run.

pub mod core;
mod proposed;
