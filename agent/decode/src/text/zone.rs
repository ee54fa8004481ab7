//! Time zones in timestamps: offsets, UTC and its names, region ids, Java's three-letter ids.
//!
//! Regions come from the time zone database inside the binary, never from the machine. The one invariant: a local time
//! in a gap moves forward by the gap, one in an overlap takes the earlier offset.

use std::sync::LazyLock;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZoneDatabase};

/// Offsets reach to 18 hours in Java.
const OFFSET_SECONDS_MAX: i64 = 18 * 3600;

/// The Gregorian calendar and with it every rule of a zone repeats after this many years.
const CALENDAR_CYCLE_YEARS: i64 = 400;

const SECONDS_PER_DAY: i64 = 86_400;

static REGIONS: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Java's `ZoneId.SHORT_IDS`.
const SHORT_IDS: [(&str, &str); 28] = [
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Harare"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "Europe/Paris"),
    ("EST", "-05:00"),
    ("HST", "-10:00"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("MST", "-07:00"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
];

/// A date and time on a wall clock, checked to exist in the proleptic Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalTime {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) second_of_day: i64,
}

/// Seconds east of UTC that `zone` has at that local time; `None` if there is no such zone.
pub(super) fn offset_seconds(zone: &[u8], local: LocalTime) -> Option<i64> {
    let mut padded = PaddedZone::default();
    let zone = padded.pad(trim_spaces(zone))?;
    let zone = SHORT_IDS
        .binary_search_by_key(&zone, |(id, _)| id)
        .ok()
        .and_then(|at| SHORT_IDS.get(at))
        .map_or(zone, |(_, id)| id);
    if let Some(offset) = parse_offset(zone) {
        return Some(offset);
    }
    if matches!(zone, "UTC" | "GMT" | "UT" | "GMT0") {
        return Some(0);
    }
    let prefixed = ["UTC", "GMT", "UT"]
        .iter()
        .find_map(|prefix| zone.strip_prefix(prefix).filter(|rest| rest.starts_with(['+', '-'])));
    match prefixed {
        Some(offset) => parse_offset(offset),
        None => region_offset(zone, local),
    }
}

fn trim_spaces(zone: &[u8]) -> &[u8] {
    let start = zone.iter().position(|byte| *byte > b' ').unwrap_or(zone.len());
    let end = zone.iter().rposition(|byte| *byte > b' ').map_or(start, |at| at + 1);
    zone.get(start..end).unwrap_or_default()
}

/// Longest zone text worth looking at; the longest region id has 32 characters.
const ZONE_BYTES_MAX: usize = 64;

/// Room for a zone text with zeros put in: `+h:mm` is read as `+0h:mm`, and `+hh:m` as `+hh:0m`.
struct PaddedZone([u8; ZONE_BYTES_MAX + 2]);

impl Default for PaddedZone {
    fn default() -> Self {
        Self([0; ZONE_BYTES_MAX + 2])
    }
}

impl PaddedZone {
    fn pad(&mut self, zone: &[u8]) -> Option<&str> {
        if zone.len() > ZONE_BYTES_MAX {
            return None;
        }
        let lone_hour = |window: &[u8]| matches!(window, [b'+' | b'-', b'0'..=b'9', b':']);
        let hour = zone.windows(3).position(lone_hour).map(|at| at + 1);
        let mut len = 0;
        for (index, byte) in zone.iter().enumerate() {
            if hour == Some(index) {
                self.push(&mut len, b'0');
            }
            self.push(&mut len, *byte);
        }
        if let Some([b'+' | b'-', b'0'..=b'9', b'0'..=b'9', b':', minute @ b'0'..=b'9']) = self.0.get(len.saturating_sub(5)..len) {
            let minute = *minute;
            len -= 1;
            self.push(&mut len, b'0');
            self.push(&mut len, minute);
        }
        self.0.get(..len).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    fn push(&mut self, len: &mut usize, byte: u8) {
        if let Some(place) = self.0.get_mut(*len) {
            *place = byte;
            *len += 1;
        }
    }
}

/// `Z`, `±h`, `±hh`, `±hh:mm`, `±hhmm`, `±hh:mm:ss`, `±hhmmss`.
fn parse_offset(text: &str) -> Option<i64> {
    let two = |tens: &u8, ones: &u8| {
        (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
    };
    let (sign, digits) = match text.as_bytes() {
        b"Z" => return Some(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let (hours, minutes, seconds) = match digits {
        [h] => (two(&b'0', h)?, 0, 0),
        [h0, h1] => (two(h0, h1)?, 0, 0),
        [h0, h1, b':', m0, m1] | [h0, h1, m0, m1] => (two(h0, h1)?, two(m0, m1)?, 0),
        [h0, h1, b':', m0, m1, b':', s0, s1] | [h0, h1, m0, m1, s0, s1] => (two(h0, h1)?, two(m0, m1)?, two(s0, s1)?),
        _ => return None,
    };
    let total = hours * 3600 + minutes * 60 + seconds;
    (minutes <= 59 && seconds <= 59 && total <= OFFSET_SECONDS_MAX).then_some(sign * total)
}

fn region_offset(id: &str, local: LocalTime) -> Option<i64> {
    let zone = REGIONS.get(id).ok()?;
    // The database ignores case, Java does not.
    if zone.iana_name() != Some(id) {
        return None;
    }
    let offset = match zone.to_ambiguous_timestamp(civil(local)?).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => before,
    };
    Some(i64::from(offset.seconds()))
}

/// The local time in the database's calendar, which ends at the years ±9999: later years take the rules of the year
/// that is whole calendar cycles earlier, far earlier years the zone's first offset.
fn civil(local: LocalTime) -> Option<DateTime> {
    const LAST_CYCLE: i64 = 9600;
    let year = match local.year {
        ..=-10_000 => -LAST_CYCLE + local.year.rem_euclid(CALENDAR_CYCLE_YEARS),
        10_000.. => LAST_CYCLE + local.year.rem_euclid(CALENDAR_CYCLE_YEARS),
        year => year,
    };
    let (hour, minute, second) = (local.second_of_day / 3600, local.second_of_day / 60 % 60, local.second_of_day % 60);
    debug_assert!((0..SECONDS_PER_DAY).contains(&local.second_of_day), "checked by the caller");
    let small = |value: i64| i8::try_from(value).ok();
    let year = i16::try_from(year).ok()?;
    DateTime::new(
        year,
        small(local.month)?,
        small(local.day)?,
        small(hour)?,
        small(minute)?,
        small(second)?,
        0,
    )
    .ok()
}

#[cfg(test)]
mod tests {
    use super::{LocalTime, offset_seconds};

    fn check(zone: &str, year: i64, month: i64, day: i64, hour: i64, expected: Option<i64>) {
        let local = LocalTime {
            year,
            month,
            day,
            second_of_day: hour * 3600 + 1800,
        };
        assert_eq!(offset_seconds(zone.as_bytes(), local), expected, "{zone} at {local:?}");
    }

    #[test]
    fn offsets_are_read_in_every_spelling_of_java() {
        let cases = [
            ("Z", Some(0)),
            ("z", None),
            ("+1", Some(3600)),
            ("+01", Some(3600)),
            ("-1:30", Some(-5400)),
            ("+01:3", Some(3780)),
            ("+0130", Some(5400)),
            ("+01:30:15", Some(5415)),
            ("+013015", Some(5415)),
            (" +18:00 ", Some(64_800)),
            ("+18:01", None),
            ("+01:60", None),
            ("+1:3", Some(3780)),
            ("UTC", Some(0)),
            ("GMT+2", Some(7200)),
            ("UT-01:00", Some(-3600)),
            ("UTC+", None),
            ("GMT0", Some(0)),
            ("EST", Some(-18_000)),
            ("", None),
        ];
        for (zone, expected) in cases {
            check(zone, 2024, 2, 29, 12, expected);
        }
    }

    #[test]
    fn regions_follow_their_rules_in_gaps_overlaps_and_far_years() {
        check("Europe/Paris", 2024, 7, 1, 12, Some(7200));
        check("Europe/Paris", 2024, 3, 31, 2, Some(3600));
        check("Europe/Paris", 2024, 10, 27, 2, Some(7200));
        check("Europe/Paris", 12_024, 7, 1, 12, Some(7200));
        check("Europe/Paris", -20_000, 7, 1, 12, Some(561));
        check("PST", 2024, 7, 1, 12, Some(-25_200));
        check("europe/paris", 2024, 7, 1, 12, None);
        check("Nowhere/City", 2024, 7, 1, 12, None);
    }
}
