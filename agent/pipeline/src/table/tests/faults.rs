//! Storage that fails at each step of a commit, and processes that end between the steps.

use std::sync::Arc;

use super::faulty_store::{EntryFault, FaultyStore};
use super::support::{Lab, UID, append, at};
use crate::table::{TableError, Warehouse};

/// A lab whose warehouse is on a faulty store.
pub(super) async fn faulty_lab() -> (Lab, Arc<FaultyStore>) {
    let mut lab = Lab::new();
    let store = FaultyStore::new(lab.local_store());
    lab.warehouse = Warehouse::with_store(store.clone(), None);
    lab.warehouse.create(lab.new_table()).await.unwrap();
    (lab, store)
}

#[tokio::test]
async fn a_commit_that_landed_though_an_error_was_reported_is_found_by_its_id() {
    let (lab, store) = faulty_lab().await;
    let handle = lab.open().await;
    store.fail_next_entry(EntryFault::Written);
    assert_eq!(handle.append(append(100..105)).await.unwrap(), 1);
    assert_eq!(handle.append(append(105..107)).await.unwrap(), 2);
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, (100..107).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_commit_that_is_there_but_not_durable_is_no_success() {
    let (lab, store) = faulty_lab().await;
    let handle = lab.open().await;
    store.fail_next_entry(EntryFault::Written);
    store.fail_syncs(2);
    assert!(matches!(handle.append(append(100..105)).await, Err(TableError::Storage { .. })));
    assert!(matches!(handle.probe().await, Err(TableError::Storage { .. })));
    assert_eq!(handle.state().borrow().positions, at(0, 100));
    assert_eq!(lab.data_files().len(), 1, "its file may be part of the table");
    handle.probe().await.unwrap();
    assert_eq!(handle.state().borrow().positions, at(0, 105));
    store.fail_syncs(1);
    assert!(matches!(
        lab.warehouse.create(lab.new_table()).await,
        Err(TableError::Storage { .. })
    ));
    handle.append(append(105..107)).await.unwrap();
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, (100..107).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_commit_that_failed_leaves_nothing_and_can_be_made_again() {
    let (lab, store) = faulty_lab().await;
    let handle = lab.open().await;
    store.fail_next_entry(EntryFault::NotWritten);
    assert!(matches!(handle.append(append(100..105)).await, Err(TableError::Storage { .. })));
    assert!(lab.data_files().is_empty());
    assert_eq!(handle.state().borrow().positions, at(0, 100));
    assert_eq!(handle.append(append(100..105)).await.unwrap(), 1);
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, (100..105).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_commit_of_unknown_outcome_is_settled_before_the_next_one() {
    let (lab, store) = faulty_lab().await;
    let handle = lab.open().await;
    store.fail_next_entry(EntryFault::WrittenAndUnreadable);
    assert!(matches!(handle.append(append(100..105)).await, Err(TableError::Storage { .. })));
    assert_eq!(handle.append(append(100..105)).await.unwrap(), 1, "repeated exactly: it is there");
    store.fail_next_entry(EntryFault::WrittenAndUnreadable);
    assert!(matches!(handle.append(append(105..108)).await, Err(TableError::Storage { .. })));
    handle.probe().await.unwrap();
    assert_eq!(handle.state().borrow().positions, at(0, 108), "a probe settles it");
    handle.append(append(108..110)).await.unwrap();
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, (100..110).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_commit_that_landed_is_in_the_table_even_if_the_table_was_altered_right_after_it() {
    let (lab, store) = faulty_lab().await;
    let handle = lab.open().await;
    // Waiting in the log for the version of our commit to come: read as the entry after it.
    lab.write_foreign(
        2,
        &[serde_json::json!({"txn": {"appId": format!("fs/{UID}/orders/0/0"), "version": 900}})],
    );
    store.fail_next_entry(EntryFault::Written);
    assert_eq!(handle.append(append(100..105)).await.unwrap(), 1);
    assert_eq!(lab.data_files().len(), 1, "its file is not taken for that of a failed commit");
    assert!(matches!(handle.append(append(105..106)).await, Err(TableError::Altered { .. })));
    assert_eq!(lab.data_files().len(), 1);
    handle.close().await;
}

#[tokio::test]
async fn a_full_disk_while_rows_are_written_leaves_the_table_as_it_was() {
    let (lab, store) = faulty_lab().await;
    let handle = lab.open().await;
    store.fail_creates(1);
    assert!(matches!(handle.append(append(100..105)).await, Err(TableError::Storage { .. })));
    assert_eq!(handle.append(append(100..105)).await.unwrap(), 1);
    handle.close().await;
    assert_eq!(lab.data_files().len(), 1);
}

#[tokio::test]
async fn a_storage_failure_names_table_place_error_and_remedy() {
    let (lab, store) = faulty_lab().await;
    let handle = lab.open().await;
    store.fail_creates(1);
    let error = handle.append(append(100..105)).await.unwrap_err();
    handle.close().await;
    let text = error.to_string();
    for part in [
        &lab.name.to_string(),
        lab.path().to_str().unwrap(),
        "no storage space",
        "free space there",
    ] {
        assert!(text.contains(part), "`{part}` in: {text}");
    }
}

#[tokio::test]
async fn entries_that_a_lying_disk_lost_with_the_power_are_made_again_after_the_next_start() {
    let (lab, _store) = faulty_lab().await;
    let handle = lab.open().await;
    for first in [100, 102, 104] {
        handle.append(append(first..first + 2)).await.unwrap();
    }
    handle.close().await;
    // Synced, said the disk. Data files may come back without their entries; the log decides.
    for version in [2, 3] {
        std::fs::remove_file(lab.entry_path(version)).unwrap();
    }
    let handle = lab.open().await;
    assert_eq!(handle.state().borrow().positions, at(0, 102), "the records after it are read again");
    handle.append(append(102..107)).await.unwrap();
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, (100..107).collect::<Vec<_>>());
}

#[tokio::test]
async fn version_0_whose_answer_was_lost_is_the_table() {
    let mut lab = Lab::new();
    let store = FaultyStore::new(lab.local_store());
    lab.warehouse = Warehouse::with_store(store.clone(), None);
    store.fail_next_entry(EntryFault::NotWritten);
    assert!(matches!(
        lab.warehouse.create(lab.new_table()).await,
        Err(TableError::Storage { .. })
    ));
    store.fail_next_entry(EntryFault::Written);
    assert_eq!(lab.warehouse.create(lab.new_table()).await.unwrap().version, 0);
}

#[tokio::test]
async fn a_process_that_ended_between_data_file_and_entry_loses_and_repeats_nothing() {
    let (lab, store) = faulty_lab().await;
    let handle = lab.open().await;
    // The data file is durable, the entry is not: what a killed process leaves. The handle is dropped without closing.
    store.fail_next_entry(EntryFault::WrittenAndUnreadable);
    assert!(handle.append(append(100..105)).await.is_err());
    drop(handle);
    let handle = lab.open().await;
    let positions = handle.state().borrow().positions.clone();
    assert_eq!(positions, at(0, 105));
    handle.append(append(105..106)).await.unwrap();
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, (100..106).collect::<Vec<_>>());
    assert_eq!(lab.warehouse.read_state(&lab.name, UID).await.unwrap().totals.rows, 6);
}

#[tokio::test]
async fn a_table_is_not_opened_again_while_rows_of_a_former_handle_hang_on_their_way_to_the_disk() {
    let (lab, store) = faulty_lab().await;
    let handle = lab.open().await;
    let gate = store.hang_next_create();
    // Given up and dropped, as at the end of a stream that does not stop in time.
    tokio::select! {
        biased;
        answer = handle.append(append(100..105)) => panic!("{answer:?}"),
        () = tokio::task::yield_now() => {}
    }
    let mut state = handle.state();
    drop(handle);
    while state.changed().await.is_ok() {}
    // The committer has ended, and the table is taken all the same.
    let files = lab.warehouse.files(&lab.name);
    let folder = format!("{}/{}/{}", lab.name.catalog(), lab.name.schema(), lab.name.object());
    tokio::select! {
        biased;
        _ = lab.warehouse.open_tables.claim(&folder, &files) => panic!("the table can be opened again"),
        () = tokio::task::yield_now() => {}
    }
    drop(gate);
    let handle = lab.open().await;
    handle.append(append(100..103)).await.unwrap();
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, (100..103).collect::<Vec<_>>());
}
