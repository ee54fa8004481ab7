//! Compaction: fewer files, the same rows, whatever happens meanwhile.

use std::sync::Arc;

use parquet::data_type::{Int32Type, Int96, Int96Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use stream_spec::types::{DataType, Field};

use super::care_steps::{append_one_by_one, compaction_of_ten, run, settings_of_ten, wait_until};
use super::faulty_store::FaultyStore;
use super::support::{Lab, UID, append, at, switch};
use crate::table::care::compaction::commit_compaction;
use crate::table::care::{CareJob, CareKind, CareResult};
use crate::table::commit::probe;
use crate::table::{TableCareSettings, Warehouse, clock};

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
async fn a_removal_that_could_not_be_read_at_first_does_not_bring_rows_back() {
    let (mut lab, mut table, job) = compaction_of_ten().await;
    let store = FaultyStore::new(lab.local_store());
    lab.warehouse = Warehouse::with_store(store.clone(), None);
    let again = CareJob::due(&table, &settings_of_ten(), |kind| kind == CareKind::Compact).unwrap();
    let first = lab.entry(1).into_iter().find_map(|action| action.add).unwrap();
    for (job, fails) in [(job, true), (again, false)] {
        let CareResult::Compacted { inputs, outputs } = run(&lab, job) else {
            panic!("compaction should write files")
        };
        if fails {
            lab.write_foreign(
                11,
                &[serde_json::json!({"remove": {"path": first.path, "deletionTimestamp": 5, "dataChange": true}})],
            );
            // The entry is read; the log as a whole, which says which files are left, is not.
            store.fail_lists(1);
        }
        let answer = commit_compaction(&lab.files(), &mut table, &inputs, outputs);
        assert_eq!(answer.is_err(), fails, "{answer:?}");
    }
    assert!(!lab.entry_path(12).exists());
    assert_eq!(table.snapshot.totals.rows, 9);
    assert_eq!(lab.foreign_ids().await, (101..110).collect::<Vec<_>>());
}

/// Rewrites the file of entry 1 as Spark's UPDATE would by default: its timestamps are INT96.
fn rewrite_with_int96(lab: &Lab) {
    let message = "message spark { optional group value { optional int32 id; } optional int96 stream_record_timestamp; }";
    let schema = Arc::new(parquet::schema::parser::parse_message_type(message).unwrap());
    let path = lab.path().join("part-of-spark.parquet");
    let file = std::fs::File::create(&path).unwrap();
    // Spark notes its schema in the footer; here it only makes the file as long as the others.
    let notes = KeyValue::new("org.apache.spark.sql.parquet.row.metadata".to_owned(), "x".repeat(2000));
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![notes])).build();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut ids = group.next_column().unwrap().unwrap();
    ids.typed::<Int32Type>().write_batch(&[100], Some(&[2]), None).unwrap();
    ids.close().unwrap();
    // 1 µs after midnight of the day before the year 2300, which nanoseconds in 64 bits do not reach.
    let mut moment = Int96::new();
    moment.set_data(1000, 0, 2_440_588 + 120_529);
    let mut times = group.next_column().unwrap().unwrap();
    times.typed::<Int96Type>().write_batch(&[moment], Some(&[1]), None).unwrap();
    times.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let first = lab.entry(1).into_iter().find_map(|action| action.add).unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    lab.write_foreign(
        11,
        &[
            serde_json::json!({"remove": {"path": first.path, "deletionTimestamp": 5, "dataChange": true}}),
            serde_json::json!({"add": {"path": "part-of-spark.parquet", "size": size, "partitionValues": {}, "modificationTime": 5,
                "dataChange": true, "stats": "{\"numRecords\":1}"}}),
        ],
    );
}

#[tokio::test]
async fn a_file_with_timestamps_as_spark_writes_them_is_compacted_exactly() {
    let (lab, _, _) = compaction_of_ten().await;
    rewrite_with_int96(&lab);
    let mut table = lab.load(settings_of_ten().small_below());
    let job = CareJob::due(&table, &settings_of_ten(), |kind| kind == CareKind::Compact).unwrap();
    let CareResult::Compacted { inputs, outputs } = run(&lab, job) else {
        panic!("compaction should write files")
    };
    commit_compaction(&lab.files(), &mut table, &inputs, outputs).unwrap();
    let add = lab.entry(12).into_iter().find_map(|action| action.add).unwrap();
    assert!(
        add.stats
            .unwrap()
            .contains("\"stream_record_timestamp\":\"2299-12-31T00:00:00.000Z\"")
    );
    assert_eq!(lab.foreign_ids().await, (100..110).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_left_out_and_the_others_are_compacted() {
    let (lab, mut table, job) = compaction_of_ten().await;
    let bad = lab.entry(3).into_iter().find_map(|action| action.add).unwrap();
    std::fs::write(lab.path().join(&bad.path), "damaged").unwrap();
    let CareResult::Unreadable(found) = run(&lab, job) else {
        panic!("the file should be unreadable")
    };
    let [(input, error)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(input.path, bad.path);
    assert!(error.to_string().contains(&bad.path), "{error}");
    table.snapshot.small_files.set_aside(&input.path);
    // Reading the log anew does not bring it back either.
    let other = lab.entry(1).into_iter().find_map(|action| action.add).unwrap();
    lab.write_foreign(
        11,
        &[serde_json::json!({"remove": {"path": other.path, "deletionTimestamp": 5, "dataChange": true}})],
    );
    probe(&lab.files(), &mut table).unwrap();
    let eight = TableCareSettings {
        compact_at_files: 8,
        ..settings_of_ten()
    };
    let job = CareJob::due(&table, &eight, |kind| kind == CareKind::Compact).unwrap();
    let CareResult::Compacted { inputs, outputs } = run(&lab, job) else {
        panic!("compaction should write files")
    };
    assert_eq!(inputs.len(), 8);
    commit_compaction(&lab.files(), &mut table, &inputs, outputs).unwrap();
    let state = lab.warehouse.read_state(&lab.name, UID).await.unwrap();
    assert_eq!((state.totals.files, state.totals.rows), (2, 9));
}

/// Each of them on its own would cost a job and its rest.
#[tokio::test]
async fn all_files_that_cannot_be_compacted_are_found_before_anything_is_written() {
    let (lab, _, job) = compaction_of_ten().await;
    let path_of = |version| lab.entry(version).into_iter().find_map(|action| action.add).unwrap().path;
    std::fs::remove_file(lab.path().join(path_of(2))).unwrap();
    std::fs::write(lab.path().join(path_of(5)), "damaged").unwrap();
    // One row in the log, and two in the file.
    let handle = lab.open().await;
    handle.append(append(110..112)).await.unwrap();
    handle.close().await;
    std::fs::copy(lab.path().join(path_of(11)), lab.path().join(path_of(9))).unwrap();
    let before = lab.data_files();
    let CareResult::Unreadable(found) = run(&lab, job) else {
        panic!("files should be unreadable")
    };
    let found: Vec<&str> = found.iter().map(|(input, _)| input.path.as_str()).collect();
    assert_eq!(found, [path_of(2), path_of(5), path_of(9)]);
    assert_eq!(lab.data_files(), before);
}

/// As Spark's ANALYZE does it: the same file again with other statistics, without a removal.
#[tokio::test]
async fn a_file_that_another_writer_names_again_is_counted_and_compacted_once() {
    let (lab, mut table, _) = compaction_of_ten().await;
    let first = lab.entry(1).into_iter().find_map(|action| action.add).unwrap();
    lab.write_foreign(
        11,
        &[
            serde_json::json!({"add": {"path": first.path, "size": first.size, "partitionValues": {}, "modificationTime": 5,
            "dataChange": false, "stats": "{\"numRecords\":1}"}}),
        ],
    );
    probe(&lab.files(), &mut table).unwrap();
    assert_eq!((table.snapshot.totals.files, table.snapshot.totals.rows), (10, 10));
    let job = CareJob::due(&table, &settings_of_ten(), |kind| kind == CareKind::Compact).unwrap();
    let CareResult::Compacted { inputs, outputs } = run(&lab, job) else {
        panic!("compaction should write files")
    };
    commit_compaction(&lab.files(), &mut table, &inputs, outputs).unwrap();
    assert_eq!((table.snapshot.totals, inputs.len()), (lab.load(0).snapshot.totals, 10));
    assert_eq!(lab.foreign_ids().await, (100..110).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_compaction_that_is_asked_to_stop_leaves_nothing() {
    let (lab, _table, job) = compaction_of_ten().await;
    let leave = lab.leave();
    leave.stopping.cancel();
    assert!(matches!(job.run(&lab.files(), clock::now_ms(), &leave), CareResult::Stopped));
    assert_eq!(lab.names("", |name| name != "_delta_log").len(), 10);
}
