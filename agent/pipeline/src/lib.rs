//! Runs streams: source → decode → project → exactly-once Delta table.
//!
//! `kafka/` alone knows brokers, `table/` alone knows the Delta log. `engine` is the door for the reconciler: it asks for
//! steps that may each be repeated, and reads a status.

pub mod connection;
pub mod engine;
pub mod error;
pub mod kafka;
pub mod limits;
pub mod position;
pub mod status;
pub mod table;
