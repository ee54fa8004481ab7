//! Decides about a position whose records are not there, or are not the ones that follow the table's rows. No I/O.
//!
//! Invariant: a position that moves goes to the first record that is not in the table, as far as that can be told, or to the
//! end; never to a record whose row is in the table.

use stream_spec::stream::OnDataLoss;

use super::client::AvailableRange;
use crate::position::{PartitionId, Position};
use crate::table::{Loss, LossCause};

/// Why the broker does not let a partition be read at its position. The greater one tells more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Refusal {
    /// The offset is not in the range that the broker has. A leader says so by the very end of its log, never by what it shows
    /// to readers yet: unless records have expired, the log was cut before the offset, even if it reaches beyond it by now.
    OutOfRange,
    /// The same, after the leader was asked once more to compare histories, and told nothing better.
    OutOfRangeAgain,
    /// The log was cut before the position (unclean leader election, a broker that lost its disk): whatever is at its offset
    /// now, or between the cut and it, is something else, although the range may cover it again.
    Truncated {
        /// The first offset that is not what the table has, where the leader told.
        at: Option<i64>,
    },
}

/// What becomes of a partition whose recorded position is not available.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LossDecision {
    /// The position is available after all.
    Resume,
    /// Nothing is read until someone decides.
    Hold,
    /// Goes on there.
    Move(Position, LossCause),
}

/// Decides about a position by the range that the broker has, and by its refusal of the position: without one only the start
/// of the range counts, because the end that a new leader tells may lag behind.
///
/// A truncation is lost whatever the range says. The first record that the table does not have is then the one at the cut;
/// where the cut is not known, what is before the log's end may be in the table, and is not read again. A fetch that was on its
/// way before the leader was asked to compare can hide where it is, so a position whose history can be compared is read once more.
pub(crate) fn decide_loss(position: Position, range: AvailableRange, refusal: Option<Refusal>, policy: OnDataLoss) -> LossDecision {
    let expired = position.next_offset < range.earliest;
    let (cause, first_unread) = match refusal {
        Some(Refusal::Truncated { at }) => (LossCause::Truncated, at.unwrap_or(range.end).max(range.earliest)),
        _ if expired => (LossCause::Expired, range.earliest),
        Some(Refusal::OutOfRange) if position.has_history() => return LossDecision::Resume,
        Some(Refusal::OutOfRange | Refusal::OutOfRangeAgain) => (LossCause::Truncated, range.end),
        None => return LossDecision::Resume,
    };
    let next_offset = match policy {
        OnDataLoss::Fail => return LossDecision::Hold,
        OnDataLoss::Earliest => first_unread,
        OnDataLoss::Latest => range.end,
    };
    // Always another epoch: a position only grows within one, and its leader epoch is that of records right before it.
    LossDecision::Move(Position::new(next_offset, position.epoch + 1), cause)
}

/// What is passed over where a position moves.
pub(crate) fn loss(partition: &PartitionId, cause: LossCause, before: Position, next: Position) -> Loss {
    Loss {
        partition: partition.clone(),
        cause,
        from: before.next_offset,
        to: next.next_offset,
        epoch: next.epoch,
    }
}

/// Sentence about a partition whose position is gone, and which is held.
pub(crate) fn lost_message(partition: &PartitionId, position: Position, range: AvailableRange) -> String {
    format!(
        "topic `{}` partition {}: wanted offset {}, available {} to {}; records are gone before they were read; set `on_data_loss` to \
         `earliest` or `latest` to go on",
        partition.topic, partition.partition, position.next_offset, range.earliest, range.end,
    )
}

/// Sentence about a partition whose log was cut before its position, and which is held.
pub(crate) fn truncated_message(partition: &PartitionId, position: Position, range: AvailableRange, cut_at: Option<i64>) -> String {
    let cut = cut_at.map_or_else(|| "before that offset".to_owned(), |offset| format!("at offset {offset}"));
    format!(
        "topic `{}` partition {}: wanted offset {}, available {} to {}; its log was cut {cut} (unclean leader election, or a broker that lost \
         its disk), so records from there on are others than those that the table has; set `on_data_loss` to `earliest` to read them, or to \
         `latest` to go on at the end",
        partition.topic, partition.partition, position.next_offset, range.earliest, range.end,
    )
}

/// Sentence about a partition whose position the broker refuses while its range is not known.
pub(crate) fn unknown_range_message(partition: &PartitionId, position: Position) -> String {
    format!(
        "topic `{}` partition {}: wanted offset {} is not available, and the partition has no leader that tells what is",
        partition.topic, partition.partition, position.next_offset,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(topic: &str, partition: i32) -> PartitionId {
        PartitionId {
            topic: topic.to_owned(),
            partition,
        }
    }

    fn at(next_offset: i64, epoch: u32) -> Position {
        Position::new(next_offset, epoch)
    }

    #[test]
    fn a_lost_position_is_held_or_moved_as_the_policy_says() {
        use LossCause::{Expired, Truncated};
        use LossDecision::{Hold, Move, Resume};
        let range = AvailableRange { earliest: 10, end: 20 };
        let out_of_range = Some(Refusal::OutOfRange);
        let again = Some(Refusal::OutOfRangeAgain);
        let cut = |at| Some(Refusal::Truncated { at });
        for (offset, refusal, policy, expected) in [
            (9, None, OnDataLoss::Fail, Hold),
            (9, None, OnDataLoss::Earliest, Move(at(10, 6), Expired)),
            (9, None, OnDataLoss::Latest, Move(at(20, 6), Expired)),
            // A new leader may tell an end that lags behind: nothing is lost until the broker refuses the position.
            (21, None, OnDataLoss::Earliest, Resume),
            (21, out_of_range, OnDataLoss::Fail, Hold),
            (21, out_of_range, OnDataLoss::Earliest, Move(at(20, 6), Truncated)),
            (21, out_of_range, OnDataLoss::Latest, Move(at(20, 6), Truncated)),
            (21, again, OnDataLoss::Earliest, Move(at(20, 6), Truncated)),
            // It was beyond the end when it was refused: what is there now was written since.
            (15, out_of_range, OnDataLoss::Fail, Hold),
            (20, out_of_range, OnDataLoss::Fail, Hold),
            (15, out_of_range, OnDataLoss::Earliest, Move(at(20, 6), Truncated)),
            (15, again, OnDataLoss::Latest, Move(at(20, 6), Truncated)),
            (9, out_of_range, OnDataLoss::Earliest, Move(at(10, 6), Expired)),
            (9, again, OnDataLoss::Earliest, Move(at(10, 6), Expired)),
            // Producers have written past the position since the log was cut.
            (15, cut(Some(13)), OnDataLoss::Fail, Hold),
            (15, cut(Some(13)), OnDataLoss::Earliest, Move(at(13, 6), Truncated)),
            (15, cut(Some(13)), OnDataLoss::Latest, Move(at(20, 6), Truncated)),
            (15, cut(None), OnDataLoss::Earliest, Move(at(20, 6), Truncated)),
            // What was written at the cut is gone already, or is not told to readers yet.
            (15, cut(Some(7)), OnDataLoss::Earliest, Move(at(10, 6), Truncated)),
            (30, cut(Some(22)), OnDataLoss::Earliest, Move(at(22, 6), Truncated)),
        ] {
            assert_eq!(
                decide_loss(at(offset, 5), range, refusal, policy),
                expected,
                "{offset} {refusal:?} {policy:?}"
            );
        }
    }

    #[test]
    fn a_position_whose_history_can_be_compared_is_read_once_more_before_it_counts_as_cut() {
        use LossDecision::{Hold, Resume};
        let range = AvailableRange { earliest: 10, end: 20 };
        for (offset, refusal, expected) in [
            (15, Refusal::OutOfRange, Resume),
            (21, Refusal::OutOfRange, Resume),
            (9, Refusal::OutOfRange, Hold),
            (15, Refusal::OutOfRangeAgain, Hold),
            (21, Refusal::OutOfRangeAgain, Hold),
            (15, Refusal::Truncated { at: None }, Hold),
        ] {
            let position = Position {
                leader_epoch: Some(0),
                ..at(offset, 5)
            };
            let decision = decide_loss(position, range, Some(refusal), OnDataLoss::Fail);
            assert_eq!(decision, expected, "{offset} {refusal:?}");
        }
    }

    #[test]
    fn messages_name_topic_partition_wanted_offset_and_available_range() {
        let range = AvailableRange { earliest: 10, end: 20 };
        assert_eq!(
            lost_message(&partition("a", 3), at(4, 0), range),
            "topic `a` partition 3: wanted offset 4, available 10 to 20; records are gone before they were read; set `on_data_loss` to \
             `earliest` or `latest` to go on"
        );
        let message = truncated_message(&partition("a", 3), at(14, 0), range, Some(12));
        assert!(message.starts_with("topic `a` partition 3: wanted offset 14, available 10 to 20; its log was cut at offset 12 "));
    }
}
