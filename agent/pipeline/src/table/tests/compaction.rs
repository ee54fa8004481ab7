//! Compaction: fewer files, the same rows, whatever happens meanwhile.

use stream_spec::types::{DataType, Field};
use tokio_util::sync::CancellationToken;

use super::care_steps::{append_one_by_one, compaction_of_ten, run, wait_until};
use super::support::{Lab, UID, at, switch};
use crate::table::care::CareResult;
use crate::table::care::compaction::commit_compaction;
use crate::table::{TableCareSettings, clock};

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

#[tokio::test]
async fn compaction_changes_no_data_and_keeps_the_order_of_rows() {
    let (lab, mut table, job) = compaction_of_ten().await;
    let CareResult::Compacted { inputs, outputs } = run(&lab, job) else {
        panic!("compaction should write files")
    };
    commit_compaction(&lab.files(), &mut table, &inputs, outputs).unwrap();
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
    commit_compaction(&lab.files(), &mut table, &inputs, outputs).unwrap();
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
