//! Comparing a table with what the producer was told: each acknowledged record once, nothing else, by two foreign readers.

use std::collections::BTreeMap;
use std::path::Path;

use e2e::limits::{STREAM_CATCHES_UP, STREAM_SETTLES};
use e2e::producer::Acknowledged;
use e2e::tables::{READERS, rows};
use e2e::wait::wait_until;
use serde_json::{Value, json};

/// Where a record came from: topic, partition, offset.
pub(crate) type Origin = (String, i64, i64);

const ORIGIN: [&str; 3] = ["kafka_topic", "kafka_partition", "kafka_offset"];

pub(crate) fn origin_of_row(row: &Value) -> Origin {
    let text = |name: &str| row[name].as_str().unwrap_or_else(|| panic!("no {name} in {row}")).to_owned();
    let number = |name: &str| row[name].as_i64().unwrap_or_else(|| panic!("no {name} in {row}"));
    (text(ORIGIN[0]), number(ORIGIN[1]), number(ORIGIN[2]))
}

fn origin_of(record: &Acknowledged) -> Origin {
    (record.topic.clone(), i64::from(record.partition), record.offset)
}

/// Waits until a table holds each of these records, then fails unless it holds each exactly once and no other, in the eyes
/// of every reader.
#[track_caller]
pub(crate) fn assert_each_exactly_once(table: &Path, acknowledged: &[Acknowledged]) {
    let mut wanted: Vec<Origin> = acknowledged.iter().map(origin_of).collect();
    wanted.sort();
    await_count(table, wanted.len());
    for reader in READERS {
        let mut found: Vec<Origin> = rows(reader, table, &ORIGIN).unwrap().iter().map(origin_of_row).collect();
        found.sort();
        if found != wanted {
            let report = difference(&wanted, &found);
            panic!("{reader} sees {} rows for {} records: {report}", found.len(), wanted.len());
        }
    }
}

/// The same, and every column of each row as the record says it; `value` gives the expected `value` column.
#[track_caller]
pub(crate) fn assert_rows(table: &Path, acknowledged: &[Acknowledged], value: impl Fn(&Acknowledged) -> Value) {
    assert_each_exactly_once(table, acknowledged);
    for reader in READERS {
        let found = rows_by_origin(reader, table);
        for record in acknowledged {
            let row = &found[&origin_of(record)];
            let text = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            assert_eq!(row["key"], json!(text(&record.key)), "{reader}: key in {row}");
            assert_eq!(row["value"], value(record), "{reader}: value in {row}");
            assert_eq!(row["record_source"], "stream", "{reader}: {row}");
            let micros = record.timestamp_ms.map(|millis| millis * 1000);
            assert_eq!(row["stream_record_timestamp"], json!(micros), "{reader}: timestamp in {row}");
        }
    }
}

/// All rows by where they came from.
pub(crate) fn rows_by_origin(reader: &str, table: &Path) -> BTreeMap<Origin, Value> {
    rows(reader, table, &[])
        .unwrap()
        .into_iter()
        .map(|row| (origin_of_row(&row), row))
        .collect()
}

/// The row of one record, by DuckDB.
pub(crate) fn row_of(table: &Path, record: &Acknowledged) -> Value {
    rows_by_origin("duckdb", table)
        .remove(&origin_of(record))
        .unwrap_or_else(|| panic!("no row for {record:?}"))
}

/// The expected `value` column of an order, by the standard schema.
pub(crate) fn order_value(record: &Acknowledged) -> Value {
    let order: Value = serde_json::from_slice(record.value.as_ref().unwrap()).unwrap();
    json!({"order_id": order["order_id"], "amount": order["amount"]})
}

/// Waits until a table has this many rows.
#[track_caller]
pub(crate) fn await_count(table: &Path, wanted: usize) {
    let deadline = if wanted > 10_000 { STREAM_CATCHES_UP } else { STREAM_SETTLES };
    wait_until(&format!("{} has {wanted} rows", table.display()), deadline, || {
        let found = rows("duckdb", table, &["kafka_offset"])?.len();
        if found >= wanted { Ok(()) } else { Err(format!("{found} rows")) }
    });
}

fn difference(wanted: &[Origin], found: &[Origin]) -> String {
    let count = |list: &[Origin]| {
        let mut counts: BTreeMap<Origin, usize> = BTreeMap::new();
        list.iter().for_each(|origin| *counts.entry(origin.clone()).or_default() += 1);
        counts
    };
    let (wanted, found) = (count(wanted), count(found));
    let missing: Vec<_> = wanted.keys().filter(|origin| !found.contains_key(*origin)).take(10).collect();
    let repeated: Vec<_> = found.iter().filter(|(_, times)| **times > 1).take(10).collect();
    let foreign: Vec<_> = found.keys().filter(|origin| !wanted.contains_key(*origin)).take(10).collect();
    format!("missing {missing:?}, repeated {repeated:?}, never acknowledged {foreign:?}")
}
