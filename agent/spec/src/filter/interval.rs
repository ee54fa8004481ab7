//! INTERVAL literals: `1 DAY`, `1 day 2 hours`, `'1-2' YEAR TO MONTH`, `'1 02:03:04.5' DAY TO SECOND`.

use super::expr::{Expr, ExprKind, ExprType, Literal};
use super::moment::MICROS_OF_DAY;
use super::problem::Refusal;

/// A unit of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

const REMEDY: &str = "write it as in INTERVAL 1 DAY, INTERVAL '1-2' YEAR TO MONTH or INTERVAL '1 02:03:04' DAY TO SECOND";

/// The unit of a name, singular or plural in any case.
pub(super) fn unit(name: &str) -> Option<Unit> {
    let lower = name.to_ascii_lowercase();
    Some(match lower.strip_suffix('s').unwrap_or(&lower) {
        "microsecond" => Unit::Microsecond,
        "millisecond" => Unit::Millisecond,
        "second" => Unit::Second,
        "minute" => Unit::Minute,
        "hour" => Unit::Hour,
        "day" => Unit::Day,
        "week" => Unit::Week,
        "month" => Unit::Month,
        "year" => Unit::Year,
        _ => return None,
    })
}

impl Unit {
    /// Microseconds, or months for the two that are months.
    fn amount(self) -> i64 {
        match self {
            Self::Microsecond | Self::Month => 1,
            Self::Millisecond => 1_000,
            Self::Second => 1_000_000,
            Self::Minute => 60_000_000,
            Self::Hour => 3_600_000_000,
            Self::Day => MICROS_OF_DAY,
            Self::Week => 7 * MICROS_OF_DAY,
            Self::Year => 12,
        }
    }

    fn is_of_months(self) -> bool {
        matches!(self, Self::Month | Self::Year)
    }
}

/// An interval, and whether its units are days or longer: added to a DATE it gives a DATE.
pub(super) struct IntervalLiteral {
    pub(super) expr: Expr,
    pub(super) whole_days: bool,
}

/// Reads the text of a literal; `range` is `DAY TO SECOND` and the like, else the text has its units in it.
pub(super) fn literal(text: &str, range: Option<&str>) -> Result<IntervalLiteral, Refusal> {
    match range {
        Some(range) => ranged(text, range),
        None => of_units(text),
    }
}

fn unreadable() -> Refusal {
    Refusal::new("the interval cannot be read", REMEDY)
}

fn of_units(text: &str) -> Result<IntervalLiteral, Refusal> {
    let lower = text.trim().to_ascii_lowercase();
    let text = lower.strip_prefix("interval ").unwrap_or(&lower);
    let mut words = text.split_whitespace();
    let (mut amount, mut units) = (0_i64, Vec::new());
    while let Some(quantity) = words.next() {
        let unit = words.next().and_then(unit).ok_or_else(unreadable)?;
        let part = scaled(quantity, unit).ok_or_else(unreadable)?;
        amount = amount.checked_add(part).ok_or_else(unreadable)?;
        units.push(unit);
    }
    let of_months = units.first().ok_or_else(unreadable)?.is_of_months();
    if units.iter().any(|unit| unit.is_of_months() != of_months) {
        return Err(Refusal::new("an interval has months or days, never both", REMEDY));
    }
    of(amount, of_months, units.iter().all(|unit| *unit >= Unit::Day))
}

/// A quantity of a unit; only seconds have a fraction.
fn scaled(quantity: &str, unit: Unit) -> Option<i64> {
    let (sign, unsigned) = match quantity.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, quantity.strip_prefix('+').unwrap_or(quantity)),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    let fits = digits(whole) && digits(fraction) && fraction.len() <= 9 && !(whole.is_empty() && fraction.is_empty());
    if !fits || (unit != Unit::Second && unsigned.contains('.')) {
        return None;
    }
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let micros = fraction.bytes().chain(std::iter::repeat(b'0')).take(6);
    let fraction = micros.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    whole.checked_mul(unit.amount())?.checked_add(fraction)?.checked_mul(sign)
}

fn ranged(text: &str, range: &str) -> Result<IntervalLiteral, Refusal> {
    let (first, last) = range.split_once(" TO ").ok_or_else(unreadable)?;
    let (Some(first), Some(last)) = (unit(first), unit(last)) else {
        return Err(unreadable());
    };
    let text = text.trim();
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let fields = match (first, last) {
        (Unit::Year, Unit::Month) => &[(Unit::Year, "-"), (Unit::Month, "")][..],
        (Unit::Day, Unit::Hour) => &[(Unit::Day, " "), (Unit::Hour, "")],
        (Unit::Day, Unit::Minute) => &[(Unit::Day, " "), (Unit::Hour, ":"), (Unit::Minute, "")],
        (Unit::Day, Unit::Second) => &[(Unit::Day, " "), (Unit::Hour, ":"), (Unit::Minute, ":"), (Unit::Second, "")],
        (Unit::Hour, Unit::Minute) => &[(Unit::Hour, ":"), (Unit::Minute, "")],
        (Unit::Hour, Unit::Second) => &[(Unit::Hour, ":"), (Unit::Minute, ":"), (Unit::Second, "")],
        (Unit::Minute, Unit::Second) => &[(Unit::Minute, ":"), (Unit::Second, "")],
        _ => return Err(unreadable()),
    };
    let (mut amount, mut rest) = (0_i64, text);
    for (index, (unit, separator)) in fields.iter().enumerate() {
        let (quantity, after) = match *separator {
            "" => (rest, ""),
            separator => rest.split_once(separator).ok_or_else(unreadable)?,
        };
        // Only the first is free in size: the others carry into it.
        let most = match unit {
            Unit::Month => 11,
            Unit::Hour => 23,
            _ => 59,
        };
        let size: f64 = quantity.parse().map_err(|_| unreadable())?;
        if quantity.starts_with(['-', '+']) || (index > 0 && size.trunc() > f64::from(most)) {
            return Err(unreadable());
        }
        let part = scaled(quantity, *unit).ok_or_else(unreadable)?;
        amount = amount.checked_add(part).ok_or_else(unreadable)?;
        rest = after;
    }
    of(sign * amount, first.is_of_months(), false)
}

fn of(amount: i64, of_months: bool, whole_days: bool) -> Result<IntervalLiteral, Refusal> {
    if of_months && i32::try_from(amount).is_err() {
        let problem = format!("the interval has {amount} months");
        return Err(Refusal::new(problem, format!("keep it within {} months", i32::MAX)));
    }
    let ty = if of_months {
        ExprType::YearMonthInterval
    } else {
        ExprType::DayTimeInterval
    };
    Ok(IntervalLiteral {
        expr: Expr {
            ty,
            kind: ExprKind::Literal(Literal::Integer(amount)),
        },
        whole_days,
    })
}
