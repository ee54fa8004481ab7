//! The call on the wire; what it does is in `engine/upgrade_resource_state.rs`.
//!
//! Invariant: what cannot be read or said becomes a diagnostic, and what was known before stays known.

use featurestore_proto::tfplugin6::upgrade_resource_state::{Request, Response};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::engine::Engine;
use crate::wire::codec;

pub(super) async fn answer(engine: &Engine, request: &Request) -> Response {
    upgrade(engine, request).await.unwrap_or_else(failed)
}

async fn upgrade(engine: &Engine, request: &Request) -> Result<Response, Diagnostics> {
    let found = engine.resource(&request.type_name)?;
    let stored = request
        .raw_state
        .as_ref()
        .map(|raw| raw.json.as_slice())
        .filter(|json| !json.is_empty());
    let Some(stored) = stored else {
        let detail = "The stored state is in the form of Terraform 0.11 or is empty. No version of this provider wrote such a state.";
        return Err(Diagnostic::error("Unreadable State", detail).into());
    };
    let state = engine.upgrade_resource_state(found, request.version, stored).await?;
    Ok(Response {
        upgraded_state: codec::encode(&found.shape, &state)?,
        diagnostics: Vec::new(),
    })
}

pub(super) fn failed(messages: Diagnostics) -> Response {
    Response {
        upgraded_state: None,
        diagnostics: codec::diagnostics(messages),
    }
}
