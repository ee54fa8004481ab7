//! A table of the agent's own: rows by number, over lives, sources and what others do to it.

use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use stream_spec::name::TableName;
use stream_spec::types::{DataType, Field};

use super::support::{Lab, quiet};
use crate::table::TableError;
use crate::table::system::{SystemTable, SystemTableHandle, SystemValues};

fn notes() -> SystemTable {
    SystemTable {
        name: TableName::system("shop", "notes"),
        uid: "notes",
        columns: vec![
            Field::new("at", DataType::Timestamp),
            Field::new("number", DataType::BigInt),
            Field::new("note", DataType::String),
        ],
    }
}

async fn open(lab: &Lab, table: SystemTable, source: &str) -> Result<SystemTableHandle, TableError> {
    SystemTableHandle::open(&lab.warehouse, quiet(), table, source).await
}

fn rows(numbers: std::ops::RangeInclusive<i64>) -> Vec<SystemValues> {
    vec![
        SystemValues::Time(numbers.clone().map(|number| number * 1_000).collect()),
        SystemValues::Number(numbers.clone().collect()),
        SystemValues::Text(numbers.map(|number| (number % 2 == 0).then(|| format!("note {number}"))).collect()),
    ]
}

fn folder(lab: &Lab) -> PathBuf {
    lab.folder.path().join("system/shop/notes")
}

/// Numbers of all rows, by the files that delta-rs finds.
async fn numbers(lab: &Lab) -> Vec<i64> {
    let url = url::Url::from_directory_path(folder(lab)).unwrap();
    let table = deltalake::open_table(url).await.unwrap();
    let mut numbers = Vec::new();
    for path in table.get_file_uris().unwrap() {
        let file = std::fs::File::open(path.trim_start_matches("file://")).unwrap();
        for batch in parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(file, 1024).unwrap() {
            let batch = batch.unwrap();
            numbers.extend(batch.column_by_name("number").unwrap().as_primitive::<Int64Type>().iter().flatten());
        }
    }
    numbers.sort_unstable();
    numbers
}

#[tokio::test]
async fn rows_are_there_once_whoever_appends_them_again_and_sources_are_counted_apart() {
    let lab = Lab::new();
    let table = open(&lab, notes(), "a").await.unwrap();
    assert_eq!(table.last_number(), 0);
    table.append(rows(1..=3), 3).await.unwrap();
    table.append(rows(1..=3), 3).await.unwrap();
    assert_eq!(table.last_number(), 3);
    assert!(matches!(table.append(rows(2..=2), 2).await, Err(TableError::Internal { .. })));
    table.close().await;
    let table = open(&lab, notes(), "a").await.unwrap();
    assert_eq!(table.last_number(), 3);
    table.append(rows(4..=5), 5).await.unwrap();
    table.close().await;
    let table = open(&lab, notes(), "b").await.unwrap();
    assert_eq!(table.last_number(), 0);
    table.append(rows(1..=1), 1).await.unwrap();
    assert_eq!(table.last_number(), 1);
    table.close().await;
    assert_eq!(numbers(&lab).await, [1, 1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn a_table_that_is_gone_begins_anew_and_one_that_was_altered_is_left_alone() {
    let lab = Lab::new();
    let table = open(&lab, notes(), "a").await.unwrap();
    table.append(rows(1..=3), 3).await.unwrap();
    std::fs::remove_dir_all(folder(&lab)).unwrap();
    // Whatever it is called: whoever appends opens the table again after any error.
    assert!(table.append(rows(4..=4), 4).await.is_err());
    table.close().await;
    let table = open(&lab, notes(), "a").await.unwrap();
    assert_eq!(table.last_number(), 0);
    table.append(rows(4..=4), 4).await.unwrap();
    table.close().await;
    assert_eq!(numbers(&lab).await, [4]);

    let mut other = notes();
    other.columns.push(Field::new("more", DataType::String));
    let error = open(&lab, other, "a").await.unwrap_err();
    assert!(
        matches!(&error, TableError::Altered { .. }) && error.to_string().contains("more"),
        "{error}"
    );
    open(&lab, notes(), "a").await.unwrap().close().await;
    std::fs::remove_dir_all(folder(&lab).join("_delta_log")).unwrap();
    assert!(matches!(open(&lab, notes(), "a").await, Err(TableError::Exists { .. })));
    assert_eq!(
        rows(1..=1).iter().map(SystemValues::data_type).collect::<Vec<_>>(),
        [DataType::Timestamp, DataType::BigInt, DataType::String]
    );
}
