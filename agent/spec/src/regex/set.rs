//! Sets of code points as sorted ranges, surrogates included: Java's classes are over UTF-16, and so is what we match with them.
//! Invariant: ranges are ascending, not empty and neither overlap nor touch.

/// The last code point.
pub(super) const LAST: u32 = 0x10_FFFF;

/// A set of code points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CharSet {
    ranges: Vec<(u32, u32)>,
    /// Java tests it unit by unit rather than by code points. That decides where a search may begin, see `Pattern::by_code_points`.
    pub(super) bmp: bool,
}

impl CharSet {
    /// The set of all the ranges, in any order.
    pub(super) fn new(bmp: bool, ranges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut sorted: Vec<(u32, u32)> = ranges.into_iter().filter(|(first, last)| first <= last).collect();
        sorted.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(sorted.len());
        for (first, last) in sorted {
            match merged.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => merged.push((first, last)),
            }
        }
        Self { ranges: merged, bmp }
    }

    /// Its ranges.
    pub(super) fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// Whether a code point is in it.
    pub(super) fn contains(&self, code: u32) -> bool {
        let after = self.ranges.partition_point(|(first, _)| *first <= code);
        after
            .checked_sub(1)
            .and_then(|index| self.ranges.get(index))
            .is_some_and(|(_, last)| code <= *last)
    }

    /// What is in one of the two.
    pub(super) fn union(&self, other: &Self) -> Self {
        Self::new(self.bmp && other.bmp, self.ranges.iter().chain(&other.ranges).copied())
    }

    /// What is in both.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut both = Vec::new();
        let (mut left, mut right) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let (Some(&&(a, b)), Some(&&(c, d))) = (left.peek(), right.peek()) {
            both.push((a.max(c), b.min(d)));
            if b < d {
                left.next();
            } else {
                right.next();
            }
        }
        Self::new(self.bmp && other.bmp, both)
    }

    /// Everything else.
    pub(super) fn complement(&self) -> Self {
        let mut rest = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = 0;
        for (first, last) in &self.ranges {
            if *first > next {
                rest.push((next, first - 1));
            }
            next = last + 1;
        }
        if next <= LAST {
            rest.push((next, LAST));
        }
        Self { ranges: rest, bmp: false }
    }
}
