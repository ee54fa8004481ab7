//! The requests of one connection, until its peer leaves or a bound ends it. The invariant: every connection ends by itself. One that
//! is merely old or idle ends in order, its calls answered; one that costs something and brings nothing is cut off.

use std::convert::Infallible;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::HttpBody;
use axum::http::Request;
use axum::response::Response;
use axum::routing::future::RouteFuture;
use bytes::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::kept_up::KeptUp;
use super::peer::Peer;
use crate::limits::{
    ANSWER_LOOK_INTERVAL, ANSWER_WAIT, CONNECTION_AGE_MAX, CONNECTION_AGE_SPREAD, CONNECTION_END_WAIT, CONNECTION_IDLE_WAIT,
    HEADER_BYTES_MAX, HEADER_WAIT, PEER_SIGN_INTERVAL, PEER_SIGN_WAIT, STREAMS_PER_CONNECTION_MAX, UNKNOWN_CONNECTION_WAIT,
};

/// Answers what comes by `io` until the connection is over.
pub(super) async fn answer<Io>(io: Io, peer: Peer, router: Router, stopping: CancellationToken)
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let visit = Visit {
        router,
        peer: peer.clone(),
    };
    let _over = Over(&peer);
    let builder = builder();
    let io = TokioIo::new(KeptUp::within(io, ANSWER_WAIT));
    let mut serving = std::pin::pin!(builder.serve_connection(io, TowerToHyperService::new(visit)));
    let mut due = std::pin::pin!(until_due(&peer, stopping));
    let mut of_no_use = std::pin::pin!(until_of_no_use(&peer));
    let mut last_wait = std::pin::pin!(tokio::time::sleep(CONNECTION_AGE_MAX + CONNECTION_END_WAIT));
    let mut asked_to_end = false;
    loop {
        tokio::select! {
            ended = serving.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke off");
                }
                return;
            }
            reason = due.as_mut(), if !asked_to_end => {
                tracing::debug!(reason, "asked a connection to end");
                serving.as_mut().graceful_shutdown();
                asked_to_end = true;
                last_wait.as_mut().reset(tokio::time::Instant::now() + CONNECTION_END_WAIT);
            }
            reason = of_no_use.as_mut() => return tracing::debug!(reason, "cut a connection off"),
            () = last_wait.as_mut() => return tracing::debug!("cut a connection off that did not end when it was asked to"),
        }
    }
}

/// The connection counts no more, however this ends.
struct Over<'a>(&'a Peer);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Waits until the connection should end in order, and says why.
async fn until_due(peer: &Peer, stopping: CancellationToken) -> &'static str {
    tokio::select! {
        () = stopping.cancelled() => "the agent stops",
        () = tokio::time::sleep(age_max()) => "it is old",
        () = peer.unwelcome() => "too many of its calls were refused",
        () = until_idle(peer) => "no call came for long",
    }
}

/// Waits until no request has come for long. The bound is far above what a call may take: none is under way then.
async fn until_idle(peer: &Peer) {
    loop {
        let until = peer.last_call() + CONNECTION_IDLE_WAIT;
        if until <= tokio::time::Instant::now() {
            return;
        }
        tokio::time::sleep_until(until).await;
    }
}

/// Waits until the connection must be cut off, and says why.
async fn until_of_no_use(peer: &Peer) -> &'static str {
    tokio::select! {
        () = until_still_unknown(peer) => "nobody became known on it",
        () = until_unread(peer) => "its peer does not take an answer",
    }
}

async fn until_still_unknown(peer: &Peer) {
    tokio::time::sleep(UNKNOWN_CONNECTION_WAIT).await;
    if peer.is_known() {
        std::future::pending().await
    }
}

/// A peer of HTTP/2 can leave an answer untaken and read everything else.
async fn until_unread(peer: &Peer) {
    loop {
        tokio::time::sleep(ANSWER_LOOK_INTERVAL).await;
        if peer.oldest_answer().is_some_and(|begun| begun.elapsed() >= ANSWER_WAIT) {
            return;
        }
    }
}

/// How old this connection may become. Connections that were made at once do not end at once.
fn age_max() -> Duration {
    let random = getrandom::u32().unwrap_or(u32::MAX / 2);
    CONNECTION_AGE_MAX.saturating_sub(CONNECTION_AGE_SPREAD.mul_f64(f64::from(random) / f64::from(u32::MAX)))
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_WAIT)
        .max_buf_size(HEADER_BYTES_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(HEADER_BYTES_MAX).unwrap_or(u32::MAX))
        .max_concurrent_streams(STREAMS_PER_CONNECTION_MAX)
        .keep_alive_interval(PEER_SIGN_INTERVAL)
        .keep_alive_timeout(PEER_SIGN_WAIT);
    builder
}

/// The router for the requests of one connection.
#[derive(Clone)]
struct Visit {
    router: Router,
    peer: Peer,
}

impl<B> Service<Request<B>> for Visit
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = RouteFuture<Infallible>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<Request<B>>::poll_ready(&mut self.router, context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        self.peer.called();
        request.extensions_mut().insert(self.peer.clone());
        self.router.call(request)
    }
}
