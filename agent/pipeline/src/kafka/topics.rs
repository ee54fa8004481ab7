//! Asks a cluster which topics and partitions there are, and where a new stream starts.
//!
//! Invariant: a start position is a number when it leaves this file; "latest" is asked for once (product part K3).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use rdkafka::error::RDKafkaErrorCode;
use stream_spec::stream::{KafkaSource, SubscriptionMode};
use stream_spec::subscription::{self, StartingOffset};

use super::client::{AvailableRange, ClusterClient};
use super::ffi::{NativeError, TopicDescription};
use super::options::{KafkaOptions, starting_offset};
use crate::error::{PipelineError, Retry};
use crate::limits;
use crate::position::{PartitionId, Position, Positions};
use crate::table::SourceIdentity;

/// The reason of an error that found a topic created again.
pub(crate) const RECREATED: &str = "TopicRecreated";

/// A topic that the cluster has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundTopic {
    /// Its id, base64. `None` where the brokers give none, which needs Kafka 2.8 and an `inter.broker.protocol.version` as new:
    /// then only offsets tell a topic that is created again from the one before.
    pub(crate) id: Option<String>,
    /// Partition numbers, ascending.
    pub(crate) partitions: Vec<i32>,
}

/// One topic, as far as the cluster tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TopicState {
    Found(FoundTopic),
    Missing,
    /// The cluster does not tell now: no leader, no permission; with its words.
    Refused(String),
}

/// The topics that a stream subscribes to.
pub(crate) fn subscribed(source: &KafkaSource) -> Result<BTreeSet<String>, PipelineError> {
    match &source.subscription {
        SubscriptionMode::Subscribe(text) => subscription::topics(text).map_err(|error| PipelineError::Definition {
            message: format!("`subscribe`: {error}"),
        }),
        SubscriptionMode::SubscribePattern(_) => Err(unsupported("subscribe_pattern")),
        SubscriptionMode::Assign(_) => Err(unsupported("assign")),
    }
}

/// Looks the topics up, as of `not_before` or later.
pub(crate) async fn look_up(
    client: &ClusterClient,
    topics: &BTreeSet<String>,
    not_before: Instant,
) -> Result<BTreeMap<String, TopicState>, PipelineError> {
    let described = client.describe(topics, not_before).await?;
    Ok(topics.iter().map(|topic| (topic.clone(), state(described.topic(topic)))).collect())
}

fn state(described: Option<&Result<TopicDescription, NativeError>>) -> TopicState {
    match described {
        Some(Ok(description)) => TopicState::Found(FoundTopic {
            id: Some(description.id.clone()).filter(|id| is_topic_id(id)),
            partitions: description.partitions.clone(),
        }),
        Some(Err(error)) if is_missing(error.code) => TopicState::Missing,
        Some(Err(error)) => TopicState::Refused(error.to_string()),
        None => TopicState::Refused("the broker's answer leaves it out".to_owned()),
    }
}

/// False for what brokers before Kafka 2.8 give every topic: the id of all zeros, in base64.
pub(crate) fn is_topic_id(id: &str) -> bool {
    !matches!(id.trim_end_matches('='), "" | "AAAAAAAAAAAAAAAAAAAAAA")
}

fn is_missing(code: RDKafkaErrorCode) -> bool {
    matches!(code, RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic)
}

/// Where a new stream starts: a position for every partition that exists, and whose positions they are.
pub(crate) async fn start_positions(
    client: &Arc<ClusterClient>,
    source: &KafkaSource,
    options: &KafkaOptions,
) -> Result<(Positions, SourceIdentity), PipelineError> {
    let topics = subscribed(source)?;
    let cluster_id = client.cluster_id().await?;
    let states = look_up(client, &topics, Instant::now()).await?;
    let mut topic_ids = BTreeMap::new();
    let mut partitions = Vec::new();
    for (topic, state) in states {
        match state {
            TopicState::Found(found) => {
                partitions.extend(found.partitions.iter().map(|partition| PartitionId {
                    topic: topic.clone(),
                    partition: *partition,
                }));
                match found.id {
                    Some(id) => drop(topic_ids.insert(topic, id)),
                    None => note_no_id(&topic),
                }
            }
            TopicState::Missing => return Err(missing(client, &topic)),
            TopicState::Refused(why) => return Err(refused(client, &topic, &why)),
        }
    }
    let ranges = client.available_ranges(&partitions, limits::SOURCE_ANSWER_WAIT).await?;
    let mut positions = Positions::new();
    for partition in partitions {
        let range = *ranges
            .known
            .get(&partition)
            .ok_or_else(|| untold(client, &partition, ranges.untold.get(&partition)))?;
        let next_offset = start_offset(starting_offset(&options.starting_offsets, &partition), &partition, range)?;
        positions.insert(partition, Position::new(next_offset, 0));
    }
    Ok((
        positions,
        SourceIdentity {
            cluster_id: Some(cluster_id),
            topic_ids,
        },
    ))
}

fn start_offset(start: StartingOffset, partition: &PartitionId, range: AvailableRange) -> Result<i64, PipelineError> {
    match start {
        StartingOffset::Earliest => Ok(range.earliest),
        StartingOffset::Latest => Ok(range.end),
        StartingOffset::At(offset) if (range.earliest..=range.end).contains(&offset) => Ok(offset),
        StartingOffset::At(offset) => Err(PipelineError::Definition {
            message: format!(
                "`source_config.kafka_stream_config.extra_options.startingOffsets`: topic `{}` partition {} has offsets {} to {}, not {offset}; \
                 choose one of them, -2 (earliest) or -1 (latest)",
                partition.topic, partition.partition, range.earliest, range.end,
            ),
        }),
    }
}

/// Says that only offsets tell whether a topic is still the one that was read.
pub(crate) fn note_no_id(topic: &str) {
    tracing::info!(
        topic,
        "the brokers give this topic no id (Kafka 2.8 or later would): if it is deleted and created again, only an offset that is gone shows it"
    );
}

/// Sentence about brokers that gave a topic an id before and give it none now.
pub(crate) const NO_ID_ANY_MORE: &str = "its brokers give it no id now, though they did before, so that nothing tells whether it is still the topic \
                                         that was read";

/// Checks, before rows of these topics are committed, that each is the one that the recorded positions belong to.
///
/// librdkafka follows a topic that was created again to the same offset of the new one, so the question is asked after the
/// rows were taken: a broker that tells the recorded id then told it while they were fetched. It is not proof. The broker that
/// is asked may hear of a new topic some milliseconds after the partition's leader has served it, and a topic that is gone
/// may have been created again, read and deleted again since the last question; its rows are kept, because those of a topic
/// that was deleted once, by far the likelier, could not be read again. A topic without a recorded id is not asked about.
pub(crate) async fn confirm(
    client: &ClusterClient,
    topics: &BTreeSet<String>,
    recorded_ids: &BTreeMap<String, String>,
    taken_until: Instant,
) -> Result<(), PipelineError> {
    let topics: BTreeSet<String> = topics.iter().filter(|topic| recorded_ids.contains_key(*topic)).cloned().collect();
    if topics.is_empty() {
        return Ok(());
    }
    for (topic, state) in look_up(client, &topics, taken_until).await? {
        match state {
            TopicState::Missing => {}
            TopicState::Refused(why) => return Err(refused(client, &topic, &why)),
            TopicState::Found(FoundTopic { id: None, .. }) => return Err(refused(client, &topic, NO_ID_ANY_MORE)),
            TopicState::Found(found) if recorded_ids.get(&topic) == found.id.as_ref() => {}
            TopicState::Found(_) => {
                // Whoever opens this topic next must not get a client that may remember the old one, or another cluster.
                client.retire();
                return Err(PipelineError::Source {
                    reason: RECREATED,
                    message: format!("the topic `{topic}` was deleted and created again while it was read"),
                    retry: Retry::Later,
                });
            }
        }
    }
    Ok(())
}

/// A topic is not there. It may come.
pub(crate) fn missing(client: &ClusterClient, topic: &str) -> PipelineError {
    PipelineError::Source {
        reason: "TopicMissing",
        message: missing_message(client, topic),
        retry: Retry::Later,
    }
}

/// Sentence about a topic that is not there.
pub(crate) fn missing_message(client: &ClusterClient, topic: &str) -> String {
    format!(
        "the topic `{topic}` does not exist on the Kafka cluster at `{}`; create it, or correct `subscribe`: reading starts when it appears",
        client.bootstrap_servers()
    )
}

/// The cluster cannot, or does not want to, tell about a topic.
pub(crate) fn refused(client: &ClusterClient, topic: &str, why: &str) -> PipelineError {
    PipelineError::Source {
        reason: "TopicRefused",
        message: refused_message(client, topic, why),
        retry: Retry::Later,
    }
}

/// A partition's range is not known: its leader is away, or does not want to tell.
pub(crate) fn untold(client: &ClusterClient, partition: &PartitionId, error: Option<&NativeError>) -> PipelineError {
    let number = partition.partition;
    match error {
        Some(error) if is_of_connection(error.code) => client.unreachable(&format!(
            "the leader of topic `{}` partition {number} does not answer: {error}",
            partition.topic
        )),
        Some(error) => refused(client, &partition.topic, &format!("partition {number}: {error}")),
        None => refused(client, &partition.topic, &format!("the answer leaves partition {number} out")),
    }
}

fn is_of_connection(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode::{AllBrokersDown, BrokerTransportFailure, OperationTimedOut, RequestTimedOut};
    matches!(code, OperationTimedOut | RequestTimedOut | BrokerTransportFailure | AllBrokersDown)
}

/// Sentence about a topic that the cluster does not tell about.
pub(crate) fn refused_message(client: &ClusterClient, topic: &str, why: &str) -> String {
    format!(
        "the Kafka cluster at `{}` does not give the topic `{topic}`: {why}; check the topic's state and the connection's permissions",
        client.bootstrap_servers()
    )
}

fn unsupported(mode: &str) -> PipelineError {
    PipelineError::Definition {
        message: format!("`subscription_mode.{mode}` is not supported by this agent; use `subscribe`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_all_zeros_is_none() {
        for (id, expected) in [
            ("AAAAAAAAAAAAAAAAAAAAAA", None),
            ("AAAAAAAAAAAAAAAAAAAAAA==", None),
            ("", None),
            ("AAAAAAAAAAAAAAAAAAAAAQ", Some("AAAAAAAAAAAAAAAAAAAAAQ")),
        ] {
            let described = Ok(TopicDescription {
                id: id.to_owned(),
                partitions: vec![0],
            });
            let found = FoundTopic {
                id: expected.map(str::to_owned),
                partitions: vec![0],
            };
            assert_eq!(state(Some(&described)), TopicState::Found(found), "{id:?}");
        }
    }
}
