//! What Terraform already knows of a value that it does not know. Their encoding is in `msgpack.rs`.
//!
//! Invariant: a refinement is a promise. The value that comes at apply must keep it, so we pass on those we get and make
//! none of our own.

use crate::value::number::Number;

/// Facts about an unknown value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refinement {
    /// It will not be null.
    pub not_null: bool,
    /// It will start with this text.
    pub string_prefix: Option<String>,
    /// It will be at least this.
    pub number_min: Option<NumberBound>,
    /// It will be at most this.
    pub number_max: Option<NumberBound>,
    /// It will have at least so many elements.
    pub length_min: Option<u64>,
    /// It will have at most so many elements.
    pub length_max: Option<u64>,
}

/// One end of a range of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberBound {
    /// Where the range ends.
    pub number: Number,
    /// Is that number itself in the range?
    pub inclusive: bool,
}

impl Refinement {
    /// Does it say anything at all?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
