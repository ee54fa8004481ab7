//! Reads checkpoints, in batches and only the wanted columns.
//!
//! Invariant: memory holds one batch, and of the columns only those asked for.

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use super::actions::{Action, Add};
use super::base::Checkpoint;
use super::checkpoint_schema::checkpoint_schema;
use crate::table::TableError;
use crate::table::conform::{Surplus, conform_batch};
use crate::table::limits::CHECKPOINT_BATCH_ROWS;
use crate::table::store::table_files::TableFiles;

/// Kinds of action of which the last one wins, however old.
const SINGLES: [&str; 3] = ["txn", "metaData", "protocol"];

/// All fields of `add`.
pub(in crate::table) const ADD_FIELDS: [&str; 8] = [
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "dataChange",
    "stats",
    "tags",
    "deletionVector",
];

/// The checkpoint's columns of these kinds of action; of `add` and `remove` only these fields.
pub(in crate::table) fn wanted_columns(actions: &[&str], file_fields: &[&str]) -> SchemaRef {
    let full = checkpoint_schema();
    let columns = full
        .fields()
        .iter()
        .filter(|field| actions.contains(&field.name().as_str()))
        .map(|field| match field.data_type() {
            DataType::Struct(fields) if matches!(field.name().as_str(), "add" | "remove") => {
                let kept: Fields = fields
                    .iter()
                    .filter(|inner| file_fields.contains(&inner.name().as_str()))
                    .cloned()
                    .collect();
                Field::new(field.name(), DataType::Struct(kept), true)
            }
            _ => field.as_ref().clone(),
        });
    Schema::new(columns.collect::<Vec<_>>()).into()
}

/// Transactions, metadata and protocol of a checkpoint.
pub(in crate::table) fn read_singles(files: &TableFiles, checkpoint: &Checkpoint) -> Result<Vec<Action>, TableError> {
    let mut actions = Vec::new();
    scan(files, checkpoint, &wanted_columns(&SINGLES, &[]), &mut |batch| {
        actions.extend(singles_of(files, batch)?);
        Ok(())
    })?;
    Ok(actions)
}

/// Calls `visit` for each batch of a checkpoint, in the wanted columns.
pub(in crate::table) fn scan(
    files: &TableFiles,
    checkpoint: &Checkpoint,
    wanted: &SchemaRef,
    visit: &mut dyn FnMut(&RecordBatch) -> Result<(), TableError>,
) -> Result<(), TableError> {
    for path in &checkpoint.paths {
        let Some(source) = files.open(path)? else {
            return Err(files.failed("reading a checkpoint", format!("`{path}` is not there")));
        };
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(source, options)
            .map_err(|error| files.failed("reading a checkpoint", error))?;
        let parquet_schema = builder.parquet_schema();
        let leaves = (0..parquet_schema.num_columns()).filter(|leaf| wants(wanted.fields(), parquet_schema.column(*leaf).path().parts()));
        let mask = ProjectionMask::leaves(parquet_schema, leaves);
        let reader = builder
            .with_projection(mask)
            .with_batch_size(CHECKPOINT_BATCH_ROWS)
            .build()
            .map_err(|error| files.failed("reading a checkpoint", error))?;
        for batch in reader {
            let batch = batch.map_err(|error| files.failed("reading a checkpoint", error))?;
            let batch = conform_batch(&batch, wanted, Surplus::LeftOut).map_err(|error| files.failed("reading a checkpoint", error))?;
            visit(&batch)?;
        }
    }
    Ok(())
}

/// The rows of a batch that are transactions, metadata or protocol.
pub(in crate::table) fn singles_of(files: &TableFiles, batch: &RecordBatch) -> Result<Vec<Action>, TableError> {
    let columns: Vec<usize> = SINGLES.iter().filter_map(|name| batch.schema_ref().index_of(name).ok()).collect();
    let failed = |error: arrow_schema::ArrowError| files.failed("reading a checkpoint", error);
    let singles = batch.project(&columns).map_err(failed)?;
    let present: BooleanArray = (0..singles.num_rows())
        .map(|row| Some(singles.columns().iter().any(|column| column.is_valid(row))))
        .collect();
    actions_of(files, &singles, &present)
}

/// The additions of a batch with all [`ADD_FIELDS`] whose keys are wanted.
pub(in crate::table) fn adds_of(files: &TableFiles, batch: &RecordBatch, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Add>, TableError> {
    let Some(rows) = FileRows::of(batch, "add") else {
        return Ok(Vec::new());
    };
    let present: BooleanArray = (0..batch.num_rows())
        .map(|row| Some(rows.key(row).is_some_and(|key| wanted(&key))))
        .collect();
    let actions = actions_of(files, batch, &present)?;
    Ok(actions.into_iter().filter_map(|action| action.add).collect())
}

/// Rows as actions, by way of the JSON that entries have.
fn actions_of(files: &TableFiles, batch: &RecordBatch, wanted: &BooleanArray) -> Result<Vec<Action>, TableError> {
    if wanted.true_count() == 0 {
        return Ok(Vec::new());
    }
    let failed = |error: arrow_schema::ArrowError| files.failed("reading a checkpoint", error);
    let mut writer = arrow_json::LineDelimitedWriter::new(Vec::new());
    writer.write(&filter_record_batch(batch, wanted).map_err(failed)?).map_err(failed)?;
    writer.finish().map_err(failed)?;
    super::actions::parse_entry(&writer.into_inner()).map_err(|error| files.failed("reading a checkpoint", error))
}

/// The file actions of one kind in a batch, row by row.
pub(in crate::table) struct FileRows<'a> {
    rows: &'a StructArray,
    path: &'a StringArray,
    vector: Option<&'a StructArray>,
}

impl<'a> FileRows<'a> {
    /// The column `add` or `remove` of a batch of wanted columns with at least the field `path`.
    pub(in crate::table) fn of(batch: &'a RecordBatch, action: &str) -> Option<Self> {
        let rows = batch.column_by_name(action)?.as_struct_opt()?;
        let path = rows.column_by_name("path")?.as_string_opt()?;
        let vector = rows.column_by_name("deletionVector").and_then(|column| column.as_struct_opt());
        Some(Self { rows, path, vector })
    }

    /// The path in that row, as the log spells it; nothing if the row is another action.
    pub(in crate::table) fn path(&self, row: usize) -> Option<&'a str> {
        (self.rows.is_valid(row) && self.path.is_valid(row)).then(|| self.path.value(row))
    }

    /// What identifies the file of that row; nothing if the row is another action.
    pub(in crate::table) fn key(&self, row: usize) -> Option<String> {
        let path = self.path(row)?;
        let Some(vector) = self.vector.filter(|vector| vector.is_valid(row)) else {
            return Some(path.to_owned());
        };
        let text = |name: &str| {
            vector
                .column_by_name(name)
                .and_then(|column| column.as_string_opt::<i32>())
                .map(|column| column.value(row).to_owned())
        };
        let offset = vector
            .column_by_name("offset")
            .and_then(|column| column.as_primitive_opt::<arrow_array::types::Int32Type>())
            .filter(|column| column.is_valid(row))
            .map(|column| column.value(row));
        let vector = super::actions::DeletionVector {
            storage_type: text("storageType").unwrap_or_default(),
            path_or_inline_dv: text("pathOrInlineDv").unwrap_or_default(),
            offset,
            size_in_bytes: 0,
            cardinality: 0,
        };
        Some(super::actions::file_key(path, Some(&vector)))
    }

    /// Whether the file of that row has a deletion vector.
    pub(in crate::table) fn has_vector(&self, row: usize) -> bool {
        self.vector.is_some_and(|vector| vector.is_valid(row))
    }

    /// Rows that the deletion vector of that row hides.
    pub(in crate::table) fn hidden_rows(&self, row: usize) -> i64 {
        let cardinality = || {
            let vector = self.vector.filter(|vector| vector.is_valid(row))?;
            let column = vector
                .column_by_name("cardinality")?
                .as_primitive_opt::<arrow_array::types::Int64Type>()?;
            column.is_valid(row).then(|| column.value(row))
        };
        cardinality().unwrap_or_default()
    }

    /// A number of that row.
    pub(in crate::table) fn long(&self, field: &str, row: usize) -> Option<i64> {
        let column = self
            .rows
            .column_by_name(field)?
            .as_primitive_opt::<arrow_array::types::Int64Type>()?;
        column.is_valid(row).then(|| column.value(row))
    }

    /// A text of that row.
    pub(in crate::table) fn text(&self, field: &str, row: usize) -> Option<&'a str> {
        let column = self.rows.column_by_name(field)?.as_string_opt::<i32>()?;
        column.is_valid(row).then(|| column.value(row))
    }
}

/// Whether a Parquet leaf lies under one of the wanted fields. Below lists and maps everything is wanted.
fn wants(fields: &Fields, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    match fields.find(first).map(|(_, field)| field.data_type()) {
        Some(DataType::Struct(inner)) => wants(inner, rest),
        Some(_) => true,
        None => false,
    }
}
