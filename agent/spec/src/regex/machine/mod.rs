//! Runs a program over a text's UTF-16, trying what Java tries in the same order, with an own stack in place of recursion. Recursion is
//! left for matches inside matches, which nest as the pattern does.
//!
//! Invariant: what is put down on the stack is undone exactly when a try fails. A match inside a match that succeeds leaves its traces
//! in groups behind for good, because Java's do.

mod behind;
mod repeat;

use std::collections::HashSet;

use super::TooMuchWork;
use super::grapheme::cluster_end;
use super::program::{Loop, Program, Step};
use super::text::{Bases, Text, holds};
use super::tree::Fold;
use super::unicode::tables;
use crate::limits::PATTERN_STACK_MAX;

/// Where a group is.
type Span = Option<(usize, usize)>;

/// Something to go back to, or to undo on the way there.
enum Frame {
    /// Go on here.
    Try {
        step: usize,
        at: usize,
    },
    /// Go on here after a loop's body failed at this place.
    LeaveLoop {
        step: usize,
        at: usize,
        failed: Option<usize>,
    },
    /// Try a lazy loop's body.
    LazyLoop {
        looped: Loop,
        at: usize,
        count: usize,
    },
    Slot {
        slot: usize,
        value: usize,
    },
    Group {
        group: usize,
        span: Span,
    },
    /// Go on with one character fewer.
    FewerCharacters {
        step: usize,
        from: usize,
        at: usize,
        left: usize,
    },
    /// Go on with one character more.
    MoreCharacters {
        step: usize,
        at: usize,
        count: u32,
    },
    /// Go on with one round fewer; the group is then this.
    FewerRounds {
        step: usize,
        at: usize,
        capture: Option<usize>,
        span: Span,
    },
    /// Go on with one round more.
    MoreRounds {
        step: usize,
        at: usize,
        count: u32,
    },
}

/// A match being looked for.
pub(super) struct Machine<'a> {
    program: &'a Program,
    text: Text<'a>,
    bases: Bases,
    stack: Vec<Frame>,
    slots: Vec<usize>,
    groups: Vec<Span>,
    failed: Vec<HashSet<usize>>,
    work: u64,
}

/// What a step led to.
enum Outcome {
    /// Go on with this step at this place.
    Go(usize, usize),
    Fail,
    Matched(usize),
}

impl<'a> Machine<'a> {
    /// A machine at the begin of a text, which may take so many steps.
    pub(super) fn new(program: &'a Program, units: &'a [u16], steps: u64) -> Self {
        Self {
            program,
            text: Text(units),
            bases: Bases::default(),
            stack: Vec::new(),
            slots: vec![0; program.slots],
            groups: vec![None; program.groups],
            failed: vec![HashSet::new(); program.failed_sets],
            work: steps,
        }
    }

    /// Steps that were not taken.
    pub(super) fn left(&self) -> u64 {
        self.work
    }

    /// Takes steps, or what is left of them: work that was begun is work done.
    fn spend(&mut self, steps: u64) -> Result<(), TooMuchWork> {
        let left = self.work.checked_sub(steps);
        self.work = left.unwrap_or(0);
        left.map(|_| ()).ok_or(TooMuchWork)
    }

    /// Whether the whole text matches.
    pub(super) fn matches_whole(&mut self) -> Result<bool, TooMuchWork> {
        let length = self.text.0.len();
        Ok(self.run(0, 0, Some(length))?.is_some())
    }

    /// Whether a match is somewhere in the text. What a failed try left in groups is seen by the next, as in Java.
    pub(super) fn finds(&mut self) -> Result<bool, TooMuchWork> {
        let mut at = 0;
        loop {
            if self.run(0, at, None)?.is_some() {
                return Ok(true);
            }
            if at >= self.text.0.len() {
                return Ok(false);
            }
            at += if self.program.by_code_points { self.text.width_at(at) } else { 1 };
        }
    }

    /// Matches from a step to `Accept`; `end` is where the match has to end, if anywhere.
    fn run(&mut self, step: usize, at: usize, end: Option<usize>) -> Result<Option<usize>, TooMuchWork> {
        let base = self.stack.len();
        let mut outcome = Outcome::Go(step, at);
        loop {
            self.spend(1)?;
            if self.stack.len() > PATTERN_STACK_MAX {
                return Err(TooMuchWork);
            }
            outcome = match outcome {
                Outcome::Go(step, at) => self.step(step, at, end)?,
                Outcome::Matched(at) => {
                    self.stack.truncate(base);
                    return Ok(Some(at));
                }
                Outcome::Fail if self.stack.len() <= base => return Ok(None),
                Outcome::Fail => match self.stack.pop() {
                    Some(frame) => self.back(frame)?,
                    None => return Ok(None),
                },
            };
        }
    }

    fn step(&mut self, index: usize, at: usize, end: Option<usize>) -> Result<Outcome, TooMuchWork> {
        let next = index + 1;
        let program = self.program;
        let Some(step) = program.steps.get(index) else {
            return Ok(Outcome::Fail);
        };
        Ok(match step {
            Step::Exactly(code) => match self.text.code_at(at) {
                Some((found, width)) if found == *code => Outcome::Go(next, at + width),
                _ => Outcome::Fail,
            },
            Step::Set(set) => match self.text.code_at(at) {
                Some((found, width)) if set.contains(found) => Outcome::Go(next, at + width),
                _ => Outcome::Fail,
            },
            Step::Assertion(assertion) => {
                let holds = holds(self.text, *assertion, at, &mut self.bases);
                let looked_at = self.bases.take_looked_at();
                self.spend(looked_at)?;
                if holds { Outcome::Go(next, at) } else { Outcome::Fail }
            }
            Step::LineEnding => self.line_ending(next, at),
            Step::Grapheme => self.grapheme(next, at)?,
            Step::BackReference { group, fold } => self.back_reference(*group, *fold, next, at),
            Step::Split { first, second } => {
                self.stack.push(Frame::Try { step: *second, at });
                Outcome::Go(*first, at)
            }
            Step::Jump(target) => Outcome::Go(*target, at),
            Step::GroupBegin { slot } => {
                self.set_slot(*slot, at);
                Outcome::Go(next, at)
            }
            Step::GroupEnd { slot, group } => {
                let begin = self.slot(*slot);
                self.stack.push(Frame::Group {
                    group: *group,
                    span: self.span(*group),
                });
                self.set_span(*group, Some((begin, at)));
                Outcome::Go(next, at)
            }
            Step::Characters { set, times, greed } => self.characters(set, *times, *greed, next, at)?,
            Step::Rounds {
                times,
                greed,
                restores,
                capture,
                ..
            } => {
                if let (true, Some(group)) = (*restores, *capture) {
                    self.stack.push(Frame::Group {
                        group,
                        span: self.span(group),
                    });
                }
                self.rounds(index, *times, *greed, at)?
            }
            Step::LoopEnter(looped) => self.enter(*looped, at),
            Step::LoopAgain(looped) => self.again(*looped, at),
            Step::Look {
                next: after,
                behind,
                negative,
            } => {
                let found = match behind {
                    None => self.run(next, at, None)?.is_some(),
                    Some(behind) => self.looks_behind(next, *behind, at)?,
                };
                if found == *negative {
                    Outcome::Fail
                } else {
                    Outcome::Go(*after, at)
                }
            }
            Step::Atomic { next: after } => match self.run(next, at, None)? {
                Some(end) => Outcome::Go(*after, end),
                None => Outcome::Fail,
            },
            Step::Accept if end.is_some_and(|end| end != at) => Outcome::Fail,
            Step::Accept => Outcome::Matched(at),
        })
    }

    fn back(&mut self, frame: Frame) -> Result<Outcome, TooMuchWork> {
        Ok(match frame {
            Frame::Try { step, at } => Outcome::Go(step, at),
            Frame::LeaveLoop { step, at, failed } => {
                if let Some(places) = failed.and_then(|index| self.failed.get_mut(index)) {
                    places.insert(at);
                }
                Outcome::Go(step, at)
            }
            Frame::LazyLoop { looped, at, count } => {
                if !looped.times.allow(u32::try_from(count).unwrap_or(u32::MAX)) {
                    return Ok(Outcome::Fail);
                }
                self.set_slot(looped.count, count + 1);
                Outcome::Go(looped.body, at)
            }
            Frame::Slot { slot, value } => {
                if let Some(place) = self.slots.get_mut(slot) {
                    *place = value;
                }
                Outcome::Fail
            }
            Frame::Group { group, span } => {
                self.set_span(group, span);
                Outcome::Fail
            }
            Frame::FewerCharacters { step, from, at, left } => {
                let at = at.saturating_sub(self.text.width_before(at)).max(from);
                if left > 1 {
                    self.stack.push(Frame::FewerCharacters {
                        step,
                        from,
                        at,
                        left: left - 1,
                    });
                }
                Outcome::Go(step, at)
            }
            Frame::MoreCharacters { step, at, count } => self.one_more_character(step, at, count),
            Frame::FewerRounds { step, at, capture, span } => {
                if let Some(group) = capture {
                    self.set_span(group, span);
                }
                Outcome::Go(step, at)
            }
            Frame::MoreRounds { step, at, count } => self.one_more_round(step, at, count)?,
        })
    }

    fn line_ending(&mut self, next: usize, at: usize) -> Outcome {
        match self.text.unit_at(at) {
            Some(0x0D) => {
                if self.text.unit_at(at + 1) != Some(0x0A) {
                    return Outcome::Go(next, at + 1);
                }
                self.stack.push(Frame::Try { step: next, at: at + 1 });
                Outcome::Go(next, at + 2)
            }
            Some(0x0A..=0x0C | 0x85 | 0x2028 | 0x2029) => Outcome::Go(next, at + 1),
            _ => Outcome::Fail,
        }
    }

    fn grapheme(&mut self, next: usize, at: usize) -> Result<Outcome, TooMuchWork> {
        let Some(end) = cluster_end(self.text, at) else {
            return Ok(Outcome::Fail);
        };
        self.spend((end - at) as u64)?;
        Ok(Outcome::Go(next, end))
    }

    fn back_reference(&mut self, group: usize, fold: Fold, next: usize, at: usize) -> Outcome {
        let Some((begin, end)) = self.span(group) else {
            return Outcome::Fail;
        };
        // A group that was begun again inside of itself may end before it begins; Java then compares nothing and goes back.
        let length = end.saturating_sub(begin);
        self.work = self.work.saturating_sub(length as u64);
        if at + length > self.text.0.len() {
            return Outcome::Fail;
        }
        let equal = match fold {
            Fold::None => self.text.0.get(begin..begin + length) == self.text.0.get(at..at + length),
            Fold::Ascii | Fold::Unicode => self.equal_but_for_case(begin, at, length, matches!(fold, Fold::Unicode)),
        };
        if equal { Outcome::Go(next, at + length) } else { Outcome::Fail }
    }

    fn equal_but_for_case(&self, mut left: usize, mut right: usize, length: usize, unicode: bool) -> bool {
        let end = left + length;
        while left < end {
            let (Some((one, width)), Some((other, other_width))) = (self.text.code_at(left), self.text.code_at(right)) else {
                return false;
            };
            let fold = |code: u32| match unicode {
                true => tables().folded(code),
                false => char::from_u32(code).map_or(code, |character| u32::from(character.to_ascii_lowercase())),
            };
            if one != other && fold(one) != fold(other) {
                return false;
            }
            left += width;
            right += other_width;
        }
        true
    }

    fn slot(&self, slot: usize) -> usize {
        self.slots.get(slot).copied().unwrap_or(0)
    }

    fn set_slot(&mut self, slot: usize, value: usize) {
        if let Some(place) = self.slots.get_mut(slot) {
            self.stack.push(Frame::Slot { slot, value: *place });
            *place = value;
        }
    }

    fn span(&self, group: usize) -> Span {
        self.groups.get(group).copied().flatten()
    }

    fn set_span(&mut self, group: usize, span: Span) {
        if let Some(place) = self.groups.get_mut(group) {
            *place = span;
        }
    }
}
