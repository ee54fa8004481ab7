//! Care: what a table of many commits looks like, to us, to delta-rs, and after a crash of any job.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use stream_spec::types::{DataType, Field};
use tokio_util::sync::CancellationToken;

use super::faulty_store::FaultyStore;
use super::support::{Lab, UID, append, at, columns, quiet, switch};
use crate::position::Positions;
use crate::table::care::sweep::{sweep_log, sweep_orphans};
use crate::table::care::{CareJob, CareKind, CareResult};
use crate::table::log::checkpoint_writer::write_checkpoint;
use crate::table::log::{LogName, entry_name};
use crate::table::state::LoadedTable;
use crate::table::store::table_files::TableFiles;
use crate::table::{Append, TableCareSettings, TableHandle, Warehouse, clock};

const HOUR_MS: i64 = 60 * 60 * 1000;

impl Lab {
    fn files(&self) -> TableFiles {
        self.warehouse.files(&self.name)
    }

    fn load(&self, small_below: u64) -> LoadedTable {
        LoadedTable::read(&self.files(), UID, small_below).unwrap()
    }

    /// Makes a file older.
    fn age(&self, path: &str, by: Duration) {
        let file = std::fs::File::options().write(true).open(self.path().join(path)).unwrap();
        file.set_modified(SystemTime::now() - by).unwrap();
    }

    /// Waits until a checkpoint covers that version; probes keep care going.
    async fn wait_for_checkpoint(&self, handle: &TableHandle, version: i64) {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        while self.checkpoints().last().is_none_or(|last| *last < version) {
            assert!(
                tokio::time::Instant::now() < deadline,
                "no checkpoint of version {version}: {:?}",
                self.checkpoints()
            );
            handle.probe().await.unwrap();
        }
    }

    fn checkpoints(&self) -> Vec<i64> {
        let names = self.names("_delta_log", |name| matches!(LogName::parse(name), Some(LogName::Checkpoint(_))));
        names.iter().map(|name| name[..20].parse().unwrap()).collect()
    }
}

async fn append_one_by_one(handle: &TableHandle, ids: std::ops::Range<i32>) {
    for id in ids {
        handle.append(append(id..id + 1)).await.unwrap();
    }
}

/// Moves the position without rows: a commit without a data file.
async fn move_position(handle: &TableHandle, offsets: std::ops::RangeInclusive<i64>) {
    for offset in offsets {
        handle
            .append(Append {
                batches: Vec::new(),
                positions: at(0, offset),
            })
            .await
            .unwrap();
    }
}

/// Waits until the committer has published a state for which the condition holds.
async fn wait_until(handle: &TableHandle, condition: impl FnMut(&crate::table::TableState) -> bool) {
    let mut state = handle.state();
    let waited = tokio::time::timeout(Duration::from_secs(60), state.wait_for(condition)).await;
    drop(waited.expect("the state should come within its deadline").unwrap());
}

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
    write_checkpoint(&lab.files(), before.snapshot.version, 0).unwrap();
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

#[tokio::test]
async fn reopening_reads_as_many_files_after_2000_commits_as_after_100() {
    let mut lab = Lab::new();
    let store = FaultyStore::unsynced(lab.local_store());
    lab.warehouse = Warehouse::with_store(Arc::clone(&store) as Arc<_>);
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
    lab.warehouse = Warehouse::with_store(Arc::clone(&store) as Arc<_>);
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
async fn small_files_become_large_ones_while_appends_go_on() {
    let lab = Lab::with_table().await;
    let settings = TableCareSettings {
        compact_at_files: 8,
        checkpoint_every_commits: 10,
        ..TableCareSettings::default()
    };
    let handle = lab.open_with(settings).await;
    append_one_by_one(&handle, 100..150).await;
    wait_until(&handle, |state| state.totals.files < 30).await;
    handle.switch(switch(2, vec![Field::new("later", DataType::Date)])).await.unwrap();
    append_one_by_one(&handle, 150..180).await;
    wait_until(&handle, |state| state.totals.files < 30).await;
    assert_eq!(handle.state().borrow().totals.rows, 80);
    handle.close().await;
    let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
    assert_eq!((state.totals.rows, state.positions), (80, at(0, 180)));
    assert_eq!(lab.foreign_ids().await, (100..180).collect::<Vec<_>>());
}

/// Ten small files, and the compaction of them that is due.
async fn compaction_of_ten() -> (Lab, LoadedTable, CareJob) {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    append_one_by_one(&handle, 100..110).await;
    handle.close().await;
    let settings = TableCareSettings {
        compact_at_files: 10,
        ..quiet()
    };
    let table = lab.load(settings.target_file_bytes / 2);
    let job = CareJob::due(&table, &settings, |kind| kind == CareKind::Compact).unwrap();
    (lab, table, job)
}

fn run(lab: &Lab, job: CareJob) -> CareResult {
    job.run(&lab.files(), clock::now_ms(), &CancellationToken::new())
}

#[tokio::test]
async fn compaction_changes_no_data_and_keeps_the_order_of_rows() {
    let (lab, mut table, job) = compaction_of_ten().await;
    let CareResult::Compacted { inputs, outputs } = run(&lab, job) else {
        panic!("compaction should write files")
    };
    crate::table::care::compaction::commit_compaction(&lab.files(), &mut table, &inputs, outputs).unwrap();
    let entry = lab.entry(11);
    let removals: Vec<_> = entry.iter().filter_map(|action| action.remove.as_ref()).collect();
    let adds: Vec<_> = entry.iter().filter_map(|action| action.add.as_ref()).collect();
    assert_eq!((removals.len(), adds.len()), (10, 1));
    assert!(removals.iter().all(|removal| !removal.data_change) && !adds[0].data_change);
    assert_eq!(adds[0].rows(), Some(10));
    assert!(adds[0].stats.as_ref().unwrap().contains("\"kafka_offset\":109"));
    assert_eq!((table.snapshot.totals.files, table.snapshot.totals.rows), (1, 10));
    assert_eq!(table.snapshot.totals, lab.load(0).snapshot.totals);
    assert_eq!(lab.foreign_ids().await, (100..110).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_compaction_of_which_an_input_was_removed_is_dropped() {
    let (lab, mut table, job) = compaction_of_ten().await;
    let first = lab.entry(1).into_iter().find_map(|action| action.add).unwrap();
    let CareResult::Compacted { inputs, outputs } = run(&lab, job) else {
        panic!("compaction should write files")
    };
    lab.write_foreign(
        11,
        &[serde_json::json!({"remove": {"path": first.path, "deletionTimestamp": 5, "dataChange": true}})],
    );
    crate::table::care::compaction::commit_compaction(&lab.files(), &mut table, &inputs, outputs).unwrap();
    assert!(!lab.entry_path(12).exists());
    assert_eq!(lab.data_files().len(), 10, "the output is gone");
    assert_eq!(lab.foreign_ids().await, (101..110).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_compaction_that_is_asked_to_stop_leaves_nothing() {
    let (lab, _table, job) = compaction_of_ten().await;
    let stopping = CancellationToken::new();
    stopping.cancel();
    assert!(matches!(job.run(&lab.files(), clock::now_ms(), &stopping), CareResult::Stopped));
    assert_eq!(lab.names("", |name| name != "_delta_log").len(), 10);
}

#[tokio::test]
async fn removed_files_and_old_entries_go_after_the_history_and_younger_versions_stay_readable() {
    let (lab, mut table, job) = compaction_of_ten().await;
    let CareResult::Compacted { inputs, outputs } = run(&lab, job) else {
        panic!("compaction should write files")
    };
    crate::table::care::compaction::commit_compaction(&lab.files(), &mut table, &inputs, outputs).unwrap();
    let (now, day) = (clock::now_ms(), Duration::from_secs(24 * 60 * 60));

    // Within the history all stays.
    write_checkpoint(&lab.files(), 11, now - HOUR_MS).unwrap();
    sweep_log(&lab.files(), now, day).unwrap();
    assert_eq!((lab.data_files().len(), lab.entry_path(0).exists()), (11, true));

    // After it, removed files go with the checkpoint that forgets them, and entries with the next sweep.
    let handle = lab.open().await;
    append_one_by_one(&handle, 110..112).await;
    handle.close().await;
    write_checkpoint(&lab.files(), 13, now + HOUR_MS).unwrap();
    assert_eq!(lab.data_files().len(), 3);
    for version in 0..=11 {
        lab.age(&format!("_delta_log/{}", entry_name(version)), day * 2);
    }
    sweep_log(&lab.files(), now, day).unwrap();
    assert_eq!(lab.checkpoints(), [11, 13]);
    assert!(!lab.entry_path(10).exists() && lab.entry_path(11).exists());
    assert_eq!(lab.foreign_ids().await, (100..112).collect::<Vec<_>>());
    let url = url::Url::from_directory_path(lab.path()).unwrap();
    let old = deltalake::open_table_with_version(url, 12).await.unwrap();
    assert_eq!(old.get_file_uris().unwrap().count(), 2, "a version between the checkpoints");
}

#[tokio::test]
async fn spare_checkpoints_are_thinned_out_but_the_newest_stay() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    for round in 0..6 {
        move_position(&handle, 101 + round..=101 + round).await;
        write_checkpoint(&lab.files(), round + 1, 0).unwrap();
    }
    handle.close().await;
    for version in 0..=6 {
        lab.age(
            &format!("_delta_log/{}", entry_name(version)),
            Duration::from_secs(10_000 - version.unsigned_abs()),
        );
    }
    sweep_log(&lab.files(), clock::now_ms(), Duration::from_secs(7 * 24 * 60 * 60)).unwrap();
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
    write_checkpoint(&lab.files(), 2, 0).unwrap();
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
    sweep_orphans(&lab.files(), clock::now_ms()).unwrap();
    let gone: Vec<String> = before.into_iter().filter(|name| !lab.data_files().contains(name)).collect();
    assert_eq!(gone, ["fs-orphan.parquet"]);
    assert_eq!(lab.foreign_ids().await, [101, 102]);
}

#[tokio::test]
async fn a_stale_hint_is_not_believed_once_its_entries_are_gone() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    move_position(&handle, 101..=103).await;
    write_checkpoint(&lab.files(), 2, 0).unwrap();
    let stale = std::fs::read(lab.path().join("_delta_log/_last_checkpoint")).unwrap();
    move_position(&handle, 104..=108).await;
    handle.close().await;
    write_checkpoint(&lab.files(), 7, 0).unwrap();
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
    };
    assert!(matches!(run(&lab, job), CareResult::Swept));
    assert!(!lab.path().join(half).exists());
    assert_eq!(lab.warehouse.read_state(&lab.name, UID).await.unwrap().positions, at(0, 103));
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
    write_checkpoint(&lab.files(), 1, 0).unwrap();
    std::fs::remove_file(lab.entry_path(0)).unwrap();
    let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
    assert_eq!(state.positions, many);
    assert_eq!(state.columns, columns());
}
