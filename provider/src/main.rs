//! `terraform-provider-featurestore`: streams of a featurestore agent as Terraform resources.
//!
//! Terraform starts this binary by itself; with `-debug` it is started by hand and Terraform finds it. Everything here
//! speaks of streams; how Terraform is spoken to is `tfplugin`'s business.

mod begun;
mod client;
mod config;
mod credentials;
mod data_sources;
mod duration;
mod limits;
mod provider;
mod resources;
mod session;

use std::process::ExitCode;

/// What configurations call this provider.
const ADDRESS: &str = "registry.terraform.io/featurestore/featurestore";

fn main() -> ExitCode {
    tfplugin::serve::serve(ADDRESS, provider::FeaturestoreProvider::new())
}

#[cfg(test)]
mod tests;
