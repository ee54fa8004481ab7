//! The wire contracts, generated from the `.proto` texts beside this folder, and the one conversion between the agent's
//! API and the stream model.
//!
//! Feature `plugin` has Terraform's plugin protocol and go-plugin's services and knows no stream; feature `api` has
//! `featurestore.v1`.

/// Terraform's plugin protocol, major version 6.
#[cfg(feature = "plugin")]
#[allow(
    missing_docs,
    clippy::all,
    clippy::allow_attributes_without_reason,
    unreachable_pub,
    reason = "generated code; the .proto texts carry the documentation"
)]
pub mod tfplugin6 {
    tonic::include_proto!("tfplugin6");
}

/// The services that go-plugin expects beside a plugin's own.
#[cfg(feature = "plugin")]
#[allow(
    missing_docs,
    clippy::all,
    clippy::allow_attributes_without_reason,
    unreachable_pub,
    reason = "generated code; the .proto texts carry the documentation"
)]
pub mod go_plugin {
    tonic::include_proto!("plugin");
}

/// The agent's API.
#[cfg(feature = "api")]
#[allow(
    missing_docs,
    clippy::all,
    clippy::allow_attributes_without_reason,
    unreachable_pub,
    reason = "generated code; the .proto texts carry the documentation"
)]
pub mod v1 {
    tonic::include_proto!("featurestore.v1");
}

#[cfg(feature = "api")]
pub mod convert;
