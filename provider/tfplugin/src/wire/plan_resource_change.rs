//! The call on the wire; what it does is in `engine/plan_resource_change.rs`.
//!
//! Invariant: what cannot be read or said becomes a diagnostic, and what was known before stays known.

use featurestore_proto::tfplugin6::plan_resource_change::{Request, Response};

use crate::diagnostic::Diagnostics;
use crate::engine::{Engine, PlanQuestion};
use crate::private::Private;
use crate::wire::codec;

pub(super) async fn answer(engine: &Engine, request: &Request) -> Response {
    plan(engine, request).await.unwrap_or_else(failed)
}

async fn plan(engine: &Engine, request: &Request) -> Result<Response, Diagnostics> {
    let found = engine.resource(&request.type_name)?;
    let question = PlanQuestion {
        config: &codec::decode(&found.shape, request.config.as_ref())?,
        prior: &codec::decode(&found.shape, request.prior_state.as_ref())?,
        proposed: &codec::decode(&found.shape, request.proposed_new_state.as_ref())?,
        private: &Private::from_bytes(&request.prior_private),
    };
    let plan = engine.plan_resource_change(found, question).await?;
    Ok(Response {
        planned_state: codec::encode(&found.shape, &plan.planned)?,
        requires_replace: plan.requires_replace.into_iter().map(codec::path).collect(),
        planned_private: plan.private.to_bytes(),
        diagnostics: codec::diagnostics(plan.diagnostics),
        ..Response::default()
    })
}

pub(super) fn failed(messages: Diagnostics) -> Response {
    Response {
        diagnostics: codec::diagnostics(messages),
        ..Response::default()
    }
}
