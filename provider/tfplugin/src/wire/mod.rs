//! The plugin protocol: one file per call, which decodes the request, asks the engine and encodes the answer.
//!
//! Invariant: no failure leaves as a gRPC status. Users would see "Plugin did not respond" instead of what is wrong. The
//! calls that this provider does not advertise are the exception: for those, "unimplemented" is the answer.

mod apply_resource_change;
mod call_function;
mod codec;
mod configure_provider;
mod get_functions;
mod get_metadata;
mod get_provider_schema;
mod get_resource_identity_schemas;
mod import_resource_state;
mod move_resource_state;
mod plan_resource_change;
mod read_data_source;
mod read_resource;
mod service;
mod upgrade_resource_state;
mod validate_data_resource_config;
mod validate_provider_config;
mod validate_resource_config;

pub(crate) use service::ProviderService;
