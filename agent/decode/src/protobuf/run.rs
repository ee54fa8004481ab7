//! What one message has used of what it may use.

use crate::builders::BytesColumn;
use crate::limits::{
    COLUMN_MADE_UP_BYTES_MAX, MADE_UP_BYTES_PER_CELL, PROTOBUF_MADE_UP_BYTES_PER_MESSAGE_MAX, PROTOBUF_NESTING_MAX,
    STRUCT_CELLS_PER_MESSAGE_MAX,
};
use crate::report::MisfitReason;

/// The state of reading one message.
pub(super) struct Run {
    /// Messages and groups that are open around the one that is being read.
    pub(super) level: usize,
    /// What is wrong with the row that was completed last: it makes the whole message unreadable unless it is superseded.
    pub(super) flaw: Option<MisfitReason>,
    cells_left: usize,
    made_up_bytes_left: usize,
}

impl Run {
    pub(super) fn new() -> Self {
        Self {
            level: 0,
            flaw: None,
            cells_left: STRUCT_CELLS_PER_MESSAGE_MAX,
            made_up_bytes_left: PROTOBUF_MADE_UP_BYTES_PER_MESSAGE_MAX,
        }
    }

    /// Column cells that the message has filled so far, and what it has made up as cells.
    pub(super) fn cells(&self) -> usize {
        let made_up = PROTOBUF_MADE_UP_BYTES_PER_MESSAGE_MAX - self.made_up_bytes_left;
        STRUCT_CELLS_PER_MESSAGE_MAX - self.cells_left + made_up / MADE_UP_BYTES_PER_CELL
    }

    #[inline]
    pub(super) fn is_top(&self) -> bool {
        self.level == 0
    }

    /// Goes into a nested message or group.
    #[inline]
    pub(super) fn enter(&mut self) -> Result<(), MisfitReason> {
        self.level += 1;
        if self.level > PROTOBUF_NESTING_MAX {
            return Err(MisfitReason::BeyondLimit);
        }
        Ok(())
    }

    #[inline]
    pub(super) fn leave(&mut self) {
        self.level -= 1;
    }

    /// Takes as many column cells as one more message fills.
    #[inline]
    pub(super) fn take_cells(&mut self, cells: usize) -> Result<(), MisfitReason> {
        self.cells_left = self.cells_left.checked_sub(cells).ok_or(MisfitReason::BeyondLimit)?;
        Ok(())
    }

    /// Takes room in that column for text that is not in the message.
    #[inline]
    pub(super) fn make_up(&mut self, bytes: usize, column: &mut BytesColumn) -> Result<(), MisfitReason> {
        self.made_up_bytes_left = self.made_up_bytes_left.checked_sub(bytes).ok_or(MisfitReason::BeyondLimit)?;
        if column.tail().len() > COLUMN_MADE_UP_BYTES_MAX {
            return Err(MisfitReason::BeyondLimit);
        }
        Ok(())
    }
}
