//! Messages that did not fit their schemas: how many, by side and reason, and where the latest of them are. No payload bytes.
//!
//! Invariant: what is kept does not grow with the number of messages: one entry per side and reason, a few places each.

use std::collections::BTreeMap;

use stream_decode::report::{DecodeReport, MisfitReason};
use stream_spec::stream::Side;

use crate::limits::MISFIT_PLACES_MAX;
use crate::position::SourcePlace;

/// Messages of one side that became null, wholly or in part, for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MisfitCount {
    /// How many; a message counts once on each side, under the first reason that was met in it.
    pub messages: u64,
    /// Where the latest of them are, in the order in which they were read; at most [`MISFIT_PLACES_MAX`].
    pub latest: Vec<SourcePlace>,
}

/// Messages that did not fit, by side and reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Misfits(BTreeMap<(Side, MisfitReason), MisfitCount>);

impl Misfits {
    /// Each side and reason that was met, in one order.
    pub fn counts(&self) -> impl Iterator<Item = (Side, MisfitReason, &MisfitCount)> {
        self.0.iter().map(|((side, reason), count)| (*side, *reason, count))
    }

    /// Messages of both sides together.
    pub fn messages(&self) -> u64 {
        self.0.values().map(|count| count.messages).sum()
    }

    /// Adds what a decoder reports of the next messages; `place` finds one by its row in the report.
    pub(crate) fn note(&mut self, side: Side, report: &DecodeReport, place: impl Fn(usize) -> Option<SourcePlace>) {
        for count in report.counts() {
            let first = count.last_rows.len().saturating_sub(MISFIT_PLACES_MAX);
            let latest = count.last_rows.iter().skip(first).filter_map(|row| place(*row)).collect();
            self.add(side, count.reason, count.messages as u64, latest);
        }
    }

    /// Adds those of a later batch.
    pub(crate) fn extend(&mut self, later: &Self) {
        for ((side, reason), count) in &later.0 {
            self.add(*side, *reason, count.messages, count.latest.clone());
        }
    }

    fn add(&mut self, side: Side, reason: MisfitReason, messages: u64, latest: Vec<SourcePlace>) {
        let known = self.0.entry((side, reason)).or_default();
        known.messages += messages;
        known.latest.extend(latest);
        let surplus = known.latest.len().saturating_sub(MISFIT_PLACES_MAX);
        known.latest.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::PartitionId;

    fn place(offset: i64) -> SourcePlace {
        SourcePlace {
            partition: PartitionId {
                topic: "orders".to_owned(),
                partition: 0,
            },
            offset,
            epoch: 0,
        }
    }

    #[test]
    fn counts_add_up_and_the_latest_places_stay() {
        let mut all = Misfits::default();
        for batch in [vec![1, 2], vec![], vec![3], vec![4, 5, 6, 7]] {
            let mut misfits = Misfits::default();
            for offset in batch {
                misfits.add(Side::Payload, MisfitReason::Malformed, 10, vec![place(offset)]);
            }
            misfits.add(Side::Key, MisfitReason::Empty, 1, vec![]);
            all.extend(&misfits);
        }
        let counts: Vec<_> = all
            .counts()
            .map(|(side, reason, count)| (side, reason, count.messages, count.latest.clone()))
            .collect();
        let expected = [
            (Side::Key, MisfitReason::Empty, 4, vec![]),
            (Side::Payload, MisfitReason::Malformed, 70, vec![place(5), place(6), place(7)]),
        ];
        assert_eq!((counts, all.messages()), (expected.into(), 74));
    }
}
