//! A table without a source, open as a stream has it open, with care that becomes due early: for looking at it with readers and
//! writers that are not ours. Invariant: a row's every value follows from its partition and offset, so a reader's answer can be
//! told right from wrong alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray};
use e2e::limits::STREAM_SETTLES;
use e2e::paths::fresh_folder;
use serde_json::{Value, json};
use stream_pipeline::position::{PartitionId, Position, Positions};
use stream_pipeline::table::{
    Append, NewTable, SchemaVersion, SourceIdentity, Switch, TableCareSettings, TableHandle, TableState, Warehouse,
};
use stream_spec::name::TableName;
use stream_spec::types::{DataType, Field};

const UID: &str = "0190a1b2-0000-7000-8000-00000000ca5e";
const TOPIC: &str = "orders";
/// Where both partitions start.
pub(crate) const FIRST_OFFSET: i64 = 100;
/// Rows of one commit.
pub(crate) const ROWS: i64 = 10;
/// 2024-02-29T12:34:56.000001Z: readers of statistics that stop at milliseconds lose the last digit.
const FIRST_MICROS: i64 = 1_709_210_096_000_001;

/// A table and its warehouse.
pub(crate) struct Lab {
    warehouse: Warehouse,
    name: TableName,
    pub(crate) folder: PathBuf,
}

impl Lab {
    /// A new table with these columns before the ones that all have.
    pub(crate) async fn new(name: &str, before: Vec<Field>) -> Self {
        let root = fresh_folder(name);
        let warehouse = Warehouse::open(root.to_str().unwrap(), None).unwrap();
        let name = TableName::parse("main.shop.orders_raw").unwrap();
        let table = NewTable {
            name: name.clone(),
            stream_uid: UID.to_owned(),
            generation: 1,
            columns: before.into_iter().chain(columns()).collect(),
            positions: [0, 1].into_iter().flat_map(|number| at(number, FIRST_OFFSET)).collect(),
            source: SourceIdentity::default(),
            schemas: SchemaVersion::default(),
            registry: None,
            history: Duration::from_secs(7 * 24 * 60 * 60),
        };
        warehouse.create(table).await.unwrap();
        let folder = PathBuf::from(warehouse.location(&name));
        Self { warehouse, name, folder }
    }

    pub(crate) async fn open(&self, care: TableCareSettings) -> TableHandle {
        self.warehouse.open_table(&self.name, UID, care).await.unwrap()
    }

    pub(crate) async fn state(&self) -> TableState {
        self.warehouse.read_state(&self.name, UID).await.unwrap()
    }

    /// Actions of an entry, as text.
    pub(crate) fn entry(&self, version: i64) -> Vec<Value> {
        let path = self.folder.join(format!("_delta_log/{version:020}.json"));
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What each commit was called, from version 0 on.
    pub(crate) async fn operations(&self) -> Vec<String> {
        let operation = |version| {
            let entry = self.entry(version);
            let info = entry.iter().find_map(|action| action.get("commitInfo")).cloned();
            info.and_then(|info| info["operation"].as_str().map(str::to_owned))
                .unwrap_or_default()
        };
        (0..=self.state().await.version).map(operation).collect()
    }
}

/// Care that becomes due after a few commits.
pub(crate) fn early() -> TableCareSettings {
    TableCareSettings {
        checkpoint_every_commits: 5,
        compact_at_files: 6,
        ..TableCareSettings::default()
    }
}

/// Care that puts nothing together.
pub(crate) fn checkpoints_only() -> TableCareSettings {
    TableCareSettings {
        compact_at_files: usize::MAX,
        ..early()
    }
}

/// Appends the next rows of a partition.
pub(crate) async fn append(handle: &TableHandle, number: i32) {
    let first = offset(&handle.state().borrow(), number);
    let batch = batch(number, first..first + ROWS);
    let positions = at(number, first + ROWS);
    let batches = vec![batch];
    handle.append(Append { batches, positions }).await.unwrap();
}

/// Waits until the table's state is as wanted.
pub(crate) async fn wait_for(handle: &TableHandle, what: &str, mut wanted: impl FnMut(&TableState) -> bool) {
    let deadline = tokio::time::Instant::now() + STREAM_SETTLES;
    loop {
        // A probe keeps care going where nothing is appended.
        handle.probe().await.unwrap();
        let state = handle.state().borrow().clone();
        if wanted(&state) {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{what} did not come: {state:?}");
        tokio::task::yield_now().await;
    }
}

/// Puts a nested and a top-level column more into force.
pub(crate) async fn add_columns(handle: &TableHandle) {
    let value = vec![
        Field::new("id", DataType::BigInt),
        Field::new("note", DataType::String),
        Field::new("extra", DataType::Double),
    ];
    let switch = Switch {
        generation: 2,
        columns: vec![Field::new("value", DataType::Struct(value)), Field::new("later", DataType::Date)],
        positions: Positions::new(),
        source: SourceIdentity::default(),
        losses: Vec::new(),
        schemas: SchemaVersion::default(),
        registry: None,
    };
    handle.switch(switch).await.unwrap();
}

pub(crate) fn offset(state: &TableState, number: i32) -> i64 {
    state.positions[&partition(number)].next_offset
}

/// The columns that a row has from the beginning on, as every reader should see them.
pub(crate) fn expected_row(number: i64, offset: i64) -> Value {
    json!({
        "key": format!("key {offset}"),
        "value": {"id": offset, "note": format!("note {number}")},
        "stream_record_timestamp": FIRST_MICROS + offset,
        "kafka_partition": number,
        "kafka_offset": offset,
    })
}

/// Rows in one order and form: columns that were added later are left out where they are null, as they are in these tests.
pub(crate) fn comparable(rows: Vec<Value>) -> Vec<(i64, i64, Value)> {
    let mut rows: Vec<(i64, i64, Value)> = rows
        .into_iter()
        .map(|mut row| {
            strip_nulls(&mut row);
            (row["kafka_partition"].as_i64().unwrap(), row["kafka_offset"].as_i64().unwrap(), row)
        })
        .collect();
    rows.sort_by_key(|(partition, offset, _)| (*partition, *offset));
    rows
}

fn strip_nulls(value: &mut Value) {
    if let Value::Object(members) = value {
        members.retain(|_, member| !member.is_null());
        members.values_mut().for_each(strip_nulls);
    }
}

/// The next offsets in a log up to a version, by partition, read from its texts.
pub(crate) fn recorded_positions(lab: &Lab, version: i64) -> [i64; 2] {
    let mut positions = [0; 2];
    for action in (0..=version).flat_map(|version| lab.entry(version)) {
        for (number, position) in positions.iter_mut().enumerate() {
            let app_id = format!("fs/{UID}/{TOPIC}/{number}/0");
            if action["txn"]["appId"] == json!(app_id) {
                *position = action["txn"]["version"].as_i64().unwrap();
            }
        }
    }
    positions
}

/// Names of a folder's files that end so.
pub(crate) fn files_ending(folder: &Path, ending: &str) -> usize {
    let names = std::fs::read_dir(folder).unwrap().flatten();
    names.filter(|entry| entry.file_name().to_string_lossy().ends_with(ending)).count()
}

fn columns() -> Vec<Field> {
    let value = vec![Field::new("id", DataType::BigInt), Field::new("note", DataType::String)];
    vec![
        Field::new("key", DataType::String),
        Field::new("value", DataType::Struct(value)),
        Field::new("stream_record_timestamp", DataType::Timestamp),
        Field::new("kafka_partition", DataType::Int),
        Field::new("kafka_offset", DataType::BigInt),
    ]
}

fn batch(number: i32, offsets: std::ops::Range<i64>) -> RecordBatch {
    let texts = |text: &dyn Fn(i64) -> String| -> ArrayRef { Arc::new(StringArray::from_iter_values(offsets.clone().map(text))) };
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(offsets.clone()));
    let value = StructArray::try_from(vec![("id", Arc::clone(&ids)), ("note", texts(&|_| format!("note {number}")))]).unwrap();
    let times = TimestampMicrosecondArray::from_iter_values(offsets.clone().map(|offset| FIRST_MICROS + offset));
    let columns: [(&str, ArrayRef); 5] = [
        ("key", texts(&|offset| format!("key {offset}"))),
        ("value", Arc::new(value)),
        ("stream_record_timestamp", Arc::new(times.with_timezone("UTC"))),
        (
            "kafka_partition",
            Arc::new(Int32Array::from_iter_values(offsets.clone().map(|_| number))),
        ),
        ("kafka_offset", ids),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn partition(number: i32) -> PartitionId {
    PartitionId {
        topic: TOPIC.to_owned(),
        partition: number,
    }
}

fn at(number: i32, next_offset: i64) -> Positions {
    Positions::from([(partition(number), Position::new(next_offset, 0))])
}
