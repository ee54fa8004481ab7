//! How much one principal may ask at once and over time, so that one that goes wild leaves the agent to the others. Invariant: what
//! was let in is counted until it is dropped, whatever becomes of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::{CALLS_AT_ONCE_MAX, CALLS_BURST_MAX, CALLS_PER_SECOND_MAX, PRINCIPALS_COUNTED_MAX, RETRY_ADVICE};

/// Counts what each principal asks.
#[derive(Debug, Default)]
pub struct Admission {
    asked: Mutex<HashMap<String, Asked>>,
}

/// What one principal asked lately.
#[derive(Debug)]
struct Asked {
    at_once: usize,
    /// Calls that it may make now, of at most a burst.
    left: f64,
    /// When `left` was that.
    at: Instant,
}

/// Why a call is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// Too many calls at once.
    #[error("`{CALLS_AT_ONCE_MAX}` calls of this caller are being answered, which is as many as one may have; send fewer at once")]
    AtOnce,
    /// Too many over time.
    #[error("this caller makes more than {CALLS_PER_SECOND_MAX} calls a second; send them more slowly")]
    TooFast {
        /// When there is room for the next one.
        retry_after: Duration,
    },
}

impl NotAdmitted {
    /// How long to wait before the next attempt.
    pub fn retry_after(self) -> Duration {
        match self {
            Self::AtOnce => RETRY_ADVICE,
            Self::TooFast { retry_after } => retry_after,
        }
    }
}

/// A call that was let in; it counts until this is dropped.
#[derive(Debug)]
pub struct Admitted {
    admission: Arc<Admission>,
    principal: String,
}

impl Admission {
    /// Lets a call of `principal` in, if it does not ask too much.
    pub fn admit(self: &Arc<Self>, principal: &str, now: Instant) -> Result<Admitted, NotAdmitted> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len() >= PRINCIPALS_COUNTED_MAX {
            // Whoever has nothing under way and a whole burst left is as one who never asked.
            asked.retain(|_, of| of.at_once > 0 || of.refilled(now) < f64::from(CALLS_BURST_MAX));
        }
        let of = asked.entry(principal.to_owned()).or_insert(Asked {
            at_once: 0,
            left: f64::from(CALLS_BURST_MAX),
            at: now,
        });
        of.left = of.refilled(now);
        of.at = of.at.max(now);
        if of.at_once >= CALLS_AT_ONCE_MAX {
            return Err(NotAdmitted::AtOnce);
        }
        if of.left < 1.0 {
            let retry_after = Duration::from_secs_f64((1.0 - of.left) / f64::from(CALLS_PER_SECOND_MAX));
            return Err(NotAdmitted::TooFast { retry_after });
        }
        of.left -= 1.0;
        of.at_once += 1;
        Ok(Admitted {
            admission: self.clone(),
            principal: principal.to_owned(),
        })
    }
}

impl Asked {
    fn refilled(&self, now: Instant) -> f64 {
        let waited = now.saturating_duration_since(self.at).as_secs_f64();
        (self.left + waited * f64::from(CALLS_PER_SECOND_MAX)).min(f64::from(CALLS_BURST_MAX))
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut asked = self.admission.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of) = asked.get_mut(&self.principal) {
            of.at_once = of.at_once.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_asks_too_much_at_once_is_told_and_others_are_not() {
        let (admission, now) = (Arc::new(Admission::default()), Instant::now());
        let mut admitted: Vec<_> = (0..CALLS_AT_ONCE_MAX).map(|_| admission.admit("ada", now).unwrap()).collect();
        assert_eq!(admission.admit("ada", now).unwrap_err(), NotAdmitted::AtOnce);
        assert!(admission.admit("bob", now).is_ok());
        admitted.pop();
        assert!(admission.admit("ada", now).is_ok());
    }

    #[test]
    fn a_burst_is_followed_by_a_steady_rate() {
        let (admission, now) = (Arc::new(Admission::default()), Instant::now());
        for _ in 0..CALLS_BURST_MAX {
            drop(admission.admit("ada", now).unwrap());
        }
        let refused = admission.admit("ada", now).unwrap_err();
        let advice = refused.retry_after();
        assert!(matches!(refused, NotAdmitted::TooFast { .. }) && !advice.is_zero());
        assert!(admission.admit("ada", now + advice / 2).is_err());
        assert!(admission.admit("ada", now + advice * 2).is_ok(), "the advice is enough");
        let later = now + Duration::from_secs(3600);
        let count = (0..2 * CALLS_BURST_MAX).filter(|_| admission.admit("ada", later).is_ok()).count();
        assert_eq!(u32::try_from(count), Ok(CALLS_BURST_MAX), "never more than a burst");
    }

    #[test]
    fn the_count_of_principals_is_bounded_by_those_who_ask() {
        let (admission, now) = (Arc::new(Admission::default()), Instant::now());
        let kept = admission.admit("kept", now).unwrap();
        for number in 0..3 * PRINCIPALS_COUNTED_MAX {
            let at = now + Duration::from_secs(u64::try_from(number).unwrap());
            drop(admission.admit(&number.to_string(), at).unwrap());
        }
        let asked = admission.asked.lock().unwrap();
        assert!(asked.len() <= PRINCIPALS_COUNTED_MAX && asked.contains_key("kept"));
        drop(asked);
        drop(kept);
    }
}
