//! Extra options of a Kinesis stream (product part N2). Checked here; read where a Kinesis client is opened.

use std::collections::BTreeMap;

use super::{integer, unknown};
use crate::limits::{
    KINESIS_FETCH_PERIOD_MILLIS_MIN, KINESIS_FETCH_RATE_MAX, KINESIS_NAME_BYTES_MAX, KINESIS_RECORDS_PER_FETCH, OPTION_DURATION_MILLIS_MAX,
};
use crate::violation::Violation;

const FIELD: &str = "source_config.kinesis_stream_config.extra_options";

const NAMES: [&str; 9] = [
    "consumerMode",
    "consumerNamePrefix",
    "maxFetchRate",
    "minFetchPeriod",
    "maxFetchDuration",
    "maxRecordsPerFetch",
    "shardsPerTask",
    "fetchBufferSize",
    "shardFetchInterval",
];

/// Everything that is wrong with a Kinesis stream's options.
pub(crate) fn check(options: &BTreeMap<String, String>) -> Vec<Violation> {
    options.iter().filter_map(|(name, text)| check_one(name, text).err()).collect()
}

fn check_one(name: &str, text: &str) -> Result<(), Violation> {
    let refuse = |problem: &str, remedy: String| Err(Violation::new(FIELD, text, format!("`{name}` {problem}"), remedy));
    match name {
        "consumerMode" if text.eq_ignore_ascii_case("polling") || text.eq_ignore_ascii_case("efo") => Ok(()),
        "consumerMode" => refuse("is not a mode", "write `polling` or `efo`".into()),
        "consumerNamePrefix" if is_kinesis_name(text) => Ok(()),
        "consumerNamePrefix" => refuse(
            "is not a name",
            format!("use 1 to {KINESIS_NAME_BYTES_MAX} letters, digits, `.`, `_` and `-`"),
        ),
        "maxFetchRate" => match text.parse::<f64>() {
            Ok(rate) if rate > 0.0 && rate <= KINESIS_FETCH_RATE_MAX => Ok(()),
            _ => refuse(
                "is not a rate",
                format!("write MiB per second and shard, above 0 and at most {KINESIS_FETCH_RATE_MAX}"),
            ),
        },
        "maxRecordsPerFetch" => integer(FIELD, name, text, KINESIS_RECORDS_PER_FETCH).map(drop),
        "shardsPerTask" => integer(FIELD, name, text, 1..=i64::MAX).map(drop),
        "minFetchPeriod" => check_duration(name, text, KINESIS_FETCH_PERIOD_MILLIS_MIN),
        "maxFetchDuration" | "shardFetchInterval" => check_duration(name, text, 1),
        "fetchBufferSize" => match amount(
            text,
            &[("kb", 1 << 10), ("mb", 1 << 20), ("gb", 1 << 30), ("tb", 1 << 40), ("b", 1)],
        ) {
            Some(bytes) if bytes > 0 => Ok(()),
            _ => refuse(
                "is not a size",
                "write a whole number and a unit, as in `20gb` (b, kb, mb, gb, tb)".into(),
            ),
        },
        _ => Err(unknown(FIELD, "Kinesis", name, &NAMES)),
    }
}

fn check_duration(name: &str, text: &str, millis_min: u64) -> Result<(), Violation> {
    match amount(text, &[("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)]) {
        Some(millis) if (millis_min..=OPTION_DURATION_MILLIS_MAX).contains(&millis) => Ok(()),
        parsed => {
            let problem = if parsed.is_some() { "is out of range" } else { "is not a duration" };
            let remedy = format!("write a whole number and a unit, as in `400ms` (ms, s, m, h), from {millis_min}ms to 24h");
            Err(Violation::new(FIELD, text, format!("`{name}` {problem}"), remedy))
        }
    }
}

/// A whole number with a unit, in the smallest unit. Units in any case.
fn amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, factor) = units.iter().find(|(name, _)| unit.trim().eq_ignore_ascii_case(name))?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// Names of Kinesis streams and consumers.
pub(crate) fn is_kinesis_name(text: &str) -> bool {
    (1..=KINESIS_NAME_BYTES_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_checked_by_name_and_value() {
        for (name, text, expected) in [
            ("consumerMode", "EFO", None),
            ("consumerMode", "push", Some("write `polling` or `efo`")),
            ("consumerNamePrefix", "features-1", None),
            ("consumerNamePrefix", "", Some("is not a name")),
            ("maxFetchRate", "1.5", None),
            ("maxFetchRate", "2.5", Some("at most 2")),
            ("maxFetchRate", "NaN", Some("is not a rate")),
            ("minFetchPeriod", "400ms", None),
            ("minFetchPeriod", "100ms", Some("is out of range")),
            ("maxFetchDuration", "10s", None),
            ("maxFetchDuration", "10", Some("is not a duration")),
            ("maxRecordsPerFetch", "10001", Some("from 1 to 10000")),
            ("shardsPerTask", "5", None),
            ("fetchBufferSize", "20gb", None),
            ("fetchBufferSize", "99999999999tb", Some("is not a size")),
            ("shardFetchInterval", "1s", None),
            (
                "initialPosition",
                "latest",
                Some("`initialPosition` is not an option of a Kinesis stream"),
            ),
            ("maxRecordPerFetch", "5", Some("did you mean `maxRecordsPerFetch`?")),
        ] {
            let message = check(&BTreeMap::from([(name.to_owned(), text.to_owned())]))
                .first()
                .map(ToString::to_string);
            match (&message, expected) {
                (None, None) => {}
                (Some(message), Some(expected)) => assert!(message.contains(expected), "{name}={text}: {message}"),
                _ => panic!("{name}={text}: {message:?}, expected {expected:?}"),
            }
        }
    }
}
