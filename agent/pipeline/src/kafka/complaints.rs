//! What a stream says of topics that are not as it should be, in the words of its declaration.
//!
//! A topic of a pattern that is not there is no complaint: nobody named it. Invariant: one that is named, a partition that is
//! listed, and a pattern that means nothing are each said by name.

use std::collections::{BTreeMap, BTreeSet};

use super::client::ClusterClient;
use super::lookout::Lookout;
use super::subscription::Subscription;
use super::topics::{self, TopicState};
use crate::position::PartitionId;
use crate::status::{PipelineCondition, condition};

/// The conditions of a source that was opened.
pub(super) fn conditions(
    client: &ClusterClient,
    lookout: &Lookout,
    topics: &BTreeMap<String, TopicState>,
    held: &BTreeMap<PartitionId, String>,
) -> Vec<PipelineCondition> {
    let mut complaints = of_topics(client, lookout.subscription(), topics);
    complaints.extend(too_costly(lookout.undecided()));
    let mut conditions = Vec::new();
    // The first one's word stands for all: the sentences tell.
    if let Some((reason, _)) = complaints.first() {
        let reason = *reason;
        let sentences = complaints.into_iter().map(|(_, sentence)| sentence);
        conditions.extend(condition(condition::TOPICS_EXIST, reason, sentences));
    }
    let messages: BTreeSet<&String> = held.values().collect();
    conditions.extend(condition(condition::DATA_AVAILABLE, "DataLoss", messages.into_iter().cloned()));
    conditions
}

/// Words for machines and sentences, the gravest first.
fn of_topics(client: &ClusterClient, subscription: &Subscription, topics: &BTreeMap<String, TopicState>) -> Vec<(&'static str, String)> {
    let mut complaints = Vec::new();
    if let Some(pattern) = subscription.pattern() {
        if topics.values().all(|state| *state == TopicState::Missing) {
            complaints.push((
                "NothingMatches",
                format!(
                    "no topic of the Kafka cluster at `{}` matches `subscribe_pattern` as a whole (`{}`); create one, or make a stream with another \
                     pattern: reading starts when one appears",
                    client.bootstrap_servers(),
                    pattern.text()
                ),
            ));
        }
    } else {
        let missing = topics.iter().filter(|(_, state)| **state == TopicState::Missing);
        complaints.extend(missing.map(|(topic, _)| (topics::MISSING, topics::missing_message(client, topic, subscription.attribute()))));
    }
    for (topic, state) in topics {
        match state {
            TopicState::Found(found) if !found.absent.is_empty() => {
                let absent: Vec<String> = found.absent.iter().map(ToString::to_string).collect();
                complaints.push((
                    "PartitionMissing",
                    format!(
                        "the topic `{topic}` has no partition {}, which `assign` lists; add partitions, or make a stream without: reading starts when \
                         they appear",
                        absent.join(", ")
                    ),
                ));
            }
            TopicState::Refused(why) => complaints.push((topics::REFUSED, topics::refused_message(client, topic, why))),
            TopicState::Found(_) | TopicState::Missing => {}
        }
    }
    complaints
}

/// A pattern that is too hard to match is said once, with the first of its topics.
fn too_costly(undecided: &BTreeSet<String>) -> Option<(&'static str, String)> {
    let topic = undecided.first()?;
    let count = undecided.len();
    Some((
        "PatternTooCostly",
        format!(
            "matching `subscribe_pattern` takes too much work for {count} topics, as for `{topic}`; they are not read; make a stream with a pattern \
             that tries less"
        ),
    ))
}
