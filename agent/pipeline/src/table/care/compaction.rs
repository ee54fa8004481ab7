//! Compaction: the rows of many small files in one, as one commit that changes no data.
//!
//! Invariant: the commit is made only while every input is live, so a row is never in the table twice or lost.

use std::sync::Arc;

use arrow_schema::{DataType as Arrow, Field as ArrowField, Fields, Schema, SchemaRef, TimeUnit};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use stream_spec::types::Field;

use super::CareResult;
use super::copy::copy_groups;
use crate::failpoint::Point;
use crate::table::commit::{Commit, Operation, commit};
use crate::table::conform::{Surplus, conform_batch};
use crate::table::limits::{COMPACTION_BATCH_BYTES, COMPACTION_BATCH_ROWS};
use crate::table::log::actions::{Action, Add, Remove};
use crate::table::small_files::SmallFile;
use crate::table::state::LoadedTable;
use crate::table::store::table_files::{Leave, ParquetSource, TableFiles};
use crate::table::write::{DataFileWriter, Origin, delete_files};
use crate::table::{TableError, clock, data_path, schema};

/// Files to put together, and the columns to write them with.
#[derive(Debug)]
pub(in crate::table) struct Compaction {
    /// In the order of their commits.
    pub inputs: Vec<SmallFile>,
    /// The table's columns.
    pub columns: Vec<Field>,
    /// Size of a full file.
    pub target_file_bytes: u64,
}

impl Compaction {
    /// Writes the new files.
    pub(super) fn run(self, files: &TableFiles, leave: &Leave) -> Result<CareResult, TableError> {
        let arrow = schema::arrow_schema(&self.columns);
        // All of them before anything is written: one bad file must not cost the work on the others, and a hundred of them not a
        // hundred jobs.
        let mut unreadable = Vec::new();
        for input in &self.inputs {
            files.expect_wanted(leave)?;
            if let Err(error) = opened(files, input)? {
                unreadable.push((input.clone(), error));
            }
        }
        if !unreadable.is_empty() {
            // A folder that is another table's by now lacks our files: that is not the files' fault.
            files.expect_wanted(leave)?;
            return Ok(CareResult::Unreadable(unreadable));
        }
        files.pass(Point::CompactBeforeFiles)?;
        if let Some(outputs) = copy_groups(files, &self, &arrow, leave)? {
            files
                .pass(Point::CompactAfterFiles)
                .inspect_err(|_| delete_files(files, &outputs))?;
            return Ok(CareResult::Compacted {
                inputs: self.inputs,
                outputs,
            });
        }
        // An output may grow beyond the target by a batch; it is never split for that.
        let mut writer = DataFileWriter::new(
            files,
            &self.columns,
            Arc::clone(&arrow),
            self.target_file_bytes.saturating_mul(2),
            Origin::Compaction,
        );
        for input in &self.inputs {
            match copy_rows(files, input, &arrow, &mut writer, leave)? {
                Copied::All => {}
                Copied::Unreadable(error) => {
                    files.expect_wanted(leave)?;
                    return Ok(CareResult::Unreadable(vec![(input.clone(), error)]));
                }
            }
        }
        let outputs = writer.finish()?;
        files
            .pass(Point::CompactAfterFiles)
            .inspect_err(|_| delete_files(files, &outputs))?;
        Ok(CareResult::Compacted {
            inputs: self.inputs,
            outputs,
        })
    }
}

/// Commits a compaction; drops its files if an input is no longer live or the schema has grown meanwhile in a way that lost rows.
pub(in crate::table) fn commit_compaction(
    files: &TableFiles,
    table: &mut LoadedTable,
    inputs: &[SmallFile],
    outputs: Vec<Add>,
) -> Result<(), TableError> {
    let expected: i64 = inputs.iter().map(|input| input.rows).sum();
    let written: i64 = outputs.iter().filter_map(Add::rows).sum();
    if expected != written {
        delete_files(files, &outputs);
        return Err(files.internal(format!("compaction wrote {written} rows of {expected}; nothing was changed")));
    }
    let actions = |table: &LoadedTable| {
        if !table.snapshot.small_files.hold(inputs) {
            return Ok(None);
        }
        let now_ms = clock::now_ms();
        let removals = inputs.iter().map(|input| Action::from(removal(input, now_ms)));
        Ok(Some(removals.chain(outputs.iter().cloned().map(Action::from)).collect()))
    };
    let answer = commit(
        files,
        table,
        &Commit {
            operation: Operation::Compact,
            note: None,
            actions: &actions,
        },
    );
    let in_doubt = table.unresolved.is_some();
    match answer {
        Ok(Some(_)) => Ok(()),
        Ok(None) => {
            delete_files(files, &outputs);
            Ok(())
        }
        Err(error) => {
            if !in_doubt {
                delete_files(files, &outputs);
            }
            Err(error)
        }
    }
}

fn removal(input: &SmallFile, now_ms: i64) -> Remove {
    Remove {
        path: input.path.clone(),
        deletion_timestamp: Some(now_ms),
        data_change: false,
        extended_file_metadata: Some(true),
        partition_values: Some(std::collections::BTreeMap::new()),
        size: i64::try_from(input.bytes).ok(),
        deletion_vector: None,
    }
}

/// How the rows of one input came over.
enum Copied {
    /// All of them.
    All,
    /// The file itself stands against it, and would again.
    Unreadable(TableError),
}

/// Writes the rows of an input; an error is the storage's or the writer's, and not the file's.
fn copy_rows(
    files: &TableFiles,
    input: &SmallFile,
    arrow: &SchemaRef,
    writer: &mut DataFileWriter<'_>,
    leave: &Leave,
) -> Result<Copied, TableError> {
    let unreadable = |why: &dyn std::fmt::Display| Ok(Copied::Unreadable(left_alone(files, input, why)));
    let reader = match opened(files, input)? {
        Ok(reader) => reader,
        Err(error) => return Ok(Copied::Unreadable(error)),
    };
    let mut rows = 0;
    for batch in reader {
        files.expect_wanted(leave)?;
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => return unreadable(&error),
        };
        let batch = match conform_batch(&batch, arrow, Surplus::Refused) {
            Ok(batch) => batch,
            Err(error) => return unreadable(&error),
        };
        rows += batch.num_rows();
        writer.write(&batch)?;
    }
    if i64::try_from(rows) != Ok(input.rows) {
        return unreadable(&format!("it has {rows} rows, and the log says {}", input.rows));
    }
    Ok(Copied::All)
}

/// Opens an input; inside, what stands against it without a look at its rows.
fn opened(files: &TableFiles, input: &SmallFile) -> Result<Result<ParquetRecordBatchReader, TableError>, TableError> {
    let unreadable = |why: &dyn std::fmt::Display| Ok(Err(left_alone(files, input, why)));
    let Some(path) = data_path::inside_table(&input.path) else {
        return unreadable(&"it lies outside of the table");
    };
    let Some(source) = files.open(&path)? else {
        return unreadable(&"it is not there");
    };
    match reader(source) {
        Ok((_, rows)) if rows != input.rows => unreadable(&format!("it has {rows} rows, and the log says {}", input.rows)),
        Ok((reader, _)) => Ok(Ok(reader)),
        Err(error) => unreadable(&error),
    }
}

fn left_alone(files: &TableFiles, input: &SmallFile, why: &dyn std::fmt::Display) -> TableError {
    let message = format!("`{}` stays as it is until the table is opened again: {why}", input.path);
    files.failed("compacting files", message)
}

/// A reader and the number of its rows.
pub(super) fn reader(source: ParquetSource) -> Result<(ParquetRecordBatchReader, i64), ParquetError> {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let mut metadata = ArrowReaderMetadata::load(&source, options.clone())?;
    if let Some(schema) = int96_as_microseconds(&metadata) {
        metadata = ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options.with_schema(schema))?;
    }
    let (rows, at_once) = (metadata.metadata().file_metadata().num_rows(), batch_rows(metadata.metadata()));
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(source, metadata)
        .with_batch_size(at_once)
        .build()?;
    Ok((reader, rows))
}

/// The file's schema with its INT96 timestamps in microseconds, if it has any. Spark writes timestamps so unless told otherwise,
/// and from microseconds; Parquet's reader takes them for nanoseconds, which do not fit them all.
fn int96_as_microseconds(metadata: &ArrowReaderMetadata) -> Option<SchemaRef> {
    let mut is_int96 = metadata
        .parquet_schema()
        .columns()
        .iter()
        .map(|leaf| leaf.physical_type() == PhysicalType::INT96);
    if !is_int96.clone().any(|is_int96| is_int96) {
        return None;
    }
    let fields: Fields = metadata
        .schema()
        .fields()
        .iter()
        .map(|field| retimed(field, &mut is_int96))
        .collect();
    Some(Arc::new(Schema::new(fields)))
}

/// The field with its INT96 leaves in microseconds; takes one item for each leaf.
fn retimed(field: &Arc<ArrowField>, is_int96: &mut impl Iterator<Item = bool>) -> Arc<ArrowField> {
    let data_type = match field.data_type() {
        Arrow::Struct(fields) => Arrow::Struct(fields.iter().map(|field| retimed(field, is_int96)).collect()),
        Arrow::List(element) => Arrow::List(retimed(element, is_int96)),
        Arrow::Map(entries, sorted) => Arrow::Map(retimed(entries, is_int96), *sorted),
        leaf => match is_int96.next() {
            Some(true) => Arrow::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            _ => leaf.clone(),
        },
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// Rows to decode at once: fewer where rows are wide. What counts is their size before compression, in the widest row group.
pub(super) fn batch_rows(metadata: &ParquetMetaData) -> usize {
    let row_bytes = |group: &RowGroupMetaData| group.total_byte_size().max(1).unsigned_abs() / group.num_rows().max(1).unsigned_abs();
    let widest = metadata.row_groups().iter().map(row_bytes).max().unwrap_or_default().max(1);
    usize::try_from(COMPACTION_BATCH_BYTES / widest)
        .unwrap_or(COMPACTION_BATCH_ROWS)
        .clamp(1, COMPACTION_BATCH_ROWS)
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;

    use super::*;

    #[test]
    fn rows_that_compress_well_are_still_decoded_few_at_a_time() {
        let properties = WriterProperties::builder()
            .set_compression(parquet::basic::Compression::ZSTD(parquet::basic::ZstdLevel::default()))
            .set_dictionary_enabled(false)
            .build();
        let rows = |count, bytes| -> RecordBatch {
            let texts: ArrayRef = Arc::new(StringArray::from(vec!["a".repeat(bytes); count]));
            RecordBatch::try_from_iter([("c", texts)]).unwrap()
        };
        let mut writer = ArrowWriter::try_new(Vec::new(), rows(0, 0).schema(), Some(properties)).unwrap();
        for group in [rows(10_000, 1), rows(16, 1024 * 1024)] {
            writer.write(&group).unwrap();
            writer.flush().unwrap();
        }
        let file = bytes::Bytes::from(writer.into_inner().unwrap());
        assert!(file.len() < 100_000);
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).unwrap();
        assert_eq!(batch_rows(metadata.metadata()), 7);
    }
}
