//! Why a call is refused or fails, in the words of the product. How it travels is the adapters' business
//! (`grpc/status.rs`).

use stream_spec::verdict::Finding;
use stream_spec::violation::Violation;

use crate::governance::calls::OutOfRow;
use crate::governance::denial::Denial;
use crate::governance::secrets::VaultError;
use crate::limits::CONNECTION_TESTS_AT_ONCE_MAX;
use crate::store::StoreError;
use crate::store::secrets::Expected;

/// Kind of thing that a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A stream.
    Stream,
    /// A connection.
    Connection,
    /// A token.
    Token,
    /// A service credential.
    Credential,
    /// A secret scope.
    Scope,
    /// A secret of a scope.
    Secret,
    /// A volume.
    Volume,
    /// The grants on something.
    Grants,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stream => "stream",
            Self::Connection => "connection",
            Self::Token => "token",
            Self::Credential => "service credential",
            Self::Scope => "secret scope",
            Self::Secret => "secret",
            Self::Volume => "volume",
            Self::Grants => "set of grants",
        })
    }
}

/// Why a call is refused or fails.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The request is wrong, whatever the state of the agent.
    #[error("the request is not valid: {}", list(.0))]
    Invalid(Vec<Violation>),
    /// This agent cannot do that yet.
    #[error("{}", list(.0))]
    MissingCapability(Vec<Violation>),
    /// There is no such thing.
    #[error("there is no {kind} `{name}`")]
    NotFound {
        /// What was looked for.
        kind: Kind,
        /// Under which name.
        name: String,
    },
    /// The name is taken.
    #[error("the {kind} `{name}` exists already{hint}")]
    AlreadyExists {
        /// What was to be created.
        kind: Kind,
        /// Under which name.
        name: String,
        /// More about it, starting with a punctuation mark; may be empty.
        hint: &'static str,
    },
    /// The request is sound, but not in this state of the world.
    #[error("{}", list(.0))]
    Precondition(Vec<Violation>),
    /// A schema or exclusion update that needs a new stream.
    #[error("the update is not compatible: {}", list_findings(.0))]
    UpdateRefused(Vec<Finding>),
    /// Someone else changed it since the caller looked.
    #[error("the {what} of the {kind} `{name}` is {found} and the request was planned on {wanted}; read it again and plan again")]
    Conflict {
        /// What it belongs to.
        kind: Kind,
        /// Under which name.
        name: String,
        /// Which generation.
        what: &'static str,
        /// In force.
        found: u64,
        /// Asked for.
        wanted: u64,
    },
    /// The name was deleted and created again since the caller looked.
    #[error("the {kind} `{name}` that the request was planned on is gone, and another one has its name; read it again and plan again")]
    AnotherLife {
        /// What it is.
        kind: Kind,
        /// Under which name.
        name: String,
    },
    /// The caller may not do that.
    #[error("{0}")]
    PermissionDenied(Box<Denial>),
    /// As many connections are being tried as may be.
    #[error("{CONNECTION_TESTS_AT_ONCE_MAX} connections are being tried, which is as many as the agent tries at once; try this one again")]
    TestsAreOn,
    /// A table cannot be looked at just now.
    #[error("the table cannot be looked at: {0}")]
    TableUnavailable(#[source] stream_pipeline::table::TableError),
    /// A secret cannot be read or kept.
    #[error(transparent)]
    Vault(VaultError),
    /// The store failed.
    #[error("the agent's database failed: {0}")]
    Store(#[from] StoreError),
    /// A call did not keep to what is written of it.
    #[error("the agent gives no answer, by a mistake of its own: {0}")]
    OutOfRow(#[from] OutOfRow),
    /// A random number was needed and the system gave none.
    #[error("the system gave no random numbers: {0}")]
    Random(#[source] getrandom::Error),
}

impl From<VaultError> for ServiceError {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::ScopeMissing { scope } => Self::NotFound {
                kind: Kind::Scope,
                name: scope.to_string(),
            },
            VaultError::AnotherLife { scope } => Self::AnotherLife {
                kind: Kind::Scope,
                name: scope.to_string(),
            },
            VaultError::SecretMissing { scope, key } => Self::NotFound {
                kind: Kind::Secret,
                name: format!("{scope}/{key}"),
            },
            VaultError::Unexpected {
                scope,
                key,
                expected: Expected::Nothing | Expected::Anything,
            } => Self::AlreadyExists {
                kind: Kind::Secret,
                name: format!("{scope}/{key}"),
                hint: "; choose another key, or take it over",
            },
            VaultError::Store(error) => Self::Store(error),
            other => Self::Vault(other),
        }
    }
}

impl ServiceError {
    /// One violation that refuses a request as it is.
    pub(crate) fn invalid(field: impl Into<String>, value: &str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Invalid(vec![Violation::new(field, value, problem, remedy)])
    }

    /// One violation that refuses a request in this state of the world.
    pub(crate) fn precondition(field: impl Into<String>, value: &str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Precondition(vec![Violation::new(field, value, problem, remedy)])
    }
}

fn list(violations: &[Violation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn list_findings(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(|finding| format!("{}: {}", finding.path, finding.text))
        .collect::<Vec<_>>()
        .join("; ")
}
