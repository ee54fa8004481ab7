//! Who makes a call: a token of ours, a JSON web token of a configured issuer, or a client certificate. Invariant: whatever is
//! wrong with what a caller shows, it learns that it is not known and how to become so, and nothing about anybody else.

pub mod admin;
pub mod certificate;
pub mod directory;
pub mod oidc;
pub mod tokens;

use std::net::IpAddr;
use std::sync::Arc;

use certificate::CertificateName;
pub use directory::Directory;
use oidc::{Oidc, OidcError};
use tokens::TokenText;

use super::Principal;
use crate::audit::refusals::Refusals;
use crate::clock::now_ms;
use crate::limits::{AUTHORIZATION_BYTES_MAX, TOKEN_USE_WRITE_INTERVAL};
use crate::store::{Store, StoreError};

/// Why a caller is not known.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticationError {
    /// It showed nothing.
    #[error(
        "the call does not say who makes it; send a token as `authorization: Bearer …`: the agent's first is in the file \
         `admin.token` in its data folder, and `featurestore-agent token create` makes others"
    )]
    Missing,
    /// It showed something that is none of the ways to say it.
    #[error("the authorization of the call is not `Bearer` and a token, once")]
    Malformed,
    /// A token that is not, or no longer, one of this agent's.
    #[error("the token of the call is none of this agent's, or was revoked; make one with `featurestore-agent token create`")]
    UnknownToken,
    /// A token whose time is over.
    #[error("the token `{id}` of the call has expired; make another one with `featurestore-agent token create`")]
    Expired {
        /// Which one.
        id: String,
    },
    /// A JSON web token that is not right.
    #[error("the token of the call was refused: {0}")]
    Jwt(#[from] OidcError),
    /// A certificate that names nobody.
    #[error("the certificate of the connection cannot say who calls: {0}")]
    Certificate(String),
    /// A certificate whose time is over, on a connection that is older.
    #[error("the certificate of the connection has expired; connect again with a new one")]
    CertificateExpired,
    /// A name that belongs to the agent itself, or to a group.
    #[error("the name `{name}` belongs to the agent itself or to one of its groups, and nobody from outside can use it")]
    ReservedName {
        /// Which name.
        name: String,
    },
    /// No principal can have that name.
    #[error("the caller's name cannot be used: {problem}")]
    UnusableName {
        /// Why not.
        problem: &'static str,
    },
    /// What it takes to know the caller failed.
    #[error("the agent cannot tell who calls just now: {0}")]
    Store(#[from] StoreError),
}

impl AuthenticationError {
    /// What was wrong, in the words of the audit: nothing of what was shown.
    fn reason(&self) -> &'static str {
        match self {
            Self::Missing => "nothing shown",
            Self::Malformed => "malformed authorization",
            Self::UnknownToken => "unknown token",
            Self::Expired { .. } => "expired token",
            Self::Jwt(_) => "refused JSON web token",
            Self::Certificate(_) => "unusable certificate",
            Self::CertificateExpired => "expired certificate",
            Self::ReservedName { .. } | Self::UnusableName { .. } => "unusable name",
            Self::Store(_) => "failed store",
        }
    }

    /// True if the caller can do nothing about it.
    pub(crate) fn is_ours(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Jwt(OidcError::NoKeys(_)))
    }
}

/// What a caller shows.
#[derive(Clone, Debug, Default)]
pub struct Shown<'a> {
    /// The `authorization` header. `Err` if it is there more than once, or no text.
    pub authorization: Option<Result<&'a str, ()>>,
    /// The name in the certificate of its connection, which was checked, or why there is none in it.
    pub certificate: Option<&'a Result<CertificateName, String>>,
    /// Where it comes from, if that is known.
    pub peer: Option<IpAddr>,
}

/// Finds out who calls.
pub struct Authenticator {
    store: Arc<dyn Store>,
    directory: Arc<Directory>,
    oidc: Oidc,
    door: Door,
    refusals: Arc<Refusals>,
    /// Tells of a principal that is in other groups than before.
    on_other_groups: Box<dyn Fn() + Send + Sync>,
}

/// Whether callers are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Everybody is the local admin: for loopback only, and only if that was asked for.
    Open,
    /// Callers must show who they are.
    Closed,
}

impl Authenticator {
    /// One that knows the tokens in `store` and those of the issuers.
    pub fn new(store: Arc<dyn Store>, directory: Arc<Directory>, oidc: Oidc, door: Door) -> Self {
        Self {
            store,
            directory,
            oidc,
            door,
            refusals: Arc::default(),
            on_other_groups: Box::new(|| {}),
        }
    }

    /// The same, which tells when an issuer names other groups of a principal than before: what runs as it may have lost something.
    #[must_use]
    pub fn telling_of_other_groups(self, tell: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            on_other_groups: Box::new(tell),
            ..self
        }
    }

    /// The callers that were refused, for the audit.
    pub fn refusals(&self) -> Arc<Refusals> {
        self.refusals.clone()
    }

    /// Who calls. Whoever is refused is counted for the audit.
    pub async fn authenticate(&self, shown: &Shown<'_>) -> Result<Principal, AuthenticationError> {
        let known = self.who(shown).await;
        if let Err(error) = &known
            && !error.is_ours()
        {
            self.refusals.note(shown.peer, error.reason(), now_ms());
        }
        known
    }

    /// A token is what a caller says, a certificate what its connection has: the token counts.
    async fn who(&self, shown: &Shown<'_>) -> Result<Principal, AuthenticationError> {
        if self.door == Door::Open {
            return Ok(Principal::local_admin());
        }
        match (shown.authorization, shown.certificate) {
            (Some(authorization), _) => {
                let header = authorization.map_err(|()| AuthenticationError::Malformed)?;
                if header.len() > AUTHORIZATION_BYTES_MAX {
                    return Err(AuthenticationError::Malformed);
                }
                // The scheme is compared in any case, as HTTP has it.
                let scheme = header.get(..tokens::SCHEME.len()).unwrap_or_default();
                if !scheme.eq_ignore_ascii_case(tokens::SCHEME) {
                    return Err(AuthenticationError::Malformed);
                }
                self.by_token(header.get(tokens::SCHEME.len()..).unwrap_or_default().trim()).await
            }
            (None, Some(certificate)) => self.by_certificate(certificate),
            (None, None) => Err(AuthenticationError::Missing),
        }
    }

    async fn by_token(&self, text: &str) -> Result<Principal, AuthenticationError> {
        let Some(token) = TokenText::parse(text) else {
            return self.by_jwt(text).await;
        };
        let record = match self.store.token(token.id()).await? {
            Some(record) if token.is(&record.hash) => record,
            _ => return Err(AuthenticationError::UnknownToken),
        };
        let now = now_ms();
        if record.is_expired(now) {
            return Err(AuthenticationError::Expired { id: record.id });
        }
        let interval = i64::try_from(TOKEN_USE_WRITE_INTERVAL.as_millis()).unwrap_or(i64::MAX);
        if record.last_use_time_ms.is_none_or(|last| now.saturating_sub(last) >= interval) {
            // The call itself is sound: that its use is not written down is for the log.
            if let Err(error) = self.store.use_token(&record.id, now).await {
                tracing::warn!(%error, token = record.id, "failed to write a token's use");
            }
        }
        // It was made before there was a group of that name.
        if self.directory.is_group(&record.principal) {
            return Err(AuthenticationError::ReservedName { name: record.principal });
        }
        Ok(self.directory.absent_principal(&self.store, &record.principal).await?)
    }

    async fn by_jwt(&self, text: &str) -> Result<Principal, AuthenticationError> {
        if !self.oidc.knows_form(text) {
            return Err(AuthenticationError::UnknownToken);
        }
        let named = self.oidc.verify(text).await?;
        let principal = self
            .directory
            .foreign_principal(&named.name, named.groups.clone().unwrap_or_default())?;
        if self.directory.remember(&self.store, &named, now_ms()).await? {
            (self.on_other_groups)();
        }
        Ok(principal)
    }

    fn by_certificate(&self, certificate: &Result<CertificateName, String>) -> Result<Principal, AuthenticationError> {
        let certificate = certificate
            .as_ref()
            .map_err(|problem| AuthenticationError::Certificate(problem.clone()))?;
        if certificate.not_after_ms <= now_ms() {
            return Err(AuthenticationError::CertificateExpired);
        }
        self.directory.foreign_principal(&certificate.name, Default::default())
    }
}

#[cfg(test)]
mod tests;
