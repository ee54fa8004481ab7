//! The one scan that every text goes through: where it ends, or stops being plain.
//!
//! The invariant: every place before the answer holds a plain byte. On x86-64 a chunk is compared with the vector
//! instructions that each such processor has; elsewhere the compiler makes the best of the same comparison.

#![allow(
    unsafe_code,
    reason = "vector instructions on x86-64: what the compiler makes of the plain code takes twice as long"
)]

/// Bytes looked at together.
pub(super) const CHUNK_BYTES: usize = 16;

/// The place of the first quote, backslash or control character from `at` on, or the end of the input.
#[inline]
pub(super) fn special_from(input: &[u8], at: usize) -> usize {
    let mut at = at;
    while let Some(chunk) = input.get(at..).and_then(|rest| rest.first_chunk()) {
        if let Some(first) = first_special(chunk) {
            return at + first;
        }
        at += CHUNK_BYTES;
    }
    let tail = input.get(at..).unwrap_or_default();
    at + tail.iter().position(|byte| is_special(*byte)).unwrap_or(tail.len())
}

/// Copies plain bytes from `at` on to `out`, from `len` on, up to the first special byte or the end of the input. Gives the
/// places behind both; nothing if `out` lacks the room for a chunk more than there is to copy.
#[inline]
pub(super) fn copy_plain(input: &[u8], at: usize, out: &mut [u8], len: usize) -> Option<(usize, usize)> {
    let (mut at, mut len) = (at, len);
    while let Some(chunk) = input.get(at..).and_then(|rest| rest.first_chunk::<CHUNK_BYTES>()) {
        // A whole chunk costs less than as many bytes as count; the next one is written over the others.
        *out.get_mut(len..)?.first_chunk_mut()? = *chunk;
        if let Some(first) = first_special(chunk) {
            return Some((at + first, len + first));
        }
        (at, len) = (at + CHUNK_BYTES, len + CHUNK_BYTES);
    }
    let rest = input.get(at..special_from(input, at))?;
    out.get_mut(len..len + rest.len())?.copy_from_slice(rest);
    Some((at + rest.len(), len + rest.len()))
}

fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// The first special byte of a chunk.
#[cfg(target_arch = "x86_64")]
#[inline]
fn first_special(chunk: &[u8; CHUNK_BYTES]) -> Option<usize> {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8};
    // SAFETY: SSE2 is part of every x86-64 processor, and the one load, from any alignment, is of the 16 bytes borrowed.
    let special = unsafe {
        let bytes = _mm_loadu_si128(chunk.as_ptr().cast::<__m128i>());
        let quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"'.cast_signed()));
        let backslashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\'.cast_signed()));
        let controls = _mm_cmpeq_epi8(bytes, _mm_min_epu8(bytes, _mm_set1_epi8(0x1F)));
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, backslashes), controls))
    };
    (special != 0).then(|| special.trailing_zeros() as usize)
}

/// The first special byte of a chunk.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn first_special(chunk: &[u8; CHUNK_BYTES]) -> Option<usize> {
    let mut special = [0; CHUNK_BYTES];
    for (bits, byte) in special.iter_mut().zip(chunk) {
        *bits = if is_special(*byte) { u8::MAX } else { 0 };
    }
    let special = u128::from_le_bytes(special);
    (special != 0).then(|| (special.trailing_zeros() / 8) as usize)
}

#[cfg(test)]
mod tests {
    use super::{copy_plain, special_from};

    #[test]
    fn the_first_special_byte_is_found_at_every_place_and_behind_every_start() {
        for special in [b'"', b'\\', 0, 0x1F] {
            for len in 0..70 {
                for at in 0..=len {
                    let mut input = vec![b'x'; len + 20];
                    input[len] = special;
                    input[len + 7] = b'"';
                    assert_eq!(special_from(&input, at), len, "{special} at {len} from {at}");
                    input.truncate(len);
                    assert_eq!(special_from(&input, at), len);
                }
            }
        }
        for plain in (0x20..=u8::MAX).filter(|byte| !matches!(byte, b'"' | b'\\')) {
            assert_eq!(special_from(&[plain; 40], 0), 40, "{plain}");
        }
        assert_eq!(special_from(b"x", 5), 5);
    }

    #[test]
    fn plain_bytes_are_copied_up_to_the_first_special_one() {
        for len in 0..50 {
            for behind in 0..20 {
                let mut input: Vec<u8> = (0..len).map(|index| b'a' + index % 26).collect();
                input.extend(std::iter::repeat_n(b'"', behind));
                let (from, len) = (len.min(3).into(), usize::from(len));
                let mut out = vec![b'.'; 2 + len + 16];
                let copied = copy_plain(&input, from, &mut out, 2);
                assert_eq!(copied, Some((len, 2 + len - from)));
                assert_eq!(out[2..2 + len - from], input[from..len]);
            }
        }
        assert_eq!(copy_plain(&[b'x'; 32], 0, &mut [0; 20], 0), None, "no room");
    }
}
