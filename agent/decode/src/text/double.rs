//! Doubles and floats as `Double.toString` and `Float.toString` of Java write them.
//!
//! Not here: reading them, which Rust's `parse` does exactly as Java. The text is the shortest that reads back as the
//! same number, as Java prints it from version 19 on; older ones print more digits for some doubles (JDK-4511638).

use std::fmt::{LowerExp, Write};
use std::str::FromStr;

/// Longest text Rust writes for a double in exponent form, with room to spare.
const TEXT_BYTES_MAX: usize = 32;

/// Appends the text of a finite double.
pub fn append_java_double(value: f64, out: &mut Vec<u8>) {
    append(value.is_sign_negative(), value.abs(), out);
}

/// Appends the text of a finite float.
pub fn append_java_float(value: f32, out: &mut Vec<u8>) {
    append(value.is_sign_negative(), value.abs(), out);
}

fn append<T: LowerExp + FromStr + PartialEq>(negative: bool, magnitude: T, out: &mut Vec<u8>) {
    if negative {
        out.push(b'-');
    }
    let (mut digits, mut exponent) = scientific(format_args!("{magnitude:e}"));
    // Of the shortest texts, Rust's can be one of two at the same distance; Java takes the even one. And Java prints at
    // least two digits, then the nearest two: `4.9E-324`, not `5.0E-324`.
    let decimals = (digits.as_bytes().len() - 1).max(1);
    let nearest = ShortText::of(format_args!("{magnitude:.decimals$e}"));
    if nearest.as_str().parse().is_ok_and(|read: T| read == magnitude) {
        (digits, exponent) = scientific(format_args!("{}", nearest.as_str()));
    }
    append_digits(digits.as_bytes(), exponent, out);
}

fn append_digits(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    match exponent {
        0..=6 => {
            let whole = exponent.cast_unsigned() as usize + 1;
            out.extend((0..whole).map(|index| digits.get(index).copied().unwrap_or(b'0')));
            out.push(b'.');
            out.extend_from_slice(or_zero(digits.get(whole..).unwrap_or_default()));
        }
        -3..=-1 => {
            out.extend_from_slice(b"0.");
            out.extend((exponent + 1..0).map(|_| b'0'));
            out.extend_from_slice(digits);
        }
        _ => {
            let (first, fraction) = digits.split_at_checked(1).unwrap_or((b"0", b""));
            out.extend_from_slice(first);
            out.push(b'.');
            out.extend_from_slice(or_zero(fraction));
            out.push(b'E');
            out.extend_from_slice(ShortText::of(format_args!("{exponent}")).as_bytes());
        }
    }
}

fn or_zero(digits: &[u8]) -> &[u8] {
    if digits.is_empty() { b"0" } else { digits }
}

/// Significant digits, without trailing zeros but at least one, and the exponent of the first.
fn scientific(text: std::fmt::Arguments<'_>) -> (ShortText, i32) {
    let text = ShortText::of(text);
    let (mantissa, exponent) = text.as_str().split_once('e').unwrap_or(("0", "0"));
    let mut digits = ShortText::default();
    for digit in mantissa.bytes().filter(u8::is_ascii_digit) {
        digits.push(digit);
    }
    while digits.len > 1 && digits.as_bytes().ends_with(b"0") {
        digits.len -= 1;
    }
    (digits, exponent.parse().unwrap_or(0))
}

/// A short text on the stack.
#[derive(Default)]
struct ShortText {
    bytes: [u8; TEXT_BYTES_MAX],
    len: usize,
}

impl ShortText {
    fn of(text: std::fmt::Arguments<'_>) -> Self {
        let mut short = Self::default();
        let written = short.write_fmt(text);
        debug_assert!(written.is_ok(), "numbers have short texts");
        short
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

impl Write for ShortText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        self.bytes
            .get_mut(self.len..end)
            .ok_or(std::fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{append_java_double, append_java_float};

    #[test]
    fn doubles_are_written_as_java_writes_them() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (1.1, "1.1"),
            (123_456.0, "123456.0"),
            (1_234_567.0, "1234567.0"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (12_345_678.9, "1.23456789E7"),
            (0.001, "0.001"),
            (0.001_25, "0.00125"),
            (0.000_999, "9.99E-4"),
            (123_456_734_567_890.12, "1.2345673456789012E14"),
            (5e-324, "4.9E-324"),
            (2e-323, "2.0E-323"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
        ];
        for (value, expected) in cases {
            let mut out = Vec::new();
            append_java_double(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn floats_are_written_by_their_own_precision() {
        for (value, expected) in [(0.1, "0.1"), (16_777_216.0, "1.6777216E7"), (-2.345, "-2.345"), (1e-45, "1.4E-45")] {
            let mut out = Vec::new();
            append_java_float(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
