//! Decimal numbers: Java's `BigDecimal` syntax to a scaled 128-bit integer, rounded half up.
//!
//! The one invariant: time is linear in the text, whatever its exponent; no power of ten is ever built.

use super::unicode::decimal_digit;

/// Beyond this magnitude of a negative exponent Java cannot build the power of ten it rounds with, and Spark gives null.
const JAVA_EXPONENT_MAX: i64 = 646_456_993;

/// Digits an exponent may have after its leading zeros, in Java.
const EXPONENT_DIGITS_MAX: u32 = 10;

/// Why a text is no decimal of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalMisfit {
    /// Not a number by `BigDecimal`'s syntax.
    Syntax,
    /// More digits before the point than precision and scale leave, or an exponent beyond Java's range.
    Range,
}

/// Reads `text`, whose commas count for nothing, as the unscaled value of a DECIMAL(precision, scale).
pub fn parse(text: &str, precision: u8, scale: u8) -> Result<i128, DecimalMisfit> {
    let parts = Parts::of(text)?;
    if parts.digits == 0 {
        return Ok(0);
    }
    if parts.exponent < -JAVA_EXPONENT_MAX {
        return Err(DecimalMisfit::Range);
    }
    // Digits that stay in front of the rounding position; the rest only decides the rounding.
    let kept = parts.digits + parts.exponent + i64::from(scale);
    if kept > i64::from(precision) {
        return Err(DecimalMisfit::Range);
    }
    if kept < 0 {
        return Ok(0);
    }
    let mut unscaled: i128 = 0;
    let mut digits = parts.significant_digits();
    for _ in 0..kept {
        unscaled = unscaled * 10 + i128::from(digits.next().unwrap_or(0));
    }
    if digits.next().is_some_and(|digit| digit >= 5) {
        unscaled += 1;
    }
    if unscaled >= 10_i128.pow(u32::from(precision)) {
        return Err(DecimalMisfit::Range);
    }
    Ok(if parts.negative { -unscaled } else { unscaled })
}

/// A number's text taken apart: ± mantissa × 10^exponent, the mantissa read as an integer.
struct Parts<'a> {
    negative: bool,
    mantissa: &'a str,
    /// Significant digits of the mantissa; 0 for a zero.
    digits: i64,
    exponent: i64,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Self, DecimalMisfit> {
        let (negative, unsigned) = split_sign(text);
        let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
            Some(at) => {
                let (mantissa, exponent) = unsigned.split_at_checked(at).ok_or(DecimalMisfit::Syntax)?;
                (mantissa, parse_exponent(exponent.get(1..).unwrap_or_default())?)
            }
            None => (unsigned, 0),
        };
        let (mut all, mut digits, mut fraction) = (0_i64, 0_i64, None::<i64>);
        for character in mantissa.chars().filter(|character| *character != ',') {
            if let Some(digit) = decimal_digit(character) {
                all += 1;
                digits += i64::from(digits > 0 || digit > 0);
                fraction = fraction.map(|count| count + 1);
            } else if character == '.' && fraction.is_none() {
                fraction = Some(0);
            } else {
                return Err(DecimalMisfit::Syntax);
            }
        }
        if all == 0 {
            return Err(DecimalMisfit::Syntax);
        }
        let exponent = exponent - fraction.unwrap_or(0);
        // Java keeps the scale, the negated exponent, in 32 bits.
        if i32::try_from(-exponent).is_err() {
            return Err(DecimalMisfit::Range);
        }
        Ok(Self {
            negative,
            mantissa,
            digits,
            exponent,
        })
    }

    fn significant_digits(&self) -> impl Iterator<Item = u8> {
        self.mantissa.chars().filter_map(decimal_digit).skip_while(|digit| *digit == 0)
    }
}

/// A leading sign, before which commas may stand.
fn split_sign(text: &str) -> (bool, &str) {
    let trimmed = text.trim_start_matches(',');
    match trimmed.strip_prefix(['+', '-']) {
        Some(unsigned) => (trimmed.starts_with('-'), unsigned),
        None => (false, text),
    }
}

fn parse_exponent(text: &str) -> Result<i64, DecimalMisfit> {
    let (negative, unsigned) = split_sign(text);
    let (mut value, mut any, mut significant) = (0_i64, false, 0_u32);
    for character in unsigned.chars().filter(|character| *character != ',') {
        let digit = decimal_digit(character).ok_or(DecimalMisfit::Syntax)?;
        any = true;
        significant += u32::from(significant > 0 || digit > 0);
        if significant > EXPONENT_DIGITS_MAX {
            return Err(DecimalMisfit::Range);
        }
        value = value * 10 + i64::from(digit);
    }
    if !any {
        return Err(DecimalMisfit::Syntax);
    }
    Ok(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::DecimalMisfit::{Range, Syntax};
    use super::parse;

    #[test]
    fn decimals_are_rounded_half_up_and_bounded_by_their_precision() {
        let cases = [
            ("1", 100),
            ("-1.005", -101),
            ("1.004999", 100),
            ("0.005", 1),
            ("0.0049", 0),
            ("1e2", 10_000),
            ("1e-2", 1),
            ("1e-3", 0),
            ("5e-3", 1),
            ("999.994", 99_999),
            ("+1", 100),
            ("1.", 100),
            (".5", 50),
            ("1,23", 12_300),
            (",-1", -100),
            ("٣.٥", 350),
            ("-0", 0),
            ("0e-1000000000", 0),
            ("1e-646456993", 0),
            ("000000000000000000000000000000000000000000000001", 100),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text, 5, 2), Ok(expected), "{text}");
        }
    }

    #[test]
    fn texts_that_are_no_decimal_or_too_large_are_refused() {
        let cases = [
            ("", Syntax),
            (",", Syntax),
            ("+", Syntax),
            (".", Syntax),
            ("1e", Syntax),
            ("1e+", Syntax),
            ("1.2.3", Syntax),
            ("--1", Syntax),
            ("1 ", Syntax),
            ("1e5e5", Syntax),
            ("NaN", Syntax),
            ("1000", Range),
            ("999.995", Range),
            ("1e1000000000", Range),
            ("1e-646456994", Range),
            ("0e-2147483648", Range),
            ("1e99999999999", Range),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text, 5, 2), Err(expected), "{text}");
        }
    }

    #[test]
    fn thirty_eight_digits_fit() {
        let digits = "9".repeat(38);
        assert_eq!(parse(&digits, 38, 0), Ok(10_i128.pow(38) - 1));
        assert_eq!(parse(&format!("{digits}.5"), 38, 0), Err(Range));
        assert_eq!(parse(&format!("0.{digits}"), 38, 38), Ok(10_i128.pow(38) - 1));
    }
}
