//! Connections: accepted up to a bound, secured where that is set, and served until the agent stops. Invariant: a connection on
//! which nobody becomes known, or whose peer is gone, ends by itself, so that strangers cannot keep others out.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

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
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;

use super::tls::Certificates;
use crate::governance::authentication::certificate::CertificateName;
use crate::limits::{
    ACCEPT_AGAIN_WAIT, CALLS_END_WAIT, CONNECTIONS_MAX, HANDSHAKE_WAIT, HEADER_BYTES_MAX, HEADER_WAIT, PEER_SIGN_INTERVAL, PEER_SIGN_WAIT,
    STREAMS_PER_CONNECTION_MAX, UNKNOWN_CONNECTION_WAIT,
};

/// Who is on the other side of a connection; in each request that comes by it.
#[derive(Clone, Debug, Default)]
pub(super) struct Peer {
    /// The name in its certificate, which was checked, or why there is none in it.
    pub(super) certificate: Option<Arc<Result<CertificateName, String>>>,
    /// Set once a request of it came from a caller that is known.
    pub(super) known: Arc<AtomicBool>,
}

/// Serves until `stopping`, then lets the calls that are on end, for a bounded time. Without `certificates` nothing is encrypted.
pub async fn serve(listener: TcpListener, certificates: Option<Arc<Certificates>>, router: Router, stopping: CancellationToken) {
    let connections = TaskTracker::new();
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // Closed never: the semaphore lives as long as this function.
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place,
            () = stopping.cancelled() => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.cancelled() => break,
        };
        match accepted {
            Ok((tcp, _)) => {
                let (certificates, router, stopping) = (certificates.clone(), router.clone(), stopping.clone());
                connections.spawn(async move {
                    connection(tcp, certificates, router, stopping).await;
                    drop(place);
                });
            }
            Err(error) => {
                // One that is gone again, or no more files may be open: others will be closed.
                tracing::warn!(%error, "failed to accept a connection");
                tokio::time::sleep(ACCEPT_AGAIN_WAIT).await;
            }
        }
    }
    connections.close();
    if tokio::time::timeout(CALLS_END_WAIT, connections.wait()).await.is_err() {
        tracing::warn!(wait = ?CALLS_END_WAIT, "calls did not end in time and were cut off");
    }
}

async fn connection(tcp: TcpStream, certificates: Option<Arc<Certificates>>, router: Router, stopping: CancellationToken) {
    if let Err(error) = tcp.set_nodelay(true) {
        // Only latency suffers without it.
        tracing::debug!(%error, "failed to turn off delays of a connection");
    }
    let Some(certificates) = certificates else {
        return requests(tcp, Peer::default(), router, stopping).await;
    };
    let accepting = tokio::time::timeout(HANDSHAKE_WAIT, certificates.accept(tcp));
    let accepted = tokio::select! {
        accepted = accepting => accepted,
        () = stopping.cancelled() => return,
    };
    match accepted {
        Ok(Ok((tls, certificate))) => {
            let peer = Peer {
                certificate: certificate.map(Arc::new),
                ..Peer::default()
            };
            requests(tls, peer, router, stopping).await;
        }
        Ok(Err(error)) => tracing::debug!(%error, "refused a connection"),
        Err(_) => tracing::debug!(wait = ?HANDSHAKE_WAIT, "gave up on a connection that did not say hello"),
    }
}

async fn requests<Io>(io: Io, peer: Peer, router: Router, stopping: CancellationToken)
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let known = peer.known.clone();
    let visit = TowerToHyperService::new(Visit { router, peer });
    let builder = builder();
    let mut serving = std::pin::pin!(builder.serve_connection(TokioIo::new(io), visit));
    let mut unknown = std::pin::pin!(tokio::time::sleep(UNKNOWN_CONNECTION_WAIT));
    let (mut waited, mut asked_to_end) = (false, false);
    loop {
        tokio::select! {
            ended = serving.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke off");
                }
                return;
            }
            () = unknown.as_mut(), if !waited => {
                if !known.load(Ordering::Relaxed) {
                    tracing::debug!("closed a connection on which nobody became known");
                    return;
                }
                waited = true;
            }
            () = stopping.cancelled(), if !asked_to_end => {
                serving.as_mut().graceful_shutdown();
                asked_to_end = true;
            }
        }
    }
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
        request.extensions_mut().insert(self.peer.clone());
        self.router.call(request)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::Extension;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::Instant;

    use super::*;

    /// A port on which `/known` is where callers become known.
    async fn port() -> (std::net::SocketAddr, CancellationToken) {
        let known = |Extension(peer): Extension<Peer>| async move {
            peer.known.store(true, Ordering::Relaxed);
            "known"
        };
        let router = Router::new().route("/", get(|| async { "unknown" })).route("/known", get(known));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stopping) = (listener.local_addr().unwrap(), CancellationToken::new());
        tokio::spawn(serve(listener, None, router, stopping.clone()));
        (address, stopping)
    }

    /// How long a connection lasts on which that is sent at once, and nothing more. The clock goes on by itself.
    async fn lasts(sent: &str) -> Duration {
        let (address, _stopping) = port().await;
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(sent.as_bytes()).await.unwrap();
        let begun = Instant::now();
        let mut answer = Vec::new();
        // An end or a reset: closed is closed.
        drop(connection.read_to_end(&mut answer).await);
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_on_which_nobody_becomes_known_ends() {
        let slack = Duration::from_secs(1);
        let (silent, half) = (lasts("").await, lasts("GET / HT").await);
        assert!(silent <= UNKNOWN_CONNECTION_WAIT + slack, "{silent:?}");
        assert!(half <= UNKNOWN_CONNECTION_WAIT + slack, "{half:?}");
        // The start of HTTP/2, and not one frame after it.
        let preface = lasts("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        assert!(preface <= UNKNOWN_CONNECTION_WAIT + slack, "{preface:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_of_somebody_who_is_known_outlasts_that() {
        let (address, stopping) = port().await;
        let mut connection = TcpStream::connect(address).await.unwrap();
        let mut ask = async |path: &str| {
            let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            connection.write_all(request.as_bytes()).await.ok()?;
            let mut answer = [0; 4096];
            let length = connection.read(&mut answer).await.ok()?;
            String::from_utf8(answer[..length].to_vec())
                .ok()
                .filter(|answer| answer.contains("200 OK"))
        };
        assert!(ask("/known").await.is_some());
        for _ in 0..10 {
            tokio::time::sleep(HEADER_WAIT / 2).await;
            assert!(ask("/").await.is_some(), "still served");
        }
        stopping.cancel();
    }
}
