//! Tables of the agent's own: rows that their source has numbered, each of them in the table once.
//!
//! They are made, written and cared for as the tables of streams are; a source stands where those have a partition. Invariant: the
//! number of a source's last row is recorded by the commit that adds the row.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use stream_spec::name::TableName;
use stream_spec::types::{DataType, Field};

use super::{Append, NewTable, SchemaVersion, SourceIdentity, TableCareSettings, TableError, TableHandle, Warehouse, schema};
use crate::position::{PartitionId, Position, Positions};

/// What a table of the agent's own is.
#[derive(Clone, Debug)]
pub struct SystemTable {
    /// Where it is.
    pub name: TableName,
    /// Whose it is: the same in all lives of it, letters, digits, `-` and `_`. Part of every transaction's app id.
    pub uid: &'static str,
    /// All columns, in order.
    pub columns: Vec<Field>,
}

/// Values of one column, one for each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SystemValues {
    /// Texts, or null.
    Text(Vec<Option<String>>),
    /// Numbers.
    Number(Vec<i64>),
    /// Times in milliseconds since 1970.
    Time(Vec<i64>),
}

impl SystemValues {
    /// The type of the column.
    pub const fn data_type(&self) -> DataType {
        match self {
            Self::Text(_) => DataType::String,
            Self::Number(_) => DataType::BigInt,
            Self::Time(_) => DataType::Timestamp,
        }
    }

    fn into_array(self) -> ArrayRef {
        match self {
            Self::Text(values) => Arc::new(StringArray::from(values)),
            Self::Number(values) => Arc::new(Int64Array::from(values)),
            Self::Time(values) => {
                let micros = values.into_iter().map(|millis| millis.saturating_mul(1_000));
                Arc::new(TimestampMicrosecondArray::from_iter_values(micros).with_timezone("UTC"))
            }
        }
    }
}

/// A table of the agent's own that is open for the rows of one source.
///
/// After an error it can be unknown whether rows are in the table: it is closed then and opened again, and
/// [`SystemTableHandle::last_number`] tells.
#[derive(Debug)]
pub struct SystemTableHandle {
    table: SystemTable,
    source: PartitionId,
    handle: TableHandle,
}

impl SystemTableHandle {
    /// Opens the table, and makes it where there is none: a table that somebody dropped begins anew.
    pub(crate) async fn open(warehouse: &Warehouse, care: TableCareSettings, table: SystemTable, source: &str) -> Result<Self, TableError> {
        let source = PartitionId {
            topic: source.to_owned(),
            partition: 0,
        };
        let new = NewTable {
            name: table.name.clone(),
            stream_uid: table.uid.to_owned(),
            generation: 1,
            columns: table.columns.clone(),
            positions: Positions::new(),
            source: SourceIdentity::default(),
            schemas: SchemaVersion::default(),
            registry: None,
            history: care.history,
        };
        warehouse.create(new).await?;
        let handle = warehouse.open_table(&table.name, table.uid, care).await?;
        let as_expected = handle.state().borrow().expect_columns(&table.name, &table.columns);
        if let Err(error) = as_expected {
            handle.close().await;
            return Err(error);
        }
        Ok(Self { table, source, handle })
    }

    /// The number of the source's last row that is in the table; 0 if none is.
    pub fn last_number(&self) -> i64 {
        let state = self.handle.state();
        let next = state.borrow().positions.get(&self.source).map(|position| position.next_offset);
        next.map_or(0, |next| next.saturating_sub(1))
    }

    /// Adds rows, of which the last has that number, in one commit. The columns are in the table's order.
    pub async fn append(&self, columns: Vec<SystemValues>, last_number: i64) -> Result<(), TableError> {
        let schema = schema::arrow_schema(&self.table.columns);
        let arrays = columns.into_iter().map(SystemValues::into_array).collect();
        let rows = RecordBatch::try_new(schema, arrays).map_err(|error| TableError::Internal {
            table: self.table.name.to_string(),
            message: format!("rows of the agent's own do not fit their table: {error}"),
        })?;
        let next = Position::new(last_number.saturating_add(1), 0);
        let append = Append {
            batches: vec![rows],
            positions: Positions::from([(self.source.clone(), next)]),
        };
        self.handle.append(append).await.map(|_| ())
    }

    /// Ends what is under way.
    pub async fn close(self) {
        self.handle.close().await;
    }
}
