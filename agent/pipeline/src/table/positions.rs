//! Positions as Delta transactions: app id `fs/<stream uid>/<topic>/<partition>/<epoch>`, version = next offset; with `/leader`
//! after it, version = leader epoch of the last record before that offset.
//!
//! Invariant: what is written is read back exactly, whatever a topic's name holds; other streams' and writers' ids are not ours.

use std::collections::HashMap;

use super::log::actions::Txn;
use crate::position::{PartitionId, Position, Positions};

/// How the app id of a leader epoch ends.
const LEADER: &str = "leader";

/// The version where the leader epoch is not known, as Kafka writes it.
const UNKNOWN_LEADER_EPOCH: i64 = -1;

/// What a transaction's version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    NextOffset,
    LeaderEpoch,
}

/// How every app id of a stream begins.
pub(super) fn app_id_prefix(uid: &str) -> String {
    format!("fs/{uid}/")
}

/// The transactions that record positions which differ from the recorded ones. Leader epochs change rarely: most positions
/// are one transaction.
pub(super) fn txns(uid: &str, recorded: &Positions, positions: &Positions, now_ms: i64) -> Vec<Txn> {
    let mut txns = Vec::with_capacity(positions.len());
    let mut add = |app_id, version| {
        txns.push(Txn {
            app_id,
            version,
            last_updated: Some(now_ms),
        });
    };
    for (id, position) in positions {
        let before = recorded.get(id).filter(|before| before.epoch == position.epoch);
        if before.is_none_or(|before| before.next_offset != position.next_offset) {
            add(app_id(uid, id, position.epoch), position.next_offset);
        }
        if before.and_then(|before| before.leader_epoch) != position.leader_epoch {
            // One that is not known takes the place of a known one: that one says nothing of the offsets since.
            let leader_epoch = position.leader_epoch.map_or(UNKNOWN_LEADER_EPOCH, i64::from);
            add(leader_app_id(uid, id, position.epoch), leader_epoch);
        }
    }
    txns
}

/// The positions among a table's transactions: for each partition that of its highest epoch. An id that begins like ours and
/// is not well formed is an error; it is given back.
pub(super) fn positions(uid: &str, txns: &HashMap<String, i64>) -> Result<Positions, String> {
    let mut positions = Positions::new();
    advance(
        uid,
        &mut positions,
        txns.iter().map(|(app_id, version)| (app_id.as_str(), *version)),
    )?;
    Ok(positions)
}

/// Takes further transactions in, in whatever order.
pub(super) fn advance<'a>(uid: &str, positions: &mut Positions, txns: impl Iterator<Item = (&'a str, i64)>) -> Result<(), String> {
    let prefix = app_id_prefix(uid);
    let ours = txns.filter_map(|(app_id, version)| Some((app_id, app_id.strip_prefix(&prefix)?, version)));
    let mut leaders = Vec::new();
    for (app_id, rest, version) in ours {
        let Some((id, epoch, meaning)) = parse_rest(rest) else {
            return Err(app_id.to_owned());
        };
        if meaning == Meaning::LeaderEpoch {
            let leader_epoch = match version {
                UNKNOWN_LEADER_EPOCH => None,
                known => Some(i32::try_from(known).map_err(|_| app_id.to_owned())?),
            };
            leaders.push((id, epoch, leader_epoch));
            continue;
        }
        match positions.get_mut(&id) {
            Some(known) if known.epoch > epoch => {}
            Some(known) if known.epoch == epoch => known.next_offset = version,
            _ => drop(positions.insert(id, Position::new(version, epoch))),
        }
    }
    // Every leader epoch belongs to a position, which may come after it.
    for (id, epoch, leader_epoch) in leaders {
        if let Some(position) = positions.get_mut(&id).filter(|position| position.epoch == epoch) {
            position.leader_epoch = leader_epoch;
        }
    }
    Ok(())
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

fn leader_app_id(uid: &str, id: &PartitionId, epoch: u32) -> String {
    format!("{}/{LEADER}", app_id(uid, id, epoch))
}

fn parse_rest(rest: &str) -> Option<(PartitionId, u32, Meaning)> {
    let mut parts = rest.split('/');
    let (topic, partition, epoch) = (parts.next()?, parts.next()?, parts.next()?);
    let meaning = match (parts.next(), parts.next()) {
        (None, _) => Meaning::NextOffset,
        (Some(LEADER), None) => Meaning::LeaderEpoch,
        _ => return None,
    };
    let id = PartitionId {
        topic: decode(topic)?,
        partition: partition.parse().ok()?,
    };
    Some((id, epoch.parse().ok()?, meaning))
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
            Position::new(next_offset, epoch),
        )])
    }

    fn read(txns: Vec<Txn>) -> HashMap<String, i64> {
        txns.into_iter().map(|txn| (txn.app_id, txn.version)).collect()
    }

    #[test]
    fn positions_come_back_exactly_from_their_transactions() {
        for topic in ["orders", "a.b_c-D9", "with/slash", "per%cent", "späte", "%2F", ""] {
            let written = at(topic, 2_147_483_647, i64::MAX, 3);
            let txns = read(txns("u-1", &Positions::new(), &written, 5));
            assert_eq!(positions("u-1", &txns), Ok(written), "{topic}");
        }
    }

    #[test]
    fn a_leader_epoch_is_written_when_it_changes_and_belongs_to_its_positions_epoch() {
        let led = |next_offset, epoch, leader_epoch| {
            let mut positions = at("t", 0, next_offset, epoch);
            positions.values_mut().for_each(|position| position.leader_epoch = leader_epoch);
            positions
        };
        let mut all = HashMap::new();
        let mut recorded = Positions::new();
        for (next, written) in [
            (led(5, 0, None), 1),
            (led(9, 0, Some(3)), 2),
            (led(12, 0, Some(3)), 1),
            (led(12, 0, Some(4)), 1),
            // Behind a transaction's marker it is not known: the one from before must not be taken for that of this position.
            (led(15, 0, None), 2),
            (led(16, 0, None), 1),
            (led(17, 0, Some(4)), 2),
            (led(2, 1, None), 1),
            (led(3, 1, Some(7)), 2),
        ] {
            let txns = read(txns("u", &recorded, &next, 5));
            assert_eq!(txns.len(), written, "{next:?}");
            let mut advanced = recorded.clone();
            let of_entry = txns.iter().map(|(app_id, version)| (app_id.as_str(), *version));
            assert_eq!(advance("u", &mut advanced, of_entry), Ok(()));
            assert_eq!(advanced, next, "by one entry");
            all.extend(txns);
            assert_eq!(positions("u", &all), Ok(next.clone()), "by the whole log");
            recorded = next;
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
        for app_id in [
            "fs/u/t/0",
            "fs/u/t/x/0",
            "fs/u/t/0/0/0",
            "fs/u/t/0/0/leader/1",
            "fs/u/%F/0/0",
            "fs/u/t/0/-1",
        ] {
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
