//! Where versions of the schemas began: in the commit that puts them in force, whatever became of it, and after reopening.

use super::faults::faulty_lab;
use super::faulty_store::EntryFault;
use super::support::{Lab, UID, append, at, columns, partition, quiet, switch};
use crate::position::{Position, Positions};
use crate::table::{SchemaStart, SchemaVersion, Switch, TableCareSettings, TableState};

/// Version and offset of partition 0.
fn told(state: &TableState) -> Vec<(u64, i64)> {
    let starts = state.schema_starts.iter();
    starts.map(|start| (start.version, offset_of(start, 0).unwrap())).collect()
}

fn offset_of(start: &SchemaStart, number: i32) -> Option<i64> {
    let mut places = start.positions.iter();
    places.find(|place| place.partition == partition(number)).map(|place| place.offset)
}

fn switch_with(generation: u64, number: u64, since: u64) -> Switch {
    Switch {
        schemas: SchemaVersion { number, generation: since },
        ..switch(generation, columns())
    }
}

#[tokio::test]
async fn each_version_begins_where_the_one_before_it_ended() {
    let lab = Lab::with_table().await;
    let care = TableCareSettings {
        checkpoint_every_commits: 2,
        ..quiet()
    };
    let handle = lab.open_with(care.clone()).await;
    assert_eq!(told(&handle.state().borrow()), [(1, 100)]);
    handle.append(append(100..103)).await.unwrap();
    handle.switch(switch_with(2, 2, 2)).await.unwrap();
    let version = handle.append(append(103..104)).await.unwrap();
    assert_eq!(handle.switch(switch_with(2, 2, 2)).await.unwrap(), version, "in force already");
    // Exclusions alone, then straight to the latest of two updates and one more of exclusions.
    handle.switch(switch_with(3, 2, 2)).await.unwrap();
    handle.append(append(104..106)).await.unwrap();
    handle.switch(switch_with(6, 4, 5)).await.unwrap();
    handle.append(append(106..107)).await.unwrap();
    handle.close().await;

    let expected = [(1, 100), (2, 103), (4, 106)];
    let handle = lab.open_with(care).await;
    assert_eq!(told(&handle.state().borrow()), expected);
    let found = Switch {
        positions: Positions::from([(partition(1), Position::new(0, 0)), (partition(0), Position::new(300, 1))]),
        ..switch_with(6, 4, 5)
    };
    handle.switch(found).await.unwrap();
    handle.close().await;
    let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
    assert_eq!(told(&state), expected, "what was moved began before");
    let news: Vec<Option<i64>> = state.schema_starts.iter().map(|start| offset_of(start, 1)).collect();
    assert_eq!(
        news,
        [None, None, Some(0)],
        "a partition that is found later begins in the version in force"
    );
    assert_eq!(lab.foreign_ids().await, (100..107).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_beginning_whose_commit_was_not_seen_to_land_is_not_lost_to_the_next_one() {
    let (lab, store) = faulty_lab().await;
    let handle = lab.open().await;
    handle.append(append(100..103)).await.unwrap();
    store.fail_next_entry(EntryFault::WrittenAndUnreadable);
    handle.switch(switch_with(2, 2, 2)).await.unwrap_err();
    handle.close().await;
    let handle = lab.open().await;
    handle.switch(switch_with(3, 3, 3)).await.unwrap();
    assert_eq!(told(&handle.state().borrow()), [(1, 100), (2, 103), (3, 103)]);
    assert_eq!(handle.state().borrow().positions, at(0, 103));
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, [100, 101, 102]);
}
