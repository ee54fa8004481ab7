//! Decides about topics of a pattern that are not there any more. No I/O.
//!
//! That topics come and go is what a pattern is for: one that was read to its end departs, and nothing is said of it. Invariant: a
//! topic departs with its position and its id recorded, so that it goes on exactly if it is there again after all; one of which
//! records were not read, or may not have been, departs only by `on_data_loss`, and what is lost is in the table's log.

use std::collections::BTreeMap;

use crate::position::{PartitionId, Position, Positions};
use crate::table::{Loss, LossCause};

/// A partition of a deleted topic that was not read to its end, or of which nobody knows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) partition: PartitionId,
    position: Position,
    /// Its end, when it was seen last; `None` where nobody of this process saw it.
    end: Option<i64>,
}

/// The partitions of a deleted topic that may have had more records.
pub(crate) fn unread(topic: &str, recorded: &Positions, last_ends: &BTreeMap<PartitionId, i64>) -> Vec<Unread> {
    let of_topic = recorded.iter().filter(|(partition, _)| partition.topic == topic);
    let unread = of_topic.filter_map(|(partition, position)| {
        let end = last_ends.get(partition).copied();
        let is_read = end.is_some_and(|end| position.next_offset >= end);
        (!is_read).then(|| Unread {
            partition: partition.clone(),
            position: *position,
            end,
        })
    });
    unread.collect()
}

impl Unread {
    /// What is lost. The position stays: should the topic be there again, it is where reading goes on.
    pub(crate) fn loss(&self) -> Loss {
        Loss {
            partition: self.partition.clone(),
            cause: LossCause::Deleted,
            from: self.position.next_offset,
            to: self.end.unwrap_or(self.position.next_offset),
            epoch: self.position.epoch,
        }
    }

    /// Sentence about it.
    pub(crate) fn message(&self) -> String {
        let (topic, number) = (&self.partition.topic, self.partition.partition);
        let available = match self.end {
            Some(end) => format!("nothing is available, and it reached to {end} when it was seen last"),
            None => "nothing is available, and nobody saw how far it reached".to_owned(),
        };
        format!(
            "topic `{topic}` partition {number}: wanted offset {}, {available}; the topic was deleted; set `on_data_loss` to `earliest` or `latest` \
             to go on without it",
            self.position.next_offset
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_departs_when_it_was_seen_to_be_read_to_its_end() {
        let partition = |topic: &str, partition| PartitionId {
            topic: topic.to_owned(),
            partition,
        };
        let at = |next_offset| Position::new(next_offset, 1);
        let recorded = Positions::from([(partition("a", 0), at(5)), (partition("a", 1), at(7)), (partition("b", 0), at(0))]);
        let unread = |topic, ends: &[(&str, i32, i64)]| {
            let ends = ends.iter().map(|(topic, number, end)| (partition(topic, *number), *end)).collect();
            let unread = super::unread(topic, &recorded, &ends);
            unread
                .iter()
                .map(|unread| (unread.partition.partition, unread.end))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            unread("a", &[("a", 0, 5), ("a", 1, 6)]),
            [],
            "the end was seen before the last records were read"
        );
        assert_eq!(unread("a", &[("a", 0, 5), ("a", 1, 8)]), [(1, Some(8))]);
        assert_eq!(unread("a", &[("a", 1, 7)]), [(0, None)]);
        assert_eq!(unread("b", &[("b", 0, 0)]), []);
        assert_eq!(unread("b", &[("a", 0, 0)]), [(0, None)]);
        assert_eq!(unread("c", &[]), [], "nothing was ever recorded of it");

        let [known, unknown] = [Some(8), None].map(|end| Unread {
            partition: partition("a", 1),
            position: at(7),
            end,
        });
        let loss = |to| Loss {
            partition: partition("a", 1),
            cause: LossCause::Deleted,
            from: 7,
            to,
            epoch: 1,
        };
        assert_eq!((known.loss(), unknown.loss()), (loss(8), loss(7)));
        let (known, unknown) = (known.message(), unknown.message());
        assert!(
            known.contains("topic `a` partition 1: wanted offset 7") && known.contains("it reached to 8"),
            "{known}"
        );
        assert!(unknown.contains("nobody saw how far it reached"), "{unknown}");
    }
}
