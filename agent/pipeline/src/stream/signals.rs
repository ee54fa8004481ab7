//! Hears when a connection that a stream uses may be another one: its own, and its registry's.

use stream_spec::stream::{ConnectionConfig, StreamSpec};
use tokio::sync::watch;

use crate::connection::SharedResolver;

/// The counters of a stream's connections.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionSignals {
    own: watch::Receiver<u64>,
    of_registry: Option<watch::Receiver<u64>>,
}

impl ConnectionSignals {
    /// Follows the connections of a stream, from now on.
    pub(crate) fn follow(resolver: &SharedResolver, stream: &StreamSpec) -> Self {
        let follow = |connection: &ConnectionConfig| {
            let mut changes = resolver.changes(connection);
            changes.borrow_and_update();
            changes
        };
        let of_registry = stream.registry_connection().cloned().map(ConnectionConfig::UcConnectionName);
        let of_registry = of_registry.filter(|connection| *connection != stream.connection);
        Self {
            own: follow(&stream.connection),
            of_registry: of_registry.as_ref().map(follow),
        }
    }

    /// Returns once one of them may be another one than when it was last asked for, and only then. Cancel safe.
    pub(crate) async fn changed(&mut self) {
        tokio::select! {
            () = moved(Some(&mut self.own)) => {}
            () = moved(self.of_registry.as_mut()) => {}
        }
    }
}

async fn moved(counter: Option<&mut watch::Receiver<u64>>) {
    if let Some(counter) = counter
        && counter.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
