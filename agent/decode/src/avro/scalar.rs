//! Values whose bytes stand for something else: decimals and milliseconds.

use crate::report::MisfitReason::{self, Malformed, OutOfRange};

/// Digits up to which Spark keeps a decimal in 64 bits.
const LONG_DIGITS_MAX: u8 = 18;

/// By their exponents, as far as a decimal has digits.
const POWERS_OF_TEN: [u128; 39] = {
    let mut powers = [1; 39];
    let (mut rest, mut power): (&mut [u128], u128) = (&mut powers, 1);
    while let [first, others @ ..] = rest {
        *first = power;
        power = power.wrapping_mul(10);
        rest = others;
    }
    powers
};

/// The unscaled value of a decimal: a big-endian two's complement number of any length.
///
/// As Spark has it, up to 18 digits only the low 64 bits of a longer number count; beyond that it is checked as it is.
pub(super) fn decimal(bytes: &[u8], precision: u8) -> Result<i128, MisfitReason> {
    let sign = bytes.first().ok_or(Malformed)?.cast_signed() >> 7;
    let unscaled = if precision <= LONG_DIGITS_MAX {
        i128::from(i64::from_be_bytes(lowest(bytes, sign)))
    } else {
        let number = i128::from_be_bytes(lowest(bytes, sign));
        let above = bytes.len().saturating_sub(size_of::<i128>());
        let fits = bytes.iter().take(above).all(|byte| byte.cast_signed() == sign) && (number < 0) == (sign < 0);
        fits.then_some(number).ok_or(OutOfRange)?
    };
    let limit = POWERS_OF_TEN.get(usize::from(precision)).ok_or(OutOfRange)?;
    if unscaled.unsigned_abs() < *limit {
        Ok(unscaled)
    } else {
        Err(OutOfRange)
    }
}

/// The last `N` bytes, filled up with the sign in front.
fn lowest<const N: usize>(bytes: &[u8], sign: i8) -> [u8; N] {
    if let Some(last) = bytes.last_chunk() {
        return *last;
    }
    let mut lowest = [sign.cast_unsigned(); N];
    for (to, from) in lowest.iter_mut().rev().zip(bytes.iter().rev()) {
        *to = *from;
    }
    lowest
}

/// Microseconds of milliseconds.
#[inline]
pub(super) fn micros(millis: i64) -> Result<i64, MisfitReason> {
    millis.checked_mul(1000).ok_or(OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::decimal;
    use crate::report::MisfitReason::{Malformed, OutOfRange};

    #[test]
    fn a_decimal_is_checked_by_its_digits_and_up_to_18_only_in_its_low_64_bits() {
        let of = |number: i128, size: usize| number.to_be_bytes()[16 - size..].to_vec();
        assert_eq!(decimal(&[], 5), Err(Malformed));
        assert_eq!(decimal(&[0x30, 0x39], 5), Ok(12345));
        assert_eq!(decimal(&[0, 0, 0, 1], 5), Ok(1));
        assert_eq!(decimal(&[0xff], 1), Ok(-1));
        assert_eq!(decimal(&of(10, 1), 1), Err(OutOfRange));
        assert_eq!(decimal(&of((1 << 64) + 7, 9), 18), Ok(7));
        assert_eq!(decimal(&of((1 << 64) + 7, 9), 19), Err(OutOfRange));
        assert_eq!(decimal(&of((1 << 64) + 7, 9), 20), Ok((1 << 64) + 7));
        let largest = 10_i128.pow(38) - 1;
        assert_eq!(decimal(&of(largest, 16), 38), Ok(largest));
        assert_eq!(decimal(&of(-largest, 16), 38), Ok(-largest));
        assert_eq!(decimal(&of(largest + 1, 16), 38), Err(OutOfRange));
        assert_eq!(decimal(&[&[0; 9], of(5, 16).as_slice()].concat(), 38), Ok(5));
        assert_eq!(decimal(&[&[1], of(5, 16).as_slice()].concat(), 38), Err(OutOfRange));
        assert_eq!(decimal(&[&[0xff; 3], of(-5, 16).as_slice()].concat(), 38), Ok(-5));
        assert_eq!(decimal(&[&[0xff], of(5, 16).as_slice()].concat(), 38), Err(OutOfRange));
    }
}
