//! Protobuf: bytes to columns by a program that is compiled once per pair of schemas, with the results of Spark's
//! `from_protobuf` in PERMISSIVE mode.
//!
//! `compile` makes a tree of nodes (`node`) parallel to the columns. `fast` takes a message without a surprise through it; of any
//! other, and so of any that is given up, `read` does from the wire (`wire`, `scalar`, `names`), and `complete` ends the row. Nothing is
//! built in between. The one invariant: a message is one row whatever it holds, and one that is given up leaves nothing behind but
//! a null.

mod compile;
mod complete;
mod fast;
mod names;
mod node;
mod read;
mod run;
mod scalar;
mod wire;

use stream_spec::schema::protobuf::tree::ProtoMessage;

use self::fast::Turns;
use self::node::MessageNode;
use self::run::Run;
use self::wire::Wire;
use crate::builders::{Column, ColumnBuilder};
use crate::error::CompileError;
use crate::report::MisfitReason;

/// How messages of one schema become rows of another.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    root: MessageNode,
    turns: Turns,
}

impl Program {
    /// A program that reads messages of `writer` as `reader` has them.
    pub(crate) fn compile(writer: &ProtoMessage, reader: &ProtoMessage) -> Result<Self, CompileError> {
        let root = compile::message(writer, reader)?;
        let turns = Turns::new(fast::can_read(&root));
        Ok(Self { root, turns })
    }

    /// Reads every message the exact way.
    pub(crate) fn without_fast_way(&mut self) {
        self.turns = Turns::new(false);
    }

    /// Appends one row, whatever the payload holds. Adds to `cells` those that it filled.
    pub(crate) fn append(&mut self, payload: &[u8], column: &mut Column, cells: &mut usize) -> Option<MisfitReason> {
        let Column::Struct(rows) = &mut *column else {
            column.append_null();
            return Some(read::defect());
        };
        if self.turns.is_fast() {
            let taken = fast::append(&mut self.root, payload, rows);
            self.turns.note(taken.is_some());
            if let Some(filled) = taken {
                *cells += filled;
                return None;
            }
        }
        let row = rows.len();
        let mut run = Run::new();
        let read = self.root.read(&mut Wire::new(payload), None, rows, &mut run);
        let complete = read.and_then(|()| self.root.complete_row(rows, &mut run));
        let outcome = complete.and_then(|()| run.flaw.map_or(Ok(()), Err));
        *cells += run.cells();
        if outcome.is_err() {
            self.root.abandon();
            rows.truncate(row);
            rows.append_null();
        }
        outcome.err()
    }
}
