//! The call on the wire; what it does is in `engine/read_data_source.rs`.
//!
//! Invariant: what cannot be read or said becomes a diagnostic, and what was known before stays known.

use featurestore_proto::tfplugin6::read_data_source::{Request, Response};

use crate::diagnostic::Diagnostics;
use crate::engine::Engine;
use crate::wire::codec;

pub(super) async fn answer(engine: &Engine, request: &Request) -> Response {
    read(engine, request).await.unwrap_or_else(failed)
}

async fn read(engine: &Engine, request: &Request) -> Result<Response, Diagnostics> {
    let found = engine.data_source(&request.type_name)?;
    let config = codec::decode(&found.shape, request.config.as_ref())?;
    let (state, messages) = engine.read_data_source(found, &config).await?;
    let diagnostics = codec::diagnostics(messages);
    Ok(Response {
        state: codec::encode(&found.shape, &state)?,
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
