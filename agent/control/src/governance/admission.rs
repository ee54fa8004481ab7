//! How much one principal may ask at once and over time, so that one that goes wild leaves the agent to the others. Invariant: what
//! was let in is counted until it is dropped, whatever becomes of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::{
    CALLS_AT_ONCE_MAX, CALLS_BURST_MAX, CALLS_PER_SECOND_MAX, CONNECTIONS_MAX, CONNECTIONS_PER_PRINCIPAL_MAX, PRINCIPALS_COUNTED_MAX,
    REQUEST_BYTES_FREE, REQUEST_BYTES_MAX, REQUEST_BYTES_PER_PRINCIPAL_MAX, RETRY_ADVICE,
};

/// Counts what each principal asks.
#[derive(Debug, Default)]
pub struct Admission {
    asked: Mutex<HashMap<String, Asked>>,
    /// Bytes that requests of all principals hold.
    bytes: Mutex<usize>,
    /// Connections of all principals.
    connections: Mutex<usize>,
}

/// What one principal asked lately.
#[derive(Debug)]
struct Asked {
    connections: usize,
    at_once: usize,
    /// Bytes that its requests hold.
    bytes: usize,
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
    /// Too many bytes at once.
    #[error("requests of this caller hold {} MiB, which is as much as one may have; send fewer large ones at once", REQUEST_BYTES_PER_PRINCIPAL_MAX >> 20)]
    TooLarge,
    /// Too many bytes of all callers.
    #[error("the requests that the agent is answering hold {} MiB, which is as much as it takes; send this one again", REQUEST_BYTES_MAX >> 20)]
    Full,
    /// Too many connections.
    #[error("this caller has {CONNECTIONS_PER_PRINCIPAL_MAX} connections, which is as many as one may have; send several calls over one")]
    Connections,
    /// Too many connections of all callers.
    #[error("the agent has {CONNECTIONS_MAX} connections, which is as many as it takes; send this call again")]
    AllConnections,
}

impl NotAdmitted {
    /// How long to wait before the next attempt.
    pub fn retry_after(self) -> Duration {
        match self {
            Self::AtOnce | Self::TooLarge | Self::Full | Self::Connections | Self::AllConnections => RETRY_ADVICE,
            Self::TooFast { retry_after } => retry_after,
        }
    }
}

/// A call that was let in; it counts until this is dropped.
#[derive(Debug)]
pub struct Admitted {
    admission: Arc<Admission>,
    principal: String,
    /// Bytes that it has taken.
    bytes: Mutex<usize>,
}

impl Admitted {
    /// Takes what a request needs that is `length` bytes long by now, if there is room.
    pub fn hold(&self, length: usize) -> Result<(), NotAdmitted> {
        let mut held = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let more = length.saturating_sub(REQUEST_BYTES_FREE).saturating_sub(*held);
        if more == 0 {
            return Ok(());
        }
        let mut asked = self.admission.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.admission.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(of) = asked.get_mut(&self.principal) else { return Ok(()) };
        if of.bytes + more > REQUEST_BYTES_PER_PRINCIPAL_MAX {
            return Err(NotAdmitted::TooLarge);
        }
        if *all + more > REQUEST_BYTES_MAX {
            return Err(NotAdmitted::Full);
        }
        *held += more;
        *all += more;
        of.bytes += more;
        Ok(())
    }
}

/// A connection that counts as one of a principal's until this is dropped.
#[derive(Debug)]
pub struct Connected {
    admission: Arc<Admission>,
    principal: String,
}

impl Drop for Connected {
    fn drop(&mut self) {
        let mut asked = self.admission.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.admission.connections.lock().unwrap_or_else(PoisonError::into_inner);
        *all = all.saturating_sub(1);
        if let Some(of) = asked.get_mut(&self.principal) {
            of.connections = of.connections.saturating_sub(1);
        }
    }
}

impl Admission {
    /// Counts a connection as one of `principal`'s, if it has not too many.
    pub fn connect(self: &Arc<Self>, principal: &str, now: Instant) -> Result<Connected, NotAdmitted> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let of = Self::of(&mut asked, principal, now);
        if of.connections >= CONNECTIONS_PER_PRINCIPAL_MAX {
            return Err(NotAdmitted::Connections);
        }
        if *all >= CONNECTIONS_MAX {
            return Err(NotAdmitted::AllConnections);
        }
        *all += 1;
        of.connections += 1;
        Ok(Connected {
            admission: self.clone(),
            principal: principal.to_owned(),
        })
    }

    /// Lets a call of `principal` in, if it does not ask too much.
    pub fn admit(self: &Arc<Self>, principal: &str, now: Instant) -> Result<Admitted, NotAdmitted> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let of = Self::of(&mut asked, principal, now);
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
            bytes: Mutex::default(),
        })
    }

    /// What is counted of `principal`.
    fn of<'a>(asked: &'a mut HashMap<String, Asked>, principal: &str, now: Instant) -> &'a mut Asked {
        if asked.len() >= PRINCIPALS_COUNTED_MAX {
            // Whoever has nothing under way and a whole burst left is as one who never asked.
            asked.retain(|_, of| of.at_once > 0 || of.connections > 0 || of.refilled(now) < f64::from(CALLS_BURST_MAX));
        }
        asked.entry(principal.to_owned()).or_insert(Asked {
            connections: 0,
            at_once: 0,
            bytes: 0,
            left: f64::from(CALLS_BURST_MAX),
            at: now,
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
        let held = *self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut asked = self.admission.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.admission.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *all = all.saturating_sub(held);
        if let Some(of) = asked.get_mut(&self.principal) {
            of.at_once = of.at_once.saturating_sub(1);
            of.bytes = of.bytes.saturating_sub(held);
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
    fn large_requests_are_held_to_a_budget_and_small_ones_are_not() {
        let (admission, now) = (Arc::new(Admission::default()), Instant::now());
        let admit = |name: &str| admission.admit(name, now).unwrap();
        let whole = REQUEST_BYTES_PER_PRINCIPAL_MAX + REQUEST_BYTES_FREE;
        let large = admit("p0");
        assert_eq!(large.hold(whole), Ok(()));
        assert_eq!(large.hold(whole), Ok(()), "what is held is not taken twice");
        assert_eq!(large.hold(whole + 1), Err(NotAdmitted::TooLarge));
        let next = admit("p0");
        assert_eq!(next.hold(REQUEST_BYTES_FREE), Ok(()), "small ones go on");
        assert_eq!(next.hold(REQUEST_BYTES_FREE + 1), Err(NotAdmitted::TooLarge));
        let others: Vec<_> = (1..REQUEST_BYTES_MAX / REQUEST_BYTES_PER_PRINCIPAL_MAX)
            .map(|number| admit(&format!("p{number}")))
            .collect();
        for other in &others {
            assert_eq!(other.hold(whole), Ok(()));
        }
        let late = admit("late");
        assert_eq!(late.hold(REQUEST_BYTES_FREE), Ok(()));
        assert_eq!(late.hold(REQUEST_BYTES_FREE + 1), Err(NotAdmitted::Full));
        drop(large);
        assert_eq!((late.hold(whole), next.hold(1)), (Ok(()), Ok(())));
        drop((late, next, others));
        assert_eq!(*admission.bytes.lock().unwrap(), 0);
    }

    #[test]
    fn connections_are_counted_by_principal_and_all_together() {
        let (admission, now) = (Arc::new(Admission::default()), Instant::now());
        let of = |name: &str, count: usize| -> Vec<_> { (0..count).map(|_| admission.connect(name, now).unwrap()).collect() };
        let mut open = of("ada", CONNECTIONS_PER_PRINCIPAL_MAX);
        assert_eq!(admission.connect("ada", now).unwrap_err(), NotAdmitted::Connections);
        for number in 1..CONNECTIONS_MAX / CONNECTIONS_PER_PRINCIPAL_MAX {
            open.extend(of(&number.to_string(), CONNECTIONS_PER_PRINCIPAL_MAX));
        }
        assert_eq!(admission.connect("bob", now).unwrap_err(), NotAdmitted::AllConnections);
        open.remove(0);
        assert!(admission.connect("ada", now).is_ok());
        drop(open);
        assert_eq!(*admission.connections.lock().unwrap(), 0);
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
