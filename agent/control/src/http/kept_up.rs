//! A transport whose peer must keep up. The invariant: what was written is taken within a bound, by a peer that reads nothing or in
//! drops as well; a peer that has taken everything has the whole time again.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A transport that gives its peer up.
pub(super) struct KeptUp<Io> {
    io: Io,
    wait: Duration,
    /// Ends the wait; there since the peer last had everything.
    behind: Option<Pin<Box<Sleep>>>,
}

impl<Io> KeptUp<Io> {
    pub(super) fn within(io: Io, wait: Duration) -> Self {
        Self { io, wait, behind: None }
    }

    /// Waits on for a peer that is behind, up to the bound.
    fn be_patient<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        let wait = self.wait;
        let behind = self.behind.get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
        ready!(behind.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the peer does not take what it asked for",
        )))
    }

    /// What came of a write of `length` bytes: one that was cut short means that the peer is behind, as one that waits does.
    fn written(&mut self, wrote: Poll<io::Result<usize>>, length: usize, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match wrote {
            Poll::Ready(Ok(taken)) if taken < length => match self.be_patient(context) {
                Poll::Ready(given_up) => Poll::Ready(given_up),
                Poll::Pending => Poll::Ready(Ok(taken)),
            },
            Poll::Pending => self.be_patient(context),
            done => done,
        }
    }
}

impl<Io: AsyncRead + Unpin> AsyncRead for KeptUp<Io> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for KeptUp<Io> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.io).poll_write(context, bytes);
        self.written(wrote, bytes.len(), context)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, parts: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.io).poll_write_vectored(context, parts);
        let length = parts.iter().map(|part| part.len()).sum();
        self.written(wrote, length, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    /// Both protocols flush when they have nothing left to write: then the peer has everything.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.io).poll_flush(context) {
            Poll::Ready(Ok(())) => {
                self.behind = None;
                Poll::Ready(Ok(()))
            }
            Poll::Pending => self.be_patient(context),
            failed => failed,
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.io).poll_shutdown(context) {
            Poll::Pending => self.be_patient(context),
            done => done,
        }
    }
}
