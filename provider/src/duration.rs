//! Durations as users write them (`90s`, `1m30s`, `1500ms`), and as we write them back. Equal in meaning is equal in
//! value: `1s` and `1000ms` are one duration.

use std::time::Duration;

/// Units from the largest to the smallest, in nanoseconds.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Why a text is no duration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a duration; write a number and a unit (h, m, s, ms), as in `90s` or `1m30s`")]
pub(crate) struct DurationError {
    text: String,
}

/// Reads one or more numbers with units: `1h30m`, `2.5s`.
pub(crate) fn parse(text: &str) -> Result<Duration, DurationError> {
    let error = || DurationError {
        text: text.chars().take(40).collect(),
    };
    let mut rest = text;
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return Err(error());
    }
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(error)?;
        let (number, tail) = rest.split_at(number_end);
        let unit_end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let (_, unit_nanos) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?;
        let part = nanoseconds(number, *unit_nanos).ok_or_else(error)?;
        total = total.checked_add(Duration::from_nanos(part)).ok_or_else(error)?;
        rest = tail;
    }
    Ok(total)
}

/// Writes whole units, largest first, in a form that `parse` reads back exactly: `1m30s`.
pub(crate) fn format(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    if rest == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, nanos) in UNITS {
        let count = rest / nanos;
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
        }
        rest %= nanos;
    }
    text
}

/// True if both are durations of one length.
pub(crate) fn same(left: &str, right: &str) -> bool {
    match (parse(left), parse(right)) {
        (Ok(left), Ok(right)) => left == right,
        _ => left == right,
    }
}

/// `number` × `unit` in whole nanoseconds, without rounding; `None` if it is no number, too large or too fine.
fn nanoseconds(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut total = if whole.is_empty() {
        0
    } else {
        whole.parse::<u64>().ok()?.checked_mul(unit)?
    };
    let mut share = unit;
    for digit in fraction.chars() {
        let digit = u64::from(digit.to_digit(10)?);
        if !share.is_multiple_of(10) && digit != 0 {
            return None;
        }
        share /= 10;
        total = total.checked_add(share.checked_mul(digit)?)?;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, millis) in [
            ("1s", 1000),
            ("1000ms", 1000),
            ("1m30s", 90_000),
            ("1h", 3_600_000),
            ("0.5s", 500),
            ("1.5h", 5_400_000),
            ("0s", 0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in [
            "",
            "1",
            "s",
            "1 s",
            "-1s",
            "1d",
            "1s2",
            ".s",
            "1..5s",
            "99999999999999999999h",
            "1秒",
        ] {
            assert!(parse(text).is_err(), "{text:?} is no duration");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for nanos in [0, 1, 999, 1_000_000, 1_500_000_000, 90_000_000_000, 3_661_001_001_001] {
            let duration = Duration::from_nanos(nanos);
            assert_eq!(parse(&format(duration)), Ok(duration));
        }
        assert_eq!(format(Duration::from_millis(90_500)), "1m30s500ms");
        assert!(same("60s", "1m") && !same("60s", "61s") && same("odd", "odd"));
    }
}
