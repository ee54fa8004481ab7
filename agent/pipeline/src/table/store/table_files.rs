//! The files of one table: paths inside it, and storage errors that carry its name.
//!
//! Invariant: nothing outside the table's own folder can be reached through it.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use tokio_util::sync::CancellationToken;

use super::{EntryOutcome, FileFacts, Listed, NewFile, RandomRead, TableStore};
use crate::failpoint::{self, Point};
use crate::table::TableError;
use crate::table::log::entry_path;
use crate::table::warehouse_mark::WarehouseMark;

/// The folder of the log inside a table.
pub(in crate::table) const LOG_FOLDER: &str = "_delta_log";

/// One table's folder in a store.
#[derive(Clone, Debug)]
pub(in crate::table) struct TableFiles {
    store: Arc<dyn TableStore>,
    mark: WarehouseMark,
    folder: String,
    table: String,
}

impl TableFiles {
    /// The files of the table of that name, in that folder of the store.
    pub(in crate::table) fn new(store: Arc<dyn TableStore>, mark: WarehouseMark, folder: String, table: String) -> Self {
        Self {
            store,
            mark,
            folder,
            table,
        }
    }

    /// The warehouse's mark.
    pub(in crate::table) fn mark(&self) -> &WarehouseMark {
        &self.mark
    }

    /// The table's name, for errors and logs.
    pub(in crate::table) fn table(&self) -> &str {
        &self.table
    }

    /// Where the table is, for people.
    pub(in crate::table) fn location(&self) -> String {
        self.store.location(&self.folder)
    }

    /// Whole text of a file, or nothing if there is none.
    pub(in crate::table) fn read(&self, path: &str) -> Result<Option<Bytes>, TableError> {
        self.store
            .read(&self.inside(path))
            .map_err(|error| self.failed("reading the log", error))
    }

    /// Opens a file for Parquet's reader, or nothing if there is none.
    pub(in crate::table) fn open(&self, path: &str) -> Result<Option<ParquetSource>, TableError> {
        let file = self
            .store
            .open(&self.inside(path))
            .map_err(|error| self.failed("opening a file", error))?;
        Ok(file.map(ParquetSource))
    }

    /// Facts of a file, or nothing if there is none.
    pub(in crate::table) fn facts(&self, path: &str) -> Result<Option<FileFacts>, TableError> {
        self.store
            .facts(&self.inside(path))
            .map_err(|error| self.failed("looking at a file", error))
    }

    /// Begins a file.
    pub(in crate::table) fn create(&self, path: &str) -> Result<Box<dyn NewFile>, TableError> {
        self.store
            .create(&self.inside(path))
            .map_err(|error| self.failed("creating a file", error))
    }

    /// Writes a small file, replacing one of that name.
    pub(in crate::table) fn write(&self, path: &str, bytes: &[u8]) -> Result<(), TableError> {
        let mut file = self.create(path)?;
        file.write_all(bytes)
            .and_then(|()| file.finish())
            .map_err(|error| self.failed("writing a file", error))?;
        Ok(())
    }

    /// Calls `visit` for each name in a folder of the table; false if there is no such folder.
    pub(in crate::table) fn list(&self, folder: &str, visit: &mut dyn FnMut(Listed<'_>)) -> Result<bool, TableError> {
        self.store
            .list(&self.inside(folder), visit)
            .map_err(|error| self.failed("listing a folder", error))
    }

    /// Deletes a file; one that is missing is success.
    pub(in crate::table) fn delete(&self, path: &str) -> Result<(), TableError> {
        self.store
            .delete(&self.inside(path))
            .map_err(|error| self.failed("deleting a file", error))
    }

    /// Creates the folder of the log, and so the table's.
    pub(in crate::table) fn create_log_folder(&self) -> Result<(), TableError> {
        self.store
            .create_folder(&self.inside(LOG_FOLDER))
            .map_err(|error| self.failed("creating the folder", error))
    }

    /// Makes the entries of the log durable that were found there: whether the call that wrote them did is not known.
    pub(in crate::table) fn sync_log(&self) -> Result<(), TableError> {
        failpoint::pass(Point::LogBeforeSync)
            .and_then(|()| self.store.sync_folder(&self.inside(LOG_FOLDER)))
            .map_err(|error| self.failed("making the log durable", error))
    }

    /// Writes a log entry; see [`TableStore::write_entry`].
    pub(in crate::table) fn write_entry(&self, name: &str, bytes: &[u8], previous: Option<(&str, FileFacts)>) -> io::Result<EntryOutcome> {
        self.store.write_entry(&self.inside(LOG_FOLDER), name, bytes, previous)
    }

    /// Passes a point of failure.
    pub(in crate::table) fn pass(&self, point: Point) -> Result<(), TableError> {
        failpoint::pass(point).map_err(|error| self.failed(point.name(), error))
    }

    /// The table is not there; or its whole warehouse is not, which says nothing of the table.
    pub(in crate::table) fn gone(&self) -> TableError {
        let gone = || TableError::Gone {
            table: self.table.clone(),
            location: self.location(),
        };
        self.mark.expect(&self.table).err().unwrap_or_else(gone)
    }

    /// Something is at the place where a table should come.
    pub(in crate::table) fn exists(&self) -> TableError {
        TableError::Exists {
            table: self.table.clone(),
            location: self.location(),
        }
    }

    /// Someone altered the table; or it is a table of another warehouse, which says nothing of ours.
    pub(in crate::table) fn altered(&self, what: impl Into<String>) -> TableError {
        let altered = TableError::Altered {
            table: self.table.clone(),
            what: what.into(),
        };
        self.mark.expect(&self.table).err().unwrap_or(altered)
    }

    /// Storage failed, or gave what cannot be read.
    pub(in crate::table) fn failed(&self, action: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> TableError {
        TableError::Storage {
            table: self.table.clone(),
            location: self.location(),
            action,
            source: source.into(),
        }
    }

    /// Ends a long job once nobody wants its result any more, or another table is at the place: jobs go by path.
    pub(in crate::table) fn expect_wanted(&self, leave: &Leave) -> Result<(), TableError> {
        if leave.stopping.is_cancelled() {
            return Err(self.failed("caring for the table", "it is being closed, or not sound"));
        }
        self.expect_unchanged(leave)
    }

    /// Ends a job before its last step, which is worth while also when nobody waits, if another table is at the place.
    pub(in crate::table) fn expect_unchanged(&self, leave: &Leave) -> Result<(), TableError> {
        let entry = entry_path(leave.version);
        if self.facts(&entry)? == Some(leave.entry) {
            Ok(())
        } else {
            Err(self.altered(format!("`{entry}` is not the one that was read, so this may be another table")))
        }
    }

    /// An invariant of ours is broken.
    pub(in crate::table) fn internal(&self, message: impl Into<String>) -> TableError {
        TableError::Internal {
            table: self.table.clone(),
            message: message.into(),
        }
    }

    fn inside(&self, path: &str) -> String {
        if path.is_empty() {
            self.folder.clone()
        } else {
            format!("{}/{path}", self.folder)
        }
    }
}

/// How long a job may go on: it is not told to stop, and the entry that was read last before it began is still that one.
#[derive(Clone, Debug)]
pub(in crate::table) struct Leave {
    /// Cancelled when the table is closed or no longer sound.
    pub stopping: CancellationToken,
    /// Last version that was known when the job began.
    pub version: i64,
    /// Facts of its entry.
    pub entry: FileFacts,
}

/// A stored file as Parquet's reader wants it.
#[derive(Clone)]
pub(in crate::table) struct ParquetSource(Arc<dyn RandomRead>);

impl Length for ParquetSource {
    fn len(&self) -> u64 {
        self.0.bytes()
    }
}

impl ChunkReader for ParquetSource {
    type T = io::BufReader<SequentialRead>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(io::BufReader::new(SequentialRead {
            file: Arc::clone(&self.0),
            offset: start,
        }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // Checked before the buffer is made: a damaged footer can ask for any length.
        if start.saturating_add(u64::try_from(length).unwrap_or(u64::MAX)) > self.0.bytes() {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} of a file of {}",
                self.0.bytes()
            )));
        }
        let mut buffer = vec![0; length];
        self.0
            .read_exact_at(&mut buffer, start)
            .map_err(|error| ParquetError::External(Box::new(error)))?;
        Ok(buffer.into())
    }
}

/// Reads on from an offset.
pub(in crate::table) struct SequentialRead {
    file: Arc<dyn RandomRead>,
    offset: u64,
}

impl io::Read for SequentialRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.file.bytes().saturating_sub(self.offset);
        let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let Some(target) = buffer.get_mut(..count) else { return Ok(0) };
        self.file.read_exact_at(target, self.offset)?;
        self.offset = self.offset.saturating_add(u64::try_from(count).unwrap_or_default());
        Ok(count)
    }
}
