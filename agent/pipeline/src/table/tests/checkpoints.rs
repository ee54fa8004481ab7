//! Checkpoints: they say what the entries said, and keep opening cheap at any age.

use std::sync::Arc;

use stream_spec::types::{DataType, Field};

use super::care_steps::{append_one_by_one, move_position};
use super::faulty_store::FaultyStore;
use super::support::{Lab, UID, append, at, columns, quiet, switch};
use crate::position::Positions;
use crate::table::{Append, TableCareSettings, TableError, Warehouse, clock};

#[tokio::test]
async fn a_checkpoint_says_what_the_entries_said_to_us_and_to_delta_rs() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    append_one_by_one(&handle, 100..105).await;
    handle
        .switch(switch(2, vec![Field::new("amount", DataType::Decimal { precision: 12, scale: 2 })]))
        .await
        .unwrap();
    append_one_by_one(&handle, 105..110).await;
    handle.close().await;
    let before = lab.load(u64::MAX);
    lab.checkpoint(before.snapshot.version, 0);
    for version in 0..before.snapshot.version {
        std::fs::remove_file(lab.entry_path(version)).unwrap();
    }
    let after = lab.load(u64::MAX);
    assert_eq!(after.public().positions, at(0, 110));
    assert_eq!(
        (after.snapshot.totals, &after.snapshot.metadata),
        (before.snapshot.totals, &before.snapshot.metadata)
    );
    assert_eq!((&after.snapshot.protocol, after.generation), (&before.snapshot.protocol, 2));
    assert_eq!(
        after.snapshot.small_files.choose(2, u64::MAX),
        before.snapshot.small_files.choose(2, u64::MAX)
    );
    assert_eq!(lab.foreign_ids().await, (100..110).collect::<Vec<_>>());
    assert_eq!(lab.foreign_reader().await.version(), Some(11));
}

#[tokio::test]
async fn checkpoints_build_on_each_other_through_removals_and_come_by_themselves() {
    let lab = Lab::with_table().await;
    let handle = lab
        .open_with(TableCareSettings {
            checkpoint_every_commits: 10,
            ..quiet()
        })
        .await;
    for round in 0..5 {
        append_one_by_one(&handle, 100 + round * 10..110 + round * 10).await;
        let add = lab
            .entry(i64::from(round * 11) + 1)
            .into_iter()
            .find_map(|action| action.add)
            .unwrap();
        let removal = serde_json::json!({"remove": {"path": add.path, "deletionTimestamp": clock::now_ms(), "dataChange": true}});
        lab.write_foreign(i64::from(round * 11) + 11, &[removal]);
        lab.wait_for_checkpoint(&handle, i64::from(round * 11)).await;
    }
    handle.close().await;
    assert!(lab.checkpoints().len() >= 2, "{:?}", lab.checkpoints());
    let expected: Vec<i32> = (100..150).filter(|id| id % 10 != 0).collect();
    assert_eq!(lab.foreign_ids().await, expected);
    assert_eq!(lab.load(0).snapshot.totals.rows, 45);
}

/// `delta-io/kafka-delta-ingest#184`: what is due is told by the log, and not by a count of this life.
#[tokio::test]
async fn a_checkpoint_that_an_earlier_life_did_not_make_is_made_by_the_next_one() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    append_one_by_one(&handle, 100..106).await;
    handle.close().await;
    let handle = lab
        .open_with(TableCareSettings {
            checkpoint_every_commits: 6,
            ..quiet()
        })
        .await;
    lab.wait_for_checkpoint(&handle, 6).await;
    handle.close().await;
}

#[tokio::test]
async fn reopening_reads_as_many_files_after_2000_commits_as_after_100() {
    let mut lab = Lab::new();
    let store = FaultyStore::unsynced(lab.local_store());
    lab.warehouse = Warehouse::with_store(Arc::clone(&store) as Arc<_>, None);
    lab.warehouse.create(lab.new_table()).await.unwrap();
    let settings = TableCareSettings {
        checkpoint_every_commits: 50,
        ..quiet()
    };
    let mut reads = Vec::new();
    for end in [100, 2000] {
        let handle = lab.open_with(settings.clone()).await;
        let start = handle.state().borrow().version + 1;
        move_position(&handle, 100 + start..=100 + end).await;
        lab.wait_for_checkpoint(&handle, end - 50).await;
        handle.close().await;
        store.take_reads();
        let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
        assert_eq!((state.version, state.positions), (end, at(0, 100 + end)));
        reads.push(store.take_reads());
    }
    // The entries since the last checkpoint, its hint, and the checkpoint itself.
    assert!(reads.iter().all(|reads| *reads <= 60), "{reads:?}");
    assert_eq!(lab.foreign_reader().await.version(), Some(2000));
}

#[tokio::test]
async fn a_commit_reads_no_file_whatever_the_age_of_the_table() {
    let mut lab = Lab::new();
    let store = FaultyStore::new(lab.local_store());
    lab.warehouse = Warehouse::with_store(Arc::clone(&store) as Arc<_>, None);
    lab.warehouse.create(lab.new_table()).await.unwrap();
    let handle = lab.open().await;
    move_position(&handle, 101..=200).await;
    // A sweep reads beside the first commits, once. Were commits to read, no stretch of them would be without.
    let mut reads = usize::MAX;
    for id in 200..400 {
        if id % 10 == 0 {
            store.take_reads();
        }
        handle.append(append(id..id + 1)).await.unwrap();
        if id % 10 == 9 {
            reads = store.take_reads();
            if reads == 0 {
                break;
            }
        }
    }
    assert_eq!(reads, 0);
    handle.close().await;
}

#[tokio::test]
async fn a_stale_hint_is_not_believed_once_its_entries_are_gone() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    move_position(&handle, 101..=103).await;
    lab.checkpoint(2, 0);
    let stale = std::fs::read(lab.path().join("_delta_log/_last_checkpoint")).unwrap();
    move_position(&handle, 104..=108).await;
    handle.close().await;
    lab.checkpoint(7, 0);
    for version in 0..7 {
        std::fs::remove_file(lab.entry_path(version)).unwrap();
    }
    std::fs::write(lab.path().join("_delta_log/_last_checkpoint"), &stale).unwrap();
    let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
    assert_eq!((state.version, state.positions), (8, at(0, 108)));
    std::fs::write(lab.path().join("_delta_log/_last_checkpoint"), "damaged").unwrap();
    assert_eq!(lab.warehouse.read_state(&lab.name, UID).await.unwrap().version, 8);
    assert_eq!(lab.foreign_reader().await.version(), Some(8));
}

#[tokio::test]
async fn a_gap_in_the_log_is_said_and_not_read_over() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    move_position(&handle, 101..=105).await;
    handle.close().await;
    std::fs::remove_file(lab.entry_path(3)).unwrap();
    let error = lab.warehouse.read_state(&lab.name, UID).await.unwrap_err().to_string();
    assert!(error.contains("entry 3 of its log is missing, while entry 5 is there"), "{error}");
}

#[tokio::test]
async fn a_gap_behind_a_checkpoint_that_is_hinted_at_is_said_before_anything_is_committed() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    move_position(&handle, 101..=105).await;
    handle.close().await;
    lab.checkpoint(2, 0);
    std::fs::remove_file(lab.entry_path(4)).unwrap();
    let error = lab.warehouse.open_table(&lab.name, UID, quiet()).await.unwrap_err();
    assert!(
        matches!(&error, TableError::Altered { what, .. } if what.contains("entry 4 of its log is missing, while entry 5 is there")),
        "{error}"
    );
}

#[tokio::test]
async fn a_thousand_partitions_survive_a_checkpoint() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    let many: Positions = (0..1000).flat_map(|number| at(number, 100 + i64::from(number))).collect();
    handle
        .append(Append {
            batches: Vec::new(),
            positions: many.clone(),
        })
        .await
        .unwrap();
    handle.close().await;
    lab.checkpoint(1, 0);
    std::fs::remove_file(lab.entry_path(0)).unwrap();
    let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
    assert_eq!(state.positions, many);
    assert_eq!(state.columns, columns());
}
