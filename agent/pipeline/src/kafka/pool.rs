//! Shares clients between streams: one connection per broker and client, however many streams.
//!
//! Invariant: two streams that read one topic never have the same client.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::client::ClusterClient;
use super::options::ClientOptions;
use super::topic_list::TopicList;
use crate::connection::ClientProperties;
use crate::error::PipelineError;

/// What two opens have in common when they may share a client.
type ClientKey = (String, String, ClientOptions);

/// What two streams have in common to which a cluster shows the same topics: identity and address.
type ClusterKey = (String, String);

/// Open clients. A client closes when the last stream lets go of it.
#[derive(Default)]
pub(crate) struct ClientPool {
    clients: Mutex<BTreeMap<ClientKey, Vec<Weak<ClusterClient>>>>,
    topic_lists: Mutex<BTreeMap<ClusterKey, Weak<TopicList>>>,
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

    /// The list of topics that all streams share which see the same cluster with the same rights, whichever client they have.
    pub(crate) fn topic_list(&self, properties: &ClientProperties) -> Arc<TopicList> {
        let key = (properties.identity.clone(), properties.bootstrap_servers.clone());
        let mut lists = self.topic_lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = lists.get(&key).and_then(Weak::upgrade) {
            return list;
        }
        let list = Arc::new(TopicList::default());
        lists.retain(|_, list| list.strong_count() > 0);
        lists.insert(key, Arc::downgrade(&list));
        list
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
