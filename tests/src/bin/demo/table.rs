//! A look into the table's files, without any of the product's code and without other software: the Delta log's JSON entries
//! say which Parquet files there are, and Arrow reads them. Enough for a young table; real readers are in `e2e::tables`.
//! Invariant: a log that has a gap, or that this cannot read, is an error and not a smaller table.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::as_datetime;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch, TimestampMicrosecondArray};
use arrow_json::writer::{Encoder, EncoderFactory, EncoderOptions, LineDelimited, NullableEncoder, WriterBuilder};
use arrow_schema::{ArrowError, DataType, FieldRef, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

/// Rows of one partition of the source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) rows: usize,
    pub(crate) first: i64,
    pub(crate) last: i64,
}

/// The newest version of a table.
pub(crate) struct Table {
    batches: Vec<RecordBatch>,
}

impl Table {
    pub(crate) fn read(folder: &Path) -> Self {
        let mut batches = Vec::new();
        for path in live_files(folder) {
            let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
            batches.extend(reader.map(|batch| batch.unwrap()));
        }
        Self { batches }
    }

    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// What is there of each partition.
    pub(crate) fn extents(&self) -> BTreeMap<i32, Extent> {
        let mut extents: BTreeMap<i32, Extent> = BTreeMap::new();
        for batch in &self.batches {
            let partitions = column(batch, "kafka_partition").as_primitive::<Int32Type>();
            let offsets = column(batch, "kafka_offset").as_primitive::<Int64Type>();
            for (&partition, &offset) in partitions.values().iter().zip(offsets.values()) {
                let extent = extents.entry(partition).or_insert(Extent {
                    rows: 0,
                    first: offset,
                    last: offset,
                });
                extent.rows += 1;
                extent.first = extent.first.min(offset);
                extent.last = extent.last.max(offset);
            }
        }
        extents
    }

    /// The last rows of the newest file, as JSON with one line each.
    pub(crate) fn last_rows(&self, count: usize) -> Vec<String> {
        let Some(batch) = self.batches.last() else {
            return Vec::new();
        };
        let count = count.min(batch.num_rows());
        let mut text = Vec::new();
        let mut writer = WriterBuilder::new()
            .with_encoder_factory(Arc::new(UtcTimes))
            .build::<_, LineDelimited>(&mut text);
        writer.write(&batch.slice(batch.num_rows() - count, count)).unwrap();
        writer.finish().unwrap();
        drop(writer);
        String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
    }
}

/// Arrow itself writes a time of the zone `UTC` only when it has a zone database built in, as the build of the tests has and
/// that of the product has not.
#[derive(Debug)]
struct UtcTimes;

impl EncoderFactory for UtcTimes {
    fn make_default_encoder<'a>(
        &self,
        _field: &'a FieldRef,
        array: &'a dyn Array,
        _options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let DataType::Timestamp(TimeUnit::Microsecond, Some(_)) = array.data_type() else {
            return Ok(None);
        };
        let times: &TimestampMicrosecondArray = array.as_primitive();
        Ok(Some(NullableEncoder::new(Box::new(UtcTime(times)), array.nulls().cloned())))
    }
}

struct UtcTime<'a>(&'a TimestampMicrosecondArray);

impl Encoder for UtcTime<'_> {
    fn encode(&mut self, index: usize, out: &mut Vec<u8>) {
        let time = as_datetime::<TimestampMicrosecondType>(self.0.value(index)).expect("a time that a calendar has");
        write!(out, "\"{time:?}Z\"").unwrap();
    }
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> &'a ArrayRef {
    batch
        .column_by_name(name)
        .unwrap_or_else(|| panic!("the table has no column {name}"))
}

/// Files of the newest version, oldest first, by the log's entries from the first one on.
fn live_files(folder: &Path) -> Vec<PathBuf> {
    let log = folder.join("_delta_log");
    let entries: BTreeSet<PathBuf> = fs::read_dir(&log)
        .unwrap_or_else(|error| panic!("{}: {error}; is this the folder of a table?", log.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    let mut live: Vec<String> = Vec::new();
    for (version, path) in entries.iter().enumerate() {
        let name = path.file_name().unwrap().to_string_lossy();
        assert_eq!(name, format!("{version:020}.json"), "the log has a gap");
        for line in fs::read_to_string(path).unwrap().lines() {
            let action: Value = serde_json::from_str(line).unwrap();
            if let Some(path) = action["add"]["path"].as_str() {
                live.push(path.to_owned());
            } else if let Some(path) = action["remove"]["path"].as_str() {
                live.retain(|file| file != path);
            }
        }
    }
    live.into_iter().map(|file| folder.join(file)).collect()
}
