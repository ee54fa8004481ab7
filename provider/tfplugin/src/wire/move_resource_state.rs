//! The call on the wire; what it does is in `engine/move_resource_state.rs`.
//!
//! Invariant: what cannot be read or said becomes a diagnostic, and what was known before stays known.

use featurestore_proto::tfplugin6::move_resource_state::{Request, Response};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::engine::Engine;
use crate::resource::MoveSource;
use crate::wire::codec;

pub(super) async fn answer(engine: &Engine, request: &Request) -> Response {
    take_over(engine, request).await.unwrap_or_else(failed)
}

async fn take_over(engine: &Engine, request: &Request) -> Result<Response, Diagnostics> {
    let found = engine.resource(&request.target_type_name)?;
    let json = request.source_state.as_ref().map(|raw| raw.json.as_slice()).unwrap_or_default();
    let state = serde_json::from_slice(json)
        .map_err(|error| Diagnostic::error("Unreadable State", format!("The state to move is not JSON: {error}.")))?;
    let source = MoveSource {
        provider_address: &request.source_provider_address,
        type_name: &request.source_type_name,
        schema_version: request.source_schema_version,
        state: &state,
    };
    let moved = engine.move_resource_state(found, &source).await?;
    Ok(Response {
        target_state: codec::encode(&found.shape, &moved.state)?,
        target_private: moved.private.to_bytes(),
        diagnostics: codec::diagnostics(moved.diagnostics),
        target_identity: None,
    })
}

pub(super) fn failed(messages: Diagnostics) -> Response {
    Response {
        diagnostics: codec::diagnostics(messages),
        ..Response::default()
    }
}
