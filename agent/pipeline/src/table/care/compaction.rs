//! Compaction: the rows of many small files in one, as one commit that changes no data.
//!
//! Invariant: the commit is made only while every input is live, so a row is never in the table twice or lost.

use std::sync::Arc;

use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use stream_spec::types::Field;
use tokio_util::sync::CancellationToken;

use super::CareResult;
use crate::table::commit::{Commit, Operation, commit};
use crate::table::conform::{Surplus, conform_batch};
use crate::table::limits::{COMPACTION_BATCH_BYTES, COMPACTION_BATCH_ROWS};
use crate::table::log::actions::{Action, Add, Remove};
use crate::table::small_files::SmallFile;
use crate::table::state::LoadedTable;
use crate::table::store::table_files::TableFiles;
use crate::table::write::{DataFileWriter, delete_files};
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
    pub(super) fn run(self, files: &TableFiles, stopping: &CancellationToken) -> Result<CareResult, TableError> {
        let arrow = schema::arrow_schema(&self.columns);
        // An output may grow beyond the target by a batch; it is never split for that.
        let mut writer = DataFileWriter::new(
            files,
            &self.columns,
            Arc::clone(&arrow),
            self.target_file_bytes.saturating_mul(2),
            false,
        );
        for input in &self.inputs {
            let missing = || files.failed("compacting files", format!("`{}` is not there", input.path));
            let path = data_path::inside_table(&input.path).ok_or_else(missing)?;
            let source = files.open(&path)?.ok_or_else(missing)?;
            let failed = |error| files.failed("compacting files", error);
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(source, options).map_err(failed)?;
            let reader = builder.with_batch_size(batch_rows(input)).build().map_err(failed)?;
            for batch in reader {
                files.expect_wanted(stopping)?;
                let batch = batch.map_err(|error| files.failed("compacting files", error))?;
                let rows = conform_batch(&batch, &arrow, Surplus::Refused).map_err(|error| files.failed("compacting files", error))?;
                writer.write(&rows)?;
            }
        }
        let outputs = writer.finish()?;
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

/// Rows to decode at once: fewer where rows are wide.
fn batch_rows(input: &SmallFile) -> usize {
    let rows = u64::try_from(input.rows).unwrap_or_default().max(1);
    let row_bytes = (input.bytes / rows).max(1);
    usize::try_from(COMPACTION_BATCH_BYTES / row_bytes)
        .unwrap_or(COMPACTION_BATCH_ROWS)
        .clamp(1, COMPACTION_BATCH_ROWS)
}
