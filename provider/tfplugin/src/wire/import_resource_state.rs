//! The call on the wire; what it does is in `engine/import_resource_state.rs`.
//!
//! Invariant: what cannot be read or said becomes a diagnostic, and what was known before stays known.

use featurestore_proto::tfplugin6::import_resource_state::{ImportedResource, Request, Response};

use crate::diagnostic::Diagnostics;
use crate::engine::Engine;
use crate::wire::codec;

pub(super) async fn answer(engine: &Engine, request: &Request) -> Response {
    import(engine, request).await.unwrap_or_else(failed)
}

async fn import(engine: &Engine, request: &Request) -> Result<Response, Diagnostics> {
    let found = engine.resource(&request.type_name)?;
    let imported = engine.import_resource_state(found, &request.id).await?;
    let resource = ImportedResource {
        type_name: request.type_name.clone(),
        state: codec::encode(&found.shape, &imported.state)?,
        private: imported.private.to_bytes(),
        identity: None,
    };
    let diagnostics = codec::diagnostics(imported.diagnostics);
    Ok(Response {
        imported_resources: vec![resource],
        diagnostics,
        deferred: None,
    })
}

pub(super) fn failed(messages: Diagnostics) -> Response {
    Response {
        diagnostics: codec::diagnostics(messages),
        ..Response::default()
    }
}
