//! Why a registry did not give what it was asked for, in words for users. No error holds a secret or a part of an answer.

use std::time::Duration;

use crate::error::Retry;

/// Why a registry did not give what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// No client can be opened with these properties.
    #[error("{problem}; {remedy}")]
    Properties {
        /// What is wrong with which of them.
        problem: String,
        /// What to write instead.
        remedy: String,
    },
    /// The registry answers, and does not have it.
    #[error("the schema registry has no {what}")]
    NotFound {
        /// The subject, version or id.
        what: String,
    },
    /// The registry does not let this user in, or not there.
    #[error("the schema registry `{url}` refuses {user} with status {status}; {remedy}")]
    Refused {
        /// The address that answered.
        url: String,
        /// `the API key …`, or what stands for none.
        user: String,
        /// 401 or 403.
        status: u16,
        /// What to do.
        remedy: &'static str,
    },
    /// No address of it answers, or all ask to be left alone for a while.
    #[error("the schema registry does not answer: {cause}")]
    Unavailable {
        /// What was met at which address.
        cause: String,
        /// When asking again makes sense, where that is known.
        retry_after: Option<Duration>,
    },
    /// What answers is no schema registry, or says what none says.
    #[error("`{url}` does not answer as a Confluent schema registry: {problem}; check the path of `schema_registry_url`")]
    Malformed {
        /// The address that answered.
        url: String,
        /// What the answer is.
        problem: String,
    },
    /// The registry has it, and no stream can use it.
    #[error("{what} cannot be used: {reason}")]
    Unusable {
        /// The subject and version, or the id.
        what: String,
        /// Why, and what to do.
        reason: String,
    },
}

impl RegistryError {
    /// CamelCase word for machines.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Properties { .. } => "RegistryMisconfigured",
            Self::NotFound { .. } => "SchemaNotFound",
            Self::Refused { .. } => "RegistryRefused",
            Self::Unavailable { .. } => "RegistryUnavailable",
            Self::Malformed { .. } => "RegistryMalformed",
            Self::Unusable { .. } => "SchemaUnusable",
        }
    }

    /// Whether the same call can succeed later without a change of the stream or its connection: subjects are registered, rights are
    /// granted and registries mended elsewhere.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Properties { .. } => Retry::No,
            Self::NotFound { .. } | Self::Refused { .. } | Self::Unavailable { .. } | Self::Malformed { .. } | Self::Unusable { .. } => {
                Retry::Later
            }
        }
    }
}
