//! Which elements of a column are nulls.
//!
//! Only nulls are written down: an element that is added costs nothing here, and a column without a null has no bitmap. How many
//! elements there are is the column's to know. The one invariant: every bit from the last null on is set.

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

/// Bits of a byte that says of none of its elements that it is a null.
const ALL_VALID: u8 = u8::MAX;

#[derive(Default)]
pub(super) struct Validity {
    /// One bit an element, clear for a null, up to the byte that holds the last null.
    bits: Vec<u8>,
}

impl Validity {
    /// Makes the element at that place a null.
    #[inline]
    pub(super) fn set_null(&mut self, index: usize) {
        if self.bits.len() <= index / 8 {
            self.bits.resize(index / 8 + 1, ALL_VALID);
        }
        if let Some(byte) = self.bits.get_mut(index / 8) {
            *byte &= !(1 << (index % 8));
        }
    }

    /// Forgets every element from `len` on.
    #[inline]
    pub(super) fn truncate(&mut self, len: usize) {
        self.bits.truncate(len.div_ceil(8));
        if let Some(byte) = self.bits.get_mut(len / 8) {
            *byte |= ALL_VALID << (len % 8);
        }
    }

    /// Takes elements out of the middle.
    pub(super) fn remove(&mut self, range: Range<usize>) {
        let end = self.bits.len() * 8;
        for index in range.end..end {
            let is_null = self.is_null(index);
            let to = index - range.len();
            match self.bits.get_mut(to / 8) {
                Some(byte) if is_null => *byte &= !(1 << (to % 8)),
                Some(byte) => *byte |= 1 << (to % 8),
                None => {}
            }
        }
        self.truncate(end.saturating_sub(range.len()).max(range.start));
    }

    fn is_null(&self, index: usize) -> bool {
        self.bits.get(index / 8).is_some_and(|byte| byte & 1 << (index % 8) == 0)
    }

    /// The nulls among so many elements, if there is one; then it begins anew.
    pub(super) fn finish(&mut self, len: usize) -> Option<NullBuffer> {
        if self.bits.is_empty() {
            return None;
        }
        let mut bits = std::mem::take(&mut self.bits);
        self.bits = Vec::with_capacity(bits.capacity());
        bits.resize(len.div_ceil(8), ALL_VALID);
        let nulls = NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bits), 0, len));
        (nulls.null_count() > 0).then_some(nulls)
    }
}

#[cfg(test)]
mod tests {
    use super::Validity;

    /// Steps of a column, done to a plain list too.
    #[derive(Clone, Copy)]
    enum Step {
        Values(usize),
        Null,
        Truncate(usize),
        Remove(usize, usize),
    }
    use Step::{Null, Remove, Truncate, Values};

    fn check(steps: &[Step]) {
        let (mut validity, mut expected) = (Validity::default(), Vec::new());
        for step in steps {
            match *step {
                Values(count) => expected.extend(std::iter::repeat_n(true, count)),
                Null => {
                    validity.set_null(expected.len());
                    expected.push(false);
                }
                Truncate(len) => {
                    validity.truncate(len);
                    expected.truncate(len);
                }
                Remove(start, end) => {
                    validity.remove(start..end);
                    expected.drain(start..end);
                }
            }
        }
        let nulls = validity.finish(expected.len());
        match nulls {
            None => assert!(expected.iter().all(|valid| *valid), "a null was lost: {expected:?}"),
            Some(nulls) => assert_eq!(nulls.iter().collect::<Vec<_>>(), expected),
        }
        assert!(validity.finish(20).is_none(), "it begins anew");
    }

    #[test]
    fn nulls_are_where_they_were_put_whatever_was_taken_back() {
        check(&[]);
        check(&[Values(3)]);
        check(&[Null]);
        check(&[Values(7), Null, Null, Values(300), Null, Values(9)]);
        check(&[Values(8), Null, Truncate(8), Values(20)]);
        check(&[Values(5), Null, Values(1), Null, Truncate(6), Values(30)]);
        check(&[Null, Null, Truncate(0), Values(2), Null]);
        for len in 0..40 {
            check(&[
                Values(3),
                Null,
                Values(11),
                Null,
                Null,
                Values(21),
                Null,
                Truncate(len),
                Values(5),
                Null,
            ]);
        }
    }

    #[test]
    fn elements_taken_out_of_the_middle_leave_the_others_as_they_were() {
        for start in 0..30 {
            for end in start..30 {
                check(&[
                    Null,
                    Values(6),
                    Null,
                    Null,
                    Values(5),
                    Null,
                    Values(15),
                    Remove(start, end),
                    Values(4),
                    Null,
                    Values(1),
                ]);
            }
        }
    }
}
