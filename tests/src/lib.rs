//! The harness of the end-to-end tests: a real broker, real agents, a real Terraform, and Delta readers that are not ours.
//! No expectation lives here, only the means to state one. Invariant: whatever the harness starts dies with the test run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a harness stops at the first surprise; its panic is the test's failure"
)]

pub mod agent;
pub mod api;
pub mod aws;
pub mod certificates;
pub mod cluster;
pub mod config;
pub mod confluent;
pub mod disk;
pub mod failpoints;
pub mod kafka;
pub mod kafka_secure;
pub mod key_stores;
pub mod limits;
pub mod paths;
pub mod plan;
pub mod producer;
pub mod random;
mod reassignment;
pub mod registry;
pub mod spark;
pub mod spawn;
pub mod tables;
pub mod terraform;
pub mod transactions;
pub mod wait;
