//! Who asks, and whether they may. Every service method takes a `RequestContext` and makes one `authorize` call before
//! it looks at anything: what a caller may not know about must not show in an error either.
//!
//! `calls.rs` names the calls, `rules.rs` says what each needs, `authorizer.rs` decides by what the store has.

pub mod admission;
pub mod authentication;
mod authorizer;
pub mod aws;
pub mod calls;
pub mod credentials;
pub mod denial;
mod grants;
#[cfg(test)]
mod guide;
#[cfg(test)]
mod matrix;
pub(crate) mod named;
pub mod principal;
pub mod private_folders;
pub mod rules;
pub mod secrets;
pub mod securable;
pub mod volumes;

use async_trait::async_trait;

use crate::services::error::ServiceError;

pub use authorizer::GrantAuthorizer;
pub use principal::Principal;
use privilege::{Privilege, SecurableType};
pub use securable::{Action, Securable, SecurableKind};
/// What can be granted, and on what: the provider's plan reads the same words.
pub use stream_spec::privilege;

/// Who makes a call, and what to call it in logs.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// Who.
    pub principal: Principal,
    /// Random, or as the caller named it; in every log line of the call.
    pub request_id: String,
}

/// One item of a list that is to be filtered.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// What privileges on it are granted on; for a stream its table.
    pub securable_type: SecurableType,
    /// The name of that.
    pub name: &'a str,
    /// Who owns it, where the list says so; `None` has it looked up.
    pub owner: Option<&'a str>,
}

/// That a caller may do what it asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// The life of the name that was judged; `None`: any, and whatever has no lives.
    pub uid: Option<String>,
}

impl Allowed {
    /// The one life that a call may act on, if its caller means the one of uid `meant` (empty: any); empty for any. `None` if the
    /// caller means another one than was judged.
    pub fn life(self, meant: &str) -> Option<String> {
        match self.uid {
            Some(judged) if meant.is_empty() || judged == meant => Some(judged),
            Some(_) => None,
            None => Some(meant.to_owned()),
        }
    }
}

/// Decides who may do what.
#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// `Ok` if the caller may; `ServiceError::PermissionDenied` if not, the same whether the securable exists or not;
    /// `ServiceError::NotFound` where there is nothing that could be judged and the caller may know that.
    async fn authorize(&self, context: &RequestContext, action: Action, securable: Securable<'_>) -> Result<Allowed, ServiceError>;

    /// Which of these, all of one kind, a principal may read, in their order.
    async fn readable(&self, principal: &Principal, kind: SecurableKind, listed: &[Listed<'_>]) -> Result<Vec<bool>, ServiceError>;

    /// Whether a principal has this privilege on something, be it as its owner or as an admin.
    async fn holds(
        &self,
        principal: &Principal,
        privilege: Privilege,
        securable_type: SecurableType,
        name: &str,
    ) -> Result<bool, ServiceError>;
}
