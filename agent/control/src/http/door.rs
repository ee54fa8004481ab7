//! The door: finds out who makes a request before anything is done for it, holds it to what one caller may ask, and puts the
//! principal into the request, where the adapters find it. Invariant: no route behind it is reached by a caller that is not known.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use tonic::{Code, Status};

use super::peer::{Answering, Peer};
use crate::governance::admission::{Admission, Admitted};
use crate::governance::authentication::{AuthenticationError, Authenticator, Shown};
use crate::grpc::{advised, put_off};
use crate::limits::{CALL_TIME_MAX, RETRY_ADVICE};

/// What is asked at the door.
pub(super) struct Door {
    authenticator: Arc<Authenticator>,
    admission: Arc<Admission>,
}

impl Door {
    pub(super) fn new(authenticator: Arc<Authenticator>) -> Self {
        Self {
            authenticator,
            admission: Arc::new(Admission::default()),
        }
    }
}

/// Lets a request through with its principal.
pub(super) async fn known_only(State(door): State<Arc<Door>>, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().cloned().unwrap_or_default();
    let known = {
        let shown = Shown {
            authorization: authorization(request.headers()),
            certificate: peer.certificate.as_deref(),
            peer: peer.address,
        };
        door.authenticator.authenticate(&shown).await
    };
    // What the request's form is decides the form of a refusal.
    let is_grpc = is_grpc(request.headers());
    let principal = match known {
        Ok(principal) => principal,
        Err(error) => {
            if !error.is_ours() {
                peer.refused();
            }
            return answer(is_grpc, refusal(&error));
        }
    };
    let name = principal.name();
    let welcome = peer.known_as(name, &door.admission);
    let admitted = match welcome.and_then(|()| door.admission.admit(name, Instant::now())) {
        Ok(admitted) => Arc::new(admitted),
        Err(error) => {
            tracing::debug!(principal = name, %error, "put a call off");
            return answer(is_grpc, put_off(error));
        }
    };
    request.extensions_mut().insert(principal);
    // What goes on after its caller left is counted, too.
    request.extensions_mut().insert(admitted.clone());
    match tokio::time::timeout(CALL_TIME_MAX, next.run(request)).await {
        Ok(response) => response.map(|body| {
            Body::new(Counted {
                body,
                _admitted: admitted,
                _answering: peer.answering(),
            })
        }),
        Err(_) => answer(
            is_grpc,
            Status::deadline_exceeded(format!("the call took longer than {CALL_TIME_MAX:?}, its request included")),
        ),
    }
}

/// An answer that counts as under way until it is sent.
struct Counted {
    body: Body,
    _admitted: Arc<Admitted>,
    _answering: Answering,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
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

fn refusal(error: &AuthenticationError) -> Status {
    if error.is_ours() {
        tracing::error!(%error, "failed to authenticate a call");
        return advised(Code::Unavailable, error.to_string(), RETRY_ADVICE);
    }
    tracing::warn!(%error, "refused a call whose caller is not known");
    Status::unauthenticated(error.to_string())
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let content = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content.is_some_and(|content| content.starts_with("application/grpc"))
}

/// A status for a caller that speaks gRPC, else one of HTTP with the same words.
fn answer(is_grpc: bool, status: Status) -> Response {
    if is_grpc {
        return status.into_http();
    }
    let code = match status.code() {
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::DeadlineExceeded => StatusCode::REQUEST_TIMEOUT,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    (code, status.message().to_owned()).into_response()
}
