//! The work that matching may take for one evaluation of a filter, over all of its patterns and all rows.
//!
//! Invariant: once a budget is used up, nothing more is matched; every answer that is missing for it is counted.

use std::cell::{Cell, RefCell};

use stream_spec::regex::{self, JavaPattern};

use super::limits::{LIKE_STEPS_MAX, RLIKE_STEPS_MAX};

/// What is left of the steps of an evaluation, and how often they did not suffice.
pub(super) struct Work {
    like: Cell<u64>,
    regular: RefCell<regex::Work>,
    unanswered: Cell<u64>,
}

impl Work {
    /// For one evaluation.
    pub(super) fn new() -> Self {
        Self::of(LIKE_STEPS_MAX, RLIKE_STEPS_MAX)
    }

    pub(super) fn of(like: u64, regular: u64) -> Self {
        Self {
            like: Cell::new(like),
            regular: RefCell::new(regex::Work::of(regular)),
            unanswered: Cell::new(0),
        }
    }

    /// Steps of a LIKE for one row, which has no answer if these are too many.
    pub(super) fn spend(&self, steps: usize) -> Option<()> {
        let left = u64::try_from(steps).ok().and_then(|steps| self.like.get().checked_sub(steps));
        self.like.set(left.unwrap_or_default());
        self.answer(left.map(|_| ()))
    }

    /// Whether a pattern is found in a row's text; nothing if that takes too much work.
    pub(super) fn find(&self, pattern: &JavaPattern, text: &str) -> Option<bool> {
        let found = match self.regular.try_borrow_mut() {
            Ok(mut work) => pattern.find_within(text, &mut work).ok(),
            Err(_) => None,
        };
        self.answer(found)
    }

    /// How many answers are missing: of one row there may be several.
    pub(super) fn unanswered(&self) -> u64 {
        self.unanswered.get()
    }

    fn answer<T>(&self, answer: Option<T>) -> Option<T> {
        self.unanswered.set(self.unanswered.get() + u64::from(answer.is_none()));
        answer
    }

    #[cfg(test)]
    pub(super) fn left(&self) -> (u64, u64) {
        (self.like.get(), self.regular.borrow().left())
    }
}
