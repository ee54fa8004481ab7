//! Who asks, and whether they may. Every service method takes a `RequestContext` and makes one `authorize` call before
//! it looks at anything: what a caller may not know about must not show in an error either.

pub mod principal;

use async_trait::async_trait;
use stream_spec::name::{ConnectionName, CredentialName, ScopeName, StreamName, VolumeName};

use crate::services::error::ServiceError;
use crate::store::Parent;

pub use principal::Principal;
use privilege::SecurableType;
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

/// What someone wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Make one.
    Create,
    /// See one.
    Read,
    /// See which there are.
    List,
    /// Change what it is.
    Update,
    /// Change how it runs, or repair it.
    Operate,
    /// Take it away.
    Delete,
    /// Ask what would come of a declaration.
    Check,
    /// Try whether it works.
    Test,
    /// Say who may do what with it.
    Grant,
}

/// What they want to do it to.
#[derive(Clone, Copy, Debug)]
pub enum Securable<'a> {
    /// The agent itself.
    Agent,
    /// One stream.
    Stream(&'a StreamName),
    /// The streams of a catalog or schema.
    Streams(&'a Parent),
    /// One connection.
    Connection(&'a ConnectionName),
    /// All connections.
    Connections,
    /// One service credential.
    Credential(&'a CredentialName),
    /// All service credentials.
    Credentials,
    /// One secret scope. `Update` writes and deletes secrets in it, `Read` lists their names: no call returns a value.
    SecretScope(&'a ScopeName),
    /// All secret scopes.
    SecretScopes,
    /// One volume.
    Volume(&'a VolumeName),
    /// The volumes of a catalog or schema.
    Volumes(&'a Parent),
    /// The grants on something.
    Grants(SecurableType, &'a str),
    /// The tokens of one principal.
    Tokens(&'a str),
}

/// Decides who may do what.
#[async_trait]
pub trait Authorizer: Send + Sync + 'static {
    /// `Ok` if the caller may; `ServiceError::PermissionDenied` if not, the same whether the securable exists or not.
    async fn authorize(&self, context: &RequestContext, action: Action, securable: Securable<'_>) -> Result<(), ServiceError>;
}

/// Lets the local admin do everything and everybody else nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalAdminOnly;

#[async_trait]
impl Authorizer for LocalAdminOnly {
    async fn authorize(&self, context: &RequestContext, action: Action, _securable: Securable<'_>) -> Result<(), ServiceError> {
        if context.principal == Principal::local_admin() {
            return Ok(());
        }
        Err(ServiceError::PermissionDenied {
            principal: context.principal.name().to_owned(),
            action,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_local_admin_may_do_anything() {
        for (name, allowed) in [("local-admin", true), ("somebody", false), ("", false)] {
            let context = RequestContext {
                principal: Principal::new(name, Default::default()),
                request_id: "r".into(),
            };
            let answer = LocalAdminOnly.authorize(&context, Action::Read, Securable::Agent).await;
            assert_eq!(answer.is_ok(), allowed, "{name}");
        }
    }
}
