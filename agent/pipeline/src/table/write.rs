//! Rows to data files: Parquet with statistics, durable before any commit names them.
//!
//! Invariant: a file that is returned is complete and named by nobody yet; one that is not returned leaves nothing behind.

use std::io::{self, Write};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use stream_spec::types::Field;

use super::encoding::writer_properties;
use super::log::actions::Add;
use super::statistics::{NotANumber, statistics_text};
use super::store::NewFile;
use super::store::table_files::TableFiles;
use super::{TableError, clock};

/// How the names of our data files begin: only such files can be orphans of ours.
pub(super) const DATA_FILE_PREFIX: &str = "fs-";
/// How those begin that compaction wrote.
const COMPACTED_FILE_PREFIX: &str = "fs-compacted-";
/// How those begin that the widening of columns wrote.
pub(super) const WIDENED_FILE_PREFIX: &str = "fs-widened-";
/// How they end.
pub(super) const DATA_FILE_SUFFIX: &str = ".parquet";

/// Whose rows a data file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// New ones.
    Source,
    /// Those of small files.
    Compaction,
    /// Those of files whose INT columns become BIGINT.
    Widening,
}

impl Origin {
    /// Whether its rows come into the table with it; else they only move.
    fn is_change(self) -> bool {
        self == Self::Source
    }
}

/// Writes batches of one schema to files of about the target size.
pub(super) struct DataFileWriter<'a> {
    files: &'a TableFiles,
    columns: &'a [Field],
    schema: SchemaRef,
    target_bytes: u64,
    origin: Origin,
    open: Option<OpenFile>,
    finished: Vec<Add>,
}

struct OpenFile {
    name: String,
    writer: ArrowWriter<Output>,
    rows: usize,
    not_a_number: NotANumber,
}

/// The file behind a writer, which is taken out when all is written.
pub(super) struct Output(Option<Box<dyn NewFile>>);

impl Output {
    pub(super) fn new(file: Box<dyn NewFile>) -> Self {
        Self(Some(file))
    }

    /// Makes the file durable, once all is written.
    pub(super) fn finish_as(&mut self, path: String, stats: String, data_change: bool) -> io::Result<Add> {
        let facts = self.0.take().ok_or_else(finished_twice)?.finish()?;
        Ok(Add {
            path,
            size: i64::try_from(facts.bytes).unwrap_or(i64::MAX),
            modification_time: clock::now_ms(),
            data_change,
            stats: Some(stats),
            ..Add::default()
        })
    }

    fn file(&mut self) -> io::Result<&mut Box<dyn NewFile>> {
        self.0.as_mut().ok_or_else(finished_twice)
    }
}

fn finished_twice() -> io::Error {
    io::Error::other("a finished file was written to")
}

/// The name of a new data file; it says where its rows come from.
pub(super) fn new_name(origin: Origin) -> String {
    let prefix = match origin {
        Origin::Source => DATA_FILE_PREFIX,
        Origin::Compaction => COMPACTED_FILE_PREFIX,
        Origin::Widening => WIDENED_FILE_PREFIX,
    };
    format!("{prefix}{}{DATA_FILE_SUFFIX}", uuid::Uuid::new_v4())
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file()?.flush()
    }
}

impl<'a> DataFileWriter<'a> {
    /// A writer for a table's columns.
    pub(super) fn new(files: &'a TableFiles, columns: &'a [Field], schema: SchemaRef, target_bytes: u64, origin: Origin) -> Self {
        Self {
            files,
            columns,
            schema,
            target_bytes,
            origin,
            open: None,
            finished: Vec::new(),
        }
    }

    /// Adds a batch of the schema.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.open_file(batch)?,
        };
        open.writer.write(batch).map_err(|error| self.files.failed("writing rows", error))?;
        open.rows += batch.num_rows();
        open.not_a_number.look_at(batch);
        let bytes = open.writer.bytes_written() + open.writer.in_progress_size();
        if u64::try_from(bytes).unwrap_or(u64::MAX) >= self.target_bytes {
            let add = self.finish_file(open)?;
            self.finished.push(add);
        } else {
            self.open = Some(open);
        }
        Ok(())
    }

    /// Makes all files durable.
    pub(super) fn finish(mut self) -> Result<Vec<Add>, TableError> {
        if let Some(open) = self.open.take() {
            let add = self.finish_file(open)?;
            self.finished.push(add);
        }
        Ok(std::mem::take(&mut self.finished))
    }

    fn open_file(&self, first: &RecordBatch) -> Result<OpenFile, TableError> {
        let name = new_name(self.origin);
        let file = self.files.create(&name)?;
        // Arrow's own schema is left out: readers of Delta tables go by the table's.
        let options = ArrowWriterOptions::new()
            .with_properties(writer_properties(first))
            .with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(Output::new(file), std::sync::Arc::clone(&self.schema), options)
            .map_err(|error| self.files.failed("writing rows", error))?;
        Ok(OpenFile {
            name,
            writer,
            rows: 0,
            not_a_number: NotANumber::default(),
        })
    }

    fn finish_file(&self, mut open: OpenFile) -> Result<Add, TableError> {
        let failed = |error| self.files.failed("writing rows", error);
        open.writer.flush().map_err(failed)?;
        let stats = statistics_text(self.columns, open.writer.flushed_row_groups(), open.rows, &open.not_a_number);
        open.writer.finish().map_err(failed)?;
        // By hand, and not as the writer gives its file back: that would turn the system's error into a text.
        let finished = open
            .writer
            .sync()
            .and_then(|()| open.writer.inner_mut().finish_as(open.name, stats, self.origin.is_change()));
        finished.map_err(|error| self.files.failed("writing rows", error))
    }
}

impl Drop for DataFileWriter<'_> {
    /// Files that were finished before a failure are named by nobody.
    fn drop(&mut self) {
        delete_files(self.files, &self.finished);
    }
}

/// Deletes files that no commit names. One that stays is swept later.
pub(super) fn delete_files(files: &TableFiles, adds: &[Add]) {
    for add in adds {
        if let Err(error) = files.delete(&add.path) {
            tracing::debug!(table = files.table(), file = add.path, %error, "an unused data file stays until the next sweep");
        }
    }
}
