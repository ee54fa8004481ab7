//! Waits between attempts: doubling, bounded, spread by jitter so that many streams of one dead broker do not knock
//! together.

use std::time::Duration;

use crate::limits::{RETRY_WAIT_FIRST, RETRY_WAIT_MAX};

/// A doubling wait.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// Wait after the first failure.
    pub first: Duration,
    /// Longest wait.
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: RETRY_WAIT_FIRST,
            max: RETRY_WAIT_MAX,
        }
    }
}

impl Backoff {
    /// The wait after so many failures in a row: three quarters of the doubled wait, and up to a quarter more as `random`
    /// (0 to `u32::MAX`) has it.
    pub fn wait(&self, failures: u32, random: u32) -> Duration {
        // Past 2^16 times the first wait, `max` has long taken over.
        let doubled = self.first.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(self.max);
        let quarter = doubled / 4;
        doubled - quarter + quarter.mul_f64(f64::from(random) / f64::from(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_and_stays_within_its_bound() {
        let backoff = Backoff {
            first: Duration::from_millis(400),
            max: Duration::from_secs(10),
        };
        let cases = [
            (1, 300, 400),
            (2, 600, 800),
            (3, 1_200, 1_600),
            (6, 7_500, 10_000),
            (u32::MAX, 7_500, 10_000),
        ];
        for (failures, least, most) in cases {
            assert_eq!(backoff.wait(failures, 0).as_millis(), least, "after {failures} failures");
            assert_eq!(backoff.wait(failures, u32::MAX).as_millis(), most, "after {failures} failures");
        }
    }
}
