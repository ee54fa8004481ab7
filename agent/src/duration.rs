//! Durations as people write them: a whole number and a unit.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

use crate::limits::SETTING_SECS_MAX;

/// Reads `500ms`, `30s`, `5m`, `12h` or `7d`.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let refused = || format!("`{text}` is no duration; write a whole number and one of ms, s, m, h, d, as in `30s`");
    let number: u64 = number.parse().map_err(|_| refused())?;
    let milliseconds_each: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(refused()),
    };
    match number.checked_mul(milliseconds_each) {
        Some(milliseconds) if milliseconds <= SETTING_SECS_MAX * 1_000 => Ok(Duration::from_millis(milliseconds)),
        _ => Err(format!("`{text}` is longer than ten years; write a shorter duration")),
    }
}

/// Reads one from a configuration file.
pub(crate) fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).map(Some).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_a_number_and_a_unit() {
        let cases = [
            ("500ms", Some(500)),
            ("30s", Some(30_000)),
            ("0s", Some(0)),
            ("7d", Some(604_800_000)),
            ("2h", Some(7_200_000)),
        ];
        let bad = ["", "s", "30", "1.5s", "-1s", "30 s", "30S", "99999999999999999999s", "4000d"];
        for (text, milliseconds) in cases.into_iter().chain(bad.map(|text| (text, None))) {
            assert_eq!(parse(text).ok(), milliseconds.map(Duration::from_millis), "{text}");
        }
    }
}
