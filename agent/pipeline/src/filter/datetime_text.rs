//! Reads dates and times by a pattern, as Java's strict formatter does behind `to_timestamp`.
//!
//! What the pattern does not ask for is of 1970-01-01T00:00:00 in UTC. The one invariant: all of the text must be used up.

use stream_spec::filter::datetime_pattern::{DatetimePattern, NumberField, NumberItem, NumberSign, OffsetItem, PatternItem};

use super::calendar::{Date, MICROS_PER_DAY, MICROS_PER_SECOND};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Letters of a month's short name.
const SHORT_NAME: usize = 3;

/// Furthest that a zone is from UTC, in seconds.
const OFFSET_SECONDS_MAX: i64 = 18 * 3600;

/// What was read so far.
#[derive(Default)]
struct Fields {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    hour: Option<i64>,
    hour_of_half: Option<i64>,
    afternoon: Option<bool>,
    minute: Option<i64>,
    second: Option<i64>,
    micros: Option<i64>,
    offset: Option<i64>,
}

/// Microseconds since 1970-01-01T00:00:00Z; nothing if the text is not as the pattern says.
pub(super) fn read(pattern: &DatetimePattern, text: &str) -> Option<i64> {
    let mut fields = Fields::default();
    let mut rest = text;
    for item in pattern.items() {
        rest = match item {
            PatternItem::Number(number) => fields.number(*number, rest)?,
            PatternItem::MonthName { whole } => fields.month_name(*whole, rest)?,
            PatternItem::HalfOfDay => fields.half(rest)?,
            PatternItem::Fraction { digits_max } => fields.fraction(*digits_max, rest)?,
            PatternItem::Offset(offset) => fields.offset(*offset, rest)?,
            PatternItem::Literal(literal) => without(literal, rest)?,
        };
    }
    if rest.is_empty() { fields.micros() } else { None }
}

/// The text behind what it must begin with, whatever the case.
fn without<'a>(literal: &str, text: &'a str) -> Option<&'a str> {
    let mut rest = text.chars();
    for expected in literal.chars() {
        let found = rest.next()?;
        if found != expected && !found.to_lowercase().eq(expected.to_lowercase()) {
            return None;
        }
    }
    Some(rest.as_str())
}

/// Sets a field; one that is there twice must be the same.
fn set<T: PartialEq>(field: &mut Option<T>, value: T) -> Option<()> {
    match field {
        Some(known) if *known != value => None,
        _ => {
            *field = Some(value);
            Some(())
        }
    }
}

fn digits(text: &str, most: usize) -> &str {
    let count = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    text.get(..count).unwrap_or_default()
}

impl Fields {
    fn number<'a>(&mut self, item: NumberItem, text: &'a str) -> Option<&'a str> {
        let (sign, unsigned) = match text.strip_prefix(['+', '-']) {
            Some(unsigned) => (text.chars().next(), unsigned),
            None => (None, text),
        };
        match (item.sign, sign) {
            (_, None) | (NumberSign::WhereLong, Some(_)) | (NumberSign::Minus, Some('-')) => {}
            _ => return None,
        }
        let found = digits(unsigned, item.digits_max + item.reserved);
        let own = match item.reserved {
            0 => found.len(),
            reserved => found.len().saturating_sub(reserved).max(item.digits_min),
        };
        let number = found.get(..own).filter(|own| own.len() >= item.digits_min)?;
        let long = number.len() > item.digits_min;
        if item.sign == NumberSign::WhereLong && sign != Some('-') && long != (sign == Some('+')) {
            return None;
        }
        let magnitude: i64 = number.parse().ok()?;
        // `-0` is no number.
        let value = match sign {
            Some('-') if magnitude == 0 => return None,
            Some('-') => -magnitude,
            _ => magnitude,
        };
        self.set_number(item.field, value)?;
        unsigned.get(own..)
    }

    fn set_number(&mut self, field: NumberField, value: i64) -> Option<()> {
        let (place, range) = match field {
            NumberField::Year => (&mut self.year, -999_999_999..=999_999_999),
            NumberField::YearOfCentury => return set(&mut self.year, 2000 + value),
            NumberField::Month => (&mut self.month, 1..=12),
            NumberField::Day => (&mut self.day, 1..=31),
            NumberField::Hour => (&mut self.hour, 0..=23),
            NumberField::HourOfHalf => (&mut self.hour_of_half, 1..=12),
            NumberField::Minute => (&mut self.minute, 0..=59),
            NumberField::Second => (&mut self.second, 0..=59),
        };
        if !range.contains(&value) {
            return None;
        }
        set(place, value)
    }

    fn month_name<'a>(&mut self, whole: bool, text: &'a str) -> Option<&'a str> {
        for (month, name) in (1..).zip(MONTHS) {
            let name = if whole { name } else { name.get(..SHORT_NAME)? };
            if let Some(rest) = without(name, text) {
                set(&mut self.month, month)?;
                return Some(rest);
            }
        }
        None
    }

    fn half<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        for (afternoon, name) in [(false, "AM"), (true, "PM")] {
            if let Some(rest) = without(name, text) {
                set(&mut self.afternoon, afternoon)?;
                return Some(rest);
            }
        }
        None
    }

    fn fraction<'a>(&mut self, digits_max: usize, text: &'a str) -> Option<&'a str> {
        let found = digits(text, digits_max);
        if found.is_empty() {
            return None;
        }
        let micros = found.bytes().chain(std::iter::repeat(b'0')).take(6);
        set(
            &mut self.micros,
            micros.fold(0, |micros, digit| micros * 10 + i64::from(digit - b'0')),
        )?;
        text.get(found.len()..)
    }

    fn offset<'a>(&mut self, item: OffsetItem, text: &'a str) -> Option<&'a str> {
        if item.zulu
            && let Some(rest) = text.strip_prefix(['Z', 'z'])
        {
            set(&mut self.offset, 0)?;
            return Some(rest);
        }
        let sign = match text.chars().next()? {
            '+' => 1,
            '-' => -1,
            _ => return None,
        };
        let two = |text: &str| -> Option<i64> { digits(text, 2).parse().ok().filter(|_| digits(text, 2).len() == 2) };
        let unsigned = text.get(1..)?;
        let hours = two(unsigned)?;
        let behind_hours = unsigned.get(2..)?;
        let minutes_text = if item.colon {
            behind_hours.strip_prefix(':')
        } else {
            Some(behind_hours)
        };
        let minutes = minutes_text.and_then(|text| Some((two(text)?, text.get(2..)?)));
        let (minutes, rest) = match minutes {
            Some((minutes, rest)) => (minutes, rest),
            None if item.minutes_optional => (0, behind_hours),
            None => return None,
        };
        let seconds = hours * 3600 + minutes * 60;
        if minutes > 59 || seconds > OFFSET_SECONDS_MAX {
            return None;
        }
        set(&mut self.offset, sign * seconds)?;
        Some(rest)
    }

    fn micros(&self) -> Option<i64> {
        let date = Date {
            year: self.year.unwrap_or(1970),
            month: self.month.unwrap_or(1),
            day: self.day.unwrap_or(1),
        };
        let seconds = self.hour_of_day()? * 3600 + self.minute.unwrap_or(0) * 60 + self.second.unwrap_or(0);
        let seconds = seconds - self.offset.unwrap_or(0);
        date.days()?
            .checked_mul(MICROS_PER_DAY)?
            .checked_add(seconds * MICROS_PER_SECOND + self.micros.unwrap_or(0))
    }

    /// Both ways to write the hour must agree if both are there.
    fn hour_of_day(&self) -> Option<i64> {
        let half = self.hour_of_half.map(|hour| hour % 12);
        let by_half = match (half, self.afternoon) {
            (Some(hour), afternoon) => Some(hour + if afternoon == Some(true) { 12 } else { 0 }),
            (None, Some(true)) if self.hour.is_none() => Some(12),
            _ => None,
        };
        match (self.hour, by_half) {
            (Some(hour), Some(by_half)) if hour != by_half => None,
            (Some(hour), _) if self.afternoon.is_some_and(|afternoon| afternoon != (hour >= 12)) => None,
            (hour, by_half) => Some(hour.or(by_half).unwrap_or(0)),
        }
    }
}
