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

/// Digits of a number read as one integer.
struct Digits {
    value: u64,
    behind: usize,
}

/// The digits from `at` on, behind `value`. Wraps beyond [`EXACT_DIGITS`] in all.
#[inline]
fn digits(input: &[u8], at: usize, value: u64) -> Digits {
    let (mut value, mut behind) = (value, at);
    for byte in input.get(at..).unwrap_or_default() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        behind += 1;
    }
    Digits { value, behind }
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
    use super::{double, float, integer};

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
