//! Positions as Delta transactions: app id `fs/<stream uid>/<topic>/<partition>/<epoch>`, version = next offset.
//!
//! Invariant: what is written is read back exactly, whatever a topic's name holds; other streams' and writers' ids are not ours.

use std::collections::HashMap;

use super::log::actions::Txn;
use crate::position::{PartitionId, Position, Positions};

/// How every app id of a stream begins.
pub(super) fn app_id_prefix(uid: &str) -> String {
    format!("fs/{uid}/")
}

/// The transactions that record positions.
pub(super) fn txns(uid: &str, positions: &Positions, now_ms: i64) -> Vec<Txn> {
    let txn = |(id, position): (&PartitionId, &Position)| Txn {
        app_id: app_id(uid, id, position.epoch),
        version: position.next_offset,
        last_updated: Some(now_ms),
    };
    positions.iter().map(txn).collect()
}

/// The positions among a table's transactions: for each partition that of its highest epoch. An id that begins like ours and
/// is not well formed is an error; it is given back.
pub(super) fn positions(uid: &str, txns: &HashMap<String, i64>) -> Result<Positions, String> {
    let mut positions = Positions::new();
    for (app_id, version) in txns {
        let Some(rest) = app_id.strip_prefix(&app_id_prefix(uid)) else {
            continue;
        };
        let Some((id, epoch)) = parse_rest(rest) else {
            return Err(app_id.clone());
        };
        let known = positions.get(&id).map(|position| position.epoch);
        if known.is_none_or(|known| known < epoch) {
            positions.insert(
                id,
                Position {
                    next_offset: *version,
                    epoch,
                },
            );
        }
    }
    Ok(positions)
}

/// The first partition whose position would go back, with both positions.
pub(super) fn first_backward(current: &Positions, next: &Positions) -> Option<(PartitionId, Position, Position)> {
    next.iter().find_map(|(id, to)| {
        let from = current.get(id)?;
        ((to.epoch, to.next_offset) < (from.epoch, from.next_offset)).then(|| (id.clone(), *from, *to))
    })
}

fn app_id(uid: &str, id: &PartitionId, epoch: u32) -> String {
    format!("{}{}/{}/{epoch}", app_id_prefix(uid), encode(&id.topic), id.partition)
}

fn parse_rest(rest: &str) -> Option<(PartitionId, u32)> {
    let mut parts = rest.split('/');
    let (topic, partition, epoch) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let id = PartitionId {
        topic: decode(topic)?,
        partition: partition.parse().ok()?,
    };
    Some((id, epoch.parse().ok()?))
}

/// Letters, digits, `.`, `_` and `-` (all that Kafka allows in a topic's name) as they are, anything else as `%XX`.
fn encode(topic: &str) -> String {
    let mut encoded = String::with_capacity(topic.len());
    for byte in topic.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-') {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn decode(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(topic: &str, partition: i32, next_offset: i64, epoch: u32) -> Positions {
        Positions::from([(
            PartitionId {
                topic: topic.into(),
                partition,
            },
            Position { next_offset, epoch },
        )])
    }

    #[test]
    fn positions_come_back_exactly_from_their_transactions() {
        for topic in ["orders", "a.b_c-D9", "with/slash", "per%cent", "späte", "%2F", ""] {
            let written = at(topic, 2_147_483_647, i64::MAX, 3);
            let txns = txns("u-1", &written, 5).into_iter().map(|txn| (txn.app_id, txn.version)).collect();
            assert_eq!(positions("u-1", &txns), Ok(written), "{topic}");
        }
    }

    #[test]
    fn the_highest_epoch_of_a_partition_counts_and_other_ids_do_not() {
        let txns = HashMap::from([
            ("fs/u/t/0/0".to_owned(), 900),
            ("fs/u/t/0/10".to_owned(), 3),
            ("fs/u/t/0/2".to_owned(), 50),
            ("fs/other/t/0/99".to_owned(), 1),
            ("spark-query".to_owned(), 1),
        ]);
        assert_eq!(positions("u", &txns), Ok(at("t", 0, 3, 10)));
    }

    #[test]
    fn a_malformed_id_of_ours_is_given_back() {
        for app_id in ["fs/u/t/0", "fs/u/t/x/0", "fs/u/t/0/0/0", "fs/u/%F/0/0", "fs/u/t/0/-1"] {
            assert_eq!(positions("u", &HashMap::from([(app_id.to_owned(), 1)])), Err(app_id.to_owned()));
        }
    }

    #[test]
    fn a_position_goes_back_by_epoch_first() {
        assert!(first_backward(&at("t", 0, 10, 0), &at("t", 0, 9, 0)).is_some());
        assert!(first_backward(&at("t", 0, 10, 1), &at("t", 0, 11, 0)).is_some());
        assert!(first_backward(&at("t", 0, 10, 0), &at("t", 0, 0, 1)).is_none());
        assert!(first_backward(&at("t", 0, 10, 0), &at("t", 0, 10, 0)).is_none());
        assert!(first_backward(&at("t", 0, 10, 0), &at("t", 1, 0, 0)).is_none());
    }
}
