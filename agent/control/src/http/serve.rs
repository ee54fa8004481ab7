//! Connections: accepted up to a bound and secured where that is set. Invariant: a connection on which nobody becomes known, or whose
//! peer is gone, ends by itself, so that strangers cannot keep others out.

use std::sync::Arc;

use axum::Router;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection;
use super::peer::Peer;
use super::strangers::{Stranger, Strangers};
use super::tls::Certificates;
use crate::limits::{ACCEPT_AGAIN_WAIT, CALLS_END_WAIT, CONNECTIONS_OPEN_MAX, HANDSHAKE_WAIT};

/// Serves until `stopping`, then lets the calls that are on end, for a bounded time. Without `certificates` nothing is encrypted.
pub async fn serve(listener: TcpListener, certificates: Option<Arc<Certificates>>, router: Router, stopping: CancellationToken) {
    let connections = TaskTracker::new();
    let places = Arc::new(Semaphore::new(CONNECTIONS_OPEN_MAX));
    let strangers = Arc::new(Strangers::default());
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
            Ok((tcp, address)) => {
                let (certificates, router, stopping) = (certificates.clone(), router.clone(), stopping.clone());
                let stranger = strangers.take_in(Some(address.ip()));
                if let Err(error) = tcp.set_nodelay(true) {
                    // Only latency suffers without it.
                    tracing::debug!(%error, "failed to turn off delays of a connection");
                }
                connections.spawn(async move {
                    converse(tcp, stranger, certificates, router, stopping).await;
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

/// All of one connection.
pub(super) async fn converse<Io>(
    io: Io,
    stranger: Stranger,
    certificates: Option<Arc<Certificates>>,
    router: Router,
    stopping: CancellationToken,
) where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let sent_away = stranger.sent_away();
    tokio::select! {
        () = secured(io, stranger, certificates, router, stopping) => {}
        () = sent_away.cancelled() => tracing::debug!("a connection on which nobody is known made room for another one"),
    }
}

async fn secured<Io>(io: Io, stranger: Stranger, certificates: Option<Arc<Certificates>>, router: Router, stopping: CancellationToken)
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Some(certificates) = certificates else {
        return connection::answer(io, Peer::stranger(stranger, None), router, stopping).await;
    };
    let accepting = tokio::time::timeout(HANDSHAKE_WAIT, certificates.accept(io));
    let accepted = tokio::select! {
        accepted = accepting => accepted,
        () = stopping.cancelled() => return,
    };
    match accepted {
        Ok(Ok((tls, certificate))) => {
            connection::answer(tls, Peer::stranger(stranger, certificate), router, stopping).await;
        }
        Ok(Err(error)) => tracing::debug!(%error, "refused a connection"),
        Err(_) => tracing::debug!(wait = ?HANDSHAKE_WAIT, "gave up on a connection that did not say hello"),
    }
}
