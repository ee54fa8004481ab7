//! Avro: bytes to columns by a program that is compiled once per pair of schemas, with the results of Spark's `from_avro` in
//! PERMISSIVE mode.
//!
//! `compile` (with `resolve` for schemas that differ) makes a tree of nodes (`node`) in the order of the writer's
//! bytes; `read` takes a message through it from the wire (`wire`, `scalar`) into columns. Nothing is built in between. The one
//! invariant: a message is one row whatever it holds, and one that does not fit leaves nothing behind but nulls.

mod compile;
mod keys;
mod node;
mod read;
mod resolve;
mod scalar;
mod wire;

use stream_spec::schema::avro::tree::AvroType;

use self::keys::Keys;
use self::node::{Node, Skip};
use self::read::Reader;
use crate::builders::{Column, ColumnBuilder};
use crate::error::CompileError;
use crate::report::MisfitReason;

/// How messages of one schema become rows of another.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    root: Node,
    /// Records that contain themselves, where no column has them.
    recursive: Box<[Skip]>,
    keys: Keys,
}

impl Program {
    /// A program that reads messages of `writer` as `reader` has them. Where the two do not resolve it gives up the messages that
    /// come there, as Avro does, and not all of them.
    pub(crate) fn compile(writer: &AvroType, reader: &AvroType) -> Result<Self, CompileError> {
        let (root, recursive) = compile::program(writer, reader);
        Ok(Self {
            root,
            recursive,
            keys: Keys::default(),
        })
    }

    /// Whether the two do not resolve at all: no message is read, whatever it holds.
    pub(crate) fn reads_nothing(&self) -> bool {
        matches!(self.root, Node::Never)
    }

    /// Appends one row, whatever the payload holds: of a message that does not fit a struct of nulls, or null where it is no struct.
    /// Adds to `cells` those that it filled beside the row's own.
    pub(crate) fn append(&mut self, payload: &[u8], column: &mut Column, cells: &mut usize) -> Option<MisfitReason> {
        let row = column.len();
        let mut reader = Reader::new(payload, &self.recursive, &mut self.keys);
        let read = reader.value(&self.root, column);
        *cells += reader.cells();
        self.keys.end_message();
        let misfit = read.err()?;
        column.truncate(row);
        match column {
            Column::Struct(fields) => fields.complete_row(),
            other => other.append_null(),
        }
        Some(if payload.is_empty() { MisfitReason::Empty } else { misfit })
    }
}
