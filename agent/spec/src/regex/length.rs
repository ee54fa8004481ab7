//! How long what a node matches may be, as Java counts it for a look-behind. Its counting is a part of its answers: it decides what is
//! refused, and where a look-behind begins to try. Java's numbers have 32 bits and wrap, and so do these: a repetition without a
//! greatest number is as long as such a number can be, and something beside it goes round.

use super::tree::{Greed, Node, Times, Way};

/// Least and greatest length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Length {
    pub(super) min: i32,
    pub(super) max: i32,
}

/// Counts along a pattern. What is before alternatives is put aside, because Java begins anew behind them.
#[derive(Clone, Copy, Default)]
struct Count {
    min: i32,
    max: i32,
    aside_min: i32,
    aside_max: i32,
    has_no_greatest: bool,
}

/// The length of what a node matches; none if Java finds no greatest.
pub(super) fn length(node: &Node) -> Option<Length> {
    let mut count = Count::default();
    count.node(node);
    count.total()
}

impl Count {
    fn total(&self) -> Option<Length> {
        (!self.has_no_greatest).then_some(Length {
            min: self.min.wrapping_add(self.aside_min),
            max: self.max.wrapping_add(self.aside_max),
        })
    }

    fn add(&mut self, min: i32, max: i32) {
        self.min = self.min.wrapping_add(min);
        self.max = self.max.wrapping_add(max);
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Set(_) => self.add(1, 1),
            Node::Run(characters) => {
                let length = i32::try_from(characters.len()).unwrap_or(i32::MAX);
                self.add(length, length);
            }
            Node::Assertion(_) | Node::Look { .. } => {}
            Node::LineEnding => self.add(1, 2),
            // Java forgets its greatest length, so that one in a look-behind matches nothing.
            Node::Grapheme => self.add(1, 0),
            Node::BackReference { .. } => self.has_no_greatest = true,
            Node::Sequence(parts) => parts.iter().for_each(|part| self.node(part)),
            Node::Alternatives(parts) => self.alternatives(parts.iter().map(Some)),
            Node::Group { body, .. } => self.node(body),
            Node::Atomic(body) => self.apart(body),
            Node::Repeat { body, times, greed } => self.repeat(body, *times, *greed),
        }
    }

    /// What Java runs as a match of its own: what was put aside in it is no longer aside behind it.
    fn apart(&mut self, body: &Node) {
        let (aside_min, aside_max) = (std::mem::take(&mut self.aside_min), std::mem::take(&mut self.aside_max));
        self.node(body);
        let (min, max) = (self.aside_min, self.aside_max);
        self.add(min, max);
        (self.aside_min, self.aside_max) = (aside_min, aside_max);
    }

    fn alternatives<'a>(&mut self, parts: impl Iterator<Item = Option<&'a Node>>) {
        let (mut least, mut greatest) = (i32::MAX, -1);
        for part in parts {
            let mut count = Self::default();
            if let Some(part) = part {
                count.node(part);
            }
            match count.total() {
                Some(length) => {
                    least = least.min(length.min);
                    greatest = greatest.max(length.max);
                }
                None => self.has_no_greatest = true,
            }
        }
        self.add(least, greatest);
        self.aside_min = self.aside_min.wrapping_add(std::mem::take(&mut self.min));
        self.aside_max = self.aside_max.wrapping_add(std::mem::take(&mut self.max));
    }

    fn repeat(&mut self, body: &Node, times: Times, greed: Greed) {
        let most = times.max.map_or(i32::MAX, |max| i32::try_from(max).unwrap_or(i32::MAX));
        let least = i32::try_from(times.min).unwrap_or(i32::MAX);
        match (body.way(times, greed), body) {
            (Way::Loop, _) => self.has_no_greatest = true,
            (Way::Optional, _) => self.alternatives([Some(body), None].into_iter()),
            (_, Node::Set(_)) if times.max.is_none() && greed == Greed::Greedy => self.add(least, i32::MAX),
            (_, _) if times.is_optional() => {
                let min = self.min;
                self.apart(body);
                self.min = min;
            }
            _ => {
                let mut count = Self::default();
                count.node(body);
                let Some(length) = count.total() else {
                    self.has_no_greatest = true;
                    return;
                };
                let min = length.min.wrapping_mul(least).wrapping_add(self.min);
                self.min = if min < self.min { LARGE } else { min };
                let max = length.max.wrapping_mul(most).wrapping_add(self.max);
                self.has_no_greatest |= max < self.max;
                self.max = max;
            }
        }
    }
}

/// What Java takes for a least length that went round.
const LARGE: i32 = 0x0FFF_FFFF;
