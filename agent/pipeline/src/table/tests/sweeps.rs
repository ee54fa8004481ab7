//! Sweeps: what is over goes, and every version within the history stays readable.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::care_steps::{append_one_by_one, compaction_of_ten, move_position, run, settings_of_ten};
use super::support::{Lab, UID, at};
use crate::table::care::compaction::commit_compaction;
use crate::table::care::schedule::CareSchedule;
use crate::table::care::sweep::sweep_orphans;
use crate::table::care::{CareJob, CareResult};
use crate::table::log::entry_name;
use crate::table::{TableError, clock};

const HOUR_MS: i64 = 60 * 60 * 1000;

#[tokio::test]
async fn removed_files_and_old_entries_go_after_the_history_and_younger_versions_stay_readable() {
    let (lab, mut table, job) = compaction_of_ten().await;
    let CareResult::Compacted { inputs, outputs } = run(&lab, job) else {
        panic!("compaction should write files")
    };
    commit_compaction(&lab.files(), &mut table, &inputs, outputs).unwrap();
    let (now, day) = (clock::now_ms(), Duration::from_secs(24 * 60 * 60));

    // Within the history all stays.
    lab.checkpoint(11, now - HOUR_MS);
    lab.sweep_log(now, day);
    assert_eq!((lab.data_files().len(), lab.entry_path(0).exists()), (11, true));

    // After it, removed files go with the checkpoint that forgets them, and entries with the next sweep.
    let handle = lab.open().await;
    append_one_by_one(&handle, 110..112).await;
    handle.close().await;
    lab.checkpoint(13, now + HOUR_MS);
    assert_eq!(lab.data_files().len(), 3);
    for version in 0..=11 {
        lab.age(&format!("_delta_log/{}", entry_name(version)), day * 2);
    }
    lab.sweep_log(now, day);
    assert_eq!(lab.checkpoints(), [11, 13]);
    assert!(!lab.entry_path(10).exists() && lab.entry_path(11).exists());
    assert_eq!(lab.foreign_ids().await, (100..112).collect::<Vec<_>>());
    let url = url::Url::from_directory_path(lab.path()).unwrap();
    let old = deltalake::open_table_with_version(url, 12).await.unwrap();
    assert_eq!(old.get_file_uris().unwrap().count(), 2, "a version between the checkpoints");
}

#[tokio::test]
async fn a_removal_without_a_time_keeps_its_file_for_the_whole_history_after_it_was_first_seen() {
    let (lab, _, _) = compaction_of_ten().await;
    let first = lab.entry(1).into_iter().find_map(|action| action.add).unwrap();
    lab.write_foreign(11, &[serde_json::json!({"remove": {"path": first.path, "dataChange": true}})]);
    let now = clock::now_ms();
    lab.checkpoint(11, now - HOUR_MS);
    let handle = lab.open().await;
    append_one_by_one(&handle, 110..112).await;
    handle.close().await;
    lab.checkpoint(12, now - HOUR_MS);
    lab.sweep_orphans(now + 2 * HOUR_MS);
    assert!(lab.data_files().contains(&first.path));
    lab.checkpoint(13, now + HOUR_MS);
    assert!(
        !lab.data_files().contains(&first.path),
        "it was given a time by the first checkpoint"
    );
    assert_eq!(lab.foreign_ids().await, (101..112).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_job_that_began_for_a_table_leaves_the_one_in_its_place_alone() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    append_one_by_one(&handle, 100..103).await;
    lab.checkpoint(2, 0);
    append_one_by_one(&handle, 103..106).await;
    handle.close().await;
    let leave = lab.leave();
    // The same bytes, but other files.
    let away = lab.folder.path().join("away");
    std::fs::rename(lab.path(), &away).unwrap();
    for folder in ["", "_delta_log"] {
        std::fs::create_dir(lab.path().join(folder)).unwrap();
        for entry in std::fs::read_dir(away.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name != "_delta_log" {
                let path = format!("{folder}/{name}");
                let path = path.trim_start_matches('/');
                std::fs::copy(away.join(path), lab.path().join(path)).unwrap();
                lab.age(path, Duration::from_secs(10 * 24 * 60 * 60));
            }
        }
    }
    std::fs::write(lab.path().join("fs-orphan.parquet"), "x").unwrap();
    lab.age("fs-orphan.parquet", Duration::from_secs(7200));
    let all = || (lab.names("", |_| true), lab.names("_delta_log", |_| true));
    let before = all();
    let history = Duration::from_secs(60 * 60);
    let files = lab.files();
    for job in [
        CareJob::Sweep { history, widening: false },
        CareJob::Checkpoint { version: 6, history },
    ] {
        let kind = job.kind();
        let result = job.run(&files, clock::now_ms(), &leave);
        assert!(
            matches!(result, CareResult::Failed(_, TableError::Altered { .. })),
            "{kind:?}: {result:?}"
        );
    }
    assert!(matches!(
        sweep_orphans(&files, clock::now_ms(), false, &leave),
        Err(TableError::Altered { .. })
    ));
    assert_eq!(all(), before);
}

#[tokio::test]
async fn a_job_that_waits_for_its_turn_ends_once_the_table_is_not_sound() {
    let (lab, table, _) = compaction_of_ten().await;
    let mut care = CareSchedule::new(settings_of_ten(), Arc::new(Semaphore::new(0)));
    care.start_what_is_due(&lab.files(), &table);
    care.table_is_sound(false);
    let ended = tokio::time::timeout(Duration::from_secs(60), care.finished()).await;
    assert!(matches!(ended, Ok(CareResult::Stopped)), "{ended:?}");
}

#[tokio::test]
async fn spare_checkpoints_are_thinned_out_but_the_newest_stay() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    for round in 0..6 {
        move_position(&handle, 101 + round..=101 + round).await;
        lab.checkpoint(round + 1, 0);
    }
    handle.close().await;
    for version in 0..=6 {
        lab.age(
            &format!("_delta_log/{}", entry_name(version)),
            Duration::from_secs(10_000 - version.unsigned_abs()),
        );
    }
    lab.sweep_log(clock::now_ms(), Duration::from_secs(7 * 24 * 60 * 60));
    assert_eq!(lab.checkpoints(), [1, 5, 6]);
    assert!(lab.entry_path(0).exists());
    assert_eq!(lab.foreign_reader().await.version(), Some(6));
}

#[tokio::test]
async fn only_old_files_of_ours_that_no_commit_names_are_orphans() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    append_one_by_one(&handle, 100..103).await;
    handle.close().await;
    lab.checkpoint(2, 0);
    let add = lab.entry(1).into_iter().find_map(|action| action.add).unwrap();
    lab.write_foreign(
        4,
        &[serde_json::json!({"remove": {"path": add.path, "deletionTimestamp": clock::now_ms(), "dataChange": true}})],
    );
    for name in ["fs-young.parquet", "fs-orphan.parquet", "part-theirs.parquet"] {
        std::fs::write(lab.path().join(name), "x").unwrap();
    }
    for name in lab.data_files() {
        if name != "fs-young.parquet" {
            lab.age(&name, Duration::from_secs(7200));
        }
    }
    let before = lab.data_files();
    lab.sweep_orphans(clock::now_ms());
    let gone: Vec<String> = before.into_iter().filter(|name| !lab.data_files().contains(name)).collect();
    assert_eq!(gone, ["fs-orphan.parquet"]);
    assert_eq!(lab.foreign_ids().await, [101, 102]);
}

#[tokio::test]
async fn a_checkpoint_that_broke_off_is_no_checkpoint_and_is_swept() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    move_position(&handle, 101..=103).await;
    handle.close().await;
    let half = "_delta_log/.00000000000000000003.checkpoint.parquet.0.tmp";
    std::fs::write(lab.path().join(half), "half").unwrap();
    lab.age(half, Duration::from_secs(7200));
    assert_eq!(lab.warehouse.read_state(&lab.name, UID).await.unwrap().version, 3);
    let job = CareJob::Sweep {
        history: Duration::from_secs(60),
        widening: false,
    };
    assert!(matches!(run(&lab, job), CareResult::Swept));
    assert!(!lab.path().join(half).exists());
    assert_eq!(lab.warehouse.read_state(&lab.name, UID).await.unwrap().positions, at(0, 103));
}
