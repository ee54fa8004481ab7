//! A warehouse in a temporary folder, rows, and what delta-rs reads of a table.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType as Arrow, Field as ArrowField, Fields};
use stream_spec::name::TableName;
use stream_spec::types::{DataType, Field};

use crate::position::{PartitionId, Position, Positions};
use crate::table::log::actions::{Action, parse_entry};
use crate::table::store::local::LocalStore;
use crate::table::{Append, NewTable, SchemaVersion, SourceIdentity, Switch, TableCareSettings, TableHandle, Warehouse};

pub(super) const UID: &str = "0190a1b2-0000-7000-8000-000000000001";
pub(super) const TOPIC: &str = "orders";

/// A warehouse that goes with the test.
pub(super) struct Lab {
    pub folder: tempfile::TempDir,
    pub warehouse: Warehouse,
    pub name: TableName,
}

impl Lab {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let warehouse = Warehouse::open(folder.path().to_str().unwrap(), None).unwrap();
        Self {
            folder,
            warehouse,
            name: TableName::parse("main.shop.orders_raw").unwrap(),
        }
    }

    /// The lab with a table of version 0, one partition at offset 100.
    pub(super) async fn with_table() -> Self {
        let lab = Self::new();
        lab.warehouse.create(lab.new_table()).await.unwrap();
        lab
    }

    pub(super) fn local_store(&self) -> LocalStore {
        LocalStore::new(self.folder.path().to_path_buf())
    }

    pub(super) fn new_table(&self) -> NewTable {
        NewTable {
            name: self.name.clone(),
            stream_uid: UID.into(),
            generation: 1,
            columns: columns(),
            positions: at(0, 100),
            source: source(),
            schemas: SchemaVersion { number: 1, generation: 1 },
            registry: None,
            history: Duration::from_secs(7 * 24 * 60 * 60),
        }
    }

    pub(super) async fn open(&self) -> TableHandle {
        self.open_with(quiet()).await
    }

    pub(super) async fn open_with(&self, care: TableCareSettings) -> TableHandle {
        self.warehouse.open_table(&self.name, UID, care).await.unwrap()
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("main/shop/orders_raw")
    }

    pub(super) fn entry_path(&self, version: i64) -> PathBuf {
        self.path().join(format!("_delta_log/{version:020}.json"))
    }

    pub(super) fn entry(&self, version: i64) -> Vec<Action> {
        parse_entry(&std::fs::read(self.entry_path(version)).unwrap()).unwrap()
    }

    /// Writes an entry as another writer would.
    pub(super) fn write_foreign(&self, version: i64, lines: &[serde_json::Value]) {
        let info = serde_json::json!({"commitInfo": {"timestamp": 1, "operation": "SOMETHING", "engineInfo": "another"}});
        let text: String = std::iter::once(&info).chain(lines).map(|line| format!("{line}\n")).collect();
        let path = self.entry_path(version);
        assert!(!path.exists(), "version {version} is there already");
        std::fs::write(path, text).unwrap();
    }

    /// Names of files under the table that pass a test, sorted.
    pub(super) fn names(&self, folder: &str, keep: impl Fn(&str) -> bool) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join(folder)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| keep(name))
            .collect();
        names.sort();
        names
    }

    pub(super) fn data_files(&self) -> Vec<String> {
        self.names("", |name| name.ends_with(".parquet"))
    }

    /// Opens the table with delta-rs.
    pub(super) async fn foreign_reader(&self) -> deltalake::DeltaTable {
        let url = url::Url::from_directory_path(self.path()).unwrap();
        deltalake::open_table(url).await.unwrap()
    }

    /// The ids of all rows as delta-rs finds their files, sorted; the reading also checks each file's row count in the log.
    pub(super) async fn foreign_ids(&self) -> Vec<i32> {
        let table = self.foreign_reader().await;
        ids_of_files(table.get_file_uris().unwrap().map(PathBuf::from).collect())
    }
}

/// Sorted values of `value.id` in Parquet files.
pub(super) fn ids_of_files(paths: Vec<PathBuf>) -> Vec<i32> {
    let mut ids = Vec::new();
    for path in paths {
        let path = path.to_str().unwrap().trim_start_matches("file://").to_owned();
        let file = std::fs::File::open(&path).unwrap();
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(file, 1024).unwrap();
        for batch in reader {
            let batch = batch.unwrap();
            let value = batch.column_by_name("value").unwrap().as_struct().clone();
            let column = value.column_by_name("id").unwrap();
            match column.data_type() {
                Arrow::Int32 => ids.extend(column.as_primitive::<Int32Type>().iter().flatten()),
                _ => ids.extend(
                    column
                        .as_primitive::<Int64Type>()
                        .iter()
                        .flatten()
                        .map(|id| i32::try_from(id).unwrap()),
                ),
            }
        }
    }
    ids.sort_unstable();
    ids
}

/// Care that never becomes due.
pub(super) fn quiet() -> TableCareSettings {
    TableCareSettings {
        checkpoint_every_commits: 1_000_000,
        compact_at_files: 1_000_000,
        ..TableCareSettings::default()
    }
}

pub(super) fn columns() -> Vec<Field> {
    vec![
        Field::new("key", DataType::String),
        Field::new(
            "value",
            DataType::Struct(vec![Field::new("id", DataType::Int), Field::new("note", DataType::String)]),
        ),
        Field::new("stream_record_timestamp", DataType::Timestamp),
        Field::new("record_source", DataType::String),
        Field::new("kafka_offset", DataType::BigInt),
    ]
}

pub(super) fn source() -> SourceIdentity {
    SourceIdentity {
        cluster_id: Some("c-1".into()),
        topic_ids: BTreeMap::from([(TOPIC.into(), "t-1".into())]),
        ..SourceIdentity::default()
    }
}

pub(super) fn partition(number: i32) -> PartitionId {
    PartitionId {
        topic: TOPIC.into(),
        partition: number,
    }
}

pub(super) fn at(number: i32, next_offset: i64) -> Positions {
    Positions::from([(partition(number), Position::new(next_offset, 0))])
}

/// One row per id, with only some of the table's columns, and those in another order.
pub(super) fn rows(ids: std::ops::Range<i32>) -> RecordBatch {
    let id: ArrayRef = Arc::new(Int32Array::from_iter_values(ids.clone()));
    let value = StructArray::new(Fields::from(vec![ArrowField::new("id", Arrow::Int32, true)]), vec![id], None);
    let offsets: ArrayRef = Arc::new(Int64Array::from_iter_values(ids.clone().map(i64::from)));
    let source: ArrayRef = Arc::new(StringArray::from_iter_values(ids.map(|_| "stream")));
    RecordBatch::try_from_iter([
        ("kafka_offset", offsets),
        ("value", Arc::new(value) as ArrayRef),
        ("record_source", source),
    ])
    .unwrap()
}

/// An append of rows whose ids are the offsets of partition 0.
pub(super) fn append(ids: std::ops::Range<i32>) -> Append {
    Append {
        positions: at(0, i64::from(ids.end)),
        batches: vec![rows(ids)],
    }
}

pub(super) fn switch(generation: u64, columns: Vec<Field>) -> Switch {
    Switch {
        generation,
        columns,
        positions: Positions::new(),
        source: source(),
        losses: Vec::new(),
        schemas: SchemaVersion {
            number: generation,
            generation,
        },
        registry: None,
    }
}
