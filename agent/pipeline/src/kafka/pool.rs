//! Shares clients between streams: one connection per broker and client, however many streams.
//!
//! Invariant: two streams that read one topic never have the same client.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::client::ClusterClient;
use super::options::ClientOptions;
use crate::connection::ClientProperties;
use crate::error::PipelineError;

/// What two opens have in common when they may share a client.
type ClientKey = (String, String, ClientOptions);

/// Open clients. A client closes when the last stream lets go of it.
#[derive(Default)]
pub(crate) struct ClientPool {
    clients: Mutex<BTreeMap<ClientKey, Vec<Weak<ClusterClient>>>>,
}

/// A stream's right to read some topics through a client.
pub(crate) struct ClientLease {
    client: Arc<ClusterClient>,
    topics: BTreeSet<String>,
}

impl ClientLease {
    /// The client.
    pub(crate) fn client(&self) -> &Arc<ClusterClient> {
        &self.client
    }
}

impl Drop for ClientLease {
    fn drop(&mut self) {
        self.client.release(&self.topics);
    }
}

impl ClientPool {
    /// A client through which nobody else reads these topics.
    pub(crate) async fn lease(
        &self,
        properties: &ClientProperties,
        options: &ClientOptions,
        topics: BTreeSet<String>,
    ) -> Result<ClientLease, PipelineError> {
        let key = key(properties, options);
        if let Some(client) = self.open_clients(&key).into_iter().find(|client| client.claim(&topics)) {
            return Ok(ClientLease { client, topics });
        }
        let client = ClusterClient::open(properties, options).await?;
        client.claim(&topics);
        self.add(key, &client);
        Ok(ClientLease { client, topics })
    }

    /// Any client of that cluster, for questions only.
    pub(crate) async fn visit(&self, properties: &ClientProperties, options: &ClientOptions) -> Result<Arc<ClusterClient>, PipelineError> {
        let key = key(properties, options);
        if let Some(client) = self.open_clients(&key).into_iter().find(|client| !client.is_retired()) {
            return Ok(client);
        }
        let client = ClusterClient::open(properties, options).await?;
        self.add(key, &client);
        Ok(client)
    }

    fn open_clients(&self, key: &ClientKey) -> Vec<Arc<ClusterClient>> {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.get(key).into_iter().flatten().filter_map(Weak::upgrade).collect()
    }

    fn add(&self, key: ClientKey, client: &Arc<ClusterClient>) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|_, clients| {
            clients.retain(|client| client.strong_count() > 0);
            !clients.is_empty()
        });
        clients.entry(key).or_default().push(Arc::downgrade(client));
    }
}

fn key(properties: &ClientProperties, options: &ClientOptions) -> ClientKey {
    (properties.identity.clone(), properties.bootstrap_servers.clone(), options.clone())
}
