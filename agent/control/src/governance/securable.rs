//! What someone wants to do, and to what: the words in which services ask the authorizer. The invariant: a securable is
//! named by parsed names or given as it was declared, never as text that nobody has looked at.

use stream_spec::connection::ConnectionSpec;
use stream_spec::name::{ConnectionName, CredentialName, ScopeName, StreamName, VolumeName};
use stream_spec::stream::StreamSpec;

use super::privilege::SecurableType;
use crate::store::Parent;

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

impl Action {
    /// As it is written in errors, in the audit and in the documentation.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::List => "list",
            Self::Update => "change",
            Self::Operate => "operate",
            Self::Delete => "delete",
            Self::Check => "check",
            Self::Test => "test",
            Self::Grant => "set",
        }
    }
}

/// What they want to do it to.
#[derive(Clone, Copy, Debug)]
pub enum Securable<'a> {
    /// The agent itself.
    Agent,
    /// One stream.
    Stream(&'a StreamName),
    /// A stream as it is declared, there already or not.
    NewStream(&'a StreamSpec),
    /// The streams of a catalog or schema.
    Streams(&'a Parent),
    /// One connection.
    Connection(&'a ConnectionName),
    /// A connection as it is declared, there already or not: what it refers to is asked for too.
    DeclaredConnection(&'a ConnectionSpec),
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
    /// The grants on anything.
    AllGrants,
    /// The tokens of one principal.
    Tokens(&'a str),
    /// A declaration that cannot be read, so that it names nothing.
    Unreadable,
}

/// A securable without its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is what the securable of that name is")]
pub enum SecurableKind {
    Agent,
    Stream,
    NewStream,
    Streams,
    Connection,
    DeclaredConnection,
    Connections,
    Credential,
    Credentials,
    SecretScope,
    SecretScopes,
    Volume,
    Volumes,
    Grants,
    AllGrants,
    Tokens,
    Unreadable,
}

impl SecurableKind {
    /// As it is written in errors, in the audit and in the documentation.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Stream | Self::NewStream => "stream",
            Self::Streams => "streams",
            Self::Connection | Self::DeclaredConnection => "connection",
            Self::Connections => "connections",
            Self::Credential => "service credential",
            Self::Credentials => "service credentials",
            Self::SecretScope => "secret scope",
            Self::SecretScopes => "secret scopes",
            Self::Volume => "volume",
            Self::Volumes => "volumes",
            Self::Grants | Self::AllGrants => "grants",
            Self::Tokens => "tokens",
            Self::Unreadable => "declaration",
        }
    }
}

impl Securable<'_> {
    /// What kind it is.
    pub fn kind(&self) -> SecurableKind {
        match self {
            Self::Agent => SecurableKind::Agent,
            Self::Stream(_) => SecurableKind::Stream,
            Self::NewStream(_) => SecurableKind::NewStream,
            Self::Streams(_) => SecurableKind::Streams,
            Self::Connection(_) => SecurableKind::Connection,
            Self::DeclaredConnection(_) => SecurableKind::DeclaredConnection,
            Self::Connections => SecurableKind::Connections,
            Self::Credential(_) => SecurableKind::Credential,
            Self::Credentials => SecurableKind::Credentials,
            Self::SecretScope(_) => SecurableKind::SecretScope,
            Self::SecretScopes => SecurableKind::SecretScopes,
            Self::Volume(_) => SecurableKind::Volume,
            Self::Volumes(_) => SecurableKind::Volumes,
            Self::Grants(..) => SecurableKind::Grants,
            Self::AllGrants => SecurableKind::AllGrants,
            Self::Tokens(_) => SecurableKind::Tokens,
            Self::Unreadable => SecurableKind::Unreadable,
        }
    }

    /// Which one; empty where there is only one.
    pub fn name(&self) -> String {
        match self {
            Self::Agent | Self::Connections | Self::Credentials | Self::SecretScopes | Self::AllGrants | Self::Unreadable => String::new(),
            Self::Stream(name) => name.to_string(),
            Self::NewStream(spec) => spec.name.to_string(),
            Self::Streams(parent) | Self::Volumes(parent) => parent.to_string(),
            Self::Connection(name) => name.to_string(),
            Self::DeclaredConnection(spec) => spec.name.to_string(),
            Self::Credential(name) => name.to_string(),
            Self::SecretScope(name) => name.to_string(),
            Self::Volume(name) => name.to_string(),
            Self::Grants(securable_type, name) => format!("{securable_type} {name}"),
            Self::Tokens(principal) => (*principal).to_owned(),
        }
    }
}

impl std::fmt::Display for Securable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let noun = self.kind().noun();
        match self {
            Self::Agent => f.write_str("the agent"),
            Self::Unreadable => f.write_str("a declaration that cannot be read"),
            Self::Connections | Self::Credentials | Self::SecretScopes | Self::AllGrants => f.write_str(noun),
            Self::Streams(parent) | Self::Volumes(parent) => write!(f, "{noun} of `{parent}`"),
            Self::Grants(securable_type, name) => write!(f, "the {noun} on the {} `{name}`", securable_type.noun()),
            Self::Tokens(principal) => write!(f, "{noun} of `{principal}`"),
            _ => write!(f, "the {noun} `{}`", self.name()),
        }
    }
}
