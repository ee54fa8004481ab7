//! What a stream's `extra_options` (product part K2) mean to the client and to the reader.
//!
//! `stream_spec::validate` has refused what is not allowed; parsing here is the edge at which texts become numbers, and
//! names the option that does not parse all the same. Invariant: an option that is not understood is an error.

use stream_spec::stream::KafkaSource;
use stream_spec::subscription::{StartingOffset, StartingOffsets, starting_offsets};

use crate::error::PipelineError;
use crate::position::PartitionId;

/// Options that two streams must have in common to share a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClientOptions {
    /// `kafka.request.timeout.ms`.
    pub(crate) request_timeout_ms: Option<u32>,
    /// `kafka.max.partition.fetch.bytes`.
    pub(crate) partition_fetch_bytes: Option<usize>,
}

/// All options of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KafkaOptions {
    pub(crate) client: ClientOptions,
    pub(crate) starting_offsets: StartingOffsets,
    /// `maxOffsetsPerTrigger`: most records in one commit.
    pub(crate) batch_records_max: Option<usize>,
    /// `includeHeaders`.
    pub(crate) include_headers: bool,
}

impl KafkaOptions {
    /// Reads a stream's options.
    pub(crate) fn parse(source: &KafkaSource) -> Result<Self, PipelineError> {
        let mut options = Self::default();
        for (name, value) in &source.extra_options {
            match name.as_str() {
                "kafka.request.timeout.ms" => options.client.request_timeout_ms = Some(number(name, value)?),
                "kafka.max.partition.fetch.bytes" => options.client.partition_fetch_bytes = Some(number(name, value)?),
                // A session belongs to a consumer group, and there is none: any number has the same effect.
                "kafka.session.timeout.ms" => drop(number::<u32>(name, value)?),
                "maxOffsetsPerTrigger" => options.batch_records_max = Some(number(name, value)?),
                "includeHeaders" => options.include_headers = boolean(name, value)?,
                "startingOffsets" => {
                    options.starting_offsets = starting_offsets(value).map_err(|error| wrong(name, value, &error.to_string()))?;
                }
                _ => return Err(wrong(name, value, "this agent does not know the option; remove it")),
            }
        }
        Ok(options)
    }
}

/// Where a partition that exists when the stream is created starts; one that is not listed starts at the end.
pub(crate) fn starting_offset(offsets: &StartingOffsets, partition: &PartitionId) -> StartingOffset {
    match offsets {
        StartingOffsets::Earliest => StartingOffset::Earliest,
        StartingOffsets::Latest => StartingOffset::Latest,
        StartingOffsets::PerPartition(topics) => {
            let listed = topics
                .get(&partition.topic)
                .and_then(|partitions| partitions.get(&partition.partition));
            listed.copied().unwrap_or(StartingOffset::Latest)
        }
    }
}

fn number<Number: std::str::FromStr + PartialOrd + From<u8>>(name: &str, value: &str) -> Result<Number, PipelineError> {
    match value.trim().parse::<Number>() {
        Ok(number) if number >= Number::from(1) => Ok(number),
        _ => Err(wrong(name, value, "write a whole number from 1")),
    }
}

fn boolean(name: &str, value: &str) -> Result<bool, PipelineError> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(wrong(name, value, "write `true` or `false`")),
    }
}

fn wrong(name: &str, value: &str, what: &str) -> PipelineError {
    let shown: String = value.chars().take(200).collect();
    PipelineError::Definition {
        message: format!("`source_config.kafka_stream_config.extra_options.{name}`: {shown:?} is refused: {what}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stream_spec::stream::SubscriptionMode;

    use super::*;

    fn parse(options: &[(&str, &str)]) -> Result<KafkaOptions, String> {
        let extra_options: BTreeMap<String, String> = options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let source = KafkaSource {
            subscription: SubscriptionMode::Subscribe("a".to_owned()),
            extra_options,
        };
        KafkaOptions::parse(&source).map_err(|error| error.to_string())
    }

    #[test]
    fn every_allowed_option_is_understood() {
        let options = parse(&[
            ("kafka.request.timeout.ms", "5000"),
            ("kafka.session.timeout.ms", "6000"),
            ("kafka.max.partition.fetch.bytes", "1048576"),
            ("maxOffsetsPerTrigger", "100"),
            ("includeHeaders", "True"),
            ("startingOffsets", r#"{"a": {"0": 7, "1": -2}}"#),
        ])
        .expect("all of them are allowed");
        assert_eq!(
            options.client,
            ClientOptions {
                request_timeout_ms: Some(5_000),
                partition_fetch_bytes: Some(1_048_576)
            }
        );
        assert_eq!((options.batch_records_max, options.include_headers), (Some(100), true));
        let start = |partition| {
            starting_offset(
                &options.starting_offsets,
                &PartitionId {
                    topic: "a".to_owned(),
                    partition,
                },
            )
        };
        assert_eq!(
            [start(0), start(1), start(2)],
            [StartingOffset::At(7), StartingOffset::Earliest, StartingOffset::Latest]
        );
    }

    #[test]
    fn an_option_that_is_not_understood_is_refused_by_name() {
        for (name, value) in [
            ("group.id", "mine"),
            ("kafka.request.timeout.ms", "0"),
            ("kafka.max.partition.fetch.bytes", "-1"),
            ("kafka.session.timeout.ms", "soon"),
            ("maxOffsetsPerTrigger", "1.5"),
            ("includeHeaders", "yes"),
            ("startingOffsets", "newest"),
        ] {
            let error = parse(&[(name, value)]).expect_err(name);
            assert!(
                error.contains(&format!("extra_options.{name}`")) && error.contains(value),
                "{error}"
            );
        }
    }
}
