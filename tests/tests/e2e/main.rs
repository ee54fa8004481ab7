//! The whole product with real parts: Terraform, a Kafka broker, agents, DuckDB and Polars. One file per subject; what they
//! share is in `stage` and `rows`, and in the package's library. Invariant: a test that misses a real part fails.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the panic is the test's failure"
)]

mod audit;
mod aws_roles;
mod bad_input;
mod bench;
mod bounds;
mod broker_security;
mod canary;
mod canary_places;
mod canary_scene;
mod canary_search;
mod care;
mod care_lab;
mod care_spark;
mod chaos;
mod chaos_deeds;
mod chaos_load;
mod chaos_scene;
mod chaos_verdict;
mod crash;
mod crash_points;
mod demo;
mod drift;
mod faults;
mod faults_agents;
mod faults_hang;
mod fire;
mod fire_spark;
mod formats;
mod governance;
mod in_place;
mod interrupted;
mod issuer;
mod kms;
mod lifecycle;
mod lives;
mod logins;
mod many;
mod messages;
mod mtls;
mod mtls_scene;
mod offline;
mod quickstart;
mod registry_client;
mod registry_connections;
mod registry_messages;
mod registry_scene;
mod registry_serializers;
mod registry_streams;
mod replacement;
mod rows;
mod secure;
mod security_matrix;
mod sources;
mod sources_brokers;
mod stage;
mod subscription;
mod subscription_options;
mod topics;
mod topics_scene;
mod unreachable;
mod widening;
