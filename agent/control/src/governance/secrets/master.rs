//! Master keys: what seals the data keys of scopes. The invariant: a sealed data key opens only as the key of the scope
//! and the life that it was made for, under the master key that sealed it.

use std::sync::Arc;

use async_trait::async_trait;
use sha2::{Digest, Sha256};

use super::cipher::Key;

/// What a data key is for.
#[derive(Clone, Copy, Debug)]
pub struct KeyUse<'a> {
    /// Text of the scope.
    pub scope: &'a str,
    /// Random id of the data key.
    pub key_id: &'a str,
}

/// Why a master key does not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrapError {
    /// The bytes are not what was sealed for that use under this key.
    NotAuthentic,
    /// The key cannot be used now.
    Unavailable(String),
}

/// A master key, wherever it is kept.
#[async_trait]
pub trait KeyWrapper: Send + Sync + 'static {
    /// Names the key; stored beside everything that it sealed.
    fn id(&self) -> &str;
    /// Seals a data key.
    async fn seal_key(&self, purpose: KeyUse<'_>, key: &Key) -> Result<Vec<u8>, WrapError>;
    /// Opens a data key.
    async fn open_key(&self, purpose: KeyUse<'_>, sealed: &[u8]) -> Result<Key, WrapError>;
}

/// The master keys that an agent has: one that seals, and others that only open what they sealed.
#[derive(Clone)]
pub struct MasterKeys {
    current: Option<Arc<dyn KeyWrapper>>,
    former: Vec<Arc<dyn KeyWrapper>>,
    remedy: String,
}

impl MasterKeys {
    /// The keys of an agent, and what to tell those who need another one.
    pub fn new(current: Arc<dyn KeyWrapper>, former: Vec<Arc<dyn KeyWrapper>>, remedy: impl Into<String>) -> Self {
        Self {
            current: Some(current),
            former,
            remedy: remedy.into(),
        }
    }

    /// An agent without a master key keeps no secrets, and says how it gets one.
    pub fn none(remedy: impl Into<String>) -> Self {
        Self {
            current: None,
            former: Vec::new(),
            remedy: remedy.into(),
        }
    }

    /// The key that seals.
    pub fn current(&self) -> Option<&Arc<dyn KeyWrapper>> {
        self.current.as_ref()
    }

    /// The key of that id.
    pub fn find(&self, id: &str) -> Option<&Arc<dyn KeyWrapper>> {
        self.current.iter().chain(&self.former).find(|key| key.id() == id)
    }

    /// How to give this agent a master key.
    pub fn remedy(&self) -> &str {
        &self.remedy
    }
}

/// A master key in this process, from a file or the environment.
pub struct LocalKey {
    id: String,
    key: Key,
}

impl LocalKey {
    /// The key of 32 bytes; `None` for any other number of them.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let key = Key::from_bytes(bytes)?;
        // Names the key without telling it: it has 256 random bits, so nobody finds it by trying.
        let digest = Sha256::new_with_prefix("featurestore master key id").chain_update(bytes).finalize();
        let short: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Some(Self {
            id: format!("local/{short}"),
            key,
        })
    }

    fn bound_to<'a>(&'a self, purpose: KeyUse<'a>) -> [&'a str; 4] {
        ["data key", &self.id, purpose.scope, purpose.key_id]
    }
}

#[async_trait]
impl KeyWrapper for LocalKey {
    fn id(&self) -> &str {
        &self.id
    }

    async fn seal_key(&self, purpose: KeyUse<'_>, key: &Key) -> Result<Vec<u8>, WrapError> {
        self.key
            .seal(&self.bound_to(purpose), key.bytes())
            .map_err(|_| WrapError::Unavailable("the system gave no random numbers".into()))
    }

    async fn open_key(&self, purpose: KeyUse<'_>, sealed: &[u8]) -> Result<Key, WrapError> {
        let opened = self
            .key
            .open(&self.bound_to(purpose), sealed)
            .map_err(|_| WrapError::NotAuthentic)?;
        Key::from_bytes(opened.expose()).ok_or(WrapError::NotAuthentic)
    }
}
