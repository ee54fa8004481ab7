//! Rewrites files whose INT columns become BIGINT: a group at a time, into files that no commit names yet.
//!
//! Each job reads anew which files are live, so what others do meanwhile needs no second account. Small files are put together.
//! Invariant: the outputs of a group hold the rows of its inputs, each once, in their order.

use std::collections::HashSet;
use std::sync::Arc;

use stream_spec::types::Field;

use super::CareResult;
use super::compaction::reader;
use super::sweep::sweep_unnamed;
use crate::failpoint::Point;
use crate::table::conform::{Surplus, conform_batch};
use crate::table::limits::WIDENED_FILES_AT_ONCE;
use crate::table::log::actions::Add;
use crate::table::log::replay::live_files;
use crate::table::schema::{Places, arrow_schema};
use crate::table::state::LoadedTable;
use crate::table::store::table_files::{Leave, TableFiles};
use crate::table::write::{DataFileWriter, Origin, WIDENED_FILE_PREFIX, delete_files};
use crate::table::{TableError, data_path};

/// Files whose rows are in others.
#[derive(Clone, Debug)]
pub(in crate::table) struct Group {
    /// Keys of the files as they are.
    pub inputs: Vec<String>,
    /// The files with BIGINT columns.
    pub outputs: Vec<Add>,
}

/// The next step of a widening.
#[derive(Debug)]
pub(in crate::table) struct Widen {
    places: Places,
    columns: Vec<Field>,
    /// Keys of the files that are rewritten.
    done: HashSet<String>,
    cleaned: bool,
    target_file_bytes: u64,
}

/// What a step came to.
#[derive(Debug)]
pub(in crate::table) struct WideningStep {
    /// The columns that it was for.
    pub places: Places,
    /// Keys of files that were rewritten and are not live any more.
    pub gone: Vec<String>,
    /// What it rewrote; nothing where so little is left that the committer does it.
    pub group: Option<Group>,
    /// Size of a full file.
    pub target_file_bytes: u64,
}

/// What of the live files is not rewritten.
pub(in crate::table) struct Left {
    /// Keys of rewritten files that are not live any more.
    pub gone: Vec<String>,
    /// Files to rewrite, the oldest first.
    pub todo: Vec<Add>,
}

impl Widen {
    /// The step that is due now.
    pub(super) fn of(table: &LoadedTable, target_file_bytes: u64) -> Self {
        Self {
            places: table.widening.places.clone(),
            columns: table.widened_columns(),
            done: table.widening.done(),
            cleaned: table.widening.cleaned,
            target_file_bytes,
        }
    }

    /// Rewrites one group, or finds that the rest is the committer's.
    pub(super) fn run(self, files: &TableFiles, leave: &Leave) -> Result<CareResult, TableError> {
        if !self.cleaned {
            sweep_unnamed(files, WIDENED_FILE_PREFIX, leave)?;
        }
        let live = live_files(files, leave.version, &|_| true)?;
        let left = left_of(files, &live, &self.done)?;
        let group = if fits_the_committer(&left.todo, self.target_file_bytes) {
            None
        } else {
            let inputs = next_group(&left.todo, self.target_file_bytes);
            Some(rewrite(files, inputs, &self.columns, self.target_file_bytes, leave)?)
        };
        Ok(CareResult::Widened(WideningStep {
            places: self.places,
            gone: left.gone,
            group,
            target_file_bytes: self.target_file_bytes,
        }))
    }
}

/// Compares live files with those that are rewritten. Files with deletion vectors are refused: what they hide must stay hidden.
pub(in crate::table) fn left_of(files: &TableFiles, live: &[Add], done: &HashSet<String>) -> Result<Left, TableError> {
    if let Some(add) = live.iter().find(|add| add.deletion_vector.is_some()) {
        return Err(TableError::Unsupported {
            message: format!(
                "INT columns of table `{}` cannot become BIGINT while its file `{}` has a deletion vector; run `REORG TABLE … APPLY (PURGE)`",
                files.table(),
                add.path
            ),
        });
    }
    let keys: HashSet<String> = live.iter().map(Add::key).collect();
    let mut todo: Vec<Add> = live.iter().filter(|add| !done.contains(&add.key())).cloned().collect();
    todo.sort_by(|one, other| (one.modification_time, &one.path).cmp(&(other.modification_time, &other.path)));
    Ok(Left {
        gone: done.iter().filter(|key| !keys.contains(*key)).cloned().collect(),
        todo,
    })
}

/// Whether the committer rewrites these files while appends wait.
pub(in crate::table) fn fits_the_committer(todo: &[Add], target_file_bytes: u64) -> bool {
    todo.len() <= WIDENED_FILES_AT_ONCE && todo.iter().map(bytes).sum::<u64>() <= target_file_bytes / 2
}

/// The first files that make a full one.
fn next_group(todo: &[Add], target_file_bytes: u64) -> &[Add] {
    let mut sum = 0;
    let full = todo.iter().position(|add| {
        sum += bytes(add);
        sum >= target_file_bytes
    });
    let count = full.map_or(todo.len(), |last| last + 1).min(WIDENED_FILES_AT_ONCE);
    todo.get(..count).unwrap_or(todo)
}

fn bytes(add: &Add) -> u64 {
    u64::try_from(add.size).unwrap_or_default()
}

/// Writes the rows of files with these columns.
pub(in crate::table) fn rewrite(
    files: &TableFiles,
    inputs: &[Add],
    columns: &[Field],
    target_file_bytes: u64,
    leave: &Leave,
) -> Result<Group, TableError> {
    files.pass(Point::WidenBeforeFiles)?;
    let outputs = rewrite_as(Origin::Widening, files, inputs, columns, target_file_bytes.saturating_mul(2), leave)?;
    files.pass(Point::WidenAfterFiles).inspect_err(|_| delete_files(files, &outputs))?;
    Ok(Group {
        inputs: inputs.iter().map(Add::key).collect(),
        outputs,
    })
}

/// Writes the rows of files with these columns, as rows of that origin.
pub(in crate::table) fn rewrite_as(
    origin: Origin,
    files: &TableFiles,
    inputs: &[Add],
    columns: &[Field],
    target_file_bytes: u64,
    leave: &Leave,
) -> Result<Vec<Add>, TableError> {
    let arrow = arrow_schema(columns);
    let mut writer = DataFileWriter::new(files, columns, Arc::clone(&arrow), target_file_bytes, origin);
    for input in inputs {
        let refused = |why: &dyn std::fmt::Display| files.failed("widening columns", format!("`{}`: {why}", input.path));
        let path = data_path::inside_table(&input.path).ok_or_else(|| refused(&"it lies outside of the table"))?;
        let source = files.open(&path)?.ok_or_else(|| refused(&"it is not there"))?;
        let (batches, rows) = reader(source).map_err(|error| refused(&error))?;
        if let Some(expected) = input.rows().filter(|expected| *expected != rows) {
            return Err(refused(&format!("it has {rows} rows, and the log says {expected}")));
        }
        let mut written = 0;
        for batch in batches {
            files.expect_wanted(leave)?;
            let batch = batch.map_err(|error| refused(&error))?;
            let batch = conform_batch(&batch, &arrow, Surplus::Refused).map_err(|error| refused(&error))?;
            written += batch.num_rows();
            writer.write(&batch)?;
        }
        if i64::try_from(written) != Ok(rows) {
            return Err(refused(&format!("it has {rows} rows, and {written} could be read")));
        }
    }
    writer.finish()
}
