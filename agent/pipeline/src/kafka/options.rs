//! What a stream's `extra_options` (product part K2) mean to the client and to the reader.
//!
//! `stream_spec` alone reads their texts, in the plan as here. Invariant: an option that is not understood is an error.

use std::time::Duration;

use stream_spec::options;
use stream_spec::stream::KafkaSource;
use stream_spec::subscription::{StartingOffset, StartingOffsets};

use crate::error::PipelineError;
use crate::position::PartitionId;

/// Options that two streams must have in common to share a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClientOptions {
    /// Longest wait for a broker's answer.
    pub(crate) request_timeout: Option<Duration>,
    /// Bytes that one fetch asks for per partition.
    pub(crate) partition_fetch_bytes: Option<usize>,
}

/// All options of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KafkaOptions {
    pub(crate) client: ClientOptions,
    pub(crate) starting_offsets: StartingOffsets,
    /// Most records in one commit.
    pub(crate) batch_records_max: Option<usize>,
    /// Whether the table has a `headers` column.
    pub(crate) include_headers: bool,
}

impl KafkaOptions {
    /// Reads a stream's options.
    pub(crate) fn parse(source: &KafkaSource) -> Result<Self, PipelineError> {
        let options = options::kafka::parse(&source.extra_options).map_err(|violations| {
            let violations: Vec<String> = violations.iter().map(ToString::to_string).collect();
            PipelineError::Definition {
                message: violations.join("; "),
            }
        })?;
        Ok(Self {
            // A session belongs to a consumer group, and there is none: any `session_timeout` has the same effect.
            client: ClientOptions {
                request_timeout: options.request_timeout,
                partition_fetch_bytes: options.max_partition_fetch_bytes.map(fitting),
            },
            starting_offsets: options.starting_offsets,
            batch_records_max: options.max_offsets_per_trigger.map(fitting),
            include_headers: options.include_headers,
        })
    }
}

/// The same number, or the largest that memory can hold: both bound as much.
fn fitting(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
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
    fn every_option_has_its_effect() {
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
                request_timeout: Some(Duration::from_secs(5)),
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
    fn every_option_that_is_not_understood_is_named() {
        let error = parse(&[("group.id", "mine"), ("maxOffsetsPerTrigger", "1.5")]).expect_err("both are refused");
        assert!(error.contains("`group.id`") && error.contains("`maxOffsetsPerTrigger`"), "{error}");
    }
}
