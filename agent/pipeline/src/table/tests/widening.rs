//! INT columns become BIGINT in place: every value is kept, and every version has files of its own schema.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StructArray};
use arrow_schema::{DataType as Arrow, Field as ArrowField, Fields};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use stream_spec::types::{DataType, Field};

use super::care_steps::{append_one_by_one, wait_until};
use super::support::{Lab, at, columns, quiet, switch};
use crate::table::{Append, NewTable, TableCareSettings, TableError, TableHandle, schema};

/// More than INT holds.
pub(super) const BIG: i64 = 3_000_000_000;

/// The table's columns with a BIGINT id.
pub(super) fn wide_columns() -> Vec<Field> {
    let widen = |field: &Field| match field.name.as_str() {
        "id" => Field::new("id", DataType::BigInt),
        _ => field.clone(),
    };
    let inside = |field: Field| match &field.data_type {
        DataType::Struct(fields) => Field::new(field.name, DataType::Struct(fields.iter().map(widen).collect())),
        _ => field,
    };
    columns().into_iter().map(inside).collect()
}

/// An append of rows as the new definition decodes them, up to that offset of partition 0.
pub(super) fn wide_append(next_offset: i64, ids: &[i64]) -> Append {
    let id: ArrayRef = Arc::new(Int64Array::from(ids.to_vec()));
    let value = StructArray::new(Fields::from(vec![ArrowField::new("id", Arrow::Int64, true)]), vec![id], None);
    Append {
        batches: vec![RecordBatch::try_from_iter([("value", Arc::new(value) as ArrayRef)]).unwrap()],
        positions: at(0, next_offset),
    }
}

pub(super) async fn wait_until_widened(handle: &TableHandle) {
    wait_until(handle, |state| state.widening.is_none()).await;
}

impl Lab {
    /// A table with ten rows in ten files.
    pub(super) async fn with_ten_files() -> Self {
        let lab = Self::with_table().await;
        let handle = lab.open().await;
        append_one_by_one(&handle, 100..110).await;
        handle.close().await;
        lab
    }

    /// Reads every version with delta-rs: each file has the columns of its version. Returns the ids of the last, sorted.
    pub(super) async fn ids_and_soundness_of_all_versions(&self) -> Vec<i64> {
        let last = self.foreign_reader().await.version().unwrap();
        let mut ids = Vec::new();
        for version in 0..=last {
            ids = self.ids_of_version(i64::try_from(version).unwrap()).await;
        }
        ids
    }

    async fn ids_of_version(&self, version: i64) -> Vec<i64> {
        let url = url::Url::from_directory_path(self.path()).unwrap();
        let mut table = deltalake::DeltaTableBuilder::from_url(url).unwrap().build().unwrap();
        table.load_version(version.try_into().unwrap()).await.unwrap();
        let theirs = table.snapshot().unwrap().schema();
        let text = serde_json::to_string(&*theirs).unwrap();
        let arrow = schema::arrow_schema(&schema::parse(&text).unwrap());
        let mut ids = Vec::new();
        for uri in table.get_file_uris().unwrap() {
            for batch in read_parquet(Path::new(uri.trim_start_matches("file://"))) {
                for field in batch.schema().fields() {
                    let stored = arrow.field_with_name(field.name()).unwrap();
                    let same = shape(field.data_type()) == shape(stored.data_type());
                    assert!(same, "version {version}: {field} in a file, {stored} in the log");
                }
                let value = batch.column_by_name("value").unwrap().as_struct();
                let id = value.column_by_name("id").unwrap();
                match id.data_type() {
                    Arrow::Int32 => ids.extend(id.as_primitive::<Int32Type>().iter().flatten().map(i64::from)),
                    _ => ids.extend(id.as_primitive::<Int64Type>().iter().flatten()),
                }
            }
        }
        ids.sort_unstable();
        ids
    }

    /// Data files that no entry of the log names.
    pub(super) fn unnamed_files(&self) -> Vec<String> {
        let mut named = BTreeMap::new();
        for version in 0.. {
            if !self.entry_path(version).exists() {
                break;
            }
            for action in self.entry(version) {
                named.extend(action.add.map(|add| (add.path, ())));
            }
        }
        self.data_files().into_iter().filter(|name| !named.contains_key(name)).collect()
    }
}

pub(super) fn read_parquet(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReader::try_new(std::fs::File::open(path).unwrap(), 1024).unwrap();
    reader.map(Result::unwrap).collect()
}

/// Integers and how they are nested: all that widening changes.
fn shape(data_type: &Arrow) -> String {
    match data_type {
        Arrow::Struct(fields) => {
            let inner: Vec<String> = fields
                .iter()
                .map(|field| format!("{}:{}", field.name(), shape(field.data_type())))
                .collect();
            format!("<{}>", inner.join(","))
        }
        Arrow::List(element) => format!("[{}]", shape(element.data_type())),
        Arrow::Map(entries, _) => format!("map {}", shape(entries.data_type())),
        Arrow::Int32 => "int".to_owned(),
        Arrow::Int64 => "bigint".to_owned(),
        _ => "other".to_owned(),
    }
}

/// Full files are so small that the committer is left nothing: care rewrites all.
fn tiny_files() -> TableCareSettings {
    TableCareSettings {
        target_file_bytes: 3_000,
        ..quiet()
    }
}

#[tokio::test]
async fn a_widened_column_keeps_its_values_and_takes_larger_ones_and_every_version_has_files_of_its_schema() {
    for care in [quiet(), tiny_files()] {
        let lab = Lab::with_ten_files().await;
        let handle = lab.open_with(care).await;
        let switched = handle.switch(switch(2, wide_columns())).await.unwrap();
        let metadata = lab.entry(switched).into_iter().find_map(|action| action.meta_data).unwrap();
        assert_eq!(schema::parse(&metadata.schema_string).unwrap(), columns(), "files have INT still");
        assert_eq!(metadata.configuration["featurestore.widening"], r#"[["value","id"]]"#);
        assert_eq!(handle.state().borrow().columns, wide_columns());
        handle.append(wide_append(111, &[110])).await.unwrap();
        wait_until_widened(&handle).await;
        handle.append(wide_append(112, &[BIG])).await.unwrap();
        let last = handle.state();
        handle.close().await;
        let live = last.borrow().clone();

        let state = lab.load(0).public();
        assert_eq!((state.columns, state.widening, state.generation), (wide_columns(), None, 2));
        assert_eq!((live.totals, live.version), (state.totals, state.version));
        assert_eq!((state.totals.rows, &state.positions), (12, &at(0, 112)));
        let mut expected: Vec<i64> = (100..111).collect();
        expected.push(BIG);
        assert_eq!(lab.ids_and_soundness_of_all_versions().await, expected);
        assert_eq!(lab.unnamed_files(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn the_swap_is_one_commit_that_changes_no_data_and_says_so() {
    let lab = Lab::with_ten_files().await;
    let handle = lab.open().await;
    handle.switch(switch(2, wide_columns())).await.unwrap();
    wait_until_widened(&handle).await;
    handle.close().await;
    let entry = lab.entry(12);
    let removals: Vec<_> = entry.iter().filter_map(|action| action.remove.as_ref()).collect();
    let adds: Vec<_> = entry.iter().filter_map(|action| action.add.as_ref()).collect();
    assert_eq!((removals.len(), adds.len()), (10, 1), "small files are put together");
    assert!(removals.iter().all(|removal| !removal.data_change) && adds.iter().all(|add| !add.data_change));
    assert!(adds[0].stats.as_ref().unwrap().contains("\"id\":109"));
    assert!(entry.iter().all(|action| action.txn.is_none() && action.protocol.is_none()));
    let metadata = entry.iter().find_map(|action| action.meta_data.as_ref()).unwrap();
    assert!(!metadata.configuration.contains_key("featurestore.widening"));
    let info = entry.iter().find_map(|action| action.commit_info.as_ref()).unwrap();
    assert_eq!(
        (&info["operation"], &info["isBlindAppend"]),
        (&"CHANGE COLUMN".into(), &false.into())
    );
}

#[tokio::test]
async fn an_empty_table_is_widened_by_the_switch() {
    let lab = Lab::with_table().await;
    let handle = lab.open().await;
    assert_eq!(handle.switch(switch(2, wide_columns())).await.unwrap(), 1);
    assert_eq!(handle.state().borrow().widening, None);
    handle.append(wide_append(101, &[BIG])).await.unwrap();
    handle.close().await;
    assert_eq!(lab.ids_and_soundness_of_all_versions().await, [BIG]);
}

/// A file of the table, with a deletion vector that another writer gave it.
fn with_vector(lab: &Lab, version: i64) -> Vec<serde_json::Value> {
    let add = lab.entry(version).into_iter().find_map(|action| action.add).unwrap();
    let vector = serde_json::json!({"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40, "cardinality": 1});
    let mut again = serde_json::to_value(&add).unwrap();
    again["deletionVector"] = vector;
    vec![
        serde_json::json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors", "appendOnly", "invariants"]}}),
        serde_json::json!({"remove": {"path": add.path, "deletionTimestamp": 5, "dataChange": true}}),
        serde_json::json!({"add": again}),
    ]
}

#[tokio::test]
async fn a_value_that_does_not_fit_waits_for_the_swap_and_others_do_not() {
    let lab = Lab::with_ten_files().await;
    lab.write_foreign(11, &with_vector(&lab, 3));
    let handle = lab.open().await;
    handle.switch(switch(2, wide_columns())).await.unwrap();
    wait_until(&handle, |state| {
        state.widening.as_ref().is_some_and(|widening| widening.trouble.is_some())
    })
    .await;
    let trouble = handle.state().borrow().widening.clone().unwrap().trouble.unwrap();
    assert!(trouble.contains("deletion vector") && trouble.contains("REORG TABLE"), "{trouble}");

    handle.append(wide_append(111, &[110])).await.unwrap();
    let error = handle.append(wide_append(113, &[111, BIG])).await.unwrap_err();
    assert!(
        matches!(&error, TableError::StillNarrow { column, batch: 0, rows, .. } if column == "value.id" && *rows == [1]),
        "{error}"
    );
    assert_eq!(handle.state().borrow().positions, at(0, 111));
    assert_eq!(lab.unnamed_files(), Vec::<String>::new(), "nothing is left of rows that wait");
    handle.close().await;

    // The vector goes, as by REORG, and with it what kept the column from being widened.
    let hidden = lab.load(0).snapshot.version + 1;
    let lines = with_vector(&lab, 3);
    let (mut back, mut gone) = (lines[2]["add"].clone(), lines[1]["remove"].clone());
    gone["deletionVector"] = back["deletionVector"].take();
    lab.write_foreign(hidden, &[serde_json::json!({"remove": gone}), serde_json::json!({"add": back})]);
    let handle = lab.open().await;
    wait_until_widened(&handle).await;
    handle.append(wide_append(113, &[111, BIG])).await.unwrap();
    handle.append(wide_append(113, &[111, BIG])).await.unwrap();
    handle.close().await;
    let mut expected: Vec<i64> = (100..112).collect();
    expected.push(BIG);
    assert_eq!(lab.ids_and_soundness_of_all_versions().await, expected);
}

/// Numbers in a struct, a list and a map.
fn nested(int: &DataType) -> Vec<Field> {
    let inner = DataType::Struct(vec![Field::new("id", int.clone()), Field::new("stays", DataType::Int)]);
    vec![
        Field::new("value", inner),
        Field::new("l", DataType::Array(Box::new(DataType::Struct(vec![Field::new("n", int.clone())])))),
        Field::new("m", DataType::Map(Box::new(DataType::String), Box::new(int.clone()))),
    ]
}

fn nested_append(next_offset: i64, number: i64) -> Append {
    let numbers = || -> ArrayRef { Arc::new(Int64Array::from(vec![number])) };
    let structs = |name: &str| StructArray::new(Fields::from(vec![ArrowField::new(name, Arrow::Int64, true)]), vec![numbers()], None);
    let items = structs("n");
    let element = ArrowField::new("element", items.data_type().clone(), true);
    let offsets = arrow_buffer::OffsetBuffer::from_lengths([1]);
    let list = arrow_array::ListArray::new(Arc::new(element), offsets, Arc::new(items), None);
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    map.keys().append_value("k");
    map.values().append_value(number);
    map.append(true).unwrap();
    let batch = RecordBatch::try_from_iter([
        ("value", Arc::new(structs("id")) as ArrayRef),
        ("l", Arc::new(list)),
        ("m", Arc::new(map.finish())),
    ]);
    Append {
        batches: vec![batch.unwrap()],
        positions: at(0, next_offset),
    }
}

#[tokio::test]
async fn columns_in_structs_lists_and_maps_are_widened_together() {
    let lab = Lab::new();
    let table = NewTable {
        columns: nested(&DataType::Int),
        ..lab.new_table()
    };
    lab.warehouse.create(table).await.unwrap();
    let handle = lab.open().await;
    for offset in 101..104 {
        handle.append(nested_append(offset, offset)).await.unwrap_err();
    }
    handle.switch(switch(2, nested(&DataType::BigInt))).await.unwrap();
    for offset in 101..104 {
        handle.append(nested_append(offset, offset)).await.unwrap();
    }
    wait_until_widened(&handle).await;
    handle.append(nested_append(104, BIG)).await.unwrap();
    handle.close().await;
    assert_eq!(lab.ids_and_soundness_of_all_versions().await, [101, 102, 103, BIG]);
    let mut seen = Vec::new();
    for path in lab.foreign_reader().await.get_file_uris().unwrap() {
        for batch in read_parquet(&PathBuf::from(path.trim_start_matches("file://"))) {
            let list = batch.column_by_name("l").unwrap().as_list::<i32>().clone();
            let items = list.values().as_struct().column(0).as_primitive::<Int64Type>().clone();
            let map = batch.column_by_name("m").unwrap().as_map().clone();
            let values = map.values().as_primitive::<Int64Type>().clone();
            seen.extend(items.iter().flatten().zip(values.iter().flatten()));
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, [(101, 101), (102, 102), (103, 103), (BIG, BIG)]);
}
