//! When to try again, and after how long. Pure: the time slept and the randomness come from the caller.

use std::time::Duration;

use tonic::Code;

use crate::limits::{BACKOFF_FIRST, BACKOFF_LONGEST, RETRY_ADVICE_LONGEST};

/// How often a call may be repeated, and on what answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryPolicy {
    /// Attempts after the first.
    pub(crate) retries_max: u32,
    /// False where ABORTED is the answer to a generation that is no longer in force: repeating cannot cure that.
    pub(crate) aborted_is_transient: bool,
}

/// What a failed attempt was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    /// The status of the attempt.
    pub(crate) code: Code,
    /// True if the transport made the status, so that the agent may or may not have acted.
    pub(crate) answer_lost: bool,
    /// The agent's advice.
    pub(crate) retry_after: Option<Duration>,
}

impl Failure {
    /// An attempt that was sent and met nothing but silence.
    pub(crate) const SILENCE: Self = Self {
        code: Code::DeadlineExceeded,
        answer_lost: true,
        retry_after: None,
    };
}

/// The pause before the next attempt; `None` when there is none. `jitter` is in 0..=1.
pub(crate) fn pause_before_retry(policy: RetryPolicy, failures: u32, failure: Failure, jitter: f64) -> Option<Duration> {
    if failures > policy.retries_max {
        return None;
    }
    let transient = failure.answer_lost
        || match failure.code {
            Code::Unavailable | Code::ResourceExhausted => true,
            Code::Aborted => policy.aborted_is_transient,
            _ => false,
        };
    if !transient {
        return None;
    }
    let doublings = failures.saturating_sub(1).min(16);
    let backoff = BACKOFF_FIRST.saturating_mul(1 << doublings).min(BACKOFF_LONGEST);
    let spread = backoff.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0));
    // The advice is a minimum; the spread on top keeps many waiting providers from returning in one moment.
    Some(match failure.retry_after {
        Some(advice) => advice.min(RETRY_ADVICE_LONGEST) + spread,
        None => spread,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(retries_max: u32, failures: u32, code: Code, aborted: bool, lost: bool) -> Option<Duration> {
        let policy = RetryPolicy {
            retries_max,
            aborted_is_transient: aborted,
        };
        pause_before_retry(
            policy,
            failures,
            Failure {
                code,
                answer_lost: lost,
                retry_after: None,
            },
            1.0,
        )
    }

    #[test]
    fn only_transient_failures_are_retried_and_only_so_often() {
        assert_eq!(check(2, 1, Code::Unavailable, false, false), Some(BACKOFF_FIRST));
        assert_eq!(check(2, 2, Code::ResourceExhausted, false, false), Some(BACKOFF_FIRST * 2));
        assert_eq!(check(2, 3, Code::Unavailable, false, false), None, "the bound holds");
        assert_eq!(check(2, 1, Code::Aborted, false, false), None, "a conflict is no hiccup");
        assert!(check(2, 1, Code::Aborted, true, false).is_some());
        assert!(
            check(2, 1, Code::Unknown, false, true).is_some(),
            "a lost answer is asked for again"
        );
        assert_eq!(check(2, 1, Code::InvalidArgument, true, false), None);
        assert_eq!(
            check(0, 1, Code::Unavailable, true, false),
            None,
            "max_retries = 0 means one attempt"
        );
    }

    #[test]
    fn pauses_grow_to_a_bound_and_never_undercut_the_agents_advice() {
        assert_eq!(check(100, 90, Code::Unavailable, false, false), Some(BACKOFF_LONGEST));
        let policy = RetryPolicy {
            retries_max: 1,
            aborted_is_transient: false,
        };
        let told = |advice| {
            let failure = Failure {
                code: Code::ResourceExhausted,
                answer_lost: false,
                retry_after: Some(Duration::from_secs(advice)),
            };
            pause_before_retry(policy, 1, failure, 0.0)
        };
        assert!(told(7) > Some(Duration::from_secs(7)));
        assert!(
            told(86_400) < Some(RETRY_ADVICE_LONGEST + BACKOFF_FIRST),
            "advice is believed within reason"
        );
    }
}
