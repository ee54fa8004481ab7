//! Dates and timestamps in Spark's lenient ISO syntax, in the session time zone UTC.
//!
//! A time without a date stands for today in Spark; without a clock it is no timestamp here. The one invariant: results
//! depend on the text alone.

use super::unicode::decimal_digit;
use super::zone::{LocalTime, offset_seconds};

const MICROS_PER_SECOND: i128 = 1_000_000;

/// Fraction digits that count; more are cut, not rounded.
const FRACTION_DIGITS: u32 = 6;

/// Day numbers below this (1582-10-15) are taken as dates of the Julian calendar when they come as a plain number.
const GREGORIAN_START_DAY: i64 = -141_427;

/// Microseconds since the epoch of a TIMESTAMP text.
pub(crate) fn parse_timestamp(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    plain_timestamp(bytes.strip_suffix(b"Z").unwrap_or(bytes))
        .or_else(|| timestamp(bytes))
        .or_else(|| timestamp(without_gmt(text)?.as_bytes()))
}

/// Microseconds of a TIMESTAMP_NTZ text, which has no zone.
pub(crate) fn parse_timestamp_ntz(text: &str) -> Option<i64> {
    if let Some(micros) = plain_timestamp(text.as_bytes()) {
        return Some(micros);
    }
    let segments = Segments::of(text.as_bytes())?;
    if segments.zone.is_some() {
        return None;
    }
    segments.micros()
}

/// Days since the epoch of a DATE text; a whole number that is no year is a day count.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    date(text.as_bytes())
        .or_else(|| date(without_gmt(text)?.as_bytes()))
        .or_else(|| day_count(text))
}

/// Microseconds of a text that SQL casts to TIMESTAMP.
pub fn cast_timestamp(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    plain_timestamp(bytes.strip_suffix(b"Z").unwrap_or(bytes)).or_else(|| timestamp(bytes))
}

/// Microseconds of a text that SQL casts to TIMESTAMP_NTZ: a zone must exist, but counts for nothing.
pub fn cast_timestamp_ntz(text: &str) -> Option<i64> {
    let mut segments = Segments::of(text.as_bytes())?;
    segments.micros()?;
    segments.zone = None;
    segments.micros()
}

/// Days of a text that SQL casts to DATE.
pub fn cast_date(text: &str) -> Option<i32> {
    date(text.as_bytes())
}

/// Spark's second try.
fn without_gmt(text: &str) -> Option<String> {
    text.contains("GMT").then(|| text.replace("GMT", ""))
}

/// The form that most timestamps have, without a zone: `2024-02-29T12:34:56`, with a fraction or without. `None` means that
/// another reader must look.
fn plain_timestamp(text: &[u8]) -> Option<i64> {
    let (start, rest) = text.split_first_chunk()?;
    let [
        y0,
        y1,
        y2,
        y3,
        b'-',
        m0,
        m1,
        b'-',
        d0,
        d1,
        b'T' | b' ',
        h0,
        h1,
        b':',
        i0,
        i1,
        b':',
        s0,
        s1,
    ] = start
    else {
        return None;
    };
    let digits = |digits: &[&u8]| {
        digits.iter().try_fold(0_i64, |value, digit| match **digit {
            digit @ b'0'..=b'9' => Some(value * 10 + i64::from(digit - b'0')),
            _ => None,
        })
    };
    let mut micros = 0;
    if let Some((point, fraction)) = rest.split_first() {
        if *point != b'.' || !fraction.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let counted = fraction.iter().chain(std::iter::repeat(&b'0')).take(FRACTION_DIGITS as usize);
        micros = counted.fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    }
    let (year, month, day) = (digits(&[y0, y1, y2, y3])?, digits(&[m0, m1])?, digits(&[d0, d1])?);
    let (hour, minute, second) = (digits(&[h0, h1])?, digits(&[i0, i1])?, digits(&[s0, s1])?);
    let segments = Segments {
        values: [year, month, day, hour, minute, second, micros, 0],
        zone: None,
    };
    segments.micros()
}

fn timestamp(text: &[u8]) -> Option<i64> {
    Segments::of(text)?.micros()
}

/// The parts of a timestamp text: year, month, day, hour, minute, second, microsecond, and what follows.
struct Segments<'a> {
    values: [i64; SEGMENTS],
    zone: Option<&'a [u8]>,
}

const YEAR: usize = 0;
const DAY: usize = 2;
const HOUR: usize = 3;
const SECOND: usize = 5;
const FRACTION: usize = 6;
/// Behind the zone; nothing may follow.
const REST: usize = 7;
const SEGMENTS: usize = 8;

impl<'a> Segments<'a> {
    fn of(text: &'a [u8]) -> Option<Self> {
        let text = trim(text);
        let mut segments = Self {
            values: [1, 1, 1, 0, 0, 0, 0, 0],
            zone: None,
        };
        let (negative, body) = split_sign(text)?;
        let (mut segment, mut value, mut digits, mut fraction_digits) = (YEAR, 0_i64, 0_usize, 0_u32);
        for (at, byte) in body.iter().enumerate() {
            if byte.is_ascii_digit() {
                if segment != FRACTION || fraction_digits < FRACTION_DIGITS {
                    value = value.saturating_mul(10).saturating_add(i64::from(byte - b'0'));
                }
                fraction_digits += u32::from(segment == FRACTION && fraction_digits < FRACTION_DIGITS);
                digits += 1;
                continue;
            }
            if !has_valid_length(segment, digits) {
                return None;
            }
            segments.set(segment, value);
            (value, digits) = (0, 0);
            segment = match (segment, byte) {
                (YEAR | 1, b'-') => segment + 1,
                (DAY, b' ' | b'T') => HOUR,
                (HOUR | 4, b':') => segment + 1,
                (SECOND, b'.') => FRACTION,
                (SECOND | FRACTION, _) => {
                    segments.zone = body.get(at..);
                    REST
                }
                _ => return None,
            };
            if segments.zone.is_some() {
                break;
            }
        }
        if !has_valid_length(segment, digits) {
            return None;
        }
        segments.set(segment, value);
        segments.scale_fraction(fraction_digits);
        if negative {
            segments.set(YEAR, -segments.get(YEAR));
        }
        Some(segments)
    }

    fn get(&self, segment: usize) -> i64 {
        self.values.get(segment).copied().unwrap_or(0)
    }

    fn set(&mut self, segment: usize, value: i64) {
        if let Some(place) = self.values.get_mut(segment) {
            *place = value;
        }
    }

    fn scale_fraction(&mut self, digits: u32) {
        self.set(FRACTION, self.get(FRACTION) * 10_i64.pow(FRACTION_DIGITS - digits));
    }

    fn micros(&self) -> Option<i64> {
        let [year, month, day, hour, minute, second, micros, _] = self.values;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let days = days_of(year, month, day)?;
        let second_of_day = hour * 3600 + minute * 60 + second;
        let local = LocalTime {
            year,
            month,
            day,
            second_of_day,
        };
        let offset = match self.zone {
            Some(zone) => offset_seconds(zone, local)?,
            None => 0,
        };
        let seconds = i128::from(days) * 86_400 + i128::from(second_of_day - offset);
        i64::try_from(seconds * MICROS_PER_SECOND + i128::from(micros)).ok()
    }
}

fn has_valid_length(segment: usize, digits: usize) -> bool {
    match segment {
        YEAR => (4..=6).contains(&digits),
        FRACTION => true,
        REST => digits <= 2,
        _ => (1..=2).contains(&digits),
    }
}

/// A DATE text: what follows the day, from the first `T` or space on, does not count.
fn date(text: &[u8]) -> Option<i32> {
    let (negative, body) = split_sign(trim(text))?;
    let mut values = [1_i64; 3];
    let (mut segment, mut value, mut digits) = (YEAR, 0_i64, 0_usize);
    let valid = |segment: usize, digits: usize| match segment {
        YEAR => (4..=7).contains(&digits),
        _ => (1..=2).contains(&digits),
    };
    let mut rest = body.iter();
    for byte in rest.by_ref() {
        match byte {
            b' ' | b'T' if segment == DAY => break,
            b'-' if segment < DAY && valid(segment, digits) => {
                *values.get_mut(segment)? = value;
                (segment, value, digits) = (segment + 1, 0, 0);
            }
            b'0'..=b'9' => {
                value = value.saturating_mul(10).saturating_add(i64::from(byte - b'0'));
                digits += 1;
            }
            _ => return None,
        }
    }
    if !valid(segment, digits) {
        return None;
    }
    *values.get_mut(segment)? = value;
    let [year, month, day] = values;
    let days = days_of(if negative { -year } else { year }, month, day)?;
    i32::try_from(days).ok()
}

/// A whole number of days since the epoch, as Spark reads it from a string.
fn day_count(text: &str) -> Option<i32> {
    let (negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    if digits.is_empty() {
        return None;
    }
    let mut count = 0_i64;
    for character in digits.chars() {
        count = count.saturating_mul(10).saturating_add(i64::from(decimal_digit(character)?));
    }
    let count = i32::try_from(if negative { -count } else { count }).ok()?;
    i32::try_from(julian_as_gregorian(i64::from(count))?).ok()
}

/// The day number of the same year, month and day in the proleptic Gregorian calendar.
fn julian_as_gregorian(day_number: i64) -> Option<i64> {
    if day_number >= GREGORIAN_START_DAY {
        return Some(day_number);
    }
    let since_4801_bce = day_number + 2_440_588 + 32_082;
    let year = (4 * since_4801_bce + 3).div_euclid(1461);
    let day_of_year = since_4801_bce - (1461 * year).div_euclid(4);
    let month = (5 * day_of_year + 2).div_euclid(153);
    let day_of_month = day_of_year - (153 * month + 2).div_euclid(5);
    Some(days_of(year - 4800 + month / 10, month + 3 - 12 * (month / 10), 1)? + day_of_month)
}

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar, if there is such a date.
pub fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_in_month = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    if !(1..=days_in_month).contains(&day) {
        return None;
    }
    // Years that begin in March put the leap day last.
    let year = year.checked_sub(i64::from(month <= 2))?;
    let cycle = year.div_euclid(400);
    let year_of_cycle = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let in_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year - 719_468;
    cycle.checked_mul(146_097)?.checked_add(in_cycle)
}

/// Without the bytes that Spark's `UTF8String` trims here: controls, space and DEL.
fn trim(text: &[u8]) -> &[u8] {
    let blank = |byte: &u8| *byte <= b' ' || *byte == 0x7F;
    let start = text.iter().position(|byte| !blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !blank(byte)).map_or(start, |at| at + 1);
    text.get(start..end).unwrap_or_default()
}

fn split_sign(text: &[u8]) -> Option<(bool, &[u8])> {
    match text {
        [] => None,
        [b'-', body @ ..] => Some((true, body)),
        [b'+', body @ ..] => Some((false, body)),
        body => Some((false, body)),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        cast_date, cast_timestamp, cast_timestamp_ntz, days_of, parse_date, parse_timestamp, parse_timestamp_ntz, plain_timestamp,
        timestamp,
    };

    #[test]
    fn a_date_beyond_all_numbers_has_no_day() {
        assert_eq!(days_of(i64::MAX, 1, 1), None);
        assert_eq!(days_of(i64::MIN, 1, 1), None);
        assert_eq!(days_of(1970, 1, 2), Some(1));
    }

    #[test]
    fn the_plain_form_is_read_as_any_other() {
        let mut plain = 0;
        for date in [
            "2024-02-29",
            "2023-02-29",
            "0000-01-01",
            "9999-12-31",
            "2024-1-01",
            "2024-00-10",
            "20a4-02-29",
        ] {
            for time in [
                "T12:34:56",
                " 00:00:00",
                "T23:59:59",
                "T24:00:00",
                "T12:60:00",
                "T12:00:60",
                "t12:00:00",
                "T1:00:00",
            ] {
                for fraction in ["", ".", ".1", ".000001", ".123456", ".1234569999", ".12x"] {
                    let text = format!("{date}{time}{fraction}");
                    if let Some(micros) = plain_timestamp(text.as_bytes()) {
                        plain += 1;
                        assert_eq!(timestamp(text.as_bytes()), Some(micros), "{text}");
                        assert_eq!(
                            parse_timestamp(&format!("{text}Z")),
                            timestamp(format!("{text}Z").as_bytes()),
                            "{text}Z"
                        );
                    }
                }
            }
        }
        assert_eq!(plain, 3 * 3 * 6);
    }

    #[test]
    fn timestamps_are_read_with_any_zone_and_cut_to_microseconds() {
        let cases = [
            ("2024-02-29T12:34:56Z", Some(1_709_210_096_000_000)),
            ("2024-02-29 12:34:56.1234567+01:00", Some(1_709_206_496_123_456)),
            ("2024-02-29T12:34:56.", Some(1_709_210_096_000_000)),
            ("2024", Some(1_704_067_200_000_000)),
            ("2024-2-9", Some(1_707_436_800_000_000)),
            ("\t2024-02-29 ", Some(1_709_164_800_000_000)),
            ("2024-02-29GMT", Some(1_709_164_800_000_000)),
            ("2024-02-29T12:34:56 Europe/Paris", Some(1_709_206_496_000_000)),
            ("-0001-01-01", Some(-62_198_755_200_000_000)),
            ("2024-02-29T", None),
            ("2024-02-30", None),
            ("2024-02-29T24:00:00", None),
            ("2024-02-29T12:34:60", None),
            ("2024-02-29T12:34Z", None),
            ("300000-01-01", None),
            ("12:34", None),
            ("T12:34", None),
            ("", None),
            ("+", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_timestamp(text), expected, "{text}");
        }
    }

    #[test]
    fn a_timestamp_without_zone_refuses_one() {
        assert_eq!(parse_timestamp_ntz("2024-02-29T12:34:56"), Some(1_709_210_096_000_000));
        assert_eq!(parse_timestamp_ntz("2024-02-29T12:34:56Z"), None);
        assert_eq!(parse_timestamp_ntz("2024-02-29GMT"), None);
    }

    #[test]
    fn casts_take_no_second_try_and_no_count_of_days() {
        assert_eq!(cast_timestamp("2024-02-29T12:34:56Z"), Some(1_709_210_096_000_000));
        assert_eq!(cast_timestamp("2024-02-29GMT"), None);
        assert_eq!(cast_timestamp_ntz("2024-02-29T12:34:56+01:00"), Some(1_709_210_096_000_000));
        assert_eq!(cast_timestamp_ntz("2024-02-29T12:34:56 Nowhere"), None);
        assert_eq!(cast_date("2024-02"), Some(19_754));
        assert_eq!(cast_date("20240229"), None);
    }

    #[test]
    fn dates_are_calendar_dates_years_or_day_counts() {
        let cases = [
            ("2024-02-29", Some(19_782)),
            ("2024-02-29T garbage", Some(19_782)),
            ("2024-02-29 12:34", Some(19_782)),
            ("1970-1", Some(0)),
            ("1000", Some(-354_285)),
            ("999", Some(999)),
            ("-999", Some(-999)),
            ("20240229", Some(20_240_229)),
            ("-10000000", Some(-9_999_807)),
            ("-2147483648", Some(-2_147_439_564)),
            ("9999999", Some(9_999_999)),
            ("2147483648", None),
            ("2024-02", Some(19_754)),
            ("2024-02T", None),
            ("2024-02-30", None),
            ("2024-02-29t", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_date(text), expected, "{text}");
        }
    }
}
