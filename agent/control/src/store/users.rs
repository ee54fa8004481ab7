//! What connections and streams refer to by name, and who does. The invariant: whether something is used is decided in the
//! transaction that deletes it.

use async_trait::async_trait;
use stream_spec::name::{ConnectionName, CredentialName, ScopeName, SecretKey, StreamName, VolumeName};
use stream_spec::stream::SecretRef;

use super::StoreError;

/// Something that others name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsedThing {
    /// A secret scope, with everything in it.
    Scope(ScopeName),
    /// One secret of a scope.
    Secret(ScopeName, SecretKey),
    /// A service credential.
    Credential(CredentialName),
    /// A volume.
    Volume(VolumeName),
}

impl UsedThing {
    /// Whether it is, or holds, that secret.
    pub(crate) fn has_secret(&self, secret: &SecretRef) -> bool {
        match self {
            Self::Scope(scope) => secret.scope == scope.as_str(),
            Self::Secret(scope, key) => secret.scope == scope.as_str() && secret.key == key.as_str(),
            Self::Credential(_) | Self::Volume(_) => false,
        }
    }

    /// Whether it is that volume.
    pub(crate) fn is_volume(&self, name: &str) -> bool {
        matches!(self, Self::Volume(volume) if volume.as_str() == name)
    }
}

/// Who names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// In order of their names.
    pub connections: Vec<ConnectionName>,
    /// In order of their names. Streams that are on the way out are none.
    pub streams: Vec<StreamName>,
}

impl Users {
    /// True if nobody does.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty() && self.streams.is_empty()
    }
}

/// Outcome of a deletion of something that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeletedIfUnused {
    /// It is gone.
    Deleted,
    /// It is used, and still there.
    InUse(Users),
    /// There was none.
    Missing,
}

/// The part of a store that knows who uses what.
#[async_trait]
pub trait UserStore: Send + Sync {
    /// Who uses something, there or not.
    async fn users(&self, of: &UsedThing) -> Result<Users, StoreError>;

    /// Deletes something with everything in it and what is granted on it, used or not only if `even_if_used`. Another life of
    /// the name than `uid` (empty: any) is missing, and so is a secret in another life of its scope.
    async fn delete_if_unused(&self, what: &UsedThing, uid: &str, even_if_used: bool) -> Result<DeletedIfUnused, StoreError>;
}
