//! Where each version of a stream's schemas began: the first position of every partition under it, in a property of the table.
//!
//! The commit that puts a version in force writes it, and a partition that is found later is added to the version in force then.
//! Invariant: the beginning of a version is in the table from the commit on that puts it in force, whoever sees that commit land.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{SchemaVersion, limits};
use crate::position::{PartitionId, Position, Positions, SourcePlace};

/// The name of the property.
const SCHEMA_STARTS: &str = "featurestore.schema_starts";

/// Where a version of the schemas began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaStart {
    /// Its number, from 1.
    pub version: u64,
    /// The first record of each partition that is read by it, in the order of partitions; of very many partitions the first ones.
    pub positions: Vec<SourcePlace>,
}

/// Adds what a commit begins. It comes at a table of this generation and these positions, and moves partitions to `moved`.
pub(super) fn add(
    properties: &mut BTreeMap<String, String>,
    known: &[SchemaStart],
    schemas: SchemaVersion,
    (generation, positions): (u64, &Positions),
    moved: &Positions,
) {
    let Some(starts) = added(known, schemas, (generation, positions), moved) else {
        return;
    };
    // Texts and numbers always have a JSON form.
    properties.insert(SCHEMA_STARTS.to_owned(), serde_json::to_string(&starts).unwrap_or_default());
}

/// The beginnings afterwards, if they differ.
fn added(
    known: &[SchemaStart],
    schemas: SchemaVersion,
    (generation, positions): (u64, &Positions),
    moved: &Positions,
) -> Option<Vec<SchemaStart>> {
    // Which version a table has in force only its generation says: the property may be older, or not there.
    let begins = generation < schemas.generation;
    if schemas.number == 0 {
        return None;
    }
    let mut starts = known.to_vec();
    if begins {
        let mut all = positions.clone();
        all.extend(moved.iter().map(|(partition, position)| (partition.clone(), *position)));
        starts.retain(|start| start.version < schemas.number);
        starts.push(SchemaStart {
            version: schemas.number,
            positions: all.iter().map(place).take(limits::SCHEMA_START_PARTITIONS).collect(),
        });
        let surplus = starts.len().saturating_sub(limits::SCHEMA_STARTS_KEPT);
        starts.drain(..surplus);
    } else {
        let start = starts.iter_mut().find(|start| start.version == schemas.number)?;
        let new = moved.iter().filter(|(partition, _)| !positions.contains_key(*partition));
        start.positions.extend(new.map(place));
        start.positions.sort_by(|left, right| left.partition.cmp(&right.partition));
        start.positions.truncate(limits::SCHEMA_START_PARTITIONS);
    }
    (starts != known).then_some(starts)
}

fn place((partition, position): (&PartitionId, &Position)) -> SourcePlace {
    SourcePlace {
        partition: partition.clone(),
        offset: position.next_offset,
        epoch: position.epoch,
    }
}

/// The beginnings that are remembered, oldest first. A text that says nothing to us remembers none: only the status wants them.
pub(super) fn read(properties: &BTreeMap<String, String>) -> Vec<SchemaStart> {
    let Some(text) = properties.get(SCHEMA_STARTS) else {
        return Vec::new();
    };
    serde_json::from_str(text).unwrap_or_else(|error| {
        tracing::warn!(property = SCHEMA_STARTS, %error, "a table's property does not tell where schemas began; it is taken as empty");
        Vec::new()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(number: i32) -> PartitionId {
        PartitionId {
            topic: "t".into(),
            partition: number,
        }
    }

    fn at(offsets: &[(i32, i64)]) -> Positions {
        let position = |(number, offset): &(i32, i64)| (partition(*number), Position::new(*offset, 0));
        offsets.iter().map(position).collect()
    }

    fn start(version: u64, offsets: &[(i32, i64)]) -> SchemaStart {
        SchemaStart {
            version,
            positions: at(offsets).iter().map(place).collect(),
        }
    }

    const fn schemas(number: u64, generation: u64) -> SchemaVersion {
        SchemaVersion { number, generation }
    }

    #[test]
    fn a_version_begins_once_with_the_generation_that_brought_it() {
        let first = [start(1, &[(0, 5)])];
        let here = at(&[(0, 9)]);
        let nothing = Positions::new();
        let check = |known: &[SchemaStart], schemas, generation, moved: &Positions, expected: Option<Vec<SchemaStart>>| {
            assert_eq!(
                added(known, schemas, (generation, &here), moved),
                expected,
                "{schemas:?} at {generation}"
            );
        };
        let begun = vec![first[0].clone(), start(2, &[(0, 9)])];
        check(&first, schemas(2, 2), 1, &nothing, Some(begun.clone()));
        // The generation of one that was never in force, and of exclusions alone.
        check(
            &first,
            schemas(3, 3),
            1,
            &nothing,
            Some(vec![first[0].clone(), start(3, &[(0, 9)])]),
        );
        check(&begun, schemas(2, 2), 2, &nothing, None);
        // A table of an agent that wrote no beginnings: the version in force began nobody knows where.
        check(&[], schemas(2, 2), 2, &nothing, None);
        check(&[], schemas(2, 0), 2, &nothing, None);
        check(&[], schemas(3, 3), 2, &nothing, Some(vec![start(3, &[(0, 9)])]));
        // A registry's versions are counted elsewhere.
        check(&[], schemas(0, 1), 0, &nothing, None);
        // A partition that is new belongs to the version in force, one that is moved began before.
        let found = at(&[(0, 40), (1, 0)]);
        check(&first, schemas(1, 1), 1, &found, Some(vec![start(1, &[(0, 5), (1, 0)])]));
        check(&[], schemas(1, 1), 1, &found, None);
        check(
            &begun,
            schemas(3, 3),
            2,
            &found,
            Some([begun.clone(), vec![start(3, &[(0, 40), (1, 0)])]].concat()),
        );
    }

    #[test]
    fn versions_and_partitions_are_bounded() {
        let many: Positions = (0..5_000).map(|number| (partition(number), Position::new(1, 0))).collect();
        let mut known = Vec::new();
        for number in 1..=20 {
            known = added(&known, schemas(number, number), (number - 1, &many), &Positions::new()).expect("it begins");
        }
        let versions: Vec<u64> = known.iter().map(|start| start.version).collect();
        assert_eq!(versions.len(), limits::SCHEMA_STARTS_KEPT);
        assert_eq!(versions.last(), Some(&20));
        let one_more = Positions::from([(partition(-1), Position::new(0, 0))]);
        known = added(&known, schemas(20, 20), (20, &many), &one_more).expect("it is added");
        assert!(known.iter().all(|start| start.positions.len() == limits::SCHEMA_START_PARTITIONS));
    }

    #[test]
    fn a_text_is_read_as_it_was_written_and_one_that_says_nothing_remembers_nothing() {
        let mut properties = BTreeMap::new();
        add(&mut properties, &[], schemas(1, 1), (0, &Positions::new()), &at(&[(3, 7)]));
        let text = r#"[{"version":1,"positions":[{"topic":"t","partition":3,"offset":7,"epoch":0}]}]"#;
        assert_eq!(properties.get(SCHEMA_STARTS).map(String::as_str), Some(text));
        assert_eq!(read(&properties), [start(1, &[(3, 7)])]);
        assert_eq!(read(&BTreeMap::new()), []);
        assert_eq!(read(&BTreeMap::from([(SCHEMA_STARTS.to_owned(), "x".to_owned())])), []);
    }
}
