//! Steps that matching may take: of one text, and of many texts together.
//!
//! Invariant: what was begun is counted, whether it came to an answer or not, so that all texts together cost no more than was given.

use super::TooMuchWork;
use crate::limits::{PATTERN_WORK_MAX, PATTERN_WORK_PER_UNIT};

/// What is left of the steps that several texts may take together.
#[derive(Debug)]
pub struct Work {
    left: u64,
}

impl Work {
    /// So many steps.
    pub fn of(steps: u64) -> Self {
        Self { left: steps }
    }

    /// For one text, whose own bound is enough.
    pub(super) fn without_end() -> Self {
        Self::of(u64::MAX)
    }

    /// Steps that are left.
    pub fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn spend(&mut self, steps: u64) -> Result<(), TooMuchWork> {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(0);
        left.map(|_| ()).ok_or(TooMuchWork)
    }

    /// Matches a text of so many units with the steps that it may take, and takes off those that it took.
    pub(super) fn of_text(
        &mut self,
        units: usize,
        matched: impl FnOnce(u64) -> (Result<bool, TooMuchWork>, u64),
    ) -> Result<bool, TooMuchWork> {
        let units = u64::try_from(units).unwrap_or(u64::MAX);
        let own = units.saturating_mul(PATTERN_WORK_PER_UNIT).saturating_add(PATTERN_WORK_MAX);
        let given = own.min(self.left);
        let (answer, left) = matched(given);
        self.left -= given.saturating_sub(left).min(self.left);
        answer
    }
}
