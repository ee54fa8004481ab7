//! Compaction that copies row groups: when it does, when it must not, and what the log then says of the file.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_schema::{Field as ArrowField, Schema};
use parquet::file::reader::{FileReader, SerializedFileReader};
use stream_spec::types::{DataType, Field};

use super::care_steps::run;
use super::support::{Lab, append, at, quiet, rows, switch};
use crate::table::care::compaction::commit_compaction;
use crate::table::care::{CareJob, CareKind, CareResult};
use crate::table::{Append, TableCareSettings, TableHandle};

/// Rows whose row group is large enough to be copied, and more so with a score: twelve bytes each.
const MANY: i32 = 400_000;

/// Rows with a column `score`, in which the last row of all has the value given.
fn scored(ids: Range<i32>, last: f64) -> RecordBatch {
    let plain = rows(ids.clone());
    let scores: ArrayRef = Arc::new(Float64Array::from_iter_values(
        ids.clone().map(|id| if id == ids.end - 1 { last } else { f64::from(id) }),
    ));
    let mut fields = plain.schema().fields().to_vec();
    fields.push(Arc::new(ArrowField::new("score", scores.data_type().clone(), true)));
    let mut columns = plain.columns().to_vec();
    columns.push(scores);
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

async fn append_scored(handle: &TableHandle, ids: Range<i32>, last: f64) {
    let append = Append {
        positions: at(0, i64::from(ids.end)),
        batches: vec![scored(ids, last)],
    };
    handle.append(append).await.unwrap();
}

/// Compacts the two files of a table; returns how many row groups the new one has, and its statistics.
fn compact(lab: &Lab) -> (usize, serde_json::Value) {
    let settings = TableCareSettings {
        compact_at_files: 2,
        ..quiet()
    };
    let mut table = lab.load(settings.small_below());
    let job = CareJob::due(&table, &settings, |kind| kind == CareKind::Compact).unwrap();
    let CareResult::Compacted { inputs, outputs } = run(lab, job) else {
        panic!("compaction should write files")
    };
    let [output] = outputs.as_slice() else {
        panic!("one file: {outputs:?}")
    };
    let file = std::fs::File::open(lab.path().join(&output.path)).unwrap();
    let groups = SerializedFileReader::new(file).unwrap().metadata().num_row_groups();
    let stats = serde_json::from_str(output.stats.as_ref().unwrap()).unwrap();
    commit_compaction(&lab.files(), &mut table, &inputs, outputs).unwrap();
    assert_eq!((inputs.len(), table.snapshot.totals.files), (2, 1));
    (groups, stats)
}

#[tokio::test]
async fn large_row_groups_are_copied_and_small_ones_are_put_together() {
    for (rows_per_file, groups) in [(MANY, 2), (10, 1)] {
        let lab = Lab::with_table().await;
        let handle = lab.open().await;
        let (first, second, end) = (100, 100 + rows_per_file, 100 + 2 * rows_per_file);
        handle.append(append(first..second)).await.unwrap();
        handle.append(append(second..end)).await.unwrap();
        handle.close().await;
        let (found, stats) = compact(&lab);
        assert_eq!(found, groups, "{rows_per_file}");
        assert_eq!(stats["numRecords"], 2 * rows_per_file);
        assert_eq!(
            (&stats["minValues"]["kafka_offset"], &stats["maxValues"]["kafka_offset"]),
            (&first.into(), &(end - 1).into())
        );
        assert_eq!(stats["minValues"]["record_source"], "stream");
        assert_eq!(lab.foreign_ids().await, (first..end).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_copy_has_no_bounds_of_numbers_where_one_is_not_a_number() {
    for (last, has_bounds) in [(0.5, true), (f64::NAN, false)] {
        let lab = Lab::with_table().await;
        let handle = lab.open().await;
        handle.switch(switch(2, vec![Field::new("score", DataType::Double)])).await.unwrap();
        append_scored(&handle, 100..100 + MANY, last).await;
        append_scored(&handle, 100 + MANY..100 + 2 * MANY, 1.5).await;
        handle.close().await;
        let (groups, stats) = compact(&lab);
        assert_eq!(groups, 2, "{last}");
        assert_eq!(stats["maxValues"].get("score").is_some(), has_bounds, "{stats}");
        assert_eq!(stats["nullCount"]["score"], 0);
        assert_eq!(lab.foreign_ids().await.len(), 2 * usize::try_from(MANY).unwrap());
    }
}

#[tokio::test]
async fn files_from_before_a_change_of_the_schema_are_decoded() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    handle.append(append(100..100 + MANY)).await.unwrap();
    handle.switch(switch(2, vec![Field::new("score", DataType::Double)])).await.unwrap();
    append_scored(&handle, 100 + MANY..100 + 2 * MANY, 1.5).await;
    handle.close().await;
    let (groups, stats) = compact(&lab);
    assert_eq!(groups, 1);
    assert_eq!(stats["nullCount"]["score"], MANY);
    assert_eq!(lab.foreign_ids().await, (100..100 + 2 * MANY).collect::<Vec<_>>());
}
