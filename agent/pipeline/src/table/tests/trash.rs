//! Trash: away, back, over, and every step twice.

use std::time::Duration;

use super::support::{Lab, UID, append};
use crate::table::TableError;

#[tokio::test]
async fn a_table_goes_to_the_trash_and_comes_back_with_its_rows() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle.append(append(100..105)).await.unwrap();
    handle.close().await;
    for _ in 0..2 {
        lab.warehouse.trash(&lab.name, UID).await.unwrap();
    }
    assert!(lab.warehouse.in_trash(UID).await.unwrap());
    assert!(matches!(
        lab.warehouse.read_state(&lab.name, UID).await,
        Err(TableError::Gone { .. })
    ));
    for _ in 0..2 {
        lab.warehouse.restore(&lab.name, UID).await.unwrap();
    }
    assert!(!lab.warehouse.in_trash(UID).await.unwrap());
    assert_eq!(lab.foreign_ids().await, (100..105).collect::<Vec<_>>());
    assert!(lab.names("", |name| name.starts_with("_trashed")).is_empty());
}

#[tokio::test]
async fn the_name_is_free_at_once_and_a_taken_name_refuses_the_restore() {
    let lab = Lab::with_table().await;
    lab.warehouse.trash(&lab.name, UID).await.unwrap();
    let mut second = lab.new_table();
    second.stream_uid = "second".into();
    lab.warehouse.create(second).await.unwrap();
    assert!(matches!(
        lab.warehouse.restore(&lab.name, UID).await,
        Err(TableError::Exists { .. })
    ));
    lab.warehouse.trash(&lab.name, UID).await.unwrap();
    assert_eq!(
        lab.warehouse.read_state(&lab.name, "second").await.unwrap().version,
        0,
        "another stream's table is left alone"
    );
    assert!(lab.warehouse.in_trash(UID).await.unwrap());
}

#[tokio::test]
async fn an_altered_table_of_ours_can_still_be_trashed() {
    let lab = Lab::with_table().await;
    lab.write_foreign(
        1,
        &[serde_json::json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": ["odd"]}})],
    );
    assert!(matches!(
        lab.warehouse.read_state(&lab.name, UID).await,
        Err(TableError::Altered { .. })
    ));
    lab.warehouse.trash(&lab.name, UID).await.unwrap();
    assert!(lab.warehouse.in_trash(UID).await.unwrap());
}

#[tokio::test]
async fn a_table_of_ours_with_a_damaged_log_can_still_be_trashed_and_comes_back() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    for id in 100..105 {
        handle.append(append(id..id + 1)).await.unwrap();
    }
    handle.close().await;
    std::fs::remove_file(lab.entry_path(3)).unwrap();
    for _ in 0..2 {
        lab.warehouse.trash(&lab.name, UID).await.unwrap();
    }
    assert!(lab.warehouse.in_trash(UID).await.unwrap());
    lab.warehouse.restore(&lab.name, UID).await.unwrap();
    assert!(lab.entry_path(4).exists());
}

#[tokio::test]
async fn purge_takes_only_what_is_old_enough_and_ends_what_broke_off() {
    let lab = Lab::with_table().await;
    lab.warehouse.trash(&lab.name, UID).await.unwrap();
    assert!(lab.warehouse.purge_trash(Duration::from_secs(3600)).await.unwrap().is_empty());
    assert!(lab.warehouse.in_trash(UID).await.unwrap());
    let half = lab.folder.path().join("_trash/half.purging");
    std::fs::create_dir_all(half.join("_delta_log")).unwrap();
    let mut purged = lab.warehouse.purge_trash(Duration::ZERO).await.unwrap();
    purged.sort();
    assert_eq!(purged, [UID, "half"]);
    assert!(!lab.warehouse.in_trash(UID).await.unwrap());
    assert!(!half.exists());
    assert!(lab.warehouse.purge_trash(Duration::ZERO).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_table_without_a_time_in_the_trash_counts_from_now_on() {
    let lab = Lab::with_table().await;
    let place = lab.folder.path().join("_trash").join(UID);
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::rename(lab.path(), &place).unwrap();
    assert!(lab.warehouse.purge_trash(Duration::from_secs(60)).await.unwrap().is_empty());
    assert!(place.join("_trashed_ms").exists());
}
