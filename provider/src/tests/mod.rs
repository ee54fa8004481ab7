//! The provider under a stand-in for Terraform's core and over a fake agent: what each attribute's change does, what drift
//! does, what failures do. No Terraform and no real agent; those are in the end-to-end tests.

mod actions;
mod bench;
mod configs;
mod connections;
mod data_sources;
mod drift;
mod entities;
mod equality;
mod fake_agent;
mod faults;
mod grants;
mod lifecycle;
mod lives;
mod pages;
mod plan_checks;
mod plan_versions;
mod plan_words;
mod provider_block;
mod refusals;
mod schema_lint;
mod secrets;
mod unknowns;
mod waits;
