//! A pattern as it was read. Which of Java's ways of repeating a node gets is decided from here, because they differ in what they
//! remember of groups and in what they try again.

use std::sync::Arc;

use super::length::Length;
use super::set::CharSet;

/// A pattern that was read.
#[derive(Debug)]
pub(super) struct Pattern {
    /// All of it.
    pub(super) root: Node,
    /// Capturing groups, the whole match counted as the first.
    pub(super) groups: usize,
    /// A search begins at code points only, not also in the middle of a surrogate pair, as Java decides it.
    pub(super) by_code_points: bool,
    /// A back-reference is somewhere in it.
    pub(super) refers_back: bool,
    /// A single surrogate is spelled in it.
    pub(super) lone_surrogate: bool,
}

/// A part of a pattern.
#[derive(Debug)]
pub(super) enum Node {
    /// One character.
    Set(Arc<CharSet>),
    /// Literal characters in a row; how each compares when case does not matter is in its set.
    Run(Vec<One>),
    /// A condition on a place.
    Assertion(Assertion),
    /// `\R`.
    LineEnding,
    /// `\X`.
    Grapheme,
    /// `\1`, `\k<name>`.
    BackReference { group: usize, fold: Fold },
    /// One after the other.
    Sequence(Vec<Node>),
    /// The first that leads to a match.
    Alternatives(Vec<Node>),
    /// `(…)` or `(?:…)`.
    Group { capture: Option<usize>, body: Box<Node> },
    /// Look-around.
    Look {
        behind: Option<Behind>,
        negative: bool,
        body: Box<Node>,
    },
    /// `(?>…)`.
    Atomic(Box<Node>),
    /// A quantifier.
    Repeat { body: Box<Node>, times: Times, greed: Greed },
}

/// One character of a literal.
#[derive(Clone, Debug)]
pub(super) enum One {
    /// Itself.
    Exactly(u32),
    /// What is equal to it but for case.
    AnyOf(Arc<CharSet>),
}

/// A condition on a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assertion {
    /// `^`, `\A`, and `\G`: there is no match before.
    Begin,
    /// `\z`.
    End,
    /// `^` of every line.
    LineBegin { unix: bool },
    /// `$` and `\Z`.
    LineEnd { unix: bool, every_line: bool },
    /// `\b`, or `\B` when negative.
    WordBoundary { negative: bool, unicode: bool },
}

/// How far to look behind, in units or in code points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Behind {
    pub(super) length: Length,
    pub(super) by_code_points: bool,
}

/// How a back-reference compares.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fold {
    None,
    Ascii,
    Unicode,
}

/// How often: at least, and at most if there is a most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) min: u32,
    pub(super) max: Option<u32>,
}

impl Times {
    /// Whether `count` more than the minimum are allowed.
    pub(super) fn allow(self, count: u32) -> bool {
        self.max.is_none_or(|max| count < max)
    }

    /// `?`.
    pub(super) fn is_optional(self) -> bool {
        self.min == 0 && self.max == Some(1)
    }
}

/// Which number of repetitions is tried first, and whether others are tried at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greed {
    Greedy,
    Lazy,
    Possessive,
}

/// Java's ways of repeating.
pub(super) enum Way {
    /// Each round is settled once it matched; for one character, an assertion, a look-around, anything possessive.
    Rounds,
    /// As `Rounds`, for a group whose body can match in one way only; the group holds the last round.
    GroupRounds,
    /// The body or nothing, and each way of matching the body is tried.
    Optional,
    /// Every way of matching the body is tried in every round.
    Loop,
}

impl Node {
    /// How Java repeats this node.
    pub(super) fn way(&self, times: Times, greed: Greed) -> Way {
        match self {
            Self::Group { .. } if greed == Greed::Possessive => Way::Rounds,
            Self::Group { .. } if times.is_optional() => Way::Optional,
            Self::Group { body, .. } if body.matches_in_one_way() => Way::GroupRounds,
            Self::Group { .. } => Way::Loop,
            _ => Way::Rounds,
        }
    }

    /// What Java calls deterministic. It holds `\R` for that too.
    pub(super) fn matches_in_one_way(&self) -> bool {
        match self {
            Self::Set(_) | Self::Run(_) | Self::Assertion(_) | Self::LineEnding | Self::BackReference { .. } | Self::Look { .. } => true,
            Self::Sequence(parts) => parts.iter().all(Self::matches_in_one_way),
            Self::Alternatives(_) | Self::Grapheme => false,
            Self::Group { body, .. } | Self::Atomic(body) => body.matches_in_one_way(),
            Self::Repeat { body, times, greed } => match body.way(*times, *greed) {
                Way::Rounds | Way::GroupRounds => times.max == Some(times.min) && body.matches_in_one_way(),
                Way::Optional | Way::Loop => false,
            },
        }
    }
}
