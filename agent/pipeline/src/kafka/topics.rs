//! Asks a cluster about topics: whether they are there, which partitions they have, and whether they are still the ones that were read.
//!
//! Invariant: rows are committed only after their topics were seen to be the recorded ones.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use rdkafka::error::RDKafkaErrorCode;

use super::client::ClusterClient;
use super::ffi::{NativeError, TopicDescription};
use crate::error::{PipelineError, Retry};
use crate::position::PartitionId;
use crate::table::SourceIdentity;

/// The reason of an error that found a topic created again.
pub(crate) const RECREATED: &str = "TopicRecreated";

/// The reason of a topic that is not there.
pub(crate) const MISSING: &str = "TopicMissing";

/// The reason of a topic that the cluster does not tell about.
pub(crate) const REFUSED: &str = "TopicRefused";

/// A topic that the cluster has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundTopic {
    /// Its id, base64. `None` where the brokers give none, which needs Kafka 2.8 and an `inter.broker.protocol.version` as new:
    /// then only offsets tell a topic that is created again from the one before.
    pub(crate) id: Option<String>,
    /// Numbers of the partitions that are to be read, ascending: all that there are, unless the stream chooses some.
    pub(crate) partitions: Vec<i32>,
    /// Partitions that the stream chooses and that are not there.
    pub(crate) absent: Vec<i32>,
    /// The cluster keeps it for itself.
    pub(crate) is_internal: bool,
}

/// One topic, as far as the cluster tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TopicState {
    Found(FoundTopic),
    Missing,
    /// The cluster does not tell now: no leader, no permission; with its words.
    Refused(String),
}

/// Looks the topics up, as of `not_before` or later.
pub(crate) async fn look_up(
    client: &ClusterClient,
    topics: &BTreeSet<String>,
    not_before: Instant,
) -> Result<BTreeMap<String, TopicState>, PipelineError> {
    if topics.is_empty() {
        return Ok(BTreeMap::new());
    }
    let described = client.describe(topics, not_before).await?;
    Ok(topics.iter().map(|topic| (topic.clone(), state(described.topic(topic)))).collect())
}

fn state(described: Option<&Result<TopicDescription, NativeError>>) -> TopicState {
    match described {
        Some(Ok(description)) => TopicState::Found(FoundTopic {
            id: Some(description.id.clone()).filter(|id| is_topic_id(id)),
            partitions: description.partitions.clone(),
            absent: Vec::new(),
            is_internal: description.is_internal,
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

/// Takes a topic that has an id which it had before it was created again for one that the cluster does not tell about now: no id comes
/// back, but a broker that hung, or that is cut off from the controller, tells of the topic as it was.
pub(crate) fn refuse_former(topics: BTreeMap<String, TopicState>, identity: &SourceIdentity) -> BTreeMap<String, TopicState> {
    let refuse = |topic: &str, state: TopicState| match state {
        TopicState::Found(FoundTopic { id: Some(id), .. }) if identity.had(topic, &id) => TopicState::Refused(
            "the broker that was asked tells of it as it was before it was deleted and created again; reading goes on when it knows better"
                .to_owned(),
        ),
        state => state,
    };
    topics
        .into_iter()
        .map(|(topic, state)| {
            let state = refuse(&topic, state);
            (topic, state)
        })
        .collect()
}

/// Checks, before rows of these topics are committed, that each is the one that the recorded positions belong to.
///
/// librdkafka follows a topic that was created again to the same offset of the new one, so the question is asked after the
/// rows were taken: a broker that tells the recorded id then told it while they were fetched. It is not proof. The broker that
/// is asked may hear of a new topic some milliseconds after the partition's leader has served it, or later if it hung, and a topic that is gone
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
pub(crate) fn missing(client: &ClusterClient, topic: &str, attribute: &str) -> PipelineError {
    PipelineError::Source {
        reason: MISSING,
        message: missing_message(client, topic, attribute),
        retry: Retry::Later,
    }
}

/// Sentence about a topic that is not there, which this attribute names.
pub(crate) fn missing_message(client: &ClusterClient, topic: &str, attribute: &str) -> String {
    format!(
        "the topic `{topic}` does not exist on the Kafka cluster at `{}`; create it, or correct `{attribute}`: reading starts when it appears",
        client.bootstrap_servers()
    )
}

/// The cluster cannot, or does not want to, tell about a topic.
pub(crate) fn refused(client: &ClusterClient, topic: &str, why: &str) -> PipelineError {
    PipelineError::Source {
        reason: REFUSED,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_as_it_was_before_it_was_created_again_is_no_other_topic() {
        let found = |id: &str| {
            TopicState::Found(FoundTopic {
                id: Some(id.to_owned()),
                partitions: vec![0],
                absent: Vec::new(),
                is_internal: false,
            })
        };
        let mut identity = SourceIdentity::default();
        let told = |identity: &SourceIdentity, id: &str| {
            let told = refuse_former(
                BTreeMap::from([("a".to_owned(), found(id)), ("b".to_owned(), found("A"))]),
                identity,
            );
            assert_eq!(told["b"], found("A"), "another topic");
            told["a"] == found(id)
        };
        identity.recreate("a", "A");
        assert!(told(&identity, "A") && told(&identity, "B"), "one that was never created again");
        identity.recreate("a", "B");
        identity.recreate("a", "C");
        assert_eq!(["A", "B", "C", "D"].map(|id| told(&identity, id)), [false, false, true, true]);
        (0..100).for_each(|number| identity.recreate("a", &format!("{number}")));
        assert!(told(&identity, "A") && !told(&identity, "98"), "the newest are remembered");
    }

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
                is_internal: true,
            });
            let found = FoundTopic {
                id: expected.map(str::to_owned),
                partitions: vec![0],
                absent: Vec::new(),
                is_internal: true,
            };
            assert_eq!(state(Some(&described)), TopicState::Found(found), "{id:?}");
        }
    }
}
