//! Numbers, computed while they are scanned when that is exact, else read from their text.

use std::str::FromStr;

use super::skip;

/// Digits that always fit 63 bits.
const EXACT_DIGITS: usize = 18;

/// Integers up to this are doubles.
const EXACT_MANTISSA_MAX: u64 = 1 << 53;

/// The powers of ten that are doubles.
const POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Digits that are read together.
const CHUNK_DIGITS: usize = 8;

const WHOLE_POWERS_OF_TEN: [u64; CHUNK_DIGITS + 1] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Digits of a number read as one integer.
struct Digits {
    value: u64,
    behind: usize,
}

/// The digits from `at` on, behind `value`. Wraps beyond [`EXACT_DIGITS`] in all.
///
/// Eight at a time without a branch on how many there are: that one would be guessed wrong for most numbers.
#[inline]
fn digits(input: &[u8], at: usize, value: u64) -> Digits {
    let (mut value, mut behind) = (value, at);
    while let Some(chunk) = input.get(behind..).and_then(|rest| rest.first_chunk()) {
        let (count, read) = leading_digits(*chunk);
        let power = WHOLE_POWERS_OF_TEN.get(count).copied().unwrap_or(1);
        value = value.wrapping_mul(power).wrapping_add(read);
        behind += count;
        if count < CHUNK_DIGITS {
            return Digits { value, behind };
        }
    }
    for byte in input.get(behind..).unwrap_or_default() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        behind += 1;
    }
    Digits { value, behind }
}

/// How many digits a chunk begins with, and their number.
#[inline]
fn leading_digits(chunk: [u8; CHUNK_DIGITS]) -> (usize, u64) {
    const ONES: u64 = u64::from_le_bytes([1; CHUNK_DIGITS]);
    // Digits become 0 to 9; of any other byte the sum, or the byte itself, has its high bit set.
    let values = u64::from_le_bytes(chunk) ^ (ONES * 0x30);
    let others = (values.wrapping_add(ONES * 0x76) | values) & (ONES << 7);
    let count = others.trailing_zeros() / 8;
    // Zeros in front, then neighbours join: digits to pairs, pairs to fours, fours to the number.
    let aligned = values.checked_shl(64 - 8 * count).unwrap_or(0);
    let pairs = aligned.wrapping_mul(10 << 8 | 1) >> 8 & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100 << 16 | 1) >> 16 & 0x0000_FFFF_0000_FFFF;
    let number = fours.wrapping_mul(10_000 << 32 | 1) >> 32;
    (count as usize, number)
}

/// The digits before a point: at least one, and no needless zero.
#[inline]
fn whole(input: &[u8], at: usize) -> Option<Digits> {
    let whole = digits(input, at, 0);
    let needless_zero = input.get(at) == Some(&b'0') && whole.behind - at > 1;
    (whole.behind > at && !needless_zero).then_some(whole)
}

fn is_negative(input: &[u8], at: usize) -> bool {
    input.get(at) == Some(&b'-')
}

/// A whole number of 64 bits.
#[inline]
pub(super) fn integer(text: &str, at: usize) -> Option<(i64, usize)> {
    let input = text.as_bytes();
    let negative = is_negative(input, at);
    let start = at + usize::from(negative);
    let Digits { value, behind } = whole(input, start)?;
    if let Some(b'.' | b'e' | b'E') = input.get(behind) {
        return None;
    }
    if behind - start > EXACT_DIGITS {
        skip::number(input, at)?;
        return Some((text.get(at..behind)?.parse().ok()?, behind));
    }
    let value = value.cast_signed();
    Some((if negative { -value } else { value }, behind))
}

/// Any number as a double; beyond its range it is infinite.
#[inline]
pub(super) fn double(text: &str, at: usize) -> Option<(f64, usize)> {
    let input = text.as_bytes();
    let negative = is_negative(input, at);
    let start = at + usize::from(negative);
    let whole = whole(input, start)?;
    let (mut mantissa, mut behind) = (whole.value, whole.behind);
    let (mut digit_count, mut fraction) = (behind - start, 0);
    if input.get(behind) == Some(&b'.') {
        let all = digits(input, behind + 1, mantissa);
        fraction = all.behind - behind - 1;
        if fraction == 0 {
            return None;
        }
        digit_count += fraction;
        (mantissa, behind) = (all.value, all.behind);
    }
    let exact = digit_count <= EXACT_DIGITS && mantissa <= EXACT_MANTISSA_MAX && !matches!(input.get(behind), Some(b'e' | b'E'));
    match POWERS_OF_TEN.get(fraction) {
        // Both are doubles, so the quotient is rounded once: the nearest double of the decimal text.
        Some(power) if exact => {
            let value = mantissa as f64 / power;
            // An integer has no negative zero.
            let negative = negative && (mantissa != 0 || fraction > 0);
            Some((if negative { -value } else { value }, behind))
        }
        _ => parsed(text, at),
    }
}

/// Any number as a float, rounded once.
pub(super) fn float(text: &str, at: usize) -> Option<(f32, usize)> {
    parsed(text, at)
}

#[inline(never)]
fn parsed<T: FromStr>(text: &str, at: usize) -> Option<(T, usize)> {
    let behind = skip::number(text.as_bytes(), at)?;
    let number = match text.get(at..behind)? {
        // An integer has no negative zero.
        "-0" => "0",
        number => number,
    };
    Some((number.parse().ok()?, behind))
}

#[cfg(test)]
mod tests {
    use super::{double, float, integer, leading_digits};

    #[test]
    fn a_chunk_is_read_up_to_its_first_other_byte() {
        for count in 0..=8 {
            for other in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
                let mut chunk = *b"90817263";
                for (index, byte) in chunk.iter_mut().enumerate().skip(count) {
                    *byte = if index == count { other } else { other.wrapping_add(b'5') };
                }
                let digits = std::str::from_utf8(&chunk[..count]).unwrap();
                assert_eq!(leading_digits(chunk), (count, digits.parse().unwrap_or(0)), "{chunk:x?}");
            }
        }
    }

    #[test]
    fn doubles_are_the_nearest_ones_and_end_where_the_number_ends() {
        let numbers = [
            "0",
            "-0",
            "0.0",
            "-0.0",
            "1",
            "-17.25",
            "0.1",
            "123456789012345678",
            "9007199254740993",
            "9007199254740992.5",
            "0.3000000000000000166",
            "1e400",
            "-1E-400",
            "2.2250738585072011e-308",
            "1.7976931348623157e308",
            "0.00000000000000000000000000001",
            "1234567.891e+3",
            "123456789012345678901234567890",
            "0.1234567890123456789",
            "900719925474099.3",
            "4.35",
            "0.000001",
        ];
        for number in numbers {
            let expected: f64 = if number == "-0" { 0.0 } else { number.parse().unwrap() };
            let (value, behind) = double(&format!("[{number},"), 1).unwrap();
            assert_eq!((value.to_bits(), behind), (expected.to_bits(), 1 + number.len()), "{number}");
            let expected: f32 = if number == "-0" { 0.0 } else { number.parse().unwrap() };
            let (value, behind) = float(&format!("[{number}"), 1).unwrap();
            assert_eq!((value.to_bits(), behind), (expected.to_bits(), 1 + number.len()), "{number}");
        }
    }

    #[test]
    fn integers_fill_64_bits_and_no_more() {
        for number in [
            "0",
            "-0",
            "7",
            "-12",
            "999999999999999999",
            "9223372036854775807",
            "-9223372036854775808",
        ] {
            assert_eq!(integer(&format!("{number}}}"), 0), Some((number.parse().unwrap(), number.len())));
        }
        for surprise in [
            "",
            "-",
            "01",
            "-01",
            "1.5",
            "1e3",
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551617",
            "+1",
            "x",
        ] {
            assert_eq!(integer(surprise, 0), None, "{surprise}");
        }
        for surprise in ["", "-", "01", "1.", "1.e3", "1e", "1e+", ".5", "-.5", "NaN"] {
            assert_eq!((double(surprise, 0), float(surprise, 0)), (None, None), "{surprise}");
        }
    }
}
