//! The call on the wire; what it does is in `engine/validate_provider_config.rs`.
//!
//! Invariant: what cannot be read or said becomes a diagnostic, and what was known before stays known.

use featurestore_proto::tfplugin6::validate_provider_config::{Request, Response};

use crate::diagnostic::Diagnostics;
use crate::engine::Engine;
use crate::wire::codec;

pub(super) async fn answer(engine: &Engine, request: &Request) -> Response {
    failed(match codec::decode(&engine.configuration, request.config.as_ref()) {
        Ok(config) => engine.validate_provider_config(&config).await,
        Err(unreadable) => unreadable,
    })
}

pub(super) fn failed(messages: Diagnostics) -> Response {
    Response {
        diagnostics: codec::diagnostics(messages),
    }
}
