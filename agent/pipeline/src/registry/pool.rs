//! One client per registry and user, however many streams: they share its cache, its connections and its bound of requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::client::RegistryClient;
use super::error::RegistryError;
use super::open::RegistryProperties;

/// What two opens have in common when they share a client: identity and addresses.
type ClientKey = (String, Vec<String>);

/// Open clients. A client closes when the last stream lets go of it.
#[derive(Default)]
pub struct RegistryPool {
    clients: Mutex<BTreeMap<ClientKey, Weak<RegistryClient>>>,
}

impl std::fmt::Debug for RegistryPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegistryPool").finish_non_exhaustive()
    }
}

impl RegistryPool {
    /// The client of these properties, opened if nobody has it yet. No request is made.
    pub fn open(&self, properties: &RegistryProperties) -> Result<Arc<RegistryClient>, RegistryError> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (properties.identity.clone(), properties.urls.clone());
        if let Some(client) = clients.get(&key).and_then(Weak::upgrade) {
            return Ok(client);
        }
        let client = Arc::new(RegistryClient::open(properties)?);
        clients.retain(|_, client| client.strong_count() > 0);
        clients.insert(key, Arc::downgrade(&client));
        Ok(client)
    }
}
