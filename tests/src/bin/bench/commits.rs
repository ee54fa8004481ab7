//! The process that has one table open: it commits some rows for each line on standard input and prints the microseconds.
//! Invariant: it holds nothing beside the table, so that its memory is the table's.

use std::io::{BufRead, stdin};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{Int64Array, RecordBatch};
use serde_json::Value;
use stream_pipeline::position::Positions;
use stream_pipeline::table::{Append, TableCareSettings, TableHandle, Warehouse};
use stream_spec::name::TableName;

/// As the program that makes aged tables names it.
const TABLE: &str = "main.bench.aged";
/// Few rows: what is compared is the part of a commit that a table's age could lengthen.
const ROWS: i64 = 1_000;

/// Opens the table and serves standard input to its end.
#[tokio::main]
pub(crate) async fn serve(warehouse: &str) {
    let name = TableName::parse(TABLE).unwrap();
    let warehouse = Warehouse::open(warehouse, None).unwrap();
    let uid = uid_of(Path::new(&warehouse.location(&name)));
    let started = Instant::now();
    let handle = warehouse.open_table(&name, &uid, TableCareSettings::default()).await.unwrap();
    println!("{}", started.elapsed().as_micros());
    for line in stdin().lock().lines() {
        assert_eq!(line.unwrap(), "commit");
        let rows = next_rows(&handle);
        let started = Instant::now();
        handle.append(rows).await.unwrap();
        println!("{}", started.elapsed().as_micros());
    }
    handle.close().await;
}

/// Rows after the first position that the table has.
fn next_rows(handle: &TableHandle) -> Append {
    let state = handle.state();
    let (id, mut position) = {
        let state = state.borrow();
        let (id, position) = state.positions.first_key_value().expect("a table with a position");
        (id.clone(), *position)
    };
    let offsets = Int64Array::from_iter_values(position.next_offset..position.next_offset + ROWS);
    position.next_offset += ROWS;
    Append {
        batches: vec![RecordBatch::try_from_iter([("kafka_offset", Arc::new(offsets) as _)]).unwrap()],
        positions: Positions::from([(id, position)]),
    }
}

/// Whose table it is, by its first log entry.
fn uid_of(folder: &Path) -> String {
    let path: PathBuf = folder.join("_delta_log/00000000000000000000.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find_map(|action| {
            let uid = action.pointer("/metaData/configuration/featurestore.stream_uid")?;
            uid.as_str().map(str::to_owned)
        })
        .expect("a stream's table")
}
