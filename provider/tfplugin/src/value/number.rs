//! Numbers, kept as they were written.
//!
//! Terraform's numbers are decimals of any length. Forcing one through a float changes it, and Terraform then refuses the
//! plan. Invariant: what came in as a text goes out as that text; equality is by amount, never by spelling.

use std::fmt;

use crate::limits::NUMBER_DIGITS_MAX;

/// A finite decimal number.
#[derive(Clone, Debug)]
pub struct Number(Form);

/// The form on the wire.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Decimal(String),
}

/// Not a number that Terraform could have sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a finite decimal number of at most {NUMBER_DIGITS_MAX} digits")]
pub struct NotANumber {
    text: String,
}

impl Number {
    /// A number from its decimal text, such as `-1.50e3`, which it keeps.
    ///
    /// # Errors
    /// When the text is not a decimal number.
    pub fn parse(text: &str) -> Result<Self, NotANumber> {
        match Amount::of_text(text) {
            Some(_) => Ok(Self(match text.parse::<i64>() {
                Ok(number) if number.to_string() == text => Form::Signed(number),
                _ => Form::Decimal(text.to_owned()),
            })),
            None => Err(NotANumber {
                text: text.chars().take(40).collect(),
            }),
        }
    }

    /// A number from a float.
    ///
    /// # Errors
    /// When it is infinite or not a number.
    pub fn from_float(float: f64) -> Result<Self, NotANumber> {
        if float.is_finite() {
            Ok(Self(Form::Float(float)))
        } else {
            Err(NotANumber { text: float.to_string() })
        }
    }

    /// The number, if it is whole and fits.
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Form::Signed(number) => Some(*number),
            Form::Unsigned(number) => i64::try_from(*number).ok(),
            Form::Float(_) | Form::Decimal(_) => self.amount().whole().and_then(|text| text.parse().ok()),
        }
    }

    /// The number, if it is whole, not negative and fits.
    pub fn as_u64(&self) -> Option<u64> {
        match &self.0 {
            Form::Unsigned(number) => Some(*number),
            Form::Signed(number) => u64::try_from(*number).ok(),
            Form::Float(_) | Form::Decimal(_) => self.amount().whole().and_then(|text| text.parse().ok()),
        }
    }

    pub(crate) fn form(&self) -> &Form {
        &self.0
    }

    /// The number as JSON spells it: JSON knows no leading zeros, no plus sign and no bare point.
    pub(crate) fn to_json(&self) -> String {
        let text = self.to_string();
        if serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok() {
            text
        } else {
            self.amount().spelled()
        }
    }

    fn amount(&self) -> Amount {
        Amount::of_text(&self.to_string()).unwrap_or_default()
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self(Form::Signed(number))
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Self(Form::Unsigned(number))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Signed(number) => write!(out, "{number}"),
            Form::Unsigned(number) => write!(out, "{number}"),
            // The shortest text that reads back as the same float.
            Form::Float(number) => write!(out, "{number}"),
            Form::Decimal(text) => write!(out, "{text}"),
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Form::Signed(left), Form::Signed(right)) => left == right,
            (Form::Unsigned(left), Form::Unsigned(right)) => left == right,
            _ => self.amount() == other.amount(),
        }
    }
}

impl Eq for Number {}

/// An amount in the one spelling it has: digits without zeros at either end, and where the point stands.
#[derive(Debug, Default, PartialEq, Eq)]
struct Amount {
    negative: bool,
    digits: String,
    /// The amount is 0.`digits` times ten to this power.
    exponent: i64,
}

impl Amount {
    fn of_text(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, power.parse::<i32>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: String = [whole, fraction].concat();
        if all.is_empty() || all.len() > NUMBER_DIGITS_MAX || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let leading_zeros = all.bytes().take_while(|byte| *byte == b'0').count();
        let digits = all.trim_start_matches('0').trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self::default());
        }
        let point = i64::try_from(whole.len()).ok()? - i64::try_from(leading_zeros).ok()?;
        Some(Self {
            negative,
            digits,
            exponent: point + i64::from(power),
        })
    }

    fn spelled(&self) -> String {
        if self.digits.is_empty() {
            return "0".to_owned();
        }
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}0.{}e{}", self.digits, self.exponent)
    }

    /// The decimal text of a whole number that could fit into 64 bits.
    fn whole(&self) -> Option<String> {
        if self.digits.is_empty() {
            return Some("0".to_owned());
        }
        let length = usize::try_from(self.exponent)
            .ok()
            .filter(|length| *length <= 20 && *length >= self.digits.len())?;
        let sign = if self.negative { "-" } else { "" };
        Some(format!("{sign}{:0<length$}", self.digits))
    }
}
