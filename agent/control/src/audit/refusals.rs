//! Callers that were not known, for the audit: by the address that they came from and by what was wrong, counted. The invariant:
//! strangers make no more events than a bound, however often they try, and nothing of what they showed is kept.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use super::AuditEvent;
use crate::limits::{REFUSAL_INTERVAL, REFUSED_PEERS_MAX};

/// Outcome of a call whose caller is not known, as gRPC has it.
const UNAUTHENTICATED: &str = "unauthenticated";

/// What was refused at the door and is not in the outbox yet.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<HashMap<Refused, Counted>>);

/// By whom, and why; without an address: by all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Refused {
    peer: Option<IpAddr>,
    reason: &'static str,
}

/// How often.
#[derive(Debug, Default)]
struct Counted {
    count: u64,
    /// When the first of these came.
    first_ms: i64,
    /// When there was an event of it last.
    told_ms: Option<i64>,
}

impl Refusals {
    /// Counts a refusal.
    pub fn note(&self, peer: Option<IpAddr>, reason: &'static str, now_ms: i64) {
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let named = Refused { peer, reason };
        let is_new = !refused.contains_key(&named);
        let of = match is_new && refused.len() >= REFUSED_PEERS_MAX {
            true => Refused { peer: None, reason },
            false => named,
        };
        let counted = refused.entry(of).or_default();
        if counted.count == 0 {
            counted.first_ms = now_ms;
        }
        counted.count = counted.count.saturating_add(1);
    }

    /// Events of what was counted, each at most once in an interval; all of them at the end.
    pub(crate) fn take(&self, now_ms: i64, is_end: bool) -> Vec<AuditEvent> {
        let interval = i64::try_from(REFUSAL_INTERVAL.as_millis()).unwrap_or(i64::MAX);
        let is_due = |counted: &Counted| is_end || counted.told_ms.is_none_or(|told| now_ms.saturating_sub(told) >= interval);
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut events = Vec::new();
        for (of, counted) in refused.iter_mut() {
            if counted.count > 0 && is_due(counted) {
                events.push(event(of, counted));
                counted.count = 0;
                counted.told_ms = Some(now_ms);
            }
        }
        // Who came once makes room for others when it could have an event again.
        refused.retain(|_, counted| counted.count > 0 || !is_due(counted));
        events.sort_by_key(|event| event.time_ms);
        events
    }
}

fn event(of: &Refused, counted: &Counted) -> AuditEvent {
    AuditEvent {
        time_ms: counted.first_ms,
        action: "authenticate".to_owned(),
        securable_type: "address".to_owned(),
        securable_name: of.peer.map_or_else(|| "others".to_owned(), |peer| peer.to_string()),
        outcome: UNAUTHENTICATED.to_owned(),
        detail: format!("{}, {} times", of.reason, counted.count),
        ..AuditEvent::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: usize) -> Option<IpAddr> {
        Some(IpAddr::from(u32::try_from(number).unwrap().to_be_bytes()))
    }

    fn taken(refusals: &Refusals, now_ms: i64, is_end: bool) -> Vec<(String, String)> {
        let events = refusals.take(now_ms, is_end).into_iter();
        events.map(|event| (event.securable_name, event.detail)).collect()
    }

    #[test]
    fn each_address_and_reason_is_told_at_once_and_then_once_in_a_while_with_its_count() {
        let refusals = Refusals::default();
        let of = |detail: &str| vec![("0.0.0.1".to_owned(), detail.to_owned())];
        refusals.note(peer(1), "unknown token", 5);
        assert_eq!(taken(&refusals, 6, false), of("unknown token, 1 times"));
        for _ in 0..1_000 {
            refusals.note(peer(1), "unknown token", 7);
        }
        assert!(taken(&refusals, 8, false).is_empty(), "not twice in an interval");
        refusals.note(peer(1), "expired token", 9);
        assert_eq!(taken(&refusals, 10, false), of("expired token, 1 times"));
        assert_eq!(taken(&refusals, 60_006, false), of("unknown token, 1000 times"));
        refusals.note(peer(1), "unknown token", 60_007);
        assert_eq!(
            taken(&refusals, 60_008, true),
            of("unknown token, 1 times"),
            "nothing is left at the end"
        );
        assert!(taken(&refusals, 200_000, false).is_empty());
        assert!(refusals.0.lock().unwrap().is_empty(), "who rests is forgotten");
    }

    #[test]
    fn many_addresses_are_counted_together() {
        let refusals = Refusals::default();
        for number in 0..3 * REFUSED_PEERS_MAX {
            refusals.note(peer(number), "unknown token", 5);
        }
        let events = taken(&refusals, 6, false);
        assert_eq!(events.len(), REFUSED_PEERS_MAX + 1);
        let others = format!("unknown token, {} times", 2 * REFUSED_PEERS_MAX);
        assert!(events.contains(&("others".to_owned(), others)), "{events:?}");
    }
}
