//! The only room that knows Kafka brokers.
//!
//! `pool` shares `client`s, as many as `client_count` has places for, and `trouble` says what keeps one from its cluster, with what `broker_certificate` sees; `attempt` tries a connection; `subscription` says what a stream reads, `lookout` finds it with the help of the shared `topic_list`, and `topics` and `ends` ask a cluster about it; `start` says where a new stream begins; `plan`, `loss`, `deleted` and `refusals` decide, without I/O, where partitions go
//! on; `source` hands over batches of records with the positions that they advance to. `ffi` alone calls librdkafka directly.
//! Invariant: a client reads what it is told to read, from where it is told; it has no group, commits nothing, and seeks to no other place.

pub(crate) mod attempt;
pub(crate) mod batch;
mod broker_certificate;
pub(crate) mod client;
pub(crate) mod client_count;
pub(crate) mod complaints;
pub(crate) mod consumer;
pub(crate) mod deleted;
pub mod demo;
pub(crate) mod ends;
mod ffi;
pub(crate) mod lookout;
pub(crate) mod loss;
pub(crate) mod open;
pub(crate) mod options;
pub(crate) mod plan;
pub(crate) mod pool;
pub(crate) mod problems;
pub(crate) mod refusals;
pub(crate) mod security;
pub(crate) mod source;
pub(crate) mod start;
pub(crate) mod subscription;
mod tokens;
pub(crate) mod topic_list;
pub(crate) mod topics;
pub(crate) mod trouble;

pub(crate) use ffi::give_back_memory;
pub use ffi::share_arenas;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
