//! What a stream is: its model, names, validation, types, schemas and the update verdict.
//!
//! Pure: no I/O, no clock, no randomness, no async runtime, no Arrow, no Delta. The provider (at plan) and the agent
//! (at apply) call the same functions of this package, which is what keeps a plan and its apply from disagreeing.

pub mod capability;
pub mod connection;
pub mod connection_sql;
pub mod filter;
pub mod limits;
pub mod name;
pub mod options;
pub mod path;
pub mod place;
pub mod privilege;
pub mod regex;
pub mod schema;
pub mod stream;
pub mod subscription;
pub mod table;
pub mod types;
pub mod validate;
pub mod verdict;
pub mod violation;
pub mod volume;

mod suggest;
