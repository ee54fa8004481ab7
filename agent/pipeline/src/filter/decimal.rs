//! Decimal numbers of any precision and scale: exact in 256 bits, rounded half up once, null where the type has no room.

use arrow_buffer::i256;

/// Most digits of a decimal.
const DIGITS_MAX: u32 = 38;

/// Digits that a remainder may take on in one step of a division: with the 38 it has it stays within 256 bits.
const DIVISION_STEP_DIGITS: u32 = 18;

/// Scale at which Spark cuts a quotient off before it rounds it to the result's: one more than a DECIMAL has, so that the digits that
/// decide are there.
const QUOTIENT_SCALE: i32 = 39;

/// An unscaled number and how many of its digits stand behind the point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal {
    pub(super) unscaled: i256,
    pub(super) scale: i32,
}

/// 10^exponent, up to what 256 bits hold.
fn power(exponent: u32) -> Option<i256> {
    i256::from_i128(10).checked_pow(exponent)
}

impl Decimal {
    pub(super) fn new(unscaled: i128, scale: i32) -> Self {
        Self {
            unscaled: i256::from_i128(unscaled),
            scale,
        }
    }

    /// With another scale, rounded half up.
    pub(super) fn at_scale(self, scale: i32) -> Option<Self> {
        let unscaled = if scale >= self.scale {
            self.unscaled.checked_mul(power((scale - self.scale).unsigned_abs())?)?
        } else {
            match power((self.scale - scale).unsigned_abs()) {
                Some(divisor) => divide_half_up(self.unscaled, divisor)?,
                None => i256::ZERO,
            }
        };
        Some(Self { unscaled, scale })
    }

    /// The unscaled number of a DECIMAL(precision, scale).
    pub(super) fn fit(self, precision: u8, scale: i8) -> Option<i128> {
        let unscaled = self.at_scale(i32::from(scale))?.unscaled;
        let limit = power(u32::from(precision))?;
        (unscaled < limit && unscaled > -limit).then(|| unscaled.to_i128())?
    }

    pub(super) fn add(self, other: Self) -> Option<Self> {
        let (left, right) = self.aligned(other)?;
        Some(Self {
            unscaled: left.unscaled.checked_add(right.unscaled)?,
            scale: left.scale,
        })
    }

    pub(super) fn subtract(self, other: Self) -> Option<Self> {
        self.add(Self {
            unscaled: -other.unscaled,
            scale: other.scale,
        })
    }

    pub(super) fn multiply(self, other: Self) -> Option<Self> {
        Some(Self {
            unscaled: self.unscaled.checked_mul(other.unscaled)?,
            scale: self.scale + other.scale,
        })
    }

    /// Cut off behind 39 digits, as Spark does, so that `fit` rounds once; nothing for a division by zero and for quotients beyond any
    /// DECIMAL.
    pub(super) fn divide(self, other: Self) -> Option<Self> {
        if other.unscaled == i256::ZERO {
            return None;
        }
        let mut quotient = self.unscaled.checked_div(other.unscaled)?;
        let mut remainder = self.unscaled.checked_rem(other.unscaled)?;
        let mut digits = u32::try_from(QUOTIENT_SCALE + other.scale - self.scale).ok()?;
        while digits > 0 {
            let step = power(digits.min(DIVISION_STEP_DIGITS))?;
            digits -= digits.min(DIVISION_STEP_DIGITS);
            let scaled = remainder.checked_mul(step)?;
            quotient = quotient.checked_mul(step)?.checked_add(scaled.checked_div(other.unscaled)?)?;
            remainder = scaled.checked_rem(other.unscaled)?;
        }
        Some(Self {
            unscaled: quotient,
            scale: QUOTIENT_SCALE,
        })
    }

    /// What is left of a division without digits behind the point; its sign is the dividend's.
    pub(super) fn remainder(self, other: Self) -> Option<Self> {
        let (left, right) = self.aligned(other)?;
        if right.unscaled == i256::ZERO {
            return None;
        }
        Some(Self {
            unscaled: left.unscaled.checked_rem(right.unscaled)?,
            scale: left.scale,
        })
    }

    /// A quotient without digits behind the point.
    pub(super) fn divide_whole(self, other: Self) -> Option<i64> {
        let (left, right) = self.aligned(other)?;
        if right.unscaled == i256::ZERO {
            return None;
        }
        left.unscaled.checked_div(right.unscaled)?.to_i128()?.try_into().ok()
    }

    /// Without the digits behind the point.
    pub(super) fn whole(self) -> Option<i128> {
        let divisor = power(self.scale.unsigned_abs())?;
        self.unscaled.checked_div(divisor)?.to_i128()
    }

    /// The same value with at most so many digits behind the point (before it, if negative), rounded half up.
    pub(super) fn rounded(self, scale: i32) -> Option<Self> {
        if scale >= self.scale {
            return Some(self);
        }
        let rounded = self.at_scale(scale.max(-(DIGITS_MAX.cast_signed()) - 1))?;
        match rounded.scale {
            0.. => Some(rounded),
            _ => rounded.at_scale(0),
        }
    }

    fn aligned(self, other: Self) -> Option<(Self, Self)> {
        let scale = self.scale.max(other.scale);
        Some((self.at_scale(scale)?, other.at_scale(scale)?))
    }
}

fn magnitude(value: i256) -> i256 {
    if value.is_negative() { -value } else { value }
}

fn divide_half_up(value: i256, divisor: i256) -> Option<i256> {
    let quotient = value.checked_div(divisor)?;
    let remainder = magnitude(value.checked_rem(divisor)?);
    // No overflow: the remainder is less than the divisor, and that is a power of ten.
    if remainder >= divisor - remainder {
        let away = if value.is_negative() { i256::MINUS_ONE } else { i256::ONE };
        return quotient.checked_add(away);
    }
    Some(quotient)
}

/// The number as a double: exact division where both parts are exact doubles, else by way of its text.
pub(super) fn to_double(unscaled: i128, scale: i8) -> f64 {
    const EXACT_MAX: u128 = 1 << 53;
    const EXACT_POWER_MAX: i8 = 22;
    if unscaled.unsigned_abs() <= EXACT_MAX && (0..=EXACT_POWER_MAX).contains(&scale) {
        #[allow(clippy::cast_precision_loss, reason = "53 bits are exact")]
        return unscaled as f64 / 10_f64.powi(i32::from(scale));
    }
    format!("{unscaled}e-{scale}").parse().unwrap_or(f64::NAN)
}

/// The number as a float, rounded once.
pub(super) fn to_float(unscaled: i128, scale: i8) -> f32 {
    format!("{unscaled}e-{scale}").parse().unwrap_or(f32::NAN)
}

/// The number in digits with the scale's places behind the point.
pub(super) fn push_plain(unscaled: i128, scale: i8, out: &mut String) {
    let places = usize::from(scale.unsigned_abs());
    let digits = format!("{:0width$}", unscaled.unsigned_abs(), width = places + 1);
    if unscaled < 0 {
        out.push('-');
    }
    let (whole, fraction) = digits.split_at_checked(digits.len() - places).unwrap_or((&digits, ""));
    out.push_str(whole);
    if places > 0 {
        out.push('.');
        out.push_str(fraction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: Option<Decimal>, precision: u8, scale: i8) -> String {
        let Some(unscaled) = value.and_then(|value| value.fit(precision, scale)) else {
            return "null".into();
        };
        let mut out = String::new();
        push_plain(unscaled, scale, &mut out);
        out
    }

    #[test]
    fn results_are_exact_and_rounded_half_up() {
        let (a, b) = (Decimal::new(1234, 2), Decimal::new(-5, 1));
        assert_eq!(text(a.add(b), 5, 2), "11.84");
        assert_eq!(text(a.subtract(b), 5, 2), "12.84");
        assert_eq!(text(a.multiply(b), 5, 2), "-6.17");
        assert_eq!(text(a.divide(Decimal::new(3, 0)), 20, 11), "4.11333333333");
        assert_eq!(text(Decimal::new(-2, 0).divide(Decimal::new(3, 0)), 10, 2), "-0.67");
        assert_eq!(
            text(Decimal::new(1, 38).divide(Decimal::new(i128::from(u64::MAX), 0)), 38, 38),
            format!("0.{}", "0".repeat(38))
        );
        let (one, part) = (Decimal::new(1, 0), format!("0.{}0", "047619".repeat(6)));
        assert_eq!(text(one.divide(Decimal::new(21, 0)), 38, 37), part);
        assert_eq!(text(one.divide(Decimal::new(-21, 0)), 38, 37), format!("-{part}"));
        assert_eq!(text(a.divide(Decimal::new(0, 5)), 10, 2), "null");
        assert_eq!(text(Decimal::new(-1234, 2).remainder(Decimal::new(5, 0)), 5, 2), "-2.34");
        assert_eq!(a.divide_whole(Decimal::new(5, 0)), Some(2));
        assert_eq!(text(Some(Decimal::new(-125, 2)), 3, 1), "-1.3");
        assert_eq!(text(Some(Decimal::new(99_995, 3)), 4, 2), "null");
        assert_eq!(text(a.rounded(-1), 4, 0), "10");
        assert_eq!(text(a.rounded(-2), 4, 0), "0");
        assert_eq!(text(a.rounded(9), 4, 2), "12.34");
    }

    #[test]
    fn conversions_to_binary_numbers_round_once() {
        assert_eq!(to_double(1234, 2), 12.34);
        assert_eq!(to_double(99_999_999_999_999_999_999_999_999_999_999_999_999, 10), 1e28);
        assert_eq!(to_float(3_333_333_333, 10), 0.333_333_33);
    }
}
