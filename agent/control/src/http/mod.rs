//! One port for everything: gRPC, and health checks over plain HTTP. Every request passes the guard first, and the door if it
//! is more than a health check.

mod door;
mod guard;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::get;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::governance::authentication::Authenticator;
use crate::grpc;
use crate::limits::CALLS_END_WAIT;
use crate::services::Services;

/// All routes of the port.
pub fn router(services: &Arc<Services>, authenticator: Arc<Authenticator>) -> Router {
    grpc::routes(services)
        .layer(middleware::from_fn_with_state(authenticator, door::known_only))
        // The process is there and answers: nothing that it depends on is asked.
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(ready).with_state(services.clone()))
        .layer(middleware::from_fn(guard::loopback_only))
}

/// Serves until `stopping`, then lets the calls that are on end, for a bounded time.
pub async fn serve(listener: TcpListener, router: Router, stopping: CancellationToken) -> std::io::Result<()> {
    let listener = listener.tap_io(|connection| {
        // Only latency suffers without it.
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "failed to turn off delays of a connection");
        }
    });
    let shutdown = stopping.clone();
    let server = axum::serve(listener, router).with_graceful_shutdown(async move { shutdown.cancelled().await });
    let calls_took_too_long = async {
        stopping.cancelled().await;
        tokio::time::sleep(CALLS_END_WAIT).await;
    };
    tokio::select! {
        result = server => result,
        () = calls_took_too_long => {
            tracing::warn!(wait = ?CALLS_END_WAIT, "calls did not end in time and were cut off");
            Ok(())
        }
    }
}

async fn ready(State(services): State<Arc<Services>>) -> (StatusCode, String) {
    if services.stopping.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "shutting down".to_owned());
    }
    match services.store.check().await {
        Ok(()) => (StatusCode::OK, "ready".to_owned()),
        Err(error) => {
            // Whoever asks is not known: the words are for the log.
            tracing::error!(%error, "not ready");
            (StatusCode::SERVICE_UNAVAILABLE, "the agent's database does not answer".to_owned())
        }
    }
}
