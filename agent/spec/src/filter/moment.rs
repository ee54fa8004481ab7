//! Dates and times in literals, by Spark's rules: `2020-1-5`, `2020-01-05T10:20:30.5Z`. Zones are UTC or an offset.

const DAYS_OF_400_YEARS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_EPOCH: i64 = 719_468;
const MICROS_OF_SECOND: i64 = 1_000_000;
/// Microseconds of a day.
pub(super) const MICROS_OF_DAY: i64 = 86_400 * MICROS_OF_SECOND;

/// A time stamp and whether a zone stood in it.
pub(super) struct Moment {
    /// Microseconds since 1970-01-01T00:00:00, in UTC if there was a zone.
    pub(super) micros: i64,
    /// The zone was written.
    pub(super) zoned: bool,
}

/// Days since 1970-01-01 of a DATE literal, within 32 bits. What follows a whole date and a `T` or a space is of no account.
pub(super) fn date(text: &str) -> Option<i64> {
    let text = text.trim();
    let (days, rest) = leading_date(text)?;
    let whole = rest.is_empty() || rest.starts_with(['T', ' ']);
    (whole && i32::try_from(days).is_ok()).then_some(days)
}

/// A TIMESTAMP or TIMESTAMP_NTZ literal.
pub(super) fn timestamp(text: &str) -> Option<Moment> {
    let (days, rest) = leading_date(text.trim())?;
    if rest.is_empty() {
        let micros = days.checked_mul(MICROS_OF_DAY)?;
        return Some(Moment { micros, zoned: false });
    }
    let rest = rest.strip_prefix(['T', ' '])?;
    let (micros_of_day, rest) = time_of_day(rest)?;
    let zone = rest.trim();
    let offset_seconds = if zone.is_empty() { 0 } else { offset_seconds(zone)? };
    let micros = days.checked_mul(MICROS_OF_DAY)?.checked_add(micros_of_day)?;
    Some(Moment {
        micros: micros.checked_sub(offset_seconds * MICROS_OF_SECOND)?,
        zoned: !zone.is_empty(),
    })
}

/// A date at the start, and what follows: only a whole one can be followed by something.
fn leading_date(text: &str) -> Option<(i64, &str)> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (year, rest) = number(unsigned, 4, 7)?;
    let year = sign * year;
    if rest.is_empty() {
        return Some((days(year, 1, 1)?, rest));
    }
    let (month, rest) = number(rest.strip_prefix('-')?, 1, 2)?;
    if rest.is_empty() {
        return Some((days(year, month, 1)?, rest));
    }
    let (day, rest) = number(rest.strip_prefix('-')?, 1, 2)?;
    Some((days(year, month, day)?, rest))
}

/// `10`, `10:20`, `10:20:30` or `10:20:30.123456` as microseconds, and what follows: nothing if it is an hour alone.
fn time_of_day(text: &str) -> Option<(i64, &str)> {
    let (hour, rest) = number(text, 1, 2)?;
    let (minute, rest) = match rest.strip_prefix(':') {
        Some(rest) => number(rest, 1, 2)?,
        None if rest.is_empty() => (0, rest),
        None => return None,
    };
    let (second, rest) = match rest.strip_prefix(':') {
        Some(rest) => number(rest, 1, 2)?,
        None => (0, rest),
    };
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => fraction_micros(rest),
        None => (0, rest),
    };
    let valid = hour < 24 && minute < 60 && second < 60;
    let seconds = (hour * 60 + minute) * 60 + second;
    valid.then_some((seconds * MICROS_OF_SECOND + fraction, rest))
}

/// Digits after the point; those beyond the sixth are dropped.
fn fraction_micros(text: &str) -> (i64, &str) {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(length);
    let micros = digits.bytes().chain(std::iter::repeat(b'0')).take(6);
    (micros.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')), rest)
}

/// `Z`, `UTC`, `GMT`, `+01:00`, `+0100`, `UTC+1`; regions need a zone database.
fn offset_seconds(zone: &str) -> Option<i64> {
    let rest = ["UTC", "GMT", "UT", "Z"]
        .iter()
        .find_map(|name| zone.strip_prefix(name))
        .unwrap_or(zone);
    if rest.is_empty() {
        return Some(0);
    }
    let (sign, rest) = match rest.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, rest) = match rest.len() {
        // `0130`
        4 if rest.bytes().all(|digit| digit.is_ascii_digit()) => number(rest.get(..2)?, 2, 2).map(|(hours, _)| (hours, rest.get(2..)))?,
        _ => number(rest, 1, 2).map(|(hours, rest)| (hours, Some(rest)))?,
    };
    let rest = rest?;
    let (minutes, rest) = match rest.strip_prefix(':').unwrap_or(rest) {
        "" if rest.is_empty() => (0, rest),
        minutes => number(minutes, 1, 2)?,
    };
    let valid = rest.is_empty() && minutes < 60 && hours * 60 + minutes <= 18 * 60;
    valid.then_some(sign * (hours * 3600 + minutes * 60))
}

/// A number of `min` to `max` digits at the start, and what follows.
fn number(text: &str, min: usize, max: usize) -> Option<(i64, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    if !(min..=max).contains(&length) {
        return None;
    }
    let (digits, rest) = text.split_at(length);
    Some((digits.parse().ok()?, rest))
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar; `None` for a day that no month has.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    // Years begin in March: a leap day is then a year's last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * DAYS_OF_400_YEARS + day_of_era - DAYS_TO_EPOCH)
}
