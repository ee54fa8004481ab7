//! One connection to Terraform, whatever it runs over, and the stream of them that the server takes.
//!
//! Invariant: the TLS handshake of one connection never holds up another one, and takes bounded time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::Connected;

use crate::limits::{ACCEPT_RETRY_WAIT, CONNECTIONS_WAITING_MAX, TLS_HANDSHAKE_WAIT_MAX};

use super::listener::Listener;

/// Bytes in both directions.
trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<Stream: AsyncRead + AsyncWrite + Send + Unpin> Bytes for Stream {}

/// A connection, plain or with TLS.
pub(crate) struct Connection {
    bytes: Pin<Box<dyn Bytes>>,
}

impl Connection {
    pub(crate) fn new(bytes: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        Self { bytes: Box::pin(bytes) }
    }
}

/// The connections that come in until `stop`, each after its TLS handshake if there is TLS; and the task that accepts them,
/// which closes the listener when it ends.
pub(crate) fn incoming(
    listener: Listener,
    tls: Option<Arc<rustls::ServerConfig>>,
    stop: CancellationToken,
) -> (impl Stream<Item = io::Result<Connection>>, JoinHandle<()>) {
    let (sender, receiver) = mpsc::channel(CONNECTIONS_WAITING_MAX);
    let acceptor = tls.map(TlsAcceptor::from);
    let accepting = tokio::spawn(async move {
        // Handshakes that still run end with this task.
        let mut handshakes = JoinSet::new();
        loop {
            while handshakes.try_join_next().is_some() {}
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match (accepted, &acceptor) {
                (Ok(connection), None) => {
                    if sender.send(Ok(connection)).await.is_err() {
                        return;
                    }
                }
                (Ok(connection), Some(acceptor)) => {
                    handshakes.spawn(shake_hands(acceptor.clone(), connection, sender.clone()));
                }
                (Err(error), _) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_RETRY_WAIT).await;
                }
            }
        }
    });
    (ReceiverStream::new(receiver), accepting)
}

async fn shake_hands(acceptor: TlsAcceptor, connection: Connection, sender: mpsc::Sender<io::Result<Connection>>) {
    match tokio::time::timeout(TLS_HANDSHAKE_WAIT_MAX, acceptor.accept(connection)).await {
        // The server is gone when nobody receives; so is the connection then.
        Ok(Ok(stream)) => drop(sender.send(Ok(Connection::new(stream))).await),
        Ok(Err(error)) => tracing::warn!(%error, "refused a connection: not the Terraform that started us"),
        Err(_) => tracing::warn!("refused a connection: no TLS handshake in time"),
    }
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) -> Self::ConnectInfo {}
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.bytes.as_mut().poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.bytes.as_mut().poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.bytes.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.bytes.as_mut().poll_shutdown(context)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        self.bytes.as_mut().poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.bytes.is_write_vectored()
    }
}
