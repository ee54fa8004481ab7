//! Why a call to the agent brought no answer. Nothing here knows Terraform; `diagnostics` turns it into words for users.

use std::time::Duration;

use featurestore_proto::v1;
use tonic::Code;

/// A call that failed for good: retries, where they could help, are over.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentError {
    /// No connection, or one that broke before the answer came.
    #[error("the agent at `{endpoint}` cannot be reached: {cause}")]
    Unreachable {
        /// Address that was tried.
        endpoint: String,
        /// How often.
        attempts: u32,
        /// The transport's reason.
        cause: String,
        /// True if an attempt was cut off after it was sent: the agent may have acted on it.
        may_have_arrived: bool,
    },
    /// Connected, but silent.
    #[error("the agent at `{endpoint}` gave no answer to `{call}` within {waited:?}")]
    NoAnswer {
        /// Address that was tried.
        endpoint: String,
        /// Name of the call.
        call: &'static str,
        /// Time that one attempt was given.
        waited: Duration,
    },
    /// Terraform asked the provider to stop.
    #[error("stopped while waiting for the agent")]
    Stopped {
        /// True if an attempt was sent: the agent may have acted on it.
        may_have_arrived: bool,
    },
    /// The agent answered, with a refusal.
    #[error("the agent refused `{call}`: {message}")]
    Refused {
        /// Name of the call.
        call: &'static str,
        /// Machine-readable reason.
        code: Code,
        /// The agent's words.
        message: String,
        /// Field by field, where the agent says so.
        detail: Box<v1::ErrorDetail>,
        /// True if an earlier attempt was cut off after it was sent: the agent may have acted on that one.
        may_have_arrived: bool,
    },
    /// The agent answered without a part that every answer has.
    #[error("the agent's answer to `{call}` has no {part}; its version and this provider's do not fit")]
    Incomplete {
        /// Name of the call.
        call: &'static str,
        /// What is missing.
        part: &'static str,
    },
    /// The provider has no agent to ask: its configuration is not known yet.
    #[error("the provider's configuration is not known yet: {unknown} depends on a value that only an apply brings")]
    NotConfigured {
        /// Attributes of the provider block that are unknown.
        unknown: String,
    },
}

impl AgentError {
    /// The agent's code, where it answered.
    pub(crate) fn code(&self) -> Option<Code> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// A refusal that follows from an answer, where the agent itself refused nothing.
    pub(crate) fn refused_here(call: &'static str, code: Code, message: impl Into<String>) -> Self {
        Self::Refused {
            call,
            code,
            message: message.into(),
            detail: Box::default(),
            may_have_arrived: false,
        }
    }

    /// True if nobody answered, so that nothing is known about what was asked.
    pub(crate) fn is_silence(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::NoAnswer { .. } | Self::NotConfigured { .. } => true,
            Self::Refused { code, .. } => matches!(code, Code::Unavailable | Code::ResourceExhausted),
            Self::Stopped { .. } | Self::Incomplete { .. } => false,
        }
    }

    /// True if the agent may have acted on the call, though it brought no answer.
    pub(crate) fn may_have_arrived(&self) -> bool {
        match self {
            Self::Unreachable { may_have_arrived, .. } | Self::Refused { may_have_arrived, .. } | Self::Stopped { may_have_arrived } => {
                *may_have_arrived
            }
            Self::NoAnswer { .. } => true,
            Self::Incomplete { .. } | Self::NotConfigured { .. } => false,
        }
    }

    /// True if what was asked for does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        self.code() == Some(Code::NotFound)
    }
}
