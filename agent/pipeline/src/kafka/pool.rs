//! Shares clients between streams: one connection per broker and client, however many streams.
//!
//! Invariant: two streams that read one topic never have the same client; streams that open at the same time share one as those do
//! that open one after another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::client::ClusterClient;
use super::client_count::ClientCount;
use super::options::ClientOptions;
use super::topic_list::TopicList;
use crate::connection::ClientProperties;
use crate::error::PipelineError;

/// What two opens have in common when they may share a client.
type ClientKey = (String, String, ClientOptions);

/// What two streams have in common to which a cluster shows the same topics: identity and address.
type ClusterKey = (String, String);

/// The open clients of one key. Held while a client is opened, so that whoever comes meanwhile waits for that one: after a start of
/// the agent all streams come at once. Opening contacts no broker.
type Clients = tokio::sync::Mutex<Vec<Weak<ClusterClient>>>;

/// Open clients. A client closes when the last stream lets go of it.
pub(crate) struct ClientPool {
    count: Arc<ClientCount>,
    clients: Mutex<BTreeMap<ClientKey, Arc<Clients>>>,
    topic_lists: Mutex<BTreeMap<ClusterKey, Weak<TopicList>>>,
}

/// A stream's right to read some topics through a client.
pub(crate) struct ClientLease {
    client: Arc<ClusterClient>,
    topics: BTreeSet<String>,
    /// Nobody has read anything through the client yet.
    is_new: bool,
}

impl ClientLease {
    /// The client.
    pub(crate) fn client(&self) -> &Arc<ClusterClient> {
        &self.client
    }

    /// Whether the client was opened for this lease.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }
}

impl Drop for ClientLease {
    fn drop(&mut self) {
        self.client.release(&self.topics);
    }
}

impl ClientPool {
    /// No client yet, and at no time more than so many.
    pub(crate) fn new(clients_max: usize) -> Self {
        Self {
            count: ClientCount::new(clients_max),
            clients: Mutex::default(),
            topic_lists: Mutex::default(),
        }
    }

    /// How many clients are open, and how often they asked.
    pub(crate) fn count(&self) -> &Arc<ClientCount> {
        &self.count
    }

    /// A client through which nobody else reads these topics.
    pub(crate) async fn lease(
        &self,
        properties: &ClientProperties,
        options: &ClientOptions,
        topics: BTreeSet<String>,
    ) -> Result<ClientLease, PipelineError> {
        let clients = self.clients(key(properties, options));
        let mut clients = clients.lock().await;
        if let Some(client) = open(&clients).find(|client| client.claim(&topics)) {
            let is_new = false;
            return Ok(ClientLease { client, topics, is_new });
        }
        let client = ClusterClient::open(properties, options, &self.count).await?;
        client.claim(&topics);
        add(&mut clients, &client);
        let is_new = true;
        Ok(ClientLease { client, topics, is_new })
    }

    /// Any client of that cluster, for questions only.
    pub(crate) async fn visit(&self, properties: &ClientProperties, options: &ClientOptions) -> Result<Arc<ClusterClient>, PipelineError> {
        let clients = self.clients(key(properties, options));
        let mut clients = clients.lock().await;
        if let Some(client) = open(&clients).find(|client| !client.is_retired()) {
            return Ok(client);
        }
        let client = ClusterClient::open(properties, options, &self.count).await?;
        add(&mut clients, &client);
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

    fn clients(&self, key: ClientKey) -> Arc<Clients> {
        let mut all = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, clients| {
            let awaited = Arc::strong_count(clients) > 1;
            awaited || clients.try_lock().is_ok_and(|clients| open(&clients).next().is_some())
        });
        all.entry(key).or_default().clone()
    }
}

fn open(clients: &[Weak<ClusterClient>]) -> impl Iterator<Item = Arc<ClusterClient>> {
    clients.iter().filter_map(Weak::upgrade)
}

fn add(clients: &mut Vec<Weak<ClusterClient>>, client: &Arc<ClusterClient>) {
    clients.retain(|client| client.strong_count() > 0);
    clients.push(Arc::downgrade(client));
    tracing::info!(
        bootstrap_servers = client.bootstrap_servers(),
        clients = clients.len(),
        "a Kafka client is open, shared by streams of this connection on different topics"
    );
}

fn key(properties: &ClientProperties, options: &ClientOptions) -> ClientKey {
    (properties.identity.clone(), properties.bootstrap_servers.clone(), options.clone())
}
