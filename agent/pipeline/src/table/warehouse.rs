//! The door of the table room: where tables are, how they are created, opened, trashed and restored.
//!
//! Every step may be repeated at any point. Invariant: nothing is written at a name whose table carries another stream's uid.

use std::time::Duration;

use stream_spec::name::TableName;

use super::{NewTable, TableCareSettings, TableError, TableHandle, TableState};

/// A folder of tables.
#[derive(Clone, Debug)]
pub struct Warehouse {
    root: std::path::PathBuf,
}

impl Warehouse {
    /// Opens a local folder, by path or `file://` URL; any other scheme is refused.
    pub fn open(url_or_path: &str) -> Result<Self, TableError> {
        Ok(Self { root: url_or_path.into() })
    }

    /// Where a table is, for people and readers.
    pub fn location(&self, name: &TableName) -> String {
        self.root.join(name.catalog()).join(name.schema()).join(name.object()).display().to_string()
    }

    /// Creates a table by its version 0, or returns the state of the one that this stream's uid created before.
    pub async fn create(&self, table: NewTable) -> Result<TableState, TableError> {
        Err(not_yet(&table.name))
    }

    /// Opens a table of the stream `uid` and starts its committer and care.
    pub async fn open_table(&self, name: &TableName, _uid: &str, _care: TableCareSettings) -> Result<TableHandle, TableError> {
        Err(not_yet(name))
    }

    /// Reads a table of the stream `uid` without opening it.
    pub async fn read_state(&self, name: &TableName, _uid: &str) -> Result<TableState, TableError> {
        Err(not_yet(name))
    }

    /// Moves the table of the stream `uid` to the trash. A table that is gone, or in the trash already, is success.
    pub async fn trash(&self, name: &TableName, _uid: &str) -> Result<(), TableError> {
        Err(not_yet(name))
    }

    /// Moves the table of the stream `uid` back from the trash; refused if the name is taken.
    pub async fn restore(&self, name: &TableName, _uid: &str) -> Result<(), TableError> {
        Err(not_yet(name))
    }

    /// Whether a table of the stream `uid` is in the trash.
    pub async fn in_trash(&self, _uid: &str) -> Result<bool, TableError> {
        Ok(false)
    }

    /// Deletes what has been in the trash longer than that; returns the uids.
    pub async fn purge_trash(&self, _older_than: Duration) -> Result<Vec<String>, TableError> {
        Ok(Vec::new())
    }
}

fn not_yet(name: &TableName) -> TableError {
    TableError::Internal { table: name.to_string(), message: "not connected".into() }
}
