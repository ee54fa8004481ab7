//! Spark with Delta and tables of ours: it reads every version, and what it does to a table is lived with.

use std::collections::BTreeSet;

use e2e::{spark, tables};
use serde_json::{Value, json};

use crate::care_lab::{
    FIRST_OFFSET, Lab, ROWS, add_columns, append, checkpoints_only, comparable, early, expected_row, files_ending, offset,
    recorded_positions, wait_for,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spark_reads_every_version_as_duckdb_does_and_as_the_positions_say() {
    let lab = Lab::new("care-versions", Vec::new()).await;
    let handle = lab.open(early()).await;
    for number in 0..9 {
        append(&handle, number % 2).await;
    }
    wait_for(&handle, "a compaction", |state| state.totals.files < 6).await;
    add_columns(&handle).await;
    for number in 0..4 {
        append(&handle, number % 2).await;
    }
    handle.close().await;
    let deleted_at = lab.state().await.version + 1;
    tables::delete_rows(&lab.folder, "kafka_partition = 0 AND kafka_offset < 115");
    let handle = lab.open(early()).await;
    for number in 0..7 {
        append(&handle, number % 2).await;
    }
    wait_for(&handle, "a second compaction", |state| state.totals.files < 8).await;
    handle.close().await;

    let operations = lab.operations().await;
    let count = |name: &str| operations.iter().filter(|operation| *operation == name).count();
    assert!(
        count("OPTIMIZE") >= 2 && count("DELETE") == 1 && count("SET TBLPROPERTIES") == 1,
        "{operations:?}"
    );
    assert!(files_ending(&lab.folder.join("_delta_log"), ".checkpoint.parquet") >= 2);
    for version in 0..=lab.state().await.version {
        let positions = recorded_positions(&lab, version);
        let deleted = |number: i64, offset: i64| version >= deleted_at && number == 0 && offset < 115;
        let expected: Vec<Value> = (0..2)
            .flat_map(|number| (FIRST_OFFSET..positions[usize::try_from(number).unwrap()]).map(move |offset| (number, offset)))
            .filter(|(number, offset)| !deleted(*number, *offset))
            .map(|(number, offset)| expected_row(number, offset))
            .collect();
        let expected = comparable(expected);
        let by_spark = comparable(spark::rows_of_version(&lab.folder, version).unwrap());
        assert_eq!(by_spark, expected, "Spark, version {version} of {operations:?}");
        let by_duckdb = comparable(tables::rows_of_version(&lab.folder, version).unwrap());
        assert_eq!(by_duckdb, expected, "DuckDB, version {version} of {operations:?}");
    }
}

/// The rows that a table should have, as a user changed them.
struct Expected {
    rows: BTreeSet<(i64, i64)>,
    changed: BTreeSet<(i64, i64)>,
}

impl Expected {
    /// The rows of an append to partition 0.
    async fn append(&mut self, handle: &stream_pipeline::table::TableHandle) {
        let first = offset(&handle.state().borrow(), 0);
        append(handle, 0).await;
        self.rows.extend((first..first + ROWS).map(|offset| (0, offset)));
    }

    #[track_caller]
    fn assert(&self, lab: &Lab, after: &str) {
        let row = |(number, offset): &(i64, i64)| {
            let mut row = expected_row(*number, *offset);
            if self.changed.contains(&(*number, *offset)) {
                row["key"] = json!("theirs");
            }
            row
        };
        let expected = comparable(self.rows.iter().map(row).collect());
        for reader in tables::READERS {
            let found = comparable(tables::rows(reader, &lab.folder, &[]).unwrap());
            assert_eq!(found, expected, "{reader} after {after}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_spark_does_to_a_table_is_lived_with() {
    let lab = Lab::new("care-spark", Vec::new()).await;
    let handle = lab.open(checkpoints_only()).await;
    let mut expected = Expected {
        rows: BTreeSet::new(),
        changed: BTreeSet::new(),
    };
    for _ in 0..5 {
        expected.append(&handle).await;
    }
    let statement = |text: &str| spark::statement(&lab.folder, text).unwrap_or_else(|error| panic!("{text}: {error}"));

    statement("DELETE FROM {table} WHERE kafka_offset BETWEEN 103 AND 106");
    expected.rows.retain(|(_, offset)| !(103..=106).contains(offset));
    expected.append(&handle).await;
    expected.assert(&lab, "DELETE");
    statement("UPDATE {table} SET key = 'theirs' WHERE kafka_offset BETWEEN 118 AND 122");
    expected.changed.extend((118..=122).map(|offset| (0, offset)));
    expected.append(&handle).await;
    expected.assert(&lab, "UPDATE");
    statement("OPTIMIZE {table}");
    expected.append(&handle).await;
    expected.assert(&lab, "OPTIMIZE");
    statement("OPTIMIZE {table} ZORDER BY (kafka_offset)");
    expected.append(&handle).await;
    expected.assert(&lab, "ZORDER");

    let before = lab.state().await.version;
    statement("DELETE FROM {table} WHERE kafka_offset < 140");
    statement(&format!("RESTORE TABLE {{table}} TO VERSION AS OF {before}"));
    expected.append(&handle).await;
    expected.assert(&lab, "RESTORE");

    statement("ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')");
    expected.append(&handle).await;
    statement("DELETE FROM {table} WHERE kafka_offset IN (150, 151, 161)");
    expected.rows.retain(|(_, offset)| ![150, 151, 161].contains(offset));
    let deletion = lab.entry(lab.state().await.version);
    assert!(
        deletion.iter().any(|action| action["add"]["deletionVector"].is_object()),
        "{deletion:?}"
    );
    expected.append(&handle).await;
    handle.close().await;

    // What our own care does beside files with deletion vectors.
    let handle = lab.open(early()).await;
    for _ in 0..6 {
        expected.append(&handle).await;
    }
    wait_for(&handle, "a compaction", |state| state.totals.files < 8).await;
    expected.assert(&lab, "a compaction beside deletion vectors");
    statement("VACUUM {table} RETAIN 0 HOURS");
    expected.append(&handle).await;
    expected.assert(&lab, "VACUUM");
    let rows = i64::try_from(expected.rows.len()).unwrap();
    assert_eq!(handle.state().borrow().totals.rows, rows, "hidden rows do not count");
    handle.close().await;
    assert_eq!(lab.state().await.totals.rows, rows);
    let version = lab.state().await.version;
    assert_eq!(spark::rows_of_version(&lab.folder, version).unwrap().len(), expected.rows.len());
}
