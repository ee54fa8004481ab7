//! What tests of providers need. Behind the feature `testing`; nothing here is in a provider that users run.

mod codec;
pub mod core;
mod proposed;
