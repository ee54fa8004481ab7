//! What a stream reads of a cluster (product part K1): topics by name, topics by pattern, or some partitions. No I/O.
//!
//! A pattern is matched with each name once: what a list has that the list before had not. Invariant: what is not chosen is never
//! read, whatever the cluster has, be it a partition that `assign` does not list or a topic that the cluster keeps for itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use stream_spec::regex::{JavaPattern, Work};
use stream_spec::stream::KafkaSource;
use stream_spec::subscription::{INTERNAL_TOPICS, Read};

use super::topic_list::TopicNames;
use super::topics::TopicState;
use crate::error::PipelineError;
use crate::limits;

/// What one stream reads.
pub(crate) struct Subscription {
    read: Read,
    /// Of the list that was matched last.
    matched: Mutex<Matched>,
}

#[derive(Default)]
struct Matched {
    listed: Arc<TopicNames>,
    matching: Matching,
}

/// What a pattern means of a list of topics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Matching {
    pub(crate) topics: BTreeSet<String>,
    /// Topics for which the pattern took too much work: they are not read.
    pub(crate) undecided: BTreeSet<String>,
}

impl Subscription {
    /// Reads a source's subscription.
    pub(crate) fn of(source: &KafkaSource) -> Result<Self, PipelineError> {
        let read = Read::of(&source.subscription).map_err(|(attribute, error)| PipelineError::Definition {
            message: format!("`{attribute}`: {error}"),
        })?;
        Ok(Self {
            read,
            matched: Mutex::default(),
        })
    }

    /// What is read, in words of the declaration.
    pub(crate) fn read(&self) -> &Read {
        &self.read
    }

    /// The pattern, where topics are chosen by one.
    pub(crate) fn pattern(&self) -> Option<&JavaPattern> {
        match &self.read {
            Read::Matching(pattern) => Some(pattern),
            Read::Topics(_) | Read::Partitions(_) => None,
        }
    }

    /// The attribute that names topics, for messages.
    pub(crate) fn attribute(&self) -> &'static str {
        match &self.read {
            Read::Topics(_) => "subscribe",
            Read::Matching(_) => "subscribe_pattern",
            Read::Partitions(_) => "assign",
        }
    }

    /// The topics that are named, whatever there is; none where a pattern chooses.
    pub(crate) fn named(&self) -> BTreeSet<String> {
        match &self.read {
            Read::Topics(topics) => topics.clone(),
            Read::Matching(_) => BTreeSet::new(),
            Read::Partitions(partitions) => partitions.keys().cloned().collect(),
        }
    }

    /// The topics of a list that the pattern means. Takes up to a second for a pattern that is hard to match, and no time for a list
    /// that was asked about before.
    pub(crate) fn matching(&self, listed: &Arc<TopicNames>) -> Matching {
        let Some(pattern) = self.pattern() else {
            return Matching::default();
        };
        let mut matched = self.matched.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&matched.listed, listed) {
            let before = std::mem::replace(&mut matched.listed, listed.clone());
            let matching = &mut matched.matching;
            matching.topics.retain(|topic| listed.contains(topic));
            matching.undecided.retain(|topic| listed.contains(topic));
            let mut work = Work::of(limits::PATTERN_LISTING_WORK);
            let new = listed
                .difference(&before)
                .filter(|topic| !INTERNAL_TOPICS.contains(&topic.as_str()));
            for topic in new {
                match pattern.matches_within(topic, &mut work) {
                    Ok(true) => drop(matching.topics.insert(topic.clone())),
                    Ok(false) => {}
                    Err(_) => drop(matching.undecided.insert(topic.clone())),
                }
            }
        }
        matched.matching.clone()
    }

    /// Leaves, of what a cluster has, what the stream reads.
    pub(crate) fn narrow(&self, mut states: BTreeMap<String, TopicState>) -> BTreeMap<String, TopicState> {
        match &self.read {
            Read::Topics(_) => {}
            Read::Matching(_) => states.retain(|_, state| !matches!(state, TopicState::Found(found) if found.is_internal)),
            Read::Partitions(assigned) => {
                for (topic, state) in &mut states {
                    if let (TopicState::Found(found), Some(listed)) = (state, assigned.get(topic)) {
                        found.absent = listed.iter().copied().filter(|number| !found.partitions.contains(number)).collect();
                        found.partitions.retain(|number| listed.contains(number));
                    }
                }
            }
        }
        states
    }
}

#[cfg(test)]
mod tests {
    use stream_spec::stream::SubscriptionMode;

    use super::*;
    use crate::kafka::topics::FoundTopic;

    fn subscription(subscription: SubscriptionMode) -> Subscription {
        let extra_options = BTreeMap::new();
        Subscription::of(&KafkaSource {
            subscription,
            extra_options,
        })
        .expect("legal")
    }

    fn listed(names: &[&str]) -> Arc<TopicNames> {
        Arc::new(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn found(partitions: &[i32], is_internal: bool) -> TopicState {
        TopicState::Found(FoundTopic {
            id: Some("A".to_owned()),
            partitions: partitions.to_vec(),
            absent: Vec::new(),
            is_internal,
        })
    }

    #[test]
    fn a_pattern_means_whole_names_and_never_what_the_cluster_keeps_for_itself() {
        let everything = subscription(SubscriptionMode::SubscribePattern(".*".to_owned()));
        let names = ["orders", "__consumer_offsets", "__transaction_state", "__mine", "eu.orders"];
        let topics: Vec<String> = everything.matching(&listed(&names)).topics.into_iter().collect();
        assert_eq!(topics, ["__mine", "eu.orders", "orders"]);
        let orders = subscription(SubscriptionMode::SubscribePattern("orders|payments-\\d".to_owned()));
        let names = ["orders", "orders2", "xorders", "payments-1", "payments-12", "payments-"];
        let topics: Vec<String> = orders.matching(&listed(&names)).topics.into_iter().collect();
        assert_eq!(topics, ["orders", "payments-1"]);

        let states = BTreeMap::from([("a".to_owned(), found(&[0], false)), ("__b".to_owned(), found(&[0], true))]);
        let kept: Vec<String> = everything.narrow(states.clone()).into_keys().collect();
        assert_eq!(kept, ["a"]);
        let named = subscription(SubscriptionMode::Subscribe("a,__b".to_owned()));
        assert_eq!(named.narrow(states.clone()), states, "whoever names one wants it");
    }

    #[test]
    fn names_are_matched_once_and_forgotten_with_their_topics() {
        // Each name that is matched takes a tenth of the work or so, and has no answer.
        let pattern = subscription(SubscriptionMode::SubscribePattern("(a|aa)+b\\1|orders".to_owned()));
        let hopeless: Vec<String> = (0..30).map(|number| format!("{}{number}", "a".repeat(60))).collect();
        let mut names: Vec<&str> = hopeless.iter().map(String::as_str).collect();
        names.push("orders");
        let all = listed(&names);
        let matching = pattern.matching(&all);
        assert!(matching.topics.is_empty(), "nothing is left for `orders`");
        assert_eq!(matching.undecided.len(), 31);
        // Were they matched again, this would take a quarter of an hour.
        for _ in 0..1_000 {
            assert_eq!(pattern.matching(&all), matching);
        }
        // Only what is new is asked about, with work of its own.
        let fewer = listed(&[names[0], "orders", "b"]);
        assert_eq!(pattern.matching(&fewer).undecided.len(), 2);
        let again = pattern.matching(&listed(&["b"]));
        assert_eq!(again, Matching::default());
        let again = pattern.matching(&listed(&["b", "orders"]));
        assert_eq!(again.topics, BTreeSet::from(["orders".to_owned()]));
    }

    #[test]
    fn of_an_assigned_topic_the_listed_partitions_are_left_and_those_that_are_not_there_are_named() {
        let assign = subscription(SubscriptionMode::Assign(r#"{"a": [0, 2, 7], "b": [1]}"#.to_owned()));
        assert_eq!(assign.named(), BTreeSet::from(["a".to_owned(), "b".to_owned()]));
        let states = BTreeMap::from([("a".to_owned(), found(&[0, 1, 2, 3], false)), ("b".to_owned(), TopicState::Missing)]);
        let narrowed = assign.narrow(states);
        let Some(TopicState::Found(topic)) = narrowed.get("a") else {
            panic!("{narrowed:?}")
        };
        assert_eq!((topic.partitions.as_slice(), topic.absent.as_slice()), (&[0, 2][..], &[7][..]));
        assert_eq!(narrowed.get("b"), Some(&TopicState::Missing));
        // Growth beyond what is listed changes nothing.
        let grown = assign.narrow(BTreeMap::from([("a".to_owned(), found(&[0, 1, 2, 3, 4], false))]));
        assert_eq!(grown.get("a"), narrowed.get("a"));
    }
}
