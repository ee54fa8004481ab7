//! Why a value could not be read or written. Invariant: it says where and what kind of thing, never the value itself, which
//! may be a secret.

use crate::path::AttributePath;

/// A value that does not fit its type, or bytes that are no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {problem}")]
pub struct CodecError {
    /// Where in the value.
    pub path: AttributePath,
    /// What is wrong.
    pub problem: CodecProblem,
}

/// What can be wrong with an encoded value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecProblem {
    /// Another kind of value stands there.
    #[error("wanted {wanted}, found {found}")]
    Kind {
        /// What the type asks for.
        wanted: &'static str,
        /// What there is.
        found: &'static str,
    },
    /// The type has no such attribute.
    #[error("there is no such attribute in the schema")]
    UnknownAttribute,
    /// The bytes end within a value.
    #[error("the bytes end within a value")]
    Truncated,
    /// More bytes than one value.
    #[error("{count} bytes follow the value")]
    TrailingBytes {
        /// How many.
        count: usize,
    },
    /// A text that is not Unicode.
    #[error("a text is not UTF-8")]
    NotUtf8,
    /// A number that is not one.
    #[error("a number is not a finite decimal number")]
    NotANumber,
    /// Values inside values inside values.
    #[error("values are nested more than {depth_max} deep")]
    TooDeep {
        /// How deep they may be.
        depth_max: usize,
    },
    /// A marker that MessagePack does not have.
    #[error("a reserved MessagePack marker")]
    ReservedMarker,
    /// Not JSON.
    #[error("not JSON: line {line}, column {column}")]
    NotJson {
        /// Line of the error, from 1.
        line: usize,
        /// Column of the error, from 1.
        column: usize,
    },
}

impl CodecProblem {
    pub(crate) fn at(self, path: &AttributePath) -> CodecError {
        CodecError {
            path: path.clone(),
            problem: self,
        }
    }
}
