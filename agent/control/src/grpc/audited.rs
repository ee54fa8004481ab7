//! Every call of a known caller is audited, whatever becomes of it. The invariant: an event that no change took along is in the
//! store before the answer leaves, or the log says that it is not.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use tonic::Code;

use super::status;
use crate::audit::Audited;
use crate::governance::Principal;
use crate::governance::calls::Call;
use crate::services::Services;

/// Runs a call with its audit event beside it, and sees to it that the event is written.
pub(super) async fn every_call(State(services): State<Arc<Services>>, request: Request, next: Next) -> Response {
    // `/featurestore.v1.StreamService/GetStream`; anything else is answered as unknown further in.
    let call = request.uri().path().rsplit_once('/').and_then(|(_, name)| Call::parse(name));
    let Some(call) = call else { return next.run(request).await };
    let principal = request.extensions().get::<Principal>().map(|principal| principal.name().to_owned());
    let audited = Audited::begin(call, principal.unwrap_or_default());
    let response = audited.scope(next.run(request)).await;
    let code = response
        .headers()
        .get("grpc-status")
        .map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes()));
    let (event, is_written) = audited.end(status::outcome(code));
    tracing::info!(
        target: "audit",
        call = event.call,
        principal = event.principal,
        action = event.action,
        securable_type = event.securable_type,
        securable_name = event.securable_name,
        outcome = event.outcome,
        request_id = event.request_id,
        "call"
    );
    if !is_written {
        match services.store.append_audit_event(&event).await {
            Ok(true) => {}
            Ok(false) => tracing::error!("the audit's outbox is full; the event of this call is in the log alone"),
            Err(error) => tracing::error!(%error, "failed to write the event of this call; it is in the log alone"),
        }
    }
    response
}
