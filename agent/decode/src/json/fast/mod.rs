//! The short way for messages without a surprise: well-formed JSON in which every value fits its column.
//!
//! One pass from bytes to columns, guided by the shape: field names are compared with the expected ones instead of being
//! read, texts are copied from the message, numbers are computed while they are scanned. At the first surprise of any
//! kind (an error, a value that does not fit, a repeated field, a rare spelling) the message is left to the exact way.
//! The one invariant: a message that is taken here has the row that the exact way gives it, and no misfit.

mod number;
mod scan;
mod skip;
#[cfg(test)]
mod tests;
mod text;

use super::convert::MICROS_PER_SECOND;
use super::shape::{Shape, StructShape};
use super::tokenizer::TokenizerSpace;
use crate::builders::{Column, ColumnBuilder, ListColumn, MapColumn, StructColumn};
use crate::limits::{FAST_MISSES_MAX, FAST_REST_MESSAGES, SCRATCH_BYTES_KEPT_MAX, STRUCT_CELLS_PER_MESSAGE_MAX};
use crate::text::datetime::{parse_date, parse_timestamp, parse_timestamp_ntz};
use crate::text::decimal;

/// What the short way keeps from one message to the next. It changes the time that messages take, never their rows.
#[derive(Default)]
pub(super) struct FastSpace {
    /// For texts with escapes.
    unescaped: Vec<u8>,
    tokenizer: TokenizerSpace,
    /// Messages left since the last one taken.
    misses: u32,
    /// Messages to leave unread.
    rest: u32,
}

/// Appends one message as one row and adds to `cells` those that it filled, or leaves both as they were.
pub(super) fn append(text: &str, shape: &mut Shape, column: &mut Column, space: &mut FastSpace, cells: &mut usize) -> bool {
    if matches!(shape, Shape::Leaf) {
        return false;
    }
    if space.rest > 0 {
        space.rest -= 1;
        return false;
    }
    let row = column.len();
    let mut reader = Reader {
        text,
        input: text.as_bytes(),
        cells_left: STRUCT_CELLS_PER_MESSAGE_MAX,
        unescaped: &mut space.unescaped,
        tokenizer: &mut space.tokenizer,
    };
    let taken = reader.root(shape, column).is_some();
    let filled = STRUCT_CELLS_PER_MESSAGE_MAX - reader.cells_left;
    if taken {
        *cells += filled;
        space.misses = 0;
    } else {
        column.truncate(row);
        space.misses = space.misses.saturating_add(1);
        if space.misses >= FAST_MISSES_MAX {
            space.rest = FAST_REST_MESSAGES;
        }
    }
    if space.unescaped.capacity() > SCRATCH_BYTES_KEPT_MAX {
        space.unescaped = Vec::new();
    }
    taken
}

/// A message being read. Every function takes the place to read from and gives the place behind what it read; `None` is
/// a surprise.
struct Reader<'a> {
    text: &'a str,
    input: &'a [u8],
    cells_left: usize,
    unescaped: &'a mut Vec<u8>,
    /// For values that the exact way turns into text or bytes.
    tokenizer: &'a mut TokenizerSpace,
}

impl Reader<'_> {
    /// What follows the value does not count, as in Spark. A lone scalar has other rules and is left to the exact way.
    fn root(&mut self, shape: &mut Shape, column: &mut Column) -> Option<usize> {
        let at = self.behind_space(0);
        match (self.byte(at)?, shape, column) {
            (b'{', Shape::Struct(shape), Column::Struct(column)) => self.object(at + 1, shape, column),
            (b'[', Shape::List(element), Column::List(column)) => self.list(at + 1, element, column),
            (b'{', Shape::Map(value), Column::Map(column)) => self.map(at + 1, value, column),
            _ => None,
        }
    }

    #[inline]
    fn byte(&self, at: usize) -> Option<u8> {
        self.input.get(at).copied()
    }

    /// The place of the first byte that is no white space.
    #[inline]
    fn behind_space(&self, mut at: usize) -> usize {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte(at) {
            at += 1;
        }
        at
    }

    #[inline]
    fn value(&mut self, at: usize, shape: &mut Shape, column: &mut Column) -> Option<usize> {
        match (self.byte(at)?, shape, column) {
            (b'n', shape, column) => self.null(at, shape, column),
            (first, Shape::Leaf, column) => self.leaf(at, first, column),
            (b'{', Shape::Struct(shape), Column::Struct(column)) => self.object(at + 1, shape, column),
            (b'[', Shape::List(element), Column::List(column)) => self.list(at + 1, element, column),
            (b'{', Shape::Map(value), Column::Map(column)) => self.map(at + 1, value, column),
            _ => None,
        }
    }

    fn null(&mut self, at: usize, shape: &mut Shape, column: &mut Column) -> Option<usize> {
        if let Shape::Struct(shape) = shape {
            self.take_cells(shape)?;
        }
        column.append_null();
        skip::word(self.input, at, b"null")
    }

    fn take_cells(&mut self, shape: &StructShape) -> Option<()> {
        self.cells_left = self.cells_left.checked_sub(shape.cells())?;
        Some(())
    }

    fn object(&mut self, at: usize, shape: &mut StructShape, column: &mut StructColumn) -> Option<usize> {
        self.take_cells(shape)?;
        let row = column.len();
        let mut at = self.behind_space(at);
        if self.byte(at)? == b'}' {
            column.complete_row();
            return Some(at + 1);
        }
        let (mut previous, mut filled, mut seen) = (None, 0, 0_u64);
        loop {
            let predicted = shape.successor(previous);
            let (field, value) = match shape.expected_len(predicted, self.input.get(at..)?) {
                Some(len) => (Some(predicted), at + len),
                None => self.field(at, shape, previous)?,
            };
            let value = self.behind_space(value);
            at = match field.and_then(|index| Some((index, shape.field_mut(index)?, column.child(index)?))) {
                Some((index, shape, child)) => {
                    // One bit a field, or a look at the column where there are more fields than bits.
                    let bit = u32::try_from(index).ok().and_then(|index| 1_u64.checked_shl(index)).unwrap_or(0);
                    if seen & bit != 0 || (bit == 0 && child.len() != row) {
                        return None;
                    }
                    seen |= bit;
                    (previous, filled) = (Some(index), filled + 1);
                    self.value(value, shape, child)?
                }
                None => skip::value(self.input, value)?,
            };
            at = self.behind_space(at);
            match self.byte(at)? {
                b',' => at = self.behind_space(at + 1),
                b'}' => break,
                _ => return None,
            }
        }
        column.complete_row_of(filled);
        Some(at + 1)
    }

    /// Reads a name that was not expected and says which field it is, if any, and where its value is.
    #[inline(never)]
    fn field(&self, at: usize, shape: &mut StructShape, previous: Option<usize>) -> Option<(Option<usize>, usize)> {
        let (name, behind) = self.name(at)?;
        let index = shape.search(name);
        if let Some(index) = index {
            shape.learn(previous, index);
        }
        Some((index, behind))
    }

    /// A name without escapes, and the place behind the colon.
    fn name(&self, at: usize) -> Option<(&[u8], usize)> {
        let end = skip::name(self.input, at)?;
        let colon = self.behind_space(end);
        if self.byte(colon)? != b':' {
            return None;
        }
        Some((self.input.get(at + 1..end - 1)?, colon + 1))
    }

    fn list(&mut self, at: usize, element: &mut Shape, column: &mut ListColumn) -> Option<usize> {
        let mut at = self.behind_space(at);
        if self.byte(at)? != b']' {
            loop {
                at = self.value(at, element, column.elements())?;
                at = self.behind_space(at);
                match self.byte(at)? {
                    b',' => at = self.behind_space(at + 1),
                    b']' => break,
                    _ => return None,
                }
            }
        }
        column.commit();
        Some(at + 1)
    }

    fn map(&mut self, at: usize, value: &mut Shape, column: &mut MapColumn) -> Option<usize> {
        let mut at = self.behind_space(at);
        if self.byte(at)? != b'}' {
            loop {
                let (name, behind) = self.name(at)?;
                column.keys().append(name);
                at = self.value(self.behind_space(behind), value, column.values())?;
                at = self.behind_space(at);
                match self.byte(at)? {
                    b',' => at = self.behind_space(at + 1),
                    b'}' => break,
                    _ => return None,
                }
            }
        }
        column.commit();
        Some(at + 1)
    }

    #[inline]
    fn leaf(&mut self, at: usize, first: u8, column: &mut Column) -> Option<usize> {
        match (first, column) {
            (b'"', column) => self.quoted_leaf(at + 1, column),
            (b't' | b'f', Column::Boolean(column)) => {
                let word: &[u8] = if first == b't' { b"true" } else { b"false" };
                column.append(first == b't');
                skip::word(self.input, at, word)
            }
            (_, Column::String(column)) => self.rewrite(at, column),
            (b'-' | b'0'..=b'9', column) => self.number_leaf(at, column),
            _ => None,
        }
    }

    #[inline]
    fn quoted_leaf(&mut self, at: usize, column: &mut Column) -> Option<usize> {
        match column {
            Column::String(column) => return self.copy_text(at, column),
            Column::Binary(column) => return self.decode_base64(at, column),
            _ => {}
        }
        let (text, behind) = self.plain_text(at)?;
        match column {
            Column::Timestamp(column) => column.append(parse_timestamp(text)?),
            Column::TimestampNtz(column) => column.append(parse_timestamp_ntz(text)?),
            Column::Date(column) => column.append(parse_date(text)?),
            Column::Decimal { column, precision, scale } => column.append(decimal::parse(text, *precision, *scale).ok()?),
            _ => return None,
        }
        Some(behind)
    }

    #[inline]
    fn number_leaf(&self, at: usize, column: &mut Column) -> Option<usize> {
        match column {
            Column::Double(column) => {
                let (value, behind) = number::double(self.text, at)?;
                column.append(value);
                return Some(behind);
            }
            Column::Float(column) => {
                let (value, behind) = number::float(self.text, at)?;
                column.append(value);
                return Some(behind);
            }
            Column::Decimal { column, precision, scale } => {
                let behind = skip::number(self.input, at)?;
                column.append(decimal::parse(self.text.get(at..behind)?, *precision, *scale).ok()?);
                return Some(behind);
            }
            _ => {}
        }
        let (value, behind) = number::integer(self.text, at)?;
        match column {
            Column::BigInt(column) => column.append(value),
            Column::Int(column) => column.append(i32::try_from(value).ok()?),
            Column::SmallInt(column) => column.append(i16::try_from(value).ok()?),
            Column::TinyInt(column) => column.append(i8::try_from(value).ok()?),
            Column::Timestamp(column) => column.append(value.wrapping_mul(MICROS_PER_SECOND)),
            _ => return None,
        }
        Some(behind)
    }
}
