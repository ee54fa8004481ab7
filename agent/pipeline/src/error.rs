//! The one error type of this package: whose fault, and whether trying again can help.

/// Whether the same call can succeed later without anyone changing anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The world may heal: a broker that is down, a full disk.
    Later,
    /// Someone must act first.
    No,
}

/// Why a step of a pipeline failed.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The source cannot be used as asked: unreachable, unknown topic, refused.
    #[error("{message}")]
    Source {
        /// CamelCase word for machines.
        reason: &'static str,
        /// For users: address, value seen, what to do.
        message: String,
        /// Whether to try again.
        retry: Retry,
    },
    /// The table cannot be used as asked.
    #[error(transparent)]
    Table(#[from] crate::table::TableError),
    /// The definition cannot run here.
    #[error("{message}")]
    Definition {
        /// For users.
        message: String,
    },
    /// A broken invariant of ours.
    #[error("internal error: {message}; please report it")]
    Internal {
        /// What broke.
        message: String,
    },
}

impl PipelineError {
    /// The word for machines of an error of the source.
    pub(crate) fn source_reason(&self) -> Option<&'static str> {
        match self {
            Self::Source { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Whether trying again can help.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Source { retry, .. } => *retry,
            Self::Table(error) => error.retry(),
            Self::Definition { .. } | Self::Internal { .. } => Retry::No,
        }
    }
}
