//! Every call of a known caller is audited, whatever becomes of it. The invariant: a call that has begun runs to its end, whoever
//! waits for it or not, and an event that no change took along is in the store before the answer leaves, or the log says that it
//! is not.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use tonic::{Code, Status};
use tracing::Instrument;

use super::{body, status};
use crate::audit::Audited;
use crate::governance::Principal;
use crate::governance::admission::Admitted;
use crate::governance::calls::Call;
use crate::services::Services;

/// Runs a call with its audit event beside it, and sees to it that the event is written.
pub(super) async fn every_call(State(services): State<Arc<Services>>, request: Request, next: Next) -> Response {
    // `/featurestore.v1.StreamService/GetStream`; anything else is answered as unknown further in.
    let call = request.uri().path().rsplit_once('/').and_then(|(_, name)| Call::parse(name));
    let Some(call) = call else { return next.run(request).await };
    let principal = request.extensions().get::<Principal>().map(|principal| principal.name().to_owned());
    let audited = Audited::begin(call, principal.unwrap_or_default());
    let admitted = request.extensions().get::<Arc<Admitted>>().cloned();
    // A caller that leaves before its request is whole has asked for nothing.
    let request = body::whole(request).await;
    // In a task of its own: what must follow a change follows it, and the event is written, though the caller leaves or its time
    // is over.
    let running = async move {
        let response = match request {
            Ok(request) => audited.scope(next.run(request)).await,
            Err(refusal) => refusal.into_http(),
        };
        let code = response.headers().get("grpc-status");
        let code = code.map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes()));
        write_event(&services, &audited, code).await;
        drop(admitted);
        response
    };
    match tokio::spawn(running.in_current_span()).await {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(call = call.name(), %error, "a call broke off");
            Status::internal("the call broke off; the agent's log says where").into_http()
        }
    }
}

/// Writes the event of a call that has ended, unless a change took it along.
async fn write_event(services: &Services, audited: &Audited, code: Code) {
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
            Ok(false) => tracing::error!(
                "the audit's outbox is nearly full, and what is left is for changes; the event of this call is in the log alone"
            ),
            Err(error) => tracing::error!(%error, "failed to write the event of this call; it is in the log alone"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::Router;
    use axum::body::Body;
    use axum::routing::any;
    use tokio::sync::Notify;
    use tower::ServiceExt;

    use super::*;
    use crate::audit;
    use crate::services::tests::services_alone;

    const PATH: &str = "/featurestore.v1.SecretService/PutSecret";

    #[tokio::test]
    async fn a_call_whose_caller_leaves_runs_to_its_end_and_is_audited() {
        let (services, _reconciler, _folder) = services_alone().await;
        let (entered, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let call = {
            let (entered, go_on) = (entered.clone(), go_on.clone());
            move || async move {
                entered.notify_one();
                go_on.notified().await;
                audit::ended("not_found");
                "the end"
            }
        };
        let router = Router::new()
            .route(PATH, any(call))
            .layer(axum::middleware::from_fn_with_state(services.clone(), every_call));
        let request = Request::builder().uri(PATH).body(Body::from("whole")).unwrap();
        let caller = tokio::spawn(router.oneshot(request));
        entered.notified().await;
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        assert!(services.store.audit_events(0, 10).await.unwrap().is_empty());
        go_on.notify_one();
        let events = async {
            loop {
                let events = services.store.audit_events(0, 10).await.unwrap();
                if !events.is_empty() {
                    return events;
                }
            }
        };
        let events = tokio::time::timeout(Duration::from_secs(20), events).await.unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].event.outcome, "not_found");
    }

    #[tokio::test]
    async fn a_request_is_as_long_as_its_service_takes() {
        let (services, _reconciler, _folder) = services_alone().await;
        for (service, bytes, taken) in [
            ("SecretService/PutSecret", (1 << 20) + 5, true),
            ("SecretService/PutSecret", (1 << 20) + 6, false),
            ("StreamService/CreateStream", (16 << 20) + 5, true),
            ("StreamService/CreateStream", (16 << 20) + 6, false),
        ] {
            let path = format!("/featurestore.v1.{service}");
            let router = Router::new()
                .route(&path, any(|body: axum::body::Bytes| async move { body.len().to_string() }))
                .layer(axum::extract::DefaultBodyLimit::disable())
                .layer(axum::middleware::from_fn_with_state(services.clone(), every_call));
            let request = Request::builder().uri(&path).body(Body::from(vec![0; bytes])).unwrap();
            let response = router.oneshot(request).await.unwrap();
            let expected = (!taken).then(|| i32::from(Code::OutOfRange).to_string());
            let code = response.headers().get("grpc-status").map(|code| code.to_str().unwrap().to_owned());
            assert_eq!(code, expected, "{service} {bytes}");
        }
    }
}
