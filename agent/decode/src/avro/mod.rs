//! Avro: bytes to columns by a program that is compiled once per pair of schemas.

use stream_spec::schema::avro::tree::AvroType;

use crate::builders::{Column, ColumnBuilder};
use crate::error::CompileError;
use crate::report::MisfitReason;

/// How messages of one schema become rows of another.
#[derive(Clone, Debug)]
pub(crate) struct Program {}

impl Program {
    /// A program that reads messages of `writer` as `reader` has them.
    pub(crate) fn compile(_writer: &AvroType, _reader: &AvroType) -> Result<Self, CompileError> {
        Ok(Self {})
    }

    /// Appends one row, whatever the payload holds.
    pub(crate) fn append(&mut self, _payload: &[u8], column: &mut Column) -> Option<MisfitReason> {
        column.append_null();
        None
    }
}
