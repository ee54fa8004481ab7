//! The door: finds out who makes a request before anything is done for it, and puts the principal into the request, where the
//! adapters find it. Invariant: no route behind it is reached by a caller that is not known.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tonic::Status;

use crate::governance::authentication::{AuthenticationError, Authenticator, Shown};

/// Lets a request through with its principal.
pub(super) async fn known_only(State(authenticator): State<Arc<Authenticator>>, mut request: Request, next: Next) -> Response {
    let known = {
        let shown = Shown {
            authorization: authorization(request.headers()),
        };
        authenticator.authenticate(&shown).await
    };
    match known {
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(error) => refusal(request.headers(), &error),
    }
}

fn authorization(headers: &HeaderMap) -> Option<Result<&str, ()>> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let first = values.next()?;
    Some(match values.next() {
        None => first.to_str().map_err(|_| ()),
        Some(_) => Err(()),
    })
}

fn refusal(headers: &HeaderMap, error: &AuthenticationError) -> Response {
    let ours = matches!(error, AuthenticationError::Store(_));
    if ours {
        tracing::error!(%error, "failed to authenticate a call");
    } else {
        tracing::warn!(%error, "refused a call whose caller is not known");
    }
    let status = if ours {
        Status::unavailable(error.to_string())
    } else {
        Status::unauthenticated(error.to_string())
    };
    answer(headers, &status)
}

/// A status for a caller that speaks gRPC, else one of HTTP with the same words.
pub(super) fn answer(headers: &HeaderMap, status: &Status) -> Response {
    let content = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if content.is_some_and(|content| content.starts_with("application/grpc")) {
        return status.clone().into_http();
    }
    let code = match status.code() {
        tonic::Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        tonic::Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    (code, status.message().to_owned()).into_response()
}
