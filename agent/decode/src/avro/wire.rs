//! Avro's binary encoding of values without parts, as Avro's `BinaryDecoder` reads it.
//!
//! The one invariant: a read takes bytes from the front, or fails; it never looks behind the end.

use crate::report::MisfitReason::{self, Malformed};

/// Bits of a varint's bytes that say that another byte follows.
const MORE: u64 = 0x8080_8080_8080_8080;

/// The part of a message that was not read yet.
#[derive(Clone, Copy)]
pub(super) struct Wire<'a> {
    rest: &'a [u8],
}

impl<'a> Wire<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    #[inline]
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next `count` bytes.
    #[inline(always)]
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], MisfitReason> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    /// A value of so many bytes.
    #[inline(always)]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], MisfitReason> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// A length, then as many bytes.
    #[inline]
    pub(super) fn sized(&mut self) -> Result<&'a [u8], MisfitReason> {
        let len = self.long()?;
        self.take(usize::try_from(len).map_err(|_| Malformed)?)
    }

    /// A length, and the bytes from there on, which are more than that where others follow.
    #[inline(always)]
    pub(super) fn sized_ahead(&mut self) -> Result<(&'a [u8], usize), MisfitReason> {
        let len = usize::try_from(self.long()?).map_err(|_| Malformed)?;
        let ahead = self.rest;
        self.rest = ahead.get(len..).ok_or(Malformed)?;
        Ok((ahead, len))
    }

    /// An int. Of a fifth byte only the bits that an int has room for count.
    #[inline(always)]
    pub(super) fn int(&mut self) -> Result<i32, MisfitReason> {
        // Cut to 32 bits before the sign is taken from the lowest one.
        let zigzag = self.varint::<5>()? as u32;
        Ok((zigzag >> 1).cast_signed() ^ -((zigzag & 1).cast_signed()))
    }

    /// A long. Of a tenth byte only one bit counts.
    #[inline(always)]
    pub(super) fn long(&mut self) -> Result<i64, MisfitReason> {
        let zigzag = self.varint::<10>()?;
        Ok((zigzag >> 1).cast_signed() ^ -((zigzag & 1).cast_signed()))
    }

    #[inline(always)]
    fn varint<const BYTES_MAX: usize>(&mut self) -> Result<u64, MisfitReason> {
        match self.rest {
            [first, rest @ ..] if *first < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*first))
            }
            [first, second, rest @ ..] if *second < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*second) << 7 | u64::from(first & 0x7f))
            }
            _ => self.long_varint::<BYTES_MAX>(),
        }
    }

    #[inline(never)]
    fn long_varint<const BYTES_MAX: usize>(&mut self) -> Result<u64, MisfitReason> {
        let Some(word) = self.rest.first_chunk().map(|chunk| u64::from_le_bytes(*chunk)) else {
            return self.varint_by_bytes::<BYTES_MAX>();
        };
        let ends = !word & MORE;
        // The byte that ends it is the lowest whose upper bit is clear.
        let len = (ends.trailing_zeros() as usize + 1) / 8;
        if ends == 0 || len > BYTES_MAX {
            return self.varint_by_bytes::<BYTES_MAX>();
        }
        self.rest = self.rest.get(len..).unwrap_or_default();
        Ok(seven_bits_of_each(word & (u64::MAX >> (64 - 8 * len))))
    }

    #[cold]
    fn varint_by_bytes<const BYTES_MAX: usize>(&mut self) -> Result<u64, MisfitReason> {
        let mut value = 0;
        for (index, byte) in self.rest.iter().take(BYTES_MAX).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if *byte < 0x80 {
                self.rest = self.rest.get(index + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        Err(Malformed)
    }
}

/// The lower seven bits of each byte, put together: pairs of bytes, then of pairs, then both halves.
#[inline]
fn seven_bits_of_each(word: u64) -> u64 {
    let word = word & !MORE;
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    (word & 0x0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

#[cfg(test)]
mod tests {
    use super::Wire;

    fn varint(mut zigzag: u64, padding: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while zigzag > 0x7f {
            bytes.push((zigzag & 0x7f) as u8 | 0x80);
            zigzag >>= 7;
        }
        bytes.push(zigzag as u8);
        for _ in 0..padding {
            *bytes.last_mut().unwrap() |= 0x80;
            bytes.push(0);
        }
        bytes
    }

    #[test]
    fn every_length_of_varint_is_read_whatever_follows() {
        for bits in 0..64 {
            for number in [1_i64 << bits, (1_i64 << bits).wrapping_sub(1), -1_i64 << bits] {
                for (padding, behind) in [(0, 0), (0, 1), (0, 9), (1, 0), (1, 20)] {
                    let mut bytes = varint(((number << 1) ^ (number >> 63)).cast_unsigned(), padding);
                    if bytes.len() > 10 {
                        continue;
                    }
                    bytes.extend(std::iter::repeat_n(0xff, behind));
                    let mut wire = Wire::new(&bytes);
                    assert_eq!(wire.long(), Ok(number), "{bytes:?}");
                    assert_eq!(wire.remaining(), behind, "{bytes:?}");
                    if let (Ok(number), true) = (i32::try_from(number), bytes.len() - behind <= 5) {
                        let mut wire = Wire::new(&bytes);
                        assert_eq!((wire.int(), wire.remaining()), (Ok(number), behind), "{bytes:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn bits_without_room_are_dropped_and_bytes_without_end_refused() {
        for behind in [0, 8] {
            let padded = |bytes: &[u8]| [bytes, &vec![0; behind]].concat();
            let int = |bytes: &[u8]| Wire::new(&padded(bytes)).int().ok();
            let long = |bytes: &[u8]| Wire::new(&padded(bytes)).long().ok();
            assert_eq!(int(&[0xff, 0xff, 0xff, 0xff, 0x7f]), Some(i32::MIN));
            assert_eq!(int(&[0x80, 0x80, 0x80, 0x80, 0x10]), Some(0));
            assert_eq!(int(&[0xff; 5]), None);
            assert_eq!(int(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x00]), None);
            assert_eq!(long(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]), Some(i64::MIN));
            assert_eq!(long(&[0xff; 10]), None);
        }
        assert!(Wire::new(&[]).int().is_err());
        assert!(Wire::new(&[0xff, 0xff]).long().is_err());
        assert!(Wire::new(&[0x05, b'a']).sized().is_err());
        assert!(Wire::new(&[0x04, b'a']).sized().is_err());
        assert_eq!(Wire::new(&[0x04, b'a', b'b']).sized(), Ok(b"ab".as_slice()));
    }
}
