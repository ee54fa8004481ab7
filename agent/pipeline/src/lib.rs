//! Runs streams: source → decode → filter → project → exactly-once Delta table.
//!
//! `kafka/` alone knows brokers, `registry/` schema registries, `table/` alone knows the Delta log, `filter/` says which records are
//! kept, `stream/` carries them from one to the other. `engine` is the door for the reconciler: it asks for steps that may each be repeated, and reads
//! a status. Invariant: a position advances only in the commit that adds its rows.

pub mod connection;
pub mod engine;
pub mod error;
pub mod failpoint;
mod filter;
mod kafka;
pub mod limits;
pub mod misfits;
pub mod position;
pub mod preview;
pub mod registry;
pub mod registry_versions;
pub mod status;
pub mod stream;
pub mod table;
pub mod usage;

pub(crate) use kafka::give_back_memory;
pub use kafka::{demo, share_arenas};
