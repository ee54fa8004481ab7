//! Other writers' rewrites of files that were compacted meanwhile, as delta-rs commits them.

use serde_json::{Value, json};

use super::care_steps::{append_one_by_one, compaction_of_ten, run};
use super::support::{Lab, UID, append, at};
use crate::table::TableError;
use crate::table::care::CareResult;
use crate::table::care::compaction::{Compaction, commit_compaction};
use crate::table::log::actions::Add;
use crate::table::small_files::SmallFile;

/// A table whose first ten files were compacted, with two files more, and the lines by which another writer puts three of the
/// first and one of the others together.
async fn rewritten_twice(data_change: bool) -> (Lab, Vec<Value>) {
    let (lab, mut table, job) = compaction_of_ten().await;
    let CareResult::Compacted { inputs, outputs } = run(&lab, job) else {
        panic!("compaction should write files")
    };
    let columns = table.columns.clone();
    commit_compaction(&lab.files(), &mut table, &inputs, outputs).unwrap();
    let handle = lab.open().await;
    append_one_by_one(&handle, 110..112).await;
    handle.close().await;
    let file_of = |version| -> Add { lab.entry(version).into_iter().find_map(|action| action.add).unwrap() };
    let theirs: Vec<Add> = [1, 2, 3, 12].into_iter().map(file_of).collect();
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
        columns,
        target_file_bytes: u64::MAX / 2,
    };
    let CareResult::Compacted { outputs, .. } = run(&lab, crate::table::care::CareJob::Compact(compaction)) else {
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
    (lab, lines)
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
    let last = lab.entry(12).into_iter().find_map(|action| action.add).unwrap();
    undo.push(json!({"add": last}));
    lab.write_foreign(15, &undo);
    let handle = lab.open().await;
    handle.append(append(112..114)).await.unwrap();
    handle.close().await;
    assert_eq!(lab.foreign_ids().await, (100..114).collect::<Vec<_>>());
}
