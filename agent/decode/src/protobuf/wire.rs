//! Protobuf's wire format: tags, varints, fixed-width values, delimited bytes, and stepping over what nobody asked for.
//!
//! Reads as protobuf-java's `CodedInputStream` does, down to which bits of an over-long varint count. The one invariant: it only
//! ever goes forward over the bytes it was given, so that no length in a message can make it allocate or go back.

use crate::limits::PROTOBUF_NESTING_MAX;
use crate::report::MisfitReason;

/// How a value lies in the bytes; the low three bits of a tag.
pub(super) type WireKind = u8;

pub(super) const VARINT: WireKind = 0;
pub(super) const EIGHT_BYTES: WireKind = 1;
pub(super) const DELIMITED: WireKind = 2;
pub(super) const GROUP_START: WireKind = 3;
pub(super) const GROUP_END: WireKind = 4;
pub(super) const FOUR_BYTES: WireKind = 5;

const VARINT_BYTES_MAX: usize = 10;

/// What stands in front of every value.
#[derive(Clone, Copy)]
pub(super) struct Tag {
    pub(super) number: u32,
    pub(super) kind: WireKind,
}

impl Tag {
    /// The tag that is written so.
    #[inline]
    pub(super) fn of(bits: u32) -> Result<Self, MisfitReason> {
        let tag = Self {
            number: bits >> 3,
            kind: (bits & 7) as WireKind,
        };
        if tag.number == 0 {
            return Err(MisfitReason::Malformed);
        }
        Ok(tag)
    }

    /// How it is written.
    pub(super) fn bits(self) -> u32 {
        self.number << 3 | u32::from(self.kind)
    }
}

/// What is left of a message.
///
/// Values are read as far as there are bytes in the whole message; that one went beyond the part that it lies in is found when the
/// next tag of that part is asked for, so nothing read may be believed before its part ended well.
#[derive(Clone, Copy)]
pub(super) struct Wire<'a> {
    rest: &'a [u8],
    /// Bytes of `rest` behind the part that is being read.
    behind: usize,
}

impl<'a> Wire<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, behind: 0 }
    }

    /// Whether the part ends here.
    #[inline(always)]
    pub(super) fn is_over(&self) -> Result<bool, MisfitReason> {
        if self.rest.len() > self.behind {
            return Ok(false);
        }
        if self.rest.len() == self.behind {
            Ok(true)
        } else {
            Err(MisfitReason::Malformed)
        }
    }

    /// Goes into a part whose length comes next. The answer is for `leave`.
    #[inline(always)]
    pub(super) fn enter(&mut self) -> Result<usize, MisfitReason> {
        let len = self.varint32()? as usize;
        let behind = self.rest.len().checked_sub(len).filter(|behind| *behind >= self.behind);
        Ok(std::mem::replace(&mut self.behind, behind.ok_or(MisfitReason::Malformed)?))
    }

    /// Goes back to the part around one that ended well.
    #[inline(always)]
    pub(super) fn leave(&mut self, behind: usize) {
        self.behind = behind;
    }

    /// The next tag, or none at the end.
    #[inline]
    pub(super) fn tag(&mut self) -> Result<Option<Tag>, MisfitReason> {
        if self.is_over()? {
            return Ok(None);
        }
        Tag::of(self.varint32()?).map(Some)
    }

    #[inline(always)]
    pub(super) fn varint(&mut self) -> Result<u64, MisfitReason> {
        match self.rest {
            [first, rest @ ..] if *first < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*first))
            }
            [first, second, rest @ ..] if *second < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*second) << 7 | u64::from(first & 0x7f))
            }
            _ => self.long_varint(),
        }
    }

    /// The low half of a varint: lengths, tags and 32-bit numbers are read like this.
    #[inline(always)]
    pub(super) fn varint32(&mut self) -> Result<u32, MisfitReason> {
        // What is beyond 32 bits does not count.
        self.varint().map(|bits| bits as u32)
    }

    #[inline(never)]
    fn long_varint(&mut self) -> Result<u64, MisfitReason> {
        if let Some(word) = self.rest.first_chunk() {
            let word = u64::from_le_bytes(*word);
            let ends = !word & 0x8080_8080_8080_8080;
            if ends != 0 {
                let len = ends.trailing_zeros() / 8 + 1;
                self.rest = self.rest.get(len as usize..).unwrap_or_default();
                return Ok(squeezed(word & (u64::MAX >> (64 - 8 * len))));
            }
        }
        self.varint_by_bytes()
    }

    /// Near the end, and for the longest ones: of ten bytes the last one does not count, the highest bit is always set.
    fn varint_by_bytes(&mut self) -> Result<u64, MisfitReason> {
        let mut bits = 0;
        for (index, byte) in self.rest.iter().take(VARINT_BYTES_MAX).enumerate() {
            bits |= u64::from(byte & 0x7f) << (7 * index);
            if index == VARINT_BYTES_MAX - 1 {
                bits |= 1 << 63;
            }
            if *byte < 0x80 {
                self.rest = self.rest.get(index + 1..).unwrap_or_default();
                return Ok(bits);
            }
        }
        Err(MisfitReason::Malformed)
    }

    #[inline(always)]
    pub(super) fn four_bytes(&mut self) -> Result<[u8; 4], MisfitReason> {
        self.chunk()
    }

    #[inline(always)]
    pub(super) fn eight_bytes(&mut self) -> Result<[u8; 8], MisfitReason> {
        self.chunk()
    }

    #[inline(always)]
    fn chunk<const LEN: usize>(&mut self) -> Result<[u8; LEN], MisfitReason> {
        let (chunk, rest) = self.rest.split_first_chunk().ok_or(MisfitReason::Malformed)?;
        self.rest = rest;
        Ok(*chunk)
    }

    /// A length and as many bytes. A length beyond 2^31 is a negative one to Java, and longer than any message here.
    #[inline]
    pub(super) fn delimited(&mut self) -> Result<&'a [u8], MisfitReason> {
        let len = self.varint32()? as usize;
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(MisfitReason::Malformed)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// A length, and the bytes from there on, which are more than that where others follow.
    #[inline(always)]
    pub(super) fn delimited_ahead(&mut self) -> Result<(&'a [u8], usize), MisfitReason> {
        let len = self.varint32()? as usize;
        let ahead = self.rest;
        self.rest = ahead.get(len..).ok_or(MisfitReason::Malformed)?;
        Ok((ahead, len))
    }

    /// Steps over a value without a field. `level` counts the messages and groups that it lies in.
    pub(super) fn skip(&mut self, tag: Tag, level: usize) -> Result<(), MisfitReason> {
        match tag.kind {
            VARINT => self.varint().map(|_| ()),
            EIGHT_BYTES => self.eight_bytes().map(|_| ()),
            DELIMITED => self.delimited().map(|_| ()),
            GROUP_START => self.skip_group(tag.number, level + 1),
            FOUR_BYTES => self.four_bytes().map(|_| ()),
            _ => Err(MisfitReason::Malformed),
        }
    }

    #[cold]
    fn skip_group(&mut self, number: u32, level: usize) -> Result<(), MisfitReason> {
        if level > PROTOBUF_NESTING_MAX {
            return Err(MisfitReason::BeyondLimit);
        }
        while let Some(tag) = self.tag()? {
            if tag.kind == GROUP_END {
                return if tag.number == number {
                    Ok(())
                } else {
                    Err(MisfitReason::Malformed)
                };
            }
            self.skip(tag, level)?;
        }
        Err(MisfitReason::Malformed)
    }
}

/// The low seven bits of each byte, side by side.
#[inline]
fn squeezed(word: u64) -> u64 {
    let word = word & 0x7f7f_7f7f_7f7f_7f7f;
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    (word & 0x0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

/// The signed number that a zig-zag varint means.
#[inline]
pub(super) fn zigzag32(bits: u32) -> i32 {
    (bits >> 1).cast_signed() ^ -(bits & 1).cast_signed()
}

/// The signed number that a zig-zag varint means.
#[inline]
pub(super) fn zigzag64(bits: u64) -> i64 {
    (bits >> 1).cast_signed() ^ -(bits & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::{Tag, Wire, zigzag32, zigzag64};
    use crate::report::MisfitReason;

    fn encoded(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    #[test]
    fn a_varint_of_any_length_is_read_whatever_follows() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1_u64 << shift) - 1, u64::MAX >> shift] {
                for following in [0, 1, 9] {
                    let mut bytes = encoded(value);
                    bytes.extend(std::iter::repeat_n(0xff, following));
                    let mut wire = Wire::new(&bytes);
                    assert_eq!(wire.varint(), Ok(value), "{bytes:x?}");
                    assert_eq!(wire.rest.len(), following, "{bytes:x?}");
                }
            }
        }
    }

    #[test]
    fn a_varint_may_be_longer_than_it_need_be_but_not_beyond_ten_bytes() {
        let mut wire = Wire::new(&[0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 7]);
        assert_eq!((wire.varint(), wire.varint()), (Ok(1), Ok(7)));
        let eleven = [0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00];
        assert_eq!(Wire::new(&eleven).varint(), Err(MisfitReason::Malformed));
        assert_eq!(Wire::new(&[0x80; 9]).varint(), Err(MisfitReason::Malformed));
        assert_eq!(Wire::new(&[]).varint(), Err(MisfitReason::Malformed));
        let ten_bytes = |first, last| [first, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, last];
        for last in [0x00, 0x01, 0x7e, 0x7f] {
            let read = Wire::new(&ten_bytes(0x85, last)).varint();
            assert_eq!(read, Ok(1 << 63 | 5), "the last of ten bytes counts as 1, as in protobuf-java");
        }
        assert_eq!(Wire::new(&ten_bytes(0x85, 0x00)).varint32(), Ok(5));
    }

    #[test]
    fn groups_are_stepped_over_as_far_as_they_close_in_order() {
        let skip = |bytes: &[u8], level| Wire::new(bytes).skip(Tag { number: 1, kind: 3 }, level);
        assert_eq!(skip(&[0x0c], 0), Ok(()));
        assert_eq!(skip(&[0x13, 0x10, 0x01, 0x14, 0x0c], 0), Ok(()));
        assert_eq!(skip(&[0x13, 0x0c, 0x14], 0), Err(MisfitReason::Malformed));
        assert_eq!(skip(&[0x13], 0), Err(MisfitReason::Malformed));
        assert_eq!(skip(&[0x0c], 99), Ok(()));
        assert_eq!(skip(&[0x0c], 100), Err(MisfitReason::BeyondLimit));
    }

    #[test]
    fn zigzag_numbers_alternate_in_sign() {
        assert_eq!([0, 1, 2, 3, u32::MAX].map(zigzag32), [0, -1, 1, -2, i32::MIN]);
        assert_eq!([0, 1, 2, 3, u64::MAX].map(zigzag64), [0, -1, 1, -2, i64::MIN]);
    }
}
