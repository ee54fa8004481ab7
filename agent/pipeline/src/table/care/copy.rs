//! Compaction without decoding: the row groups of files that we wrote, copied as they are into one file after another.
//!
//! A stream at full speed writes row groups that are large enough to stay as they are; decoding and encoding them again would
//! cost half as much as ingesting them. Invariant: what cannot be copied for sure is left to be decoded, which then says why.

use std::sync::Arc;

use arrow_schema::{DataType as Arrow, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowSchemaConverter, ProjectionMask};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{SchemaDescriptor, TypePtr};

use super::compaction::{Compaction, batch_rows};
use crate::table::TableError;
use crate::table::limits::{COPIED_FILES_MAX, COPIED_GROUP_BYTES_MIN};
use crate::table::log::actions::Add;
use crate::table::small_files::SmallFile;
use crate::table::statistics::{NotANumber, statistics_text};
use crate::table::store::table_files::{Leave, ParquetSource, TableFiles};
use crate::table::write::{DATA_FILE_PREFIX, Origin, Output, delete_files, new_name};

/// A file of ours whose row groups can be copied.
struct Input {
    source: ParquetSource,
    metadata: ArrowReaderMetadata,
}

/// The copy that is being written.
struct Open {
    name: String,
    writer: SerializedFileWriter<Output>,
    rows: i64,
    not_a_number: NotANumber,
}

/// Copies the inputs of a compaction; nothing where they must be decoded: files of others or of another schema, row groups that
/// are small, files that are damaged or gone.
pub(super) fn copy_groups(
    files: &TableFiles,
    compaction: &Compaction,
    arrow: &SchemaRef,
    leave: &Leave,
) -> Result<Option<Vec<Add>>, TableError> {
    let Some((schema, inputs)) = copyable(files, &compaction.inputs, arrow)? else {
        return Ok(None);
    };
    let mut copy = Copy {
        files,
        compaction,
        schema,
        open: None,
        finished: Vec::new(),
    };
    for input in &inputs {
        let copied = copy.take(input, leave)?;
        if copied.is_err() {
            return Ok(None);
        }
    }
    copy.finish_file()?;
    Ok(Some(std::mem::take(&mut copy.finished)))
}

/// The inputs, opened, with the schema that all of them have; nothing unless all of them can be copied.
fn copyable(files: &TableFiles, inputs: &[SmallFile], arrow: &SchemaRef) -> Result<Option<(TypePtr, Vec<Input>)>, TableError> {
    let Ok(wanted) = ArrowSchemaConverter::new().convert(arrow) else {
        return Ok(None);
    };
    if inputs.len() > COPIED_FILES_MAX {
        return Ok(None);
    }
    let (mut opened, mut bytes, mut groups) = (Vec::with_capacity(inputs.len()), 0, 0);
    for input in inputs {
        // Ours are flat in the table's folder, and their names need no decoding.
        let source = if is_ours(&input.path) { files.open(&input.path)? } else { None };
        let Some(source) = source else { return Ok(None) };
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let Ok(metadata) = ArrowReaderMetadata::load(&source, options) else {
            return Ok(None);
        };
        let footer = metadata.metadata();
        if !same_columns(footer.file_metadata().schema_descr(), &wanted) || footer.file_metadata().num_rows() != input.rows {
            return Ok(None);
        }
        bytes += footer.row_groups().iter().map(RowGroupMetaData::total_byte_size).sum::<i64>();
        groups += footer.num_row_groups();
        opened.push(Input { source, metadata });
    }
    let large = i64::try_from(groups).is_ok_and(|groups| groups > 0 && bytes / groups >= COPIED_GROUP_BYTES_MIN);
    Ok(large.then(|| (wanted.root_schema_ptr(), opened)))
}

fn is_ours(path: &str) -> bool {
    path.starts_with(DATA_FILE_PREFIX) && !path.contains(['/', '%'])
}

fn same_columns(found: &SchemaDescriptor, wanted: &SchemaDescriptor) -> bool {
    found.root_schema().get_fields() == wanted.root_schema().get_fields()
}

struct Copy<'a> {
    files: &'a TableFiles,
    compaction: &'a Compaction,
    schema: TypePtr,
    open: Option<Open>,
    finished: Vec<Add>,
}

impl Copy<'_> {
    /// Copies one input; what its reader or the writer says stands inside.
    fn take(&mut self, input: &Input, leave: &Leave) -> Result<Result<(), ParquetError>, TableError> {
        let mut nan = NotANumber::default();
        if let Err(error) = look_for_nan(input, &mut nan) {
            return Ok(Err(error));
        }
        for group in input.metadata.metadata().row_groups() {
            self.files.expect_wanted(leave)?;
            let mut open = match self.open.take() {
                Some(open) => open,
                None => match self.open_file()? {
                    Ok(open) => open,
                    Err(error) => return Ok(Err(error)),
                },
            };
            if let Err(error) = copy_group(&mut open.writer, group, &input.source) {
                return Ok(Err(error));
            }
            open.rows += group.num_rows();
            open.not_a_number.merge(nan);
            let bytes = u64::try_from(open.writer.bytes_written()).unwrap_or(u64::MAX);
            self.open = Some(open);
            if bytes >= self.compaction.target_file_bytes.saturating_mul(2) {
                self.finish_file()?;
            }
        }
        Ok(Ok(()))
    }

    fn open_file(&self) -> Result<Result<Open, ParquetError>, TableError> {
        let name = new_name(Origin::Compaction);
        let file = Output::new(self.files.create(&name)?);
        let properties = Arc::new(WriterProperties::default());
        Ok(
            SerializedFileWriter::new(file, Arc::clone(&self.schema), properties).map(|writer| Open {
                name,
                writer,
                rows: 0,
                not_a_number: NotANumber::default(),
            }),
        )
    }

    fn finish_file(&mut self) -> Result<(), TableError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let failed = |error| self.files.failed("compacting files", error);
        let rows = usize::try_from(open.rows).unwrap_or_default();
        let stats = statistics_text(&self.compaction.columns, open.writer.flushed_row_groups(), rows, &open.not_a_number);
        open.writer.finish().map_err(failed)?;
        let add = open.writer.inner_mut().finish_as(open.name, stats, false);
        self.finished
            .push(add.map_err(|error| self.files.failed("compacting files", error))?);
        Ok(())
    }
}

impl Drop for Copy<'_> {
    /// Files that were finished before a failure are named by nobody.
    fn drop(&mut self) {
        delete_files(self.files, &self.finished);
    }
}

fn copy_group(writer: &mut SerializedFileWriter<Output>, group: &RowGroupMetaData, source: &ParquetSource) -> Result<(), ParquetError> {
    let mut copy = writer.next_row_group()?;
    for column in group.columns() {
        let rows_written = u64::try_from(group.num_rows()).unwrap_or_default();
        let closed = ColumnCloseResult {
            bytes_written: u64::try_from(column.compressed_size()).unwrap_or_default(),
            rows_written,
            metadata: column.clone(),
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        copy.append_column(source, closed)?;
    }
    copy.close().map(drop)
}

/// Reads the floating-point columns, which the footer does not tell about.
fn look_for_nan(input: &Input, nan: &mut NotANumber) -> Result<(), ParquetError> {
    let mut leaves = Vec::new();
    floating_leaves(input.metadata.schema(), &mut leaves);
    if leaves.is_empty() {
        return Ok(());
    }
    let mask = ProjectionMask::leaves(input.metadata.parquet_schema(), leaves);
    let rows = batch_rows(input.metadata.metadata());
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(input.source.clone(), input.metadata.clone())
        .with_projection(mask)
        .with_batch_size(rows)
        .build()?;
    for batch in reader {
        nan.look_at(&batch?);
    }
    Ok(())
}

/// Indexes of the floating-point leaves that are in no list and no map: those have bounds in the log.
fn floating_leaves(schema: &Schema, leaves: &mut Vec<usize>) {
    let mut next = 0;
    schema
        .fields()
        .iter()
        .for_each(|field| walk(field.data_type(), true, &mut next, leaves));
}

fn walk(data_type: &Arrow, is_once: bool, next: &mut usize, leaves: &mut Vec<usize>) {
    match data_type {
        Arrow::Struct(fields) => fields.iter().for_each(|field| walk(field.data_type(), is_once, next, leaves)),
        Arrow::List(element) => walk(element.data_type(), false, next, leaves),
        Arrow::Map(entries, _) => walk(entries.data_type(), false, next, leaves),
        leaf => {
            if is_once && matches!(leaf, Arrow::Float32 | Arrow::Float64) {
                leaves.push(*next);
            }
            *next += 1;
        }
    }
}
