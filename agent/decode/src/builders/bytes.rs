//! Columns of texts and byte strings.
//!
//! A value may be written piece by piece into the open tail of the column, then either committed or taken back. Texts are checked
//! all at once at the end; malformed ones, which formats without a text's syntax bring, are repaired then. The one invariant:
//! no array of texts leaves unchecked.

#![allow(
    unsafe_code,
    reason = "texts are checked here with vector instructions; Arrow's own check of them cannot be replaced otherwise"
)]

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;

use super::validity::Validity;
use super::{ColumnBuilder, Literal, next_capacity};
use crate::text::utf8::append_repaired;

/// Bytes of a short value: what one vector instruction copies.
pub(crate) const SHORT_BYTES: usize = 16;

pub(crate) struct BytesColumn {
    kind: BytesKind,
    /// One more than elements; the last is where the open tail begins. Within `i32` because a batch's bytes are bounded.
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    validity: Validity,
}

#[derive(Clone, Copy)]
enum BytesKind {
    Text,
    Binary,
}

impl BytesColumn {
    /// A column of UTF-8 texts; `finish` checks them, and puts U+FFFD for what is malformed.
    pub(crate) fn text() -> Self {
        Self::new(BytesKind::Text)
    }

    /// A column of arbitrary byte strings.
    pub(crate) fn binary() -> Self {
        Self::new(BytesKind::Binary)
    }

    fn new(kind: BytesKind) -> Self {
        Self {
            kind,
            offsets: vec![0],
            bytes: Vec::new(),
            validity: Validity::default(),
        }
    }

    #[inline]
    pub(crate) fn append(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.commit_tail();
    }

    /// Appends the first bytes of a chunk. It costs no call: all of it is copied, and what is too much taken back.
    #[inline(always)]
    pub(crate) fn append_short(&mut self, chunk: &[u8; SHORT_BYTES], len: usize) {
        let end = self.bytes.len() + len.min(SHORT_BYTES);
        self.bytes.extend_from_slice(chunk);
        self.bytes.truncate(end);
        self.commit_tail();
    }

    /// Appends the first `len` bytes of what is ahead, or all if there are fewer.
    #[inline(always)]
    pub(crate) fn append_ahead(&mut self, ahead: &[u8], len: usize) {
        match ahead.first_chunk() {
            Some(chunk) if len <= SHORT_BYTES => self.append_short(chunk, len),
            _ => self.append(ahead.get(..len).unwrap_or(ahead)),
        }
    }

    #[inline(always)]
    pub(crate) fn append_literal(&mut self, literal: &Literal) {
        match literal.chunk() {
            Some(chunk) => self.append_short(chunk, literal.text().len()),
            None => self.append(literal.text()),
        }
    }

    /// The open tail's buffer; only append to it.
    #[inline]
    pub(crate) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Makes the open tail the next element.
    #[inline]
    pub(crate) fn commit_tail(&mut self) {
        push_offset(&mut self.offsets, self.bytes.len());
    }

    /// Forgets the open tail.
    pub(crate) fn discard_tail(&mut self) {
        self.bytes.truncate(self.tail_start());
    }

    fn tail_start(&self) -> usize {
        self.offset(self.len())
    }

    fn offset(&self, index: usize) -> usize {
        self.offsets.get(index).map_or(0, |offset| offset.cast_unsigned() as usize)
    }
}

impl ColumnBuilder for BytesColumn {
    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    fn append_null(&mut self) {
        self.validity.set_null(self.len());
        self.commit_tail();
    }

    fn truncate(&mut self, len: usize) {
        self.offsets.truncate(len + 1);
        self.validity.truncate(len);
        self.discard_tail();
    }

    fn remove(&mut self, range: Range<usize>) {
        let (start, end) = (self.offset(range.start), self.offset(range.end));
        self.bytes.drain(start..end);
        remove_offsets(&mut self.offsets, range.clone());
        self.validity.remove(range);
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let validity = self.validity.finish(self.len());
        let offsets = finish_offsets(&mut self.offsets);
        let next = Vec::with_capacity(next_capacity(self.bytes.len()));
        let bytes = Buffer::from_vec(std::mem::replace(&mut self.bytes, next));

        Ok(match self.kind {
            BytesKind::Text => Arc::new(checked_texts(offsets, bytes, validity)?),
            BytesKind::Binary => Arc::new(BinaryArray::try_new(offsets, bytes, validity)?),
        })
    }
}

/// What `StringArray::try_new` does, but for the standard library's slow look at the bytes.
fn checked_texts(offsets: OffsetBuffer<i32>, bytes: Buffer, validity: Option<NullBuffer>) -> Result<StringArray, ArrowError> {
    let elements = offsets.len() - 1;
    let are_texts = simdutf8::basic::from_utf8(&bytes).is_ok_and(|text| {
        offsets
            .iter()
            .all(|offset| usize::try_from(*offset).is_ok_and(|offset| text.is_char_boundary(offset)))
    });
    if validity.as_ref().is_some_and(|validity| validity.len() != elements) {
        // It says what is wrong.
        return StringArray::try_new(offsets, bytes, validity);
    }
    if !are_texts {
        let (offsets, bytes) = repaired(&offsets, &bytes);
        return StringArray::try_new(offsets, bytes, validity);
    }
    // SAFETY: the offsets ascend, as each `OffsetBuffer` does; each is a place between two characters of valid UTF-8 or its
    // end; there is a validity for each element. Nothing else is asked.
    Ok(unsafe { StringArray::new_unchecked(offsets, bytes, validity) })
}

/// Each element by itself with U+FFFD for what is malformed, as everywhere: three bytes for one at worst, for which a batch's bound
/// leaves room.
fn repaired(offsets: &[i32], bytes: &[u8]) -> (OffsetBuffer<i32>, Buffer) {
    let mut texts = Vec::with_capacity(bytes.len() + bytes.len() / 8);
    let mut ends = Vec::with_capacity(offsets.len());
    ends.push(0);
    for bounds in offsets.windows(2) {
        let (start, end) = match bounds {
            [start, end] => (start.cast_unsigned() as usize, end.cast_unsigned() as usize),
            _ => (0, 0),
        };
        append_repaired(bytes.get(start..end).unwrap_or_default(), &mut texts);
        ends.push(i32::try_from(texts.len()).unwrap_or(i32::MAX));
    }
    (OffsetBuffer::new(ScalarBuffer::from(ends)), Buffer::from_vec(texts))
}

/// Ends an element there.
#[inline]
pub(super) fn push_offset(offsets: &mut Vec<i32>, end: usize) {
    debug_assert!(i32::try_from(end).is_ok(), "batches are bounded so that offsets fit");
    offsets.push(i32::try_from(end).unwrap_or(i32::MAX));
}

/// The offsets as Arrow's; the vector starts over at one zero.
pub(super) fn finish_offsets(offsets: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let mut next = Vec::with_capacity(next_capacity(offsets.len()));
    next.push(0);
    OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(offsets, next)))
}

/// Takes elements out of the middle of an offset vector and moves the later ones down.
pub(super) fn remove_offsets(offsets: &mut Vec<i32>, range: Range<usize>) {
    let removed = match (offsets.get(range.start), offsets.get(range.end)) {
        (Some(start), Some(end)) => end - start,
        _ => 0,
    };
    offsets.drain(range.start + 1..=range.end);
    for offset in offsets.iter_mut().skip(range.start + 1) {
        *offset -= removed;
    }
}
