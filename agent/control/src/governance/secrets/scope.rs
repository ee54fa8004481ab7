//! Whose secrets they are: a scope that users name, or the literal secrets of one connection. The invariant: no text that
//! a user can write as a scope's name is the text of a connection's scope, because names hold no `/`.

use stream_spec::name::ScopeName;

/// What stands before a connection's uid.
const CONNECTION: &str = "connection/";

/// Something that has secrets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScopeId {
    /// A secret scope.
    Named(ScopeName),
    /// The literal secrets of the connection with that uid.
    Connection(String),
}

impl ScopeId {
    /// The scope of a stored text.
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix(CONNECTION) {
            Some(uid) if !uid.is_empty() => Some(Self::Connection(uid.to_owned())),
            Some(_) => None,
            None => ScopeName::parse(text).ok().map(Self::Named),
        }
    }
}

impl std::fmt::Display for ScopeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(name) => name.fmt(f),
            Self::Connection(uid) => write!(f, "{CONNECTION}{uid}"),
        }
    }
}
