//! Other writers' rewrites of files that were compacted meanwhile, as delta-rs commits them.

use serde_json::{Value, json};

use super::care_steps::{append_one_by_one, compaction_of_ten, move_position, run};
use super::faulty_store::{EntryFault, FaultyStore};
use super::support::{Lab, UID, append, at, quiet};
use crate::table::care::compaction::{Compaction, commit_compaction};
use crate::table::care::{CareKind, CareResult};
use crate::table::log::actions::Add;
use crate::table::small_files::SmallFile;
use crate::table::{TableCareSettings, TableError, Warehouse};

/// A table whose first ten files were compacted, with two files more, and the lines by which another writer puts three of the
/// first and one of the others together.
async fn rewritten_twice(data_change: bool) -> (Lab, Vec<Value>) {
    let (lab, mut table, job) = compaction_of_ten().await;
    let CareResult::Compacted { inputs, outputs } = run(&lab, job) else {
        panic!("compaction should write files")
    };
    commit_compaction(&lab.files(), &mut table, &inputs, outputs).unwrap();
    let handle = lab.open().await;
    append_one_by_one(&handle, 110..112).await;
    handle.close().await;
    let theirs: Vec<Add> = [1, 2, 3, 12].map(|version| file_of(&lab, version)).into();
    let lines = rewrite(&lab, &theirs, data_change);
    (lab, lines)
}

/// The file that the entry of a version adds.
fn file_of(lab: &Lab, version: i64) -> Add {
    lab.entry(version).into_iter().find_map(|action| action.add).unwrap()
}

/// The lines by which another writer puts these files together.
fn rewrite(lab: &Lab, theirs: &[Add], data_change: bool) -> Vec<Value> {
    let inputs: Vec<SmallFile> = theirs
        .iter()
        .map(|add| SmallFile {
            path: add.path.clone(),
            bytes: add.size.unsigned_abs(),
            rows: add.rows().unwrap(),
        })
        .collect();
    let compaction = Compaction {
        inputs,
        columns: lab.load(0).columns,
        target_file_bytes: u64::MAX / 2,
    };
    let CareResult::Compacted { outputs, .. } = run(lab, crate::table::care::CareJob::Compact(compaction)) else {
        panic!("compaction should write files")
    };
    let mut lines: Vec<Value> = theirs
        .iter()
        .map(|add| json!({"remove": {"path": add.path, "deletionTimestamp": 5, "dataChange": data_change}}))
        .collect();
    let output = Add {
        data_change,
        ..outputs.into_iter().next().unwrap()
    };
    lines.push(json!({"add": output}));
    lines
}

/// What delta-rs does: it does not see a conflict with a commit that changes no data.
#[tokio::test]
async fn another_writers_rewrite_of_files_that_were_compacted_is_undone() {
    for checkpoint in [None, Some(12)] {
        let (lab, lines) = rewritten_twice(false).await;
        let handle = lab.open().await;
        if let Some(version) = checkpoint {
            lab.checkpoint(version, 0);
        }
        lab.write_foreign(14, &lines);
        assert_eq!(lab.foreign_ids().await.len(), 15, "three rows are there twice");
        handle.append(append(112..114)).await.unwrap();
        handle.append(append(114..115)).await.unwrap();
        handle.close().await;
        assert_eq!(lab.foreign_ids().await, (100..115).collect::<Vec<_>>());
        let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
        assert_eq!((state.version, state.totals.rows, state.positions), (17, 15, at(0, 115)));
        let undo = lab.entry(16);
        assert!(undo.iter().flat_map(|action| &action.add).all(|add| !add.data_change));
        assert!(
            undo.iter()
                .any(|action| action.commit_info.as_ref().is_some_and(|info| info["operation"] == "RESTORE"))
        );
    }
}

#[tokio::test]
async fn an_idle_table_is_mended_by_a_look_at_it() {
    let (lab, lines) = rewritten_twice(false).await;
    let handle = lab.open().await;
    lab.write_foreign(14, &lines);
    handle.probe().await.unwrap();
    assert_eq!(lab.foreign_ids().await, (100..112).collect::<Vec<_>>());
    handle.probe().await.unwrap();
    assert_eq!((handle.state().borrow().version, handle.state().borrow().totals.rows), (15, 12));
    handle.close().await;
}

#[tokio::test]
async fn another_writers_change_of_rows_that_were_compacted_stops_the_stream_and_says_how_to_undo_it() {
    let (lab, lines) = rewritten_twice(true).await;
    let handle = lab.open().await;
    lab.write_foreign(14, &lines);
    let error = handle.append(append(112..114)).await.unwrap_err();
    assert!(
        matches!(&error, TableError::Altered { what, .. } if what.contains("TO VERSION AS OF 13")),
        "{error}"
    );
    handle.close().await;
    assert!(!lab.entry_path(15).exists());
    // What the user is told to do, as Delta does it.
    let mut undo: Vec<Value> = Vec::new();
    for line in &lines {
        if let Some(add) = line.get("add") {
            undo.push(json!({"remove": {"path": add["path"], "deletionTimestamp": 6, "dataChange": true}}));
        }
    }
    let last = file_of(&lab, 12);
    undo.push(json!({"add": last}));
    lab.write_foreign(15, &undo);
    let handle = lab.open().await;
    handle.append(append(112..114)).await.unwrap();
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, (100..114).collect::<Vec<_>>());
}

/// The agent was away when it came, or ended before it was undone; what it knew is lost.
#[tokio::test]
async fn a_rewrite_that_was_not_undone_is_found_again_by_the_next_life() {
    for (checkpoint, seen_before) in [(None, false), (Some(12), false), (None, true), (Some(12), true)] {
        let (mut lab, lines) = rewritten_twice(false).await;
        if let Some(version) = checkpoint {
            lab.checkpoint(version, 0);
        }
        let store = FaultyStore::new(lab.local_store());
        lab.warehouse = Warehouse::with_store(store.clone(), None);
        let handle = lab.open().await;
        lab.write_foreign(14, &lines);
        if seen_before {
            // The undo fails: what was asked for is done all the same, and the stream closes its table after the next call.
            store.fail_next_entry(EntryFault::NotWritten);
            handle.probe().await.unwrap();
            store.fail_next_entry(EntryFault::NotWritten);
            assert!(matches!(handle.probe().await, Err(TableError::Storage { .. })));
        }
        handle.close().await;
        assert_eq!(lab.foreign_ids().await.len(), 15, "three rows are there twice");
        let handle = lab.open().await;
        handle.append(append(112..114)).await.unwrap();
        assert_eq!(handle.state().borrow().totals.rows, 14);
        handle.close().await;
        let expected: Vec<i32> = (100..114).collect();
        assert_eq!(lab.foreign_ids().await, expected, "{checkpoint:?}, {seen_before}");
        assert_eq!(lab.load(0).snapshot.version, 16);
        // What was undone stays so, and what is done with its files later is no reason to think otherwise.
        assert_eq!(lab.load(0).snapshot.doubling, Vec::<i64>::new());
        let handle = lab
            .open_with(TableCareSettings {
                compact_at_files: 2,
                ..quiet()
            })
            .await;
        compact_by_probes(&lab, &handle).await;
        handle.close().await;
        assert_eq!(lab.foreign_ids().await, expected);
        assert_eq!(lab.load(0).snapshot.doubling, Vec::<i64>::new());
    }
}

/// Waits for a compaction.
async fn compact_by_probes(lab: &Lab, handle: &crate::table::TableHandle) {
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
    let version = handle.state().borrow().version;
    while handle.state().borrow().version == version {
        assert!(tokio::time::Instant::now() < deadline, "no compaction: {:?}", lab.data_files());
        handle.probe().await.unwrap();
    }
}

/// Only entries after the last checkpoint are looked at, so there must be none beyond a rewrite that is not undone.
#[tokio::test]
async fn no_checkpoint_goes_beyond_a_rewrite_that_is_not_undone() {
    let (lab, lines) = rewritten_twice(false).await;
    lab.write_foreign(14, &lines);
    let often = TableCareSettings {
        checkpoint_every_commits: 1,
        ..quiet()
    };
    let mut table = lab.load(0);
    crate::table::doubled::recall(&lab.files(), &mut table).unwrap();
    assert_eq!(table.snapshot.doubling, [14]);
    assert!(crate::table::care::CareJob::due(&table, &often, |kind| kind == CareKind::Checkpoint).is_none());
    let handle = lab.open_with(often).await;
    move_position(&handle, 112..=113).await;
    lab.wait_for_checkpoint(&handle, 15).await;
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, (100..112).collect::<Vec<_>>());
}

/// A restart is no way around it: the stream stays stopped until the change is undone.
#[tokio::test]
async fn a_change_of_rows_that_were_compacted_still_stops_the_stream_after_a_restart() {
    for checkpoint in [None, Some(12)] {
        let (lab, lines) = rewritten_twice(true).await;
        if let Some(version) = checkpoint {
            lab.checkpoint(version, 0);
        }
        lab.write_foreign(14, &lines);
        let error = lab.warehouse.open_table(&lab.name, UID, quiet()).await.err().unwrap();
        assert!(
            matches!(&error, TableError::Altered { what, .. } if what.contains("TO VERSION AS OF 13")),
            "{error}"
        );
        // It can still be looked at, and deleted.
        assert_eq!(lab.warehouse.read_state(&lab.name, UID).await.unwrap().version, 14);
        lab.warehouse.trash(&lab.name, UID).await.unwrap();
    }
}

/// Nothing is put back that is not there any more.
#[tokio::test]
async fn a_rewrite_whose_inputs_were_vacuumed_is_not_undone_but_said() {
    let (lab, lines) = rewritten_twice(false).await;
    let last = file_of(&lab, 12);
    std::fs::remove_file(lab.path().join(&last.path)).unwrap();
    lab.write_foreign(14, &lines);
    let handle = lab.open().await;
    let error = handle.append(append(112..114)).await.unwrap_err();
    assert!(matches!(error, TableError::Altered { .. }), "{error}");
    handle.close().await;
    assert!(!lab.entry_path(15).exists());
}

/// A table with a rewrite of files that were compacted, at version 14, and what it made rewritten with one more file at version 15,
/// unless the lines are wanted for later.
async fn rewritten_in_turn(write: bool) -> (Lab, Vec<Value>) {
    let (lab, lines) = rewritten_twice(false).await;
    lab.write_foreign(14, &lines);
    let in_turn = rewrite(&lab, &[file_of(&lab, 14), file_of(&lab, 13)], false);
    if write {
        lab.write_foreign(15, &in_turn);
    }
    (lab, in_turn)
}

/// The versions that the table's RESTOREs name, in their order.
fn undone(lab: &Lab, versions: std::ops::RangeInclusive<i64>) -> Vec<Value> {
    let infos = versions
        .flat_map(|version| lab.entry(version))
        .filter_map(|action| action.commit_info);
    infos.filter_map(|info| info.get("featurestore.undoneVersion").cloned()).collect()
}

#[tokio::test]
async fn a_rewrite_of_what_a_doubled_rewrite_made_is_undone_before_it() {
    for (checkpoint, open_before) in [(None, true), (Some(12), true), (None, false), (Some(12), false)] {
        let (lab, lines) = rewritten_twice(false).await;
        if let Some(version) = checkpoint {
            lab.checkpoint(version, 0);
        }
        let early = if open_before { Some(lab.open().await) } else { None };
        lab.write_foreign(14, &lines);
        lab.write_foreign(15, &rewrite(&lab, &[file_of(&lab, 14), file_of(&lab, 13)], false));
        assert_eq!(lab.foreign_ids().await.len(), 15, "three rows are there twice");
        assert_eq!(lab.load(0).snapshot.doubling, [14, 15]);
        let handle = match early {
            Some(handle) => handle,
            None => lab.open().await,
        };
        handle.append(append(112..114)).await.unwrap();
        handle.append(append(114..115)).await.unwrap();
        handle.close().await;
        assert_eq!(
            lab.foreign_ids().await,
            (100..115).collect::<Vec<_>>(),
            "{checkpoint:?}, {open_before}"
        );
        assert_eq!(undone(&lab, 16..=19), [15, 14], "{checkpoint:?}, {open_before}");
        assert_eq!(lab.load(0).snapshot.doubling, Vec::<i64>::new());
        assert_eq!(lab.load(0).snapshot.totals.rows, 15);
    }
}

/// The agent sees the first rewrite, and the second one lands when it is about to undo the first.
#[tokio::test]
async fn a_rewrite_that_lands_while_an_older_one_is_undone_comes_first() {
    let (lab, in_turn) = rewritten_in_turn(false).await;
    let mut table = lab.load(0);
    let files = lab.files();
    crate::table::doubled::recall(&files, &mut table).unwrap();
    assert_eq!(table.snapshot.doubling, [14]);
    lab.write_foreign(15, &in_turn);
    crate::table::doubled::undo(&files, &mut table).unwrap();
    assert_eq!(lab.foreign_ids().await, (100..112).collect::<Vec<_>>());
    assert_eq!(undone(&lab, 16..=17), [15, 14]);
    assert!(table.doubled.is_empty());
}

/// What took both back at once puts only the first's inputs back, and not what the first had made.
#[tokio::test]
async fn both_rewrites_taken_back_at_once_by_their_writer_are_no_reason_to_stop() {
    for seen_before in [true, false] {
        let (lab, _) = rewritten_in_turn(true).await;
        let mut table = lab.load(0);
        crate::table::doubled::recall(&lab.files(), &mut table).unwrap();
        assert_eq!(table.doubled.len(), 2);
        let mut restored = vec![json!({"remove": {"path": file_of(&lab, 15).path, "deletionTimestamp": 6, "dataChange": true}})];
        restored.extend([12, 13].map(|version| json!({"add": file_of(&lab, version)})));
        lab.write_foreign(16, &restored);
        if seen_before {
            crate::table::commit::probe(&lab.files(), &mut table).unwrap();
            crate::table::doubled::undo(&lab.files(), &mut table).unwrap();
            assert!(table.doubled.is_empty());
        }
        assert_eq!(lab.load(0).snapshot.doubling, Vec::<i64>::new());
        let handle = lab.open().await;
        handle.append(append(112..114)).await.unwrap();
        handle.close().await;
        assert_eq!(lab.foreign_ids().await, (100..114).collect::<Vec<_>>());
    }
}

/// All that the first rewrote was gone before, so nothing but the second shows that its rows are still there.
#[tokio::test]
async fn a_rewrite_of_gone_files_only_is_found_again_behind_one_of_what_it_made() {
    let (lab, _) = rewritten_twice(false).await;
    let gone = [1, 2, 3].map(|version| file_of(&lab, version));
    lab.write_foreign(14, &rewrite(&lab, &gone, false));
    lab.write_foreign(15, &rewrite(&lab, &[file_of(&lab, 14), file_of(&lab, 13)], false));
    assert_eq!(lab.load(0).snapshot.doubling, [14, 15]);
    let handle = lab.open().await;
    handle.append(append(112..114)).await.unwrap();
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, (100..114).collect::<Vec<_>>());
    assert_eq!(lab.load(0).snapshot.doubling, Vec::<i64>::new());
}
