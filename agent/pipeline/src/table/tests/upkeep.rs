//! Care beside many commits: a table that is written to for long stays small in files, log and disk.

use std::time::Duration;

use super::care_steps::append_one_by_one;
use super::faulty_store::FaultyStore;
use super::support::{Lab, append};
use crate::table::log::LogName;
use crate::table::{TableCareSettings, TableHandle, TableState, Warehouse};

/// Small files that put a compaction in train.
const COMPACT_AT: usize = 16;
/// Fewer than that of each class may wait, and tests have files of two classes.
const SMALL_FILES_MAX: i64 = 2 * 16;

async fn lab() -> Lab {
    let mut lab = Lab::new();
    lab.warehouse = Warehouse::with_store(FaultyStore::unsynced(lab.local_store()), None);
    lab.warehouse.create(lab.new_table()).await.unwrap();
    lab
}

fn settings(history: Duration) -> TableCareSettings {
    TableCareSettings {
        history,
        checkpoint_every_commits: 20,
        compact_at_files: COMPACT_AT,
        ..TableCareSettings::default()
    }
}

/// Probes, which keep care going, until the condition holds.
async fn care_until(handle: &TableHandle, what: &str, mut condition: impl FnMut(&TableState) -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        handle.probe().await.unwrap();
        let state = handle.state().borrow().clone();
        if condition(&state) {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{what} did not come about: {state:?}");
    }
}

#[tokio::test]
async fn small_files_stay_few_and_are_rewritten_seldom_while_commits_go_on() {
    let lab = lab().await;
    let handle = lab.open_with(settings(Duration::from_secs(3600))).await;
    for first in (0..1000).step_by(50) {
        append_one_by_one(&handle, 100 + first..150 + first).await;
        care_until(&handle, "few files", |state| state.totals.files < SMALL_FILES_MAX).await;
    }
    handle.close().await;
    let (mut written, mut rewritten) = (0, 0);
    for action in (0..=lab.load(0).snapshot.version).flat_map(|version| lab.entry(version)) {
        if let Some(add) = action.add {
            *(if add.data_change { &mut written } else { &mut rewritten }) += add.size;
        }
    }
    assert!(
        0 < rewritten && rewritten <= 3 * written,
        "{rewritten} bytes rewritten of {written}"
    );
    assert_eq!(lab.foreign_ids().await, (100..1100).collect::<Vec<_>>());
}

#[tokio::test]
async fn files_grow_to_the_target_size_and_stay_as_they_are() {
    const TARGET: u64 = 64 * 1024;
    let lab = lab().await;
    let handle = lab
        .open_with(TableCareSettings {
            target_file_bytes: TARGET,
            ..settings(Duration::from_secs(3600))
        })
        .await;
    for first in (0..60_000).step_by(1000) {
        handle.append(append(100 + first..1100 + first)).await.unwrap();
    }
    care_until(&handle, "few files", |state| state.totals.files < SMALL_FILES_MAX).await;
    handle.close().await;
    let entries: Vec<_> = (0..=lab.load(0).snapshot.version).flat_map(|version| lab.entry(version)).collect();
    let mut outputs: Vec<u64> = Vec::new();
    for add in entries
        .iter()
        .filter_map(|action| action.add.as_ref())
        .filter(|add| !add.data_change)
    {
        outputs.push(add.size.unsigned_abs());
        let removed = entries
            .iter()
            .filter_map(|action| action.remove.as_ref())
            .any(|remove| remove.path == add.path);
        assert!(
            !removed || outputs.last() < Some(&(TARGET / 2)),
            "a file of {} bytes was rewritten",
            add.size
        );
    }
    let full = outputs.iter().filter(|bytes| **bytes >= TARGET / 2).count();
    assert!(full >= 2 && outputs.iter().all(|bytes| *bytes <= TARGET * 2), "{outputs:?}");
    assert_eq!(lab.foreign_ids().await, (100..60_100).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_is_older_than_a_short_history_goes_from_the_log_and_from_the_disk() {
    let lab = lab().await;
    let settings = settings(Duration::from_millis(1));
    for round in 0..3 {
        // Each opening sweeps.
        let handle = lab.open_with(settings.clone()).await;
        append_one_by_one(&handle, 100 + round * 200..300 + round * 200).await;
        care_until(&handle, "few files", |state| state.totals.files < SMALL_FILES_MAX).await;
        let version = handle.state().borrow().version;
        lab.wait_for_checkpoint(&handle, version - 20).await;
        handle.close().await;
    }
    let handle = lab.open_with(settings).await;
    let entries = || {
        lab.names("_delta_log", |name| matches!(LogName::parse(name), Some(LogName::Entry(_))))
            .len()
    };
    care_until(&handle, "a short log", |_| entries() <= 60 && lab.checkpoints().len() <= 3).await;
    // Another checkpoint lets the files go that were removed before the last one.
    append_one_by_one(&handle, 700..725).await;
    let version = handle.state().borrow().version;
    lab.wait_for_checkpoint(&handle, version - 20).await;
    handle.close().await;
    let (live, on_disk) = (lab.load(0).snapshot.totals.files, lab.data_files().len());
    let removed_lately = 4 * COMPACT_AT;
    assert!(
        on_disk <= usize::try_from(live).unwrap() + removed_lately,
        "{on_disk} files for {live} live ones"
    );
    assert_eq!(lab.foreign_ids().await, (100..725).collect::<Vec<_>>());
}

#[tokio::test]
async fn more_small_files_than_are_remembered_are_all_put_together() {
    let lab = lab().await;
    let many = i32::try_from(crate::table::limits::SMALL_FILES_MAX).unwrap() + 200;
    let handle = lab.open().await;
    append_one_by_one(&handle, 100..102).await;
    handle.close().await;
    // The others are names of the two that are there: what counts is how many there are.
    let adds: Vec<_> = (1..=2)
        .flat_map(|version| lab.entry(version))
        .filter_map(|action| action.add)
        .collect();
    let lines: Vec<serde_json::Value> = (0..many)
        .map(|number| {
            let source = &adds[usize::try_from(number % 2).unwrap()];
            let path = format!("fs-{number}.parquet");
            std::fs::hard_link(lab.path().join(&source.path), lab.path().join(&path)).unwrap();
            serde_json::json!({"add": {"path": path, "size": source.size, "partitionValues": {}, "modificationTime": 5,
                "dataChange": true, "stats": source.stats}})
        })
        .collect();
    lab.write_foreign(3, &lines);
    let handle = lab.open_with(settings(Duration::from_secs(3600))).await;
    care_until(&handle, "few files", |state| state.totals.files < SMALL_FILES_MAX).await;
    assert_eq!(handle.state().borrow().totals.rows, i64::from(many) + 2);
    handle.close().await;
    assert_eq!(lab.foreign_ids().await.len(), usize::try_from(many).unwrap() + 2);
}
