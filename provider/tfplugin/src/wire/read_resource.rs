//! The call on the wire; what it does is in `engine/read_resource.rs`.
//!
//! Invariant: what cannot be read or said becomes a diagnostic, and what was known before stays known.

use featurestore_proto::tfplugin6::read_resource::{Request, Response};

use crate::diagnostic::Diagnostics;
use crate::engine::Engine;
use crate::private::Private;
use crate::wire::codec;

pub(super) async fn answer(engine: &Engine, request: &Request) -> Response {
    match read(engine, request).await {
        Ok(response) => response,
        // Not looked is not gone: what was known stays.
        Err(messages) => Response {
            new_state: request.current_state.clone(),
            private: request.private.clone(),
            ..failed(messages)
        },
    }
}

async fn read(engine: &Engine, request: &Request) -> Result<Response, Diagnostics> {
    let found = engine.resource(&request.type_name)?;
    let state = codec::decode(&found.shape, request.current_state.as_ref())?;
    let now = engine.read_resource(found, &state, &Private::from_bytes(&request.private)).await?;
    Ok(Response {
        new_state: codec::encode(&found.shape, &now.state)?,
        private: now.private.to_bytes(),
        diagnostics: codec::diagnostics(now.diagnostics),
        ..Response::default()
    })
}

pub(super) fn failed(messages: Diagnostics) -> Response {
    Response {
        diagnostics: codec::diagnostics(messages),
        ..Response::default()
    }
}
