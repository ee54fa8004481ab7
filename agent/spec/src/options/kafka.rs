//! Extra options of a Kafka stream (product part K2).

use std::collections::BTreeMap;
use std::time::Duration;

use super::{integer, unknown};
use crate::limits::{PARTITION_FETCH_BYTES, REQUEST_TIMEOUT_MILLIS, SESSION_TIMEOUT_MILLIS};
use crate::subscription::{self, Read, StartingOffsets};
use crate::violation::Violation;

/// Most records that one batch takes.
pub const MAX_OFFSETS_PER_TRIGGER: &str = "maxOffsetsPerTrigger";
/// Where the stream starts.
pub const STARTING_OFFSETS: &str = "startingOffsets";
/// Whether the table gets a `headers` column.
pub const INCLUDE_HEADERS: &str = "includeHeaders";
/// Longest wait for a broker's answer.
pub const REQUEST_TIMEOUT: &str = "kafka.request.timeout.ms";
/// Session timeout of the client.
pub const SESSION_TIMEOUT: &str = "kafka.session.timeout.ms";
/// Most bytes that a broker returns per partition and fetch.
pub const MAX_PARTITION_FETCH_BYTES: &str = "kafka.max.partition.fetch.bytes";

const NAMES: [&str; 6] = [
    MAX_OFFSETS_PER_TRIGGER,
    STARTING_OFFSETS,
    INCLUDE_HEADERS,
    REQUEST_TIMEOUT,
    SESSION_TIMEOUT,
    MAX_PARTITION_FETCH_BYTES,
];

/// The attribute that holds the options. Their names hold dots, so the option itself is named in the text.
const FIELD: &str = "source_config.kafka_stream_config.extra_options";

/// What a Kafka stream's extra options say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KafkaOptions {
    /// Most records that one batch takes; `None` is no limit.
    pub max_offsets_per_trigger: Option<u64>,
    /// Where the stream starts.
    pub starting_offsets: StartingOffsets,
    /// Whether the table has a `headers` column.
    pub include_headers: bool,
    /// Longest wait for a broker's answer.
    pub request_timeout: Option<Duration>,
    /// Session timeout of the client.
    pub session_timeout: Option<Duration>,
    /// Most bytes that a broker returns per partition and fetch.
    pub max_partition_fetch_bytes: Option<u64>,
}

/// Parses the options, or says everything that is wrong with them.
pub fn parse(options: &BTreeMap<String, String>) -> Result<KafkaOptions, Vec<Violation>> {
    let mut parsed = KafkaOptions::default();
    let mut violations = Vec::new();
    for (name, text) in options {
        if let Err(violation) = read(&mut parsed, name, text) {
            violations.push(violation);
        }
    }
    if violations.is_empty() { Ok(parsed) } else { Err(violations) }
}

/// Violations of start positions that name what the stream does not read.
pub(crate) fn check_starts(options: &KafkaOptions, read: &Read) -> Vec<Violation> {
    let StartingOffsets::PerPartition(offsets) = &options.starting_offsets else {
        return Vec::new();
    };
    let mut violations = Vec::new();
    for (topic, offsets) in offsets {
        if !read.may_have(topic) {
            let problem = format!("`{STARTING_OFFSETS}` names a topic that the stream does not read");
            violations.push(Violation::new(FIELD, topic, problem, "name topics of `subscription_mode` only"));
            continue;
        }
        let Read::Partitions(assigned) = read else { continue };
        let strangers = offsets
            .keys()
            .filter(|partition| !assigned.get(topic).is_some_and(|listed| listed.contains(*partition)));
        violations.extend(strangers.map(|partition| {
            let problem = format!("`{STARTING_OFFSETS}` names a partition that `assign` does not list");
            let found = format!("{topic} partition {partition}");
            Violation::new(FIELD, &found, problem, "name partitions of `assign` only")
        }));
    }
    violations
}

fn read(parsed: &mut KafkaOptions, name: &str, text: &str) -> Result<(), Violation> {
    let number = |range| integer(FIELD, name, text, range).map(|number| Some(number.unsigned_abs()));
    match name {
        MAX_OFFSETS_PER_TRIGGER => parsed.max_offsets_per_trigger = number(1..=i64::MAX)?,
        REQUEST_TIMEOUT => parsed.request_timeout = number(REQUEST_TIMEOUT_MILLIS)?.map(Duration::from_millis),
        SESSION_TIMEOUT => parsed.session_timeout = number(SESSION_TIMEOUT_MILLIS)?.map(Duration::from_millis),
        MAX_PARTITION_FETCH_BYTES => parsed.max_partition_fetch_bytes = number(PARTITION_FETCH_BYTES)?,
        STARTING_OFFSETS => {
            parsed.starting_offsets = subscription::starting_offsets(text)
                .map_err(|error| Violation::new(FIELD, text, format!("`{name}`: {}", error.problem), error.remedy))?;
        }
        INCLUDE_HEADERS if text.eq_ignore_ascii_case("true") => parsed.include_headers = true,
        INCLUDE_HEADERS if text.eq_ignore_ascii_case("false") => parsed.include_headers = false,
        INCLUDE_HEADERS => {
            return Err(Violation::new(
                FIELD,
                text,
                format!("`{name}` is not a truth value"),
                "write `true` or `false`",
            ));
        }
        _ => return Err(unknown(FIELD, "Kafka", name, &NAMES)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subscription::StartingOffset;

    fn parse_one(name: &str, text: &str) -> Result<KafkaOptions, Vec<Violation>> {
        parse(&BTreeMap::from([(name.to_owned(), text.to_owned())]))
    }

    #[test]
    fn known_options_are_read() {
        let options = [
            (MAX_OFFSETS_PER_TRIGGER, "500"),
            (STARTING_OFFSETS, r#"{"orders":{"0":23,"1":-2,"2":-1}}"#),
            (INCLUDE_HEADERS, "TRUE"),
            (REQUEST_TIMEOUT, "30000"),
            (SESSION_TIMEOUT, "10000"),
            (MAX_PARTITION_FETCH_BYTES, "1048576"),
        ];
        let options = options.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let partitions = BTreeMap::from([
            (0, StartingOffset::At(23)),
            (1, StartingOffset::Earliest),
            (2, StartingOffset::Latest),
        ]);
        let expected = KafkaOptions {
            max_offsets_per_trigger: Some(500),
            starting_offsets: StartingOffsets::PerPartition(BTreeMap::from([("orders".into(), partitions)])),
            include_headers: true,
            request_timeout: Some(Duration::from_secs(30)),
            session_timeout: Some(Duration::from_secs(10)),
            max_partition_fetch_bytes: Some(1_048_576),
        };
        assert_eq!(parse(&options.into()), Ok(expected));
    }

    #[test]
    fn a_refused_option_names_itself_and_the_remedy() {
        for (name, text, expected) in [
            ("minPartitions", "3", "`minPartitions` is not an option of a Kafka stream"),
            ("startingoffsets", "latest", "did you mean `startingOffsets`?"),
            (MAX_OFFSETS_PER_TRIGGER, "0", "write a whole number of at least 1"),
            (MAX_OFFSETS_PER_TRIGGER, "many", "`maxOffsetsPerTrigger` is not a whole number"),
            (INCLUDE_HEADERS, "yes", "write `true` or `false`"),
            (REQUEST_TIMEOUT, "5", "`kafka.request.timeout.ms` is out of range"),
            (STARTING_OFFSETS, "newest", "neither a known word nor JSON"),
            (STARTING_OFFSETS, r#"{"orders":{"0":-3}}"#, "has the offset -3"),
            (
                STARTING_OFFSETS,
                r#"{"orders":{"first":0}}"#,
                "`first` of the topic `orders` is not a partition",
            ),
            (STARTING_OFFSETS, r#"{"orders":{"0":1,"0":2}}"#, "`0` appears twice"),
            (
                STARTING_OFFSETS,
                r#"{"orders":{"+1":1}}"#,
                "`+1` of the topic `orders` is not a partition",
            ),
        ] {
            let violations = parse_one(name, text).expect_err(text);
            assert_eq!(violations.len(), 1, "{name}={text}");
            let message = violations[0].to_string();
            assert!(message.contains(expected), "{message}");
            assert!(message.starts_with(FIELD), "{message}");
        }
    }
}
