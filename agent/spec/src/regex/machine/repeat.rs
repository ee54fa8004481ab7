//! Repetition: of one character, of rounds that are matches of their own, and of loops that a match can go back into.
//!
//! Invariant: a round that moves nothing ends its loop, so that no loop goes on for ever.

use super::{Frame, Machine, Outcome};
use crate::regex::TooMuchWork;
use crate::regex::program::{Loop, Step};
use crate::regex::set::CharSet;
use crate::regex::tree::{Greed, Times};

impl Machine<'_> {
    pub(super) fn characters(&mut self, set: &CharSet, times: Times, greed: Greed, next: usize, at: usize) -> Result<Outcome, TooMuchWork> {
        let mut count = 0;
        let mut place = at;
        let mut settled = at;
        let wanted = if greed == Greed::Lazy {
            Times {
                min: times.min,
                max: Some(times.min),
            }
        } else {
            times
        };
        while wanted.allow(count) {
            match self.text.code_at(place) {
                Some((found, width)) if set.contains(found) => place += width,
                _ => break,
            }
            count += 1;
            if count == times.min {
                settled = place;
            }
        }
        self.spend(u64::from(count))?;
        if count < times.min {
            return Ok(Outcome::Fail);
        }
        match greed {
            Greed::Possessive => {}
            Greed::Greedy => {
                let left = usize::try_from(count - times.min).unwrap_or(usize::MAX);
                if left > 0 {
                    self.stack.push(Frame::FewerCharacters {
                        step: next,
                        from: settled,
                        at: place,
                        left,
                    });
                }
            }
            Greed::Lazy => self.stack.push(Frame::MoreCharacters {
                step: next,
                at: place,
                count,
            }),
        }
        Ok(Outcome::Go(next, place))
    }

    /// `step` is the one after the repetition.
    pub(super) fn one_more_character(&mut self, step: usize, at: usize, count: u32) -> Outcome {
        let Some(Step::Characters { set, times, .. }) = step.checked_sub(1).and_then(|index| self.program.steps.get(index)) else {
            return Outcome::Fail;
        };
        match self.text.code_at(at) {
            Some((found, width)) if times.allow(count) && set.contains(found) => {
                self.stack.push(Frame::MoreCharacters {
                    step,
                    at: at + width,
                    count: count + 1,
                });
                Outcome::Go(step, at + width)
            }
            _ => Outcome::Fail,
        }
    }

    pub(super) fn rounds(&mut self, index: usize, times: Times, greed: Greed, at: usize) -> Result<Outcome, TooMuchWork> {
        let Some(Step::Rounds { next, capture, .. }) = self.program.steps.get(index) else {
            return Ok(Outcome::Fail);
        };
        let mut place = at;
        for _ in 0..times.min {
            let Some(end) = self.run(index + 1, place, None)? else {
                return Ok(Outcome::Fail);
            };
            if let Some(group) = capture {
                self.set_span(*group, Some((place, end)));
            }
            place = end;
        }
        if greed == Greed::Lazy {
            self.stack.push(Frame::MoreRounds {
                step: index,
                at: place,
                count: times.min,
            });
            return Ok(Outcome::Go(*next, place));
        }
        let mut count = times.min;
        while times.allow(count) {
            let Some(end) = self.run(index + 1, place, None)? else { break };
            // A round of nothing ends it. It is the group only where nothing is taken back.
            if end == place {
                if let (Some(group), Greed::Possessive) = (capture, greed) {
                    self.set_span(*group, Some((place, end)));
                }
                break;
            }
            if greed == Greed::Greedy {
                let span = capture.and_then(|group| self.span(group));
                self.stack.push(Frame::FewerRounds {
                    step: *next,
                    at: place,
                    capture: *capture,
                    span,
                });
            }
            if let Some(group) = capture {
                self.set_span(*group, Some((place, end)));
            }
            place = end;
            count += 1;
        }
        Ok(Outcome::Go(*next, place))
    }

    pub(super) fn one_more_round(&mut self, index: usize, at: usize, count: u32) -> Result<Outcome, TooMuchWork> {
        let Some(Step::Rounds { next, times, capture, .. }) = self.program.steps.get(index) else {
            return Ok(Outcome::Fail);
        };
        if !times.allow(count) {
            return Ok(Outcome::Fail);
        }
        let Some(end) = self.run(index + 1, at, None)? else {
            return Ok(Outcome::Fail);
        };
        // A round of nothing would be repeated for ever. Where there is only one it counts, for what it left in groups.
        if end == at && !times.is_optional() {
            return Ok(Outcome::Fail);
        }
        if let Some(group) = capture {
            self.set_span(*group, Some((at, end)));
        }
        self.stack.push(Frame::MoreRounds {
            step: index,
            at: end,
            count: count + 1,
        });
        Ok(Outcome::Go(*next, end))
    }

    pub(super) fn enter(&mut self, looped: Loop, at: usize) -> Outcome {
        if looped.times.min > 0 {
            self.set_slot(looped.count, 1);
            return Outcome::Go(looped.body, at);
        }
        if !looped.times.allow(0) {
            return Outcome::Go(looped.next, at);
        }
        if looped.lazy {
            self.stack.push(Frame::LazyLoop { looped, at, count: 0 });
            return Outcome::Go(looped.next, at);
        }
        self.stack.push(Frame::Try { step: looped.next, at });
        self.set_slot(looped.count, 1);
        Outcome::Go(looped.body, at)
    }

    pub(super) fn again(&mut self, looped: Loop, at: usize) -> Outcome {
        // A round of nothing ends the loop, whatever its minimum: more of them would change nothing.
        if at <= self.slot(looped.begin) {
            return Outcome::Go(looped.next, at);
        }
        let count = self.slot(looped.count);
        let rounds = u32::try_from(count).unwrap_or(u32::MAX);
        if rounds < looped.times.min {
            self.set_slot(looped.count, count + 1);
            return Outcome::Go(looped.body, at);
        }
        if looped.lazy {
            self.stack.push(Frame::LazyLoop { looped, at, count });
            return Outcome::Go(looped.next, at);
        }
        let failed_before = looped
            .failed
            .and_then(|index| self.failed.get(index))
            .is_some_and(|places| places.contains(&at));
        if failed_before || !looped.times.allow(rounds) {
            return Outcome::Go(looped.next, at);
        }
        self.stack.push(Frame::LeaveLoop {
            step: looped.next,
            at,
            failed: looped.failed,
        });
        self.set_slot(looped.count, count + 1);
        Outcome::Go(looped.body, at)
    }
}
