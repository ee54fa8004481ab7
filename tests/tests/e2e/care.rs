//! Tables that others change while a stream writes to them, and statistics that let others pass over files.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use e2e::limits::STREAM_CATCHES_UP;
use e2e::{spark, tables};
use serde_json::{Value, json};
use stream_pipeline::table::{TableCareSettings, TableHandle};
use stream_spec::types::{DataType, Field};

use crate::care_lab::{FIRST_OFFSET, Lab, append, checkpoints_only, comparable, early, expected_row, files_ending, offset, wait_for};

/// What a foreign writer says that lost the race against another commit: it changed nothing.
/// The last two are those of a writer that gave up after fifteen races for the next version, and of one that listed the log
/// while entries came faster than it reads names.
const LOST: [&str; 6] = [
    "conflict",
    "Conflict",
    "concurrent",
    "Concurrent",
    "Failed to commit transaction: 15",
    "but found gap",
];

/// delta-io/delta#228 and #326: an append beside an OPTIMIZE must neither fail nor have its rows lost or doubled. Here delta-rs
/// also rewrites what our own compaction rewrites at the same time, and sees no conflict in that: such a commit is undone.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_optimize_by_delta_rs_beside_appends_and_compactions_loses_and_doubles_nothing() {
    let lab = Lab::new("care-optimize", Vec::new()).await;
    let busy = Busy::begin(&lab, early()).await;
    let mut done = [0; 2];
    for round in 0.. {
        let z_order: &[&str] = if round % 2 == 0 { &[] } else { &["kafka_offset"] };
        done[round % 2] += usize::from(landed(tables::optimize(&lab.folder, z_order)));
        // One after the other: a second one that rewrites what the first one doubled, before that is undone, stops the table.
        busy.handle.probe().await.unwrap();
        let operations = lab.operations().await;
        let all = operations.iter().filter(|operation| *operation == "OPTIMIZE").count();
        if done.iter().all(|count| *count >= 3) && all > done[0] + done[1] {
            break;
        }
        busy.expect_more(&format!("{done:?} of delta-rs and {all} in all"));
    }
    busy.end(&lab, &BTreeSet::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn deletes_and_updates_by_delta_rs_beside_appends_lose_and_double_nothing() {
    let lab = Lab::new("care-delta-rs", Vec::new()).await;
    let busy = Busy::begin(&lab, checkpoints_only()).await;
    let (mut deleted, mut done) = (BTreeSet::new(), [0; 3]);
    for round in 0_i64.. {
        let below = offset(&busy.handle.state().borrow(), 0);
        let predicate = format!(
            "kafka_partition = 0 AND kafka_offset % 7 = {} AND kafka_offset < {below}",
            round % 7
        );
        // An update by which the key stays what it was: the file is written anew.
        let update = format!("kafka_partition = 1 AND kafka_offset < {}", FIRST_OFFSET + 15);
        let kind = usize::try_from(round % 3).unwrap();
        let answer = match kind {
            0 => tables::try_delete_rows(&lab.folder, &predicate),
            1 => tables::update_rows(&lab.folder, &update, &json!({"key": "key"})),
            _ => tables::optimize(&lab.folder, &[]),
        };
        if landed(answer) {
            done[kind] += 1;
            if kind == 0 {
                deleted.extend((FIRST_OFFSET..below).filter(|offset| offset % 7 == round % 7));
            }
        }
        if done.iter().all(|count| *count >= 2) {
            break;
        }
        busy.expect_more(&format!("{done:?} commits"));
    }
    busy.end(&lab, &deleted).await;
    assert!(!tables::vacuum(&lab.folder, Some(0)).unwrap().as_array().unwrap().is_empty());
    assert_eq!(
        rows_of(&lab, "duckdb").len(),
        usize::try_from(lab.state().await.totals.rows).unwrap()
    );
}

/// Whether another writer's commit came through; one that lost a race changed nothing.
fn landed(answer: Result<Value, String>) -> bool {
    if let Err(error) = &answer {
        assert!(LOST.iter().any(|word| error.contains(word)), "{error}");
    }
    answer.is_ok()
}

fn rows_of(lab: &Lab, reader: &str) -> Vec<(i64, i64, Value)> {
    comparable(tables::rows(reader, &lab.folder, &[]).unwrap())
}

/// A table to which rows are appended without a pause.
struct Busy {
    handle: Arc<TableHandle>,
    enough: Arc<AtomicBool>,
    appends: tokio::task::JoinHandle<()>,
    deadline: Instant,
}

impl Busy {
    async fn begin(lab: &Lab, care: TableCareSettings) -> Self {
        let (handle, enough) = (Arc::new(lab.open(care).await), Arc::new(AtomicBool::new(false)));
        let appends = tokio::spawn({
            let (handle, enough) = (Arc::clone(&handle), Arc::clone(&enough));
            async move {
                let mut number = 0;
                while !enough.load(Ordering::Relaxed) {
                    append(&handle, number % 2).await;
                    number += 1;
                }
            }
        });
        Self {
            handle,
            enough,
            appends,
            deadline: Instant::now() + STREAM_CATCHES_UP,
        }
    }

    fn expect_more(&self, so_far: &str) {
        assert!(Instant::now() < self.deadline, "only {so_far} until now");
        assert!(!self.appends.is_finished(), "the appends ended before their time");
    }

    /// Ends the appends and holds the table against them, less what was deleted from partition 0.
    async fn end(self, lab: &Lab, deleted: &BTreeSet<i64>) {
        self.enough.store(true, Ordering::Relaxed);
        self.appends.await.unwrap();
        self.handle.probe().await.unwrap();
        // The first look takes in and undoes, the second counts.
        self.handle.probe().await.unwrap();
        let state = self.handle.state().borrow().clone();
        let expected: Vec<Value> = (0..2)
            .flat_map(|number| (FIRST_OFFSET..offset(&state, number)).map(move |offset| (i64::from(number), offset)))
            .filter(|(number, offset)| *number == 1 || !deleted.contains(offset))
            .map(|(number, offset)| expected_row(number, offset))
            .collect();
        let expected = comparable(expected);
        assert_eq!(state.totals.rows, i64::try_from(expected.len()).unwrap());
        for reader in tables::READERS {
            assert!(
                rows_of(lab, reader) == expected,
                "{reader} sees other rows than were appended, in {}",
                lab.folder.display()
            );
        }
        Arc::into_inner(self.handle).unwrap().close().await;
    }
}

/// delta-io/delta-rs#2571: bounds of timestamps at microseconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_pass_over_files_by_their_statistics_and_find_every_row() {
    let lab = Lab::new("care-statistics", Vec::new()).await;
    sixty_rows(&lab).await;
    // The offsets 130 to 139 are in the fourth file.
    let cases = [
        ("kafka_offset = 135", 1),
        ("value.id = 139", 1),
        ("kafka_offset < 120", 2),
        ("kafka_offset > 10000", 0),
        ("key = 'key 130'", 1),
    ];
    for (predicate, files) in cases {
        let expected = json!([files, 6]);
        assert_eq!(tables::files_read(&lab.folder, predicate).unwrap(), expected, "DuckDB, {predicate}");
        assert_eq!(spark::files_read(&lab.folder, predicate).unwrap(), expected, "Spark, {predicate}");
    }
    let statistics = tables::statistics(&lab.folder);
    assert_eq!(statistics.len(), 6);
    for file in statistics {
        let bound = |name: &str| file[name].as_i64().unwrap_or_else(|| panic!("{name} in {file}"));
        let (first, last) = (bound("min.kafka_offset"), bound("max.kafka_offset"));
        assert_eq!((last - first, bound("num_records")), (9, 10), "{file}");
        assert!(bound("min.stream_record_timestamp") <= micros_of(first), "{file}");
        assert!(bound("max.stream_record_timestamp") >= micros_of(last), "{file}");
    }
    find_each_by_its_time(&lab);
}

/// delta-io/delta-rs#2493 and #3201: more than 32 columns, before those by which people look for rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn columns_behind_many_others_have_statistics_too_and_every_reader_finds_their_rows() {
    let many = (0..40)
        .map(|number| Field::new(format!("column_{number:02}"), DataType::BigInt))
        .collect();
    let lab = Lab::new("care-wide", vec![Field::new("wide", DataType::Struct(many))]).await;
    sixty_rows(&lab).await;
    assert_eq!(tables::files_read(&lab.folder, "kafka_offset = 135").unwrap(), json!([1, 6]));
    find_each_by_its_time(&lab);
}

/// Six files of ten rows, and a checkpoint.
async fn sixty_rows(lab: &Lab) {
    let handle = lab.open(checkpoints_only()).await;
    for _ in 0..6 {
        append(&handle, 0).await;
    }
    let log = lab.folder.join("_delta_log");
    wait_for(&handle, "a checkpoint", |_| files_ending(&log, ".checkpoint.parquet") > 0).await;
    handle.close().await;
}

fn micros_of(offset: i64) -> i64 {
    expected_row(0, offset)["stream_record_timestamp"].as_i64().unwrap()
}

#[track_caller]
fn find_each_by_its_time(lab: &Lab) {
    for offset in FIRST_OFFSET..FIRST_OFFSET + 60 {
        for reader in tables::READERS {
            let found = tables::offsets_at(reader, &lab.folder, micros_of(offset)).unwrap();
            assert_eq!(found, json!([offset]), "{reader}");
        }
    }
    let query = "SELECT kafka_offset FROM {table} WHERE stream_record_timestamp = TIMESTAMP '2024-02-29 12:34:56.000136Z'";
    assert_eq!(spark::statement(&lab.folder, query).unwrap(), json!([{"kafka_offset": 135}]));
}
