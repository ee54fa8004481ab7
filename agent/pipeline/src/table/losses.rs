//! What `on_data_loss` passed over: in the `commitInfo` of the commit that moved a position, and, the newest ones, in a property.
//!
//! Invariant: a position that is moved without its records having been read says so in the commit that moves it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::limits;
use crate::position::PartitionId;

/// The name in `commitInfo`, and that of the property.
pub(super) const LOSSES: &str = "featurestore.losses";

/// Why records were passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossCause {
    /// Retention, or someone, deleted them before they were read.
    Expired,
    /// The log was cut before the position: records that are in the table are not in the log any more.
    Truncated,
    /// The topic was deleted, and created again.
    Recreated,
    /// The topic, one of a pattern, was deleted before all of it was read, or while nobody saw how far it went.
    Deleted,
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "expired",
            Self::Truncated => "truncated",
            Self::Recreated => "recreated",
            Self::Deleted => "deleted",
        })
    }
}

/// What `on_data_loss` passed over. Kept in the commit that moved the position, the newest ones also in the table's properties.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// Where.
    #[serde(flatten)]
    pub partition: PartitionId,
    /// Why.
    pub cause: LossCause,
    /// The offset that was to be read next.
    pub from: i64,
    /// The offset that is read next instead; below `from` where another history begins there.
    pub to: i64,
    /// The epoch from then on.
    pub epoch: u32,
}

/// Adds losses to the ones that are remembered: the last one of each partition, and of too many the newest.
pub(super) fn add(properties: &mut BTreeMap<String, String>, known: &[Loss], new: &[Loss]) {
    if new.is_empty() {
        return;
    }
    let mut seen = BTreeSet::new();
    let newest_first = known.iter().chain(new).rev().filter(|loss| seen.insert(&loss.partition));
    let mut kept: Vec<&Loss> = newest_first.take(limits::LOSSES_KEPT).collect();
    kept.reverse();
    // Texts and numbers always have a JSON form.
    properties.insert(LOSSES.to_owned(), serde_json::to_string(&kept).unwrap_or_default());
}

/// The losses that are remembered, oldest first. A text that says nothing to us remembers none: only the status wants them, and
/// every loss is in the log entry of its commit besides.
pub(super) fn read(properties: &BTreeMap<String, String>) -> Vec<Loss> {
    let Some(text) = properties.get(LOSSES) else { return Vec::new() };
    serde_json::from_str(text).unwrap_or_else(|error| {
        tracing::warn!(property = LOSSES, %error, "a table's property does not tell what was passed over; it is taken as empty");
        Vec::new()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(partition: i32, from: i64) -> Loss {
        Loss {
            partition: PartitionId {
                topic: "t".into(),
                partition,
            },
            cause: LossCause::Expired,
            from,
            to: from + 5,
            epoch: 1,
        }
    }

    #[test]
    fn the_last_loss_of_each_partition_is_remembered() {
        let mut properties = BTreeMap::new();
        add(&mut properties, &[], &[]);
        assert_eq!((properties.len(), read(&properties)), (0, vec![]));
        let many: Vec<Loss> = (0..500).map(|partition| loss(partition, 1)).collect();
        add(&mut properties, &many, &[loss(3, 9), loss(500, 1)]);
        let mut expected = many;
        expected.remove(3);
        expected.extend([loss(3, 9), loss(500, 1)]);
        assert_eq!(read(&properties), expected, "oldest first");

        let too_many: Vec<Loss> = (0..2_000).map(|partition| loss(partition, 1)).collect();
        add(&mut properties, &too_many, &[loss(7, 9)]);
        let kept = read(&properties);
        assert_eq!((kept.len(), kept.last()), (limits::LOSSES_KEPT, Some(&loss(7, 9))));
        assert_eq!(kept.first(), Some(&loss(1_001, 1)));
    }

    #[test]
    fn a_text_is_read_as_it_was_written_and_one_that_says_nothing_remembers_nothing() {
        let text = r#"[{"topic":"t","partition":1,"cause":"expired","from":7,"to":12,"epoch":1}]"#;
        let of = |text: &str| read(&BTreeMap::from([(LOSSES.to_owned(), text.to_owned())]));
        assert_eq!(of(text), [loss(1, 7)]);
        assert_eq!(serde_json::to_string(&[loss(1, 7)]).unwrap(), text);
        // Someone else's text, and a cause of a later agent.
        for text in ["", "x", "{}", &text.replace("expired", "evaporated")] {
            assert_eq!(of(text), [], "{text}");
        }
    }
}
