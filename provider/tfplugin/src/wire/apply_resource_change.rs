//! The call on the wire; what it does is in `engine/apply_resource_change.rs`.
//!
//! Invariant: what cannot be read or said becomes a diagnostic, and what was known before stays known.

use featurestore_proto::tfplugin6::apply_resource_change::{Request, Response};

use crate::diagnostic::Diagnostics;
use crate::engine::{ApplyQuestion, Engine};
use crate::private::Private;
use crate::wire::codec;

pub(super) async fn answer(engine: &Engine, request: &Request) -> Response {
    match apply(engine, request).await {
        Ok(response) => response,
        // Nothing was called yet, or its answer cannot be said: what was known stays, private state included.
        Err(messages) => Response {
            new_state: request.prior_state.clone(),
            private: request.planned_private.clone(),
            ..failed(messages)
        },
    }
}

async fn apply(engine: &Engine, request: &Request) -> Result<Response, Diagnostics> {
    let found = engine.resource(&request.type_name)?;
    let question = ApplyQuestion {
        config: &codec::decode(&found.shape, request.config.as_ref())?,
        prior: &codec::decode(&found.shape, request.prior_state.as_ref())?,
        planned: &codec::decode(&found.shape, request.planned_state.as_ref())?,
        private: &Private::from_bytes(&request.planned_private),
    };
    let now = engine.apply_resource_change(found, question).await;
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
