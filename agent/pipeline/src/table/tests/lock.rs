//! The warehouse's lock: one agent at a time, whoever comes second is told who has it, and a restart waits for nothing.

use std::os::fd::AsRawFd;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags};

use super::faulty_store::FaultyStore;
use super::support::{Lab, UID, append, at, quiet};
use crate::error::Retry;
use crate::table::warehouse_lock::LOCK;
use crate::table::{TableError, Warehouse};

/// The warehouse as another process sees it: nothing is shared but the disk.
fn elsewhere(lab: &Lab, known_id: Option<&str>) -> Warehouse {
    Warehouse::open(lab.folder.path().to_str().unwrap(), known_id.map(str::to_owned)).unwrap()
}

#[track_caller]
fn expect_in_use<T>(answer: Result<T, TableError>) {
    let Err(error) = answer else {
        panic!("the warehouse is used by two")
    };
    assert!(matches!(error, TableError::InUse { .. }), "{error}");
    assert_eq!(error.retry(), Retry::Later);
    let text = error.to_string();
    for part in [&format!("process {} on host ", std::process::id()), " since 20", "--warehouse"] {
        assert!(text.contains(part), "`{part}` in: {text}");
    }
}

#[tokio::test]
async fn a_warehouse_has_one_agent_at_a_time_and_the_next_one_has_it_at_once() {
    let lab = Lab::new();
    lab.warehouse.keep_others_out().await.unwrap();
    expect_in_use(elsewhere(&lab, None).keep_others_out().await);
    lab.warehouse.create(lab.new_table()).await.unwrap();
    let handle = lab.open().await;
    let second = elsewhere(&lab, None);
    for _ in 0..2 {
        expect_in_use(second.keep_others_out().await);
        expect_in_use(second.read_state(&lab.name, UID).await);
        expect_in_use(second.open_table(&lab.name, UID, quiet()).await);
        expect_in_use(second.create(lab.new_table()).await);
        expect_in_use(second.trash(&lab.name, UID).await);
    }
    assert_eq!(handle.append(append(100..103)).await.unwrap(), 1, "the first one goes on");
    handle.close().await;
    let Lab { folder, warehouse, name } = lab;
    drop(warehouse);
    let lab = Lab {
        folder,
        warehouse: second,
        name,
    };
    // Not even another call is needed: the next step takes what is free.
    let handle = lab.open().await;
    handle.append(append(103..105)).await.unwrap();
    handle.close().await;
    expect_in_use(elsewhere(&lab, None).keep_others_out().await);
    assert_eq!(lab.foreign_ids().await, (100..105).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_warehouse_that_is_mounted_after_the_start_is_taken_when_it_is_there() {
    let lab = Lab::with_table().await;
    let id = lab.warehouse.known_id().unwrap().to_owned();
    let root = lab.folder.path();
    let away = tempfile::tempdir().unwrap();
    let away = away.path().join("away");
    std::fs::rename(root, &away).unwrap();
    std::fs::create_dir(root).unwrap();
    let agent = elsewhere(&lab, Some(&id));
    assert!(matches!(agent.keep_others_out().await, Err(TableError::Storage { .. })));
    assert_eq!(
        std::fs::read_dir(root).unwrap().count(),
        0,
        "nothing is made where it is not mounted"
    );
    std::fs::remove_dir(root).unwrap();
    std::fs::rename(&away, root).unwrap();
    assert_eq!(agent.read_state(&lab.name, UID).await.unwrap().positions, at(0, 100));
    expect_in_use(elsewhere(&lab, Some(&id)).keep_others_out().await);
}

#[tokio::test]
async fn a_lock_whose_file_was_removed_is_taken_anew_or_found_taken() {
    let lab = Lab::with_table().await;
    lab.warehouse.keep_others_out().await.unwrap();
    let file = lab.folder.path().join(LOCK);
    std::fs::remove_file(&file).unwrap();
    lab.warehouse.read_state(&lab.name, UID).await.unwrap();
    let second = elsewhere(&lab, None);
    expect_in_use(second.keep_others_out().await);

    std::fs::remove_file(&file).unwrap();
    second.keep_others_out().await.unwrap();
    expect_in_use(lab.warehouse.read_state(&lab.name, UID).await);
    drop(second);
    lab.warehouse.read_state(&lab.name, UID).await.unwrap();
}

#[tokio::test]
async fn a_file_system_without_locks_is_used_all_the_same() {
    let mut lab = Lab::new();
    let store = FaultyStore::new(lab.local_store());
    store.take_locks_away();
    lab.warehouse = Warehouse::with_store(Arc::clone(&store) as _, None);
    lab.warehouse.keep_others_out().await.unwrap();
    lab.warehouse.create(lab.new_table()).await.unwrap();
    let handle = lab.open().await;
    // What stays is the table's own fence.
    let second = Warehouse::with_store(store, None);
    second.keep_others_out().await.unwrap();
    let other = second.open_table(&lab.name, UID, quiet()).await.unwrap();
    other.append(append(100..103)).await.unwrap();
    assert!(matches!(handle.append(append(100..102)).await, Err(TableError::Altered { .. })));
    handle.close().await;
    other.close().await;
    assert_eq!(lab.foreign_ids().await, (100..103).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_lock_that_could_not_be_had_for_a_while_is_taken_by_the_next_step() {
    let lab = Lab::with_table().await;
    let store = FaultyStore::new(lab.local_store());
    store.take_locks_away();
    let agent = Warehouse::with_store(Arc::clone(&store) as _, None);
    agent.keep_others_out().await.unwrap();
    agent.read_state(&lab.name, UID).await.unwrap();
    store.give_locks_back();
    agent.read_state(&lab.name, UID).await.unwrap();
    expect_in_use(elsewhere(&lab, None).keep_others_out().await);
}

#[tokio::test]
async fn a_lock_holds_also_where_nobody_can_write_down_who_has_it() {
    let lab = Lab::with_table().await;
    // A file that may be opened for writing and takes no byte, as on a disk that is full, also for root.
    let sealed = rustix::fs::memfd_create("lock", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::fcntl_add_seals(&sealed, SealFlags::WRITE | SealFlags::GROW).unwrap();
    let file = lab.folder.path().join(LOCK);
    std::os::unix::fs::symlink(format!("/proc/{}/fd/{}", std::process::id(), sealed.as_raw_fd()), &file).unwrap();
    lab.warehouse.keep_others_out().await.unwrap();
    lab.warehouse.trash(&lab.name, UID).await.unwrap();
    let purged = lab.warehouse.purge_trash(std::time::Duration::ZERO).await.unwrap();
    assert_eq!(purged, [UID], "space can be made");
    let Err(TableError::InUse { holder, .. }) = elsewhere(&lab, None).keep_others_out().await else {
        panic!("the warehouse is used by two")
    };
    assert!(holder.contains("could not say who it is"), "{holder}");
    assert_eq!(std::fs::read(&file).unwrap(), b"");
}
