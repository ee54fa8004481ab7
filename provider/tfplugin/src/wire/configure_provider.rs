//! The call on the wire; what it does is in `engine/configure_provider.rs`.
//!
//! Invariant: what cannot be read or said becomes a diagnostic, and what was known before stays known.

use featurestore_proto::tfplugin6::configure_provider::{Request, Response};

use crate::diagnostic::Diagnostics;
use crate::engine::Engine;
use crate::provider::ConfigureRequest;
use crate::wire::codec;

pub(super) async fn answer(engine: &Engine, request: &Request) -> Response {
    failed(match codec::decode(&engine.configuration, request.config.as_ref()) {
        Ok(config) => {
            let request = ConfigureRequest {
                config: &config,
                terraform_version: &request.terraform_version,
            };
            engine.configure_provider(request).await
        }
        Err(unreadable) => unreadable,
    })
}

pub(super) fn failed(messages: Diagnostics) -> Response {
    Response {
        diagnostics: codec::diagnostics(messages),
    }
}
