//! The one scan that every text goes through: where it ends, or stops being plain.

/// Bytes looked at together.
const CHUNK_BYTES: usize = 16;

/// The place of the first quote, backslash or control character from `at` on, or the end of the input.
#[inline]
pub(super) fn special_from(input: &[u8], at: usize) -> usize {
    let mut at = at;
    while let Some(chunk) = input.get(at..).and_then(|rest| rest.first_chunk()) {
        let special = special_bytes(chunk);
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += CHUNK_BYTES;
    }
    let tail = input.get(at..).unwrap_or_default();
    at + tail.iter().position(|byte| is_special(*byte)).unwrap_or(tail.len())
}

fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// All bits of each byte that is special. Written so that the compiler makes vector instructions of it.
#[inline]
fn special_bytes(chunk: &[u8; CHUNK_BYTES]) -> u128 {
    let mut special = [0; CHUNK_BYTES];
    for (bits, byte) in special.iter_mut().zip(chunk) {
        *bits = if is_special(*byte) { u8::MAX } else { 0 };
    }
    u128::from_le_bytes(special)
}

#[cfg(test)]
mod tests {
    use super::special_from;

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
}
