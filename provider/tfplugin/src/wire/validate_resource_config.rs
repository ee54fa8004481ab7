//! The call on the wire; what it does is in `engine/validate_resource_config.rs`.
//!
//! Invariant: what cannot be read or said becomes a diagnostic, and what was known before stays known.

use featurestore_proto::tfplugin6::validate_resource_config::{Request, Response};

use crate::diagnostic::Diagnostics;
use crate::engine::Engine;
use crate::wire::codec;

pub(super) async fn answer(engine: &Engine, request: &Request) -> Response {
    failed(validate(engine, request).await.unwrap_or_else(|failure| failure))
}

async fn validate(engine: &Engine, request: &Request) -> Result<Diagnostics, Diagnostics> {
    let found = engine.resource(&request.type_name)?;
    let config = codec::decode(&found.shape, request.config.as_ref())?;
    let write_only_allowed = request
        .client_capabilities
        .as_ref()
        .is_some_and(|client| client.write_only_attributes_allowed);
    Ok(engine.validate_resource_config(found, &config, write_only_allowed).await)
}

pub(super) fn failed(messages: Diagnostics) -> Response {
    Response {
        diagnostics: codec::diagnostics(messages),
    }
}
