//! Decides where each partition goes on, from what the table records and what the cluster has. No I/O.
//!
//! Invariant: a position that the table records is followed exactly, or not at all and said so; only `on_data_loss` other
//! than `fail` moves it, and only when the records at it are gone.

use std::collections::{BTreeMap, BTreeSet};

use stream_spec::stream::OnDataLoss;

use super::client::AvailableRange;
use super::loss::loss;
use super::topics::{self, TopicState};
use crate::position::{PartitionId, Position, Positions};
use crate::table::{Loss, LossCause, SourceIdentity};

/// What is to be done with each subscribed topic and its partitions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct AttachPlan {
    /// Partitions whose recorded position is in this incarnation of their topic.
    pub(crate) resume: Positions,
    /// Partitions that are new; they start at their earliest record.
    pub(crate) appeared: BTreeSet<PartitionId>,
    /// Topics that were deleted and created again since the recorded positions.
    pub(crate) recreated: Vec<RecreatedTopic>,
    /// Topics that the cluster does not have.
    pub(crate) missing: Vec<String>,
    /// Topics that the cluster cannot tell about now, and why.
    pub(crate) refused: BTreeMap<String, String>,
    /// Ids of topics that are new.
    pub(crate) new_topic_ids: BTreeMap<String, String>,
    /// Topics that have no id, now as before.
    pub(crate) without_id: Vec<String>,
}

/// A topic whose id is not the recorded one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RecreatedTopic {
    pub(crate) topic: String,
    /// None where it was forgotten: it may be the same topic.
    pub(crate) recorded_id: Option<String>,
    pub(crate) id: String,
    pub(crate) partitions: Vec<i32>,
}

impl RecreatedTopic {
    /// The partitions of the new topic.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = PartitionId> {
        self.partitions.iter().map(|partition| PartitionId {
            topic: self.topic.clone(),
            partition: *partition,
        })
    }
}

/// Compares the cluster's topics with the recorded ones.
pub(crate) fn attach(topics: &BTreeMap<String, TopicState>, recorded: &Positions, identity: &SourceIdentity) -> AttachPlan {
    let mut plan = AttachPlan::default();
    for (topic, state) in topics {
        let found = match state {
            TopicState::Found(found) => found,
            TopicState::Missing => {
                plan.missing.push(topic.clone());
                continue;
            }
            TopicState::Refused(why) => {
                plan.refused.insert(topic.clone(), why.clone());
                continue;
            }
        };
        // Where none could be recorded the first one that the cluster gives is taken over.
        let recorded_id = identity.topic_ids.get(topic).filter(|id| topics::is_topic_id(id));
        let is_forgotten = identity.has_forgotten(topic) && recorded.keys().any(|partition| partition.topic == *topic);
        match (recorded_id, &found.id) {
            (Some(recorded_id), Some(id)) if recorded_id != id => {
                plan.recreated.push(RecreatedTopic {
                    topic: topic.clone(),
                    recorded_id: Some(recorded_id.clone()),
                    id: id.clone(),
                    partitions: found.partitions.clone(),
                });
                continue;
            }
            (Some(_), Some(_)) => {}
            (Some(_), None) => {
                plan.refused.insert(topic.clone(), topics::NO_ID_ANY_MORE.to_owned());
                continue;
            }
            (None, Some(id)) if is_forgotten => {
                plan.recreated.push(RecreatedTopic {
                    topic: topic.clone(),
                    recorded_id: None,
                    id: id.clone(),
                    partitions: found.partitions.clone(),
                });
                continue;
            }
            (None, Some(id)) => drop(plan.new_topic_ids.insert(topic.clone(), id.clone())),
            (None, None) if is_forgotten => {
                plan.refused.insert(topic.clone(), topics::NO_ID_ANY_MORE.to_owned());
                continue;
            }
            (None, None) => plan.without_id.push(topic.clone()),
        }
        for partition in &found.partitions {
            let partition = PartitionId {
                topic: topic.clone(),
                partition: *partition,
            };
            match recorded.get(&partition) {
                Some(position) => drop(plan.resume.insert(partition, *position)),
                None => drop(plan.appeared.insert(partition)),
            }
        }
    }
    plan
}

/// Positions from which a re-created topic is read, each one epoch after the recorded one, or `None` while it is held.
///
/// A recorded partition that the new topic lacks goes to its offset 0, so that no position of the old topic is left over
/// for the day on which the new topic gets that partition.
pub(crate) fn restart(
    recreated: &RecreatedTopic,
    recorded: &Positions,
    ranges: &BTreeMap<PartitionId, AvailableRange>,
    policy: OnDataLoss,
) -> Option<(Positions, Vec<Loss>)> {
    let start = |range: &AvailableRange| match policy {
        OnDataLoss::Fail => None,
        OnDataLoss::Earliest => Some(range.earliest),
        OnDataLoss::Latest => Some(range.end),
    };
    let mut positions = Positions::new();
    let mut losses = Vec::new();
    for (partition, position) in recorded.iter().filter(|(partition, _)| partition.topic == recreated.topic) {
        positions.insert(partition.clone(), Position::new(0, position.epoch + 1));
    }
    for partition in recreated.partitions() {
        // A partition whose leader is away has no range: the topic is restarted when all of it can be.
        let range = ranges.get(&partition)?;
        let next_offset = start(range)?;
        let epoch = recorded.get(&partition).map_or(0, |position| position.epoch + 1);
        let next = Position::new(next_offset, epoch);
        if !recorded.contains_key(&partition) && next_offset > range.earliest {
            losses.push(loss(&partition, LossCause::Recreated, Position::new(range.earliest, epoch), next));
        }
        positions.insert(partition, next);
    }
    let lost = |(partition, next): (&PartitionId, &Position)| {
        let before = recorded.get(partition)?;
        Some(loss(partition, LossCause::Recreated, *before, *next))
    };
    losses.extend(positions.iter().filter_map(lost));
    Some((positions, losses))
}

/// Sentence about a re-created topic that is held.
pub(crate) fn recreated_message(
    recreated: &RecreatedTopic,
    recorded: &Positions,
    ranges: &BTreeMap<PartitionId, AvailableRange>,
) -> String {
    let wanted: Vec<String> = recorded
        .iter()
        .filter(|(partition, _)| partition.topic == recreated.topic)
        .map(|(partition, position)| {
            let available = ranges
                .get(partition)
                .map_or("nothing".to_owned(), |range| format!("{} to {}", range.earliest, range.end));
            format!(
                "partition {}: wanted offset {}, available {available}",
                partition.partition, position.next_offset
            )
        })
        .collect();
    let happened = match &recreated.recorded_id {
        Some(recorded) => format!("was deleted and created again (id {recorded} became {})", recreated.id),
        None => format!(
            "was deleted, so many others ago that its id is not recorded any more, and one of its name is there (id {})",
            recreated.id
        ),
    };
    format!(
        "the topic `{}` {happened}; {}; set `on_data_loss` to `earliest` or `latest` to read the new topic",
        recreated.topic,
        wanted.join("; "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::topics::FoundTopic;

    fn partition(topic: &str, partition: i32) -> PartitionId {
        PartitionId {
            topic: topic.to_owned(),
            partition,
        }
    }

    fn at(next_offset: i64, epoch: u32) -> Position {
        Position::new(next_offset, epoch)
    }

    fn found(id: &str, partitions: &[i32]) -> TopicState {
        TopicState::Found(FoundTopic {
            id: Some(id.to_owned()).filter(|id| !id.is_empty()),
            partitions: partitions.to_vec(),
            absent: Vec::new(),
            is_internal: false,
        })
    }

    fn recorded(ids: &[(&str, &str)]) -> SourceIdentity {
        let topic_ids = ids.iter().map(|(topic, id)| ((*topic).to_owned(), (*id).to_owned())).collect();
        SourceIdentity {
            topic_ids,
            ..SourceIdentity::default()
        }
    }

    fn topics(topics: &[(&str, TopicState)]) -> BTreeMap<String, TopicState> {
        topics.iter().map(|(topic, state)| ((*topic).to_owned(), state.clone())).collect()
    }

    #[test]
    fn recorded_positions_are_resumed_and_new_partitions_start_afresh() {
        let positions = Positions::from([(partition("a", 0), at(7, 0)), (partition("a", 1), at(0, 2))]);
        let plan = attach(&topics(&[("a", found("A", &[0, 1, 2]))]), &positions, &recorded(&[("a", "A")]));
        assert_eq!(plan.resume, positions);
        assert_eq!(plan.appeared, BTreeSet::from([partition("a", 2)]));
        assert_eq!(plan.new_topic_ids, BTreeMap::new());
    }

    #[test]
    fn a_topic_that_was_not_recorded_is_new_in_all_its_partitions() {
        let plan = attach(&topics(&[("b", found("B", &[0, 1]))]), &Positions::new(), &recorded(&[]));
        assert_eq!(plan.appeared, BTreeSet::from([partition("b", 0), partition("b", 1)]));
        assert_eq!(plan.new_topic_ids, BTreeMap::from([("b".to_owned(), "B".to_owned())]));
    }

    #[test]
    fn a_topic_that_had_no_id_gets_its_first_one_and_keeps_its_positions() {
        let positions = Positions::from([(partition("a", 0), at(7, 0))]);
        let no_id = "AAAAAAAAAAAAAAAAAAAAAA";
        let plan = attach(&topics(&[("a", found("B", &[0]))]), &positions, &recorded(&[("a", no_id)]));
        assert_eq!((plan.resume, plan.recreated), (positions, vec![]));
        assert_eq!(plan.new_topic_ids, BTreeMap::from([("a".to_owned(), "B".to_owned())]));
    }

    #[test]
    fn a_topic_whose_id_was_forgotten_is_neither_read_on_nor_anew_until_the_policy_decides() {
        let positions = Positions::from([(partition("a", 0), at(7, 2)), (partition("b", 0), at(1, 0))]);
        let identity = SourceIdentity {
            forgotten: 1,
            ..recorded(&[("b", "B")])
        };
        let states = topics(&[("a", found("A", &[0])), ("b", found("B", &[0])), ("c", found("C", &[0]))]);
        let plan = attach(&states, &positions, &identity);
        let goes_on: Vec<_> = plan
            .resume
            .keys()
            .chain(&plan.appeared)
            .map(|partition| partition.topic.as_str())
            .collect();
        assert_eq!(goes_on, ["b", "c"]);
        let [recreated] = plan.recreated.as_slice() else {
            panic!("{plan:?}")
        };
        assert_eq!((recreated.topic.as_str(), &recreated.recorded_id), ("a", &None));
        let ranges = BTreeMap::from([(partition("a", 0), AvailableRange { earliest: 0, end: 9 })]);
        assert_eq!(restart(recreated, &positions, &ranges, OnDataLoss::Fail), None);
        let (restarted, _) = restart(recreated, &positions, &ranges, OnDataLoss::Earliest).expect("read anew");
        assert_eq!(restarted, Positions::from([(partition("a", 0), at(0, 3))]));
        let message = recreated_message(recreated, &positions, &ranges);
        assert!(
            message.contains("its id is not recorded any more") && message.contains("wanted offset 7"),
            "{message}"
        );

        // Brokers that give no ids now cannot tell either.
        let plan = attach(&topics(&[("a", found("", &[0]))]), &positions, &identity);
        assert_eq!((plan.refused.len(), plan.resume.len()), (1, 0));
    }

    #[test]
    fn a_topic_without_an_id_goes_on_by_its_offsets_unless_it_had_one() {
        let positions = Positions::from([(partition("a", 0), at(7, 0))]);
        let states = topics(&[("a", found("", &[0, 1]))]);
        let plan = attach(&states, &positions, &recorded(&[]));
        assert_eq!((plan.resume, plan.without_id), (positions.clone(), vec!["a".to_owned()]));
        assert_eq!(
            (plan.appeared, plan.new_topic_ids),
            (BTreeSet::from([partition("a", 1)]), BTreeMap::new())
        );
        let plan = attach(&states, &positions, &recorded(&[("a", "A")]));
        assert_eq!((plan.resume, plan.appeared), (Positions::new(), BTreeSet::new()));
        assert_eq!(plan.refused.into_keys().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn a_topic_with_another_id_is_not_attached() {
        let positions = Positions::from([(partition("a", 0), at(7, 0))]);
        let plan = attach(&topics(&[("a", found("A2", &[0]))]), &positions, &recorded(&[("a", "A1")]));
        assert_eq!((plan.resume, plan.appeared), (Positions::new(), BTreeSet::new()));
        let [recreated] = plan.recreated.as_slice() else {
            panic!("one topic was re-created: {:?}", plan.recreated)
        };
        assert_eq!((recreated.recorded_id.as_deref(), recreated.id.as_str()), (Some("A1"), "A2"));
    }

    #[test]
    fn topics_that_are_missing_or_refused_leave_the_others_alone() {
        let positions = Positions::from([(partition("a", 0), at(7, 0))]);
        let states = topics(&[
            ("a", found("A", &[0])),
            ("b", TopicState::Missing),
            ("c", TopicState::Refused("no leader".to_owned())),
        ]);
        let plan = attach(&states, &positions, &recorded(&[("a", "A")]));
        assert_eq!(plan.resume, positions);
        assert_eq!(plan.missing, ["b"]);
        assert_eq!(plan.refused, BTreeMap::from([("c".to_owned(), "no leader".to_owned())]));
    }

    #[test]
    fn a_restarted_topic_goes_on_one_epoch_later_and_leaves_no_old_position_behind() {
        let positions = Positions::from([
            (partition("a", 0), at(70, 0)),
            (partition("a", 1), at(9, 3)),
            (partition("b", 0), at(1, 0)),
        ]);
        let recreated = RecreatedTopic {
            topic: "a".to_owned(),
            recorded_id: Some("A1".to_owned()),
            id: "A2".to_owned(),
            partitions: vec![0, 2],
        };
        let ranges = BTreeMap::from([
            (partition("a", 0), AvailableRange { earliest: 2, end: 5 }),
            (partition("a", 2), AvailableRange { earliest: 0, end: 4 }),
        ]);
        assert_eq!(restart(&recreated, &positions, &ranges, OnDataLoss::Fail), None);
        let check = |policy, expected: [Position; 3], lost: &[(i32, i64, i64, u32)]| {
            let (positions, losses) = restart(&recreated, &positions, &ranges, policy).expect("restarted");
            let expected = (0..).zip(expected).map(|(number, position)| (partition("a", number), position));
            assert_eq!(positions, expected.collect(), "{policy:?}");
            let losses: Vec<_> = losses
                .iter()
                .map(|loss| (loss.partition.partition, loss.from, loss.to, loss.epoch))
                .collect();
            assert_eq!(losses, lost, "{policy:?}");
        };
        check(OnDataLoss::Earliest, [at(2, 1), at(0, 4), at(0, 0)], &[(0, 70, 2, 1), (1, 9, 0, 4)]);
        let skipped = [(2, 0, 4, 0), (0, 70, 5, 1), (1, 9, 0, 4)];
        check(OnDataLoss::Latest, [at(5, 1), at(0, 4), at(4, 0)], &skipped);
        assert_eq!(
            restart(&recreated, &positions, &BTreeMap::new(), OnDataLoss::Latest),
            None,
            "a partition without a leader"
        );
    }

    #[test]
    fn the_message_about_a_recreated_topic_names_wanted_offsets_and_available_ranges() {
        let range = AvailableRange { earliest: 10, end: 20 };
        let recreated = RecreatedTopic {
            topic: "a".to_owned(),
            recorded_id: Some("A1".to_owned()),
            id: "A2".to_owned(),
            partitions: vec![3],
        };
        let message = recreated_message(
            &recreated,
            &Positions::from([(partition("a", 3), at(40, 0))]),
            &BTreeMap::from([(partition("a", 3), range)]),
        );
        assert!(message.contains("partition 3: wanted offset 40, available 10 to 20"), "{message}");
    }
}
