//! Why the vault cannot answer. Each error names the scope, and none says more of a value than its key.

use super::scope::ScopeId;
use crate::limits::SECRETS_PER_SCOPE_MAX;
use crate::store::StoreError;
use crate::store::secrets::Expected;

/// Why the vault cannot answer.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// There is no such scope.
    #[error("there is no secret scope `{scope}`; create it, or name another one")]
    ScopeMissing {
        /// Its name.
        scope: ScopeId,
    },
    /// There is no such secret.
    #[error("there is no secret `{key}` in the scope `{scope}`; put it, or name another one")]
    SecretMissing {
        /// Where it was looked for.
        scope: ScopeId,
        /// Its key.
        key: String,
    },
    /// The scope's data key is sealed under a master key that this agent does not have.
    #[error(
        "the secrets of the scope `{scope}` are sealed under the master key `{wanted}`, and {found}; {remedy}; \
         if that key is lost, so are these secrets: delete all secrets of the scope and put them again"
    )]
    MasterKeyMissing {
        /// Which scope.
        scope: ScopeId,
        /// The master key's id.
        wanted: String,
        /// What this agent has.
        found: String,
        /// How it gets one.
        remedy: String,
    },
    /// This agent has no master key to seal under.
    #[error("this agent has no master key, so it cannot keep secrets; {remedy}")]
    NoMasterKey {
        /// How it gets one.
        remedy: String,
    },
    /// A stored data key does not open.
    #[error(
        "the data key of the scope `{scope}` does not open under the master key `{master_key_id}`: the database was damaged or changed by \
         another hand; restore it, or delete all secrets of the scope and put them again"
    )]
    KeyDamaged {
        /// Which scope.
        scope: ScopeId,
        /// The master key's id.
        master_key_id: String,
    },
    /// A stored value does not open.
    #[error(
        "the secret `{key}` of the scope `{scope}` does not open: the database was damaged or changed by another hand; put the secret again"
    )]
    SecretDamaged {
        /// Which scope.
        scope: ScopeId,
        /// Which secret.
        key: String,
    },
    /// Whoever keeps the master key does not answer.
    #[error("the master key `{master_key_id}`, which the scope `{scope}` needs, cannot be used now: {problem}")]
    MasterKeyUnavailable {
        /// Which scope.
        scope: ScopeId,
        /// The master key's id.
        master_key_id: String,
        /// Why.
        problem: String,
    },
    /// The scope holds as many secrets as one may.
    #[error("the scope `{scope}` holds {SECRETS_PER_SCOPE_MAX} secrets, and more are not kept in one; delete some, or use another scope")]
    ScopeFull {
        /// Which scope.
        scope: ScopeId,
    },
    /// Another scope has the name of the one that was meant.
    #[error("another scope has the name `{scope}` now")]
    AnotherLife {
        /// Which scope.
        scope: ScopeId,
    },
    /// Someone else has written the secret, or deleted it.
    #[error("the secret `{key}` of the scope `{scope}` {}", unexpected(expected))]
    Unexpected {
        /// Which scope.
        scope: ScopeId,
        /// Which secret.
        key: String,
        /// What the caller expected.
        expected: Expected,
    },
    /// Others kept changing the scope's key.
    #[error("the key of the scope `{scope}` kept changing; try again")]
    Busy {
        /// Which scope.
        scope: ScopeId,
    },
    /// The cipher or the system's random numbers failed.
    #[error("cannot seal a secret of the scope `{scope}`: the system gave no random numbers")]
    CipherFailed {
        /// Which scope.
        scope: ScopeId,
    },
    /// The store failed.
    #[error("the agent's database failed: {0}")]
    Store(#[from] StoreError),
}

fn unexpected(expected: &Expected) -> String {
    match expected {
        Expected::Revision(wanted) => {
            format!("is no longer at the revision `{wanted}`: someone else has written or deleted it; read it again and plan again")
        }
        Expected::Nothing | Expected::Anything => "exists already; choose another key, or take it over".to_owned(),
    }
}

impl VaultError {
    /// True if the same call may succeed later without anybody changing anything.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::MasterKeyUnavailable { .. } | Self::Busy { .. } | Self::CipherFailed { .. } | Self::Store(_)
        )
    }
}
