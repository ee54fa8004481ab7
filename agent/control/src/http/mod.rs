//! One port for everything: gRPC, and health checks over plain HTTP. Every request passes the guard first, and the door if it
//! is more than a health check.

mod connection;
mod door;
mod guard;
mod kept_up;
mod peer;
mod serve;
mod strangers;
#[cfg(test)]
mod tests;
pub mod tls;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::get;

use crate::governance::authentication::Authenticator;
use crate::grpc;
use crate::services::Services;

pub use serve::serve;

/// What callers of the port are held to.
pub struct PortSettings {
    /// Finds out who calls.
    pub authenticator: Arc<Authenticator>,
    /// Whether only this machine can reach the port.
    pub loopback: bool,
    /// Whether connections are encrypted.
    pub encrypted: bool,
}

/// All routes of the port.
pub fn router(services: &Arc<Services>, settings: PortSettings) -> Router {
    let door = Arc::new(door::Door::new(settings.authenticator));
    let guard = guard::Guard {
        loopback: settings.loopback,
        scheme: if settings.encrypted { "https://" } else { "http://" },
    };
    grpc::routes(services)
        .layer(middleware::from_fn_with_state(door, door::known_only))
        // The process is there and answers: nothing that it depends on is asked.
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(ready).with_state(services.clone()))
        .layer(middleware::from_fn_with_state(guard, guard::own_only))
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
