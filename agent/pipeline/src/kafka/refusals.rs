//! Remembers which recorded positions the broker refused, until each is decided about.
//!
//! Invariant: a refusal counts for the position that it was about and for no other; one that leaves the histories uncompared
//! counts for good only when it came twice.

use std::collections::BTreeMap;

use super::loss::Refusal;
use crate::position::{PartitionId, Position, Positions};

/// The refusals of one stream.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    of: BTreeMap<PartitionId, Refused>,
}

/// A position that was refused.
#[derive(Debug)]
struct Refused {
    position: Position,
    refusal: Refusal,
    /// Read again at that position since, so that its leader compares histories. The refusal says nothing until it comes again.
    is_retried: bool,
}

impl Refusals {
    /// The broker refuses a partition at its recorded position.
    pub(crate) fn note(&mut self, partition: PartitionId, position: Position, refusal: Refusal) {
        let known = self.of.get(&partition).filter(|known| known.position == position);
        let refusal = match known {
            Some(known) if known.is_retried && refusal == Refusal::OutOfRange => Refusal::OutOfRangeAgain,
            // The next opening decides, and by what tells more.
            Some(known) if !known.is_retried => known.refusal.max(refusal),
            _ => refusal,
        };
        let refused = Refused {
            position,
            refusal,
            is_retried: false,
        };
        self.of.insert(partition, refused);
    }

    /// What stands against reading a partition at its recorded position.
    pub(crate) fn of(&self, partition: &PartitionId, position: Position) -> Option<Refusal> {
        let refused = self.of.get(partition)?;
        (refused.position.epoch == position.epoch && !refused.is_retried).then_some(refused.refusal)
    }

    /// Takes note of what was decided, by the positions that the table has now and those that are read. A refused position that
    /// is neither read nor moved stays refused: the broker reports it once, and a topic may only be away for a while.
    pub(crate) fn decided(&mut self, recorded: &Positions, read: &Positions) {
        let is_here = |partition: &PartitionId, refused: &Refused| {
            let position = recorded.get(partition);
            position.is_some_and(|position| position.epoch == refused.position.epoch)
        };
        self.of.retain(|partition, refused| is_here(partition, refused));
        for (partition, refused) in &mut self.of {
            refused.is_retried |= read.contains_key(partition);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Refusal::{OutOfRange, OutOfRangeAgain};
    use super::*;

    const TRUNCATED: Refusal = Refusal::Truncated { at: Some(3) };

    fn partition() -> PartitionId {
        PartitionId {
            topic: "a".to_owned(),
            partition: 0,
        }
    }

    fn positions(position: Position) -> Positions {
        Positions::from([(partition(), position)])
    }

    fn noted(refusals: &[Refusal], position: Position) -> Refusals {
        let mut noted = Refusals::default();
        for refusal in refusals {
            noted.note(partition(), position, *refusal);
        }
        noted
    }

    #[test]
    fn a_refusal_stays_until_its_position_is_read_or_moved_and_says_nothing_of_another_epoch() {
        let position = Position::new(9, 4);
        for refusal in [OutOfRange, TRUNCATED] {
            let mut refusals = noted(&[refusal], position);
            refusals.decided(&positions(position), &Positions::new());
            assert_eq!(refusals.of(&partition(), position), Some(refusal), "held, or its topic is away");
            // The commit that moves it may have landed although its answer was an error.
            let moved = Position::new(3, 5);
            assert_eq!(refusals.of(&partition(), moved), None, "moved, and nobody was told");
            refusals.decided(&positions(moved), &positions(moved));
            assert_eq!(refusals.of(&partition(), position), None, "forgotten");
        }
    }

    #[test]
    fn what_tells_more_counts_until_it_is_decided() {
        let position = Position::new(9, 4);
        for told in [[OutOfRange, TRUNCATED], [TRUNCATED, OutOfRange]] {
            assert_eq!(noted(&told, position).of(&partition(), position), Some(TRUNCATED));
        }
    }

    #[test]
    fn a_position_that_is_refused_again_after_it_was_read_again_is_told_from_one_that_is_refused_once() {
        let position = Position::new(9, 4);
        let further = Position::new(10, 4);
        for (next, refusal, expected) in [
            (position, OutOfRange, OutOfRangeAgain),
            (position, TRUNCATED, TRUNCATED),
            (further, OutOfRange, OutOfRange),
        ] {
            let mut refusals = noted(&[OutOfRange], position);
            refusals.decided(&positions(position), &positions(position));
            assert_eq!(refusals.of(&partition(), position), None, "it is read");
            refusals.note(partition(), next, refusal);
            assert_eq!(refusals.of(&partition(), next), Some(expected), "{next:?} {refusal:?}");
        }
    }
}
