//! How the columns of a data file are encoded: which of them get a dictionary, and which need no statistics.
//!
//! Invariant: what is chosen here changes the size of a file and the work on it, never a value in it.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType as Arrow;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::limits::{DICTIONARY_SAMPLE_VALUES, DICTIONARY_VALUE_BYTES_MAX, ROW_GROUP_BYTES, STATISTICS_TEXT_BYTES};

/// Columns of ours in which values repeat whatever the records are.
const REPEATING_COLUMNS: [&str; 5] = [
    "record_source",
    "kafka_topic",
    "kafka_partition",
    "kinesis_stream",
    "kinesis_shard_id",
];

/// The properties of a file that begins with these rows.
pub(super) fn writer_properties(first: &RecordBatch) -> WriterProperties {
    let mut leaves = Leaves::default();
    for (field, column) in first.schema_ref().fields().iter().zip(first.columns()) {
        leaves.look_at(&[field.name().clone()], column, Place::Once);
    }
    let mut builder = WriterProperties::builder()
        // The lowest level: measured as fast as Snappy at two thirds of its size.
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_statistics_truncate_length(Some(STATISTICS_TEXT_BYTES))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES));
    for column in REPEATING_COLUMNS.into_iter().map(ColumnPath::from).chain(leaves.repeating) {
        builder = builder.set_column_dictionary_enabled(column, true);
    }
    for column in leaves.nested {
        builder = builder.set_column_statistics_enabled(column, EnabledStatistics::None);
    }
    builder.build()
}

/// Leaves that are not written as the others are.
#[derive(Default)]
struct Leaves {
    /// Texts whose values repeat. A dictionary saves compressing them; one of texts that do not repeat costs, and saves nothing.
    repeating: Vec<ColumnPath>,
    /// Leaves inside lists and maps: the log has no statistics of them.
    nested: Vec<ColumnPath>,
}

/// How often a row has a value of a leaf.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Once,
    /// In a list or a map.
    Many,
}

impl Leaves {
    /// Takes in a column and all below it; `path` is where it stands in Parquet's schema.
    fn look_at(&mut self, path: &[String], array: &ArrayRef, place: Place) {
        let below = |names: &[&String]| -> Vec<String> { path.iter().chain(names.iter().copied()).cloned().collect() };
        match array.data_type() {
            Arrow::Struct(fields) => {
                for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                    self.look_at(&below(&[field.name()]), column, place);
                }
            }
            Arrow::List(element) => {
                let list = "list".to_owned();
                self.look_at(&below(&[&list, element.name()]), array.as_list::<i32>().values(), Place::Many);
            }
            Arrow::Map(entries, _) => {
                let maps = array.as_map();
                let (key, value) = maps.entries_fields();
                self.look_at(&below(&[entries.name(), key.name()]), maps.keys(), Place::Many);
                self.look_at(&below(&[entries.name(), value.name()]), maps.values(), Place::Many);
            }
            _ => {
                if repeats(array) {
                    self.repeating.push(ColumnPath::new(path.to_vec()));
                }
                if place == Place::Many {
                    self.nested.push(ColumnPath::new(path.to_vec()));
                }
            }
        }
    }
}

/// Whether the values of a text column repeat, by a sample of them. A wrong guess costs time or space only.
fn repeats(array: &ArrayRef) -> bool {
    match array.data_type() {
        Arrow::Utf8 => {
            let texts = array.as_string::<i32>();
            repeat(array, texts.value_data().len(), |row| texts.value(row).as_bytes())
        }
        Arrow::Binary => {
            let texts = array.as_binary::<i32>();
            repeat(array, texts.value_data().len(), |row| texts.value(row))
        }
        _ => false,
    }
}

fn repeat<'a>(array: &ArrayRef, bytes: usize, value: impl Fn(usize) -> &'a [u8]) -> bool {
    let rows = array.len();
    if bytes > rows.saturating_mul(DICTIONARY_VALUE_BYTES_MAX) {
        return false;
    }
    let step = (rows / DICTIONARY_SAMPLE_VALUES).max(1);
    let mut distinct = HashSet::with_capacity(DICTIONARY_SAMPLE_VALUES);
    let mut seen = 0usize;
    for row in (0..rows).step_by(step).filter(|row| array.is_valid(*row)) {
        seen += 1;
        distinct.insert(value(row));
    }
    // With a quarter seen before, a thousand samples come from a few thousand values at most.
    distinct.len() * 4 <= seen * 3
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{ListBuilder, MapBuilder, MapFieldNames, StringBuilder};
    use arrow_array::{Int64Array, StringArray, StructArray};
    use arrow_schema::Field;
    use parquet::arrow::ArrowWriter;
    use parquet::file::metadata::ColumnChunkMetaData;

    use super::*;

    const ROWS: usize = 5_000;

    fn texts(text: impl Fn(usize) -> String) -> ArrayRef {
        Arc::new(StringArray::from_iter_values((0..ROWS).map(text)))
    }

    fn unique(row: usize) -> String {
        format!("value {row}")
    }

    /// Runs of equal values and few values, but for what is unique by its name.
    fn rows() -> RecordBatch {
        let field = |name: &str, array: &ArrayRef| Arc::new(Field::new(name, array.data_type().clone(), true));
        let (country, id) = (texts(|row| format!("country {}", row % 200)), texts(unique));
        let long = texts(|row| format!("{}{row:02000}", row % 2));
        let place: ArrayRef = Arc::new(StructArray::from(vec![
            (field("country", &country), country),
            (field("id", &id), id),
        ]));
        let mut list = ListBuilder::new(StringBuilder::new()).with_field(Field::new("element", Arrow::Utf8, true));
        let names = MapFieldNames {
            entry: "key_value".into(),
            key: "key".into(),
            value: "value".into(),
        };
        let mut map = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
        for row in 0..ROWS {
            list.append_value([Some("a"), Some("b"), None]);
            map.keys().append_value("name");
            map.values().append_value(unique(row));
            map.append(true).unwrap();
        }
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..i64::try_from(ROWS).unwrap()));
        let absent: ArrayRef = Arc::new(StringArray::new_null(ROWS));
        RecordBatch::try_from_iter_with_nullable([
            ("value", place, true),
            ("tags", Arc::new(list.finish()) as ArrayRef, true),
            ("names", Arc::new(map.finish()) as ArrayRef, true),
            ("long", long, true),
            ("numbers", numbers, true),
            ("absent", absent, true),
            ("kafka_topic", texts(|_| "orders".to_owned()), true),
        ])
        .unwrap()
    }

    #[test]
    fn texts_that_repeat_get_a_dictionary_wherever_they_stand_and_lists_and_maps_no_statistics() {
        let rows = rows();
        let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(writer_properties(&rows))).unwrap();
        writer.write(&rows).unwrap();
        let metadata = writer.close().unwrap();
        let found: Vec<(String, bool, bool)> = metadata
            .row_group(0)
            .columns()
            .iter()
            .map(|chunk: &ColumnChunkMetaData| {
                let has_dictionary = chunk.dictionary_page_offset().is_some();
                (chunk.column_path().string(), has_dictionary, chunk.statistics().is_some())
            })
            .collect();
        let expected = [
            ("value.country", true, true),
            ("value.id", false, true),
            ("tags.list.element", true, false),
            ("names.key_value.key", true, false),
            ("names.key_value.value", false, false),
            ("long", false, true),
            ("numbers", false, true),
            // Without a value there is nothing to say against one; it stays empty.
            ("absent", true, true),
            ("kafka_topic", true, true),
        ];
        assert_eq!(
            found,
            expected.map(|(path, dictionary, statistics)| (path.to_owned(), dictionary, statistics))
        );
    }
}
