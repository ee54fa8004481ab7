//! INT columns become BIGINT: what of the table's files has been rewritten, and the one commit that puts it into force.
//!
//! From the switch on, the stream decodes BIGINT and its files hold INT, as the table's schema still says. Care rewrites the files
//! one group after another, beside the stream, into files that no commit names. Once little is left, the committer rewrites that
//! too, and swaps all files and the schema in one commit that changes no data. Every version's files have that version's schema.
//! Invariant: the swap is made only at a version whose live files are all rewritten, each once.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::care::widen::{Group, WideningStep, fits_the_committer, left_of, rewrite};
use super::commit::{Commit, Operation, commit, probe};
use super::limits::{CARE_RETRY, SWAP_ATTEMPTS_MAX, WIDENED_FILE_AGE_MIN, WIDENING_FULL_RETRY};
use super::log::actions::{Action, Add, Metadata, Remove};
use super::log::replay::live_files;
use super::schema::{Ints, Places, grow};
use super::state::LoadedTable;
use super::store::table_files::{Leave, TableFiles};
use super::write::delete_files;
use super::{TableError, clock, doubled, properties};

/// How far the widening of a table is. All but the places is known to this process alone: another life begins again.
#[derive(Clone, Debug, Default)]
pub(super) struct Widening {
    /// The INT columns that become BIGINT, as the log has them; none where nothing is widened.
    pub places: Places,
    /// What has been rewritten.
    pub groups: Vec<Group>,
    /// What a former life had rewritten is gone from the folder.
    pub cleaned: bool,
    /// Why it does not get on.
    pub trouble: Option<String>,
}

impl Widening {
    /// One of which nothing is rewritten.
    pub(super) fn of(places: Places) -> Self {
        Self { places, ..Self::default() }
    }

    /// The log names these columns now. Of others nothing is rewritten yet.
    pub(super) fn follow(&mut self, places: Places) {
        if places != self.places {
            *self = Self::of(places);
        }
    }

    /// The log was read anew: what was rewritten before still is, if it was for the same columns.
    pub(super) fn continue_from(&mut self, before: &Self) {
        if self.places == before.places {
            self.clone_from(before);
        }
    }

    /// Keys of the files that are rewritten.
    pub(super) fn done(&self) -> HashSet<String> {
        self.groups.iter().flat_map(|group| &group.inputs).cloned().collect()
    }

    /// Drops the groups of which an input is not live any more, and their files: the other inputs are rewritten again.
    fn drop_groups_of(&mut self, files: &TableFiles, gone: &[String]) {
        if gone.is_empty() {
            return;
        }
        let gone: HashSet<&String> = gone.iter().collect();
        self.groups.retain(|group| {
            let holds = !group.inputs.iter().any(|input| gone.contains(input));
            if !holds {
                delete_files(files, &group.outputs);
            }
            holds
        });
    }

    /// Drops the groups of which an output is not there: a VACUUM that keeps nothing takes what no commit names.
    fn drop_lost_groups(&mut self, files: &TableFiles) -> Result<(), TableError> {
        let mut kept = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            if are_there(files, &group.outputs)? {
                kept.push(group.clone());
            }
        }
        if kept.len() < self.groups.len() {
            tracing::warn!(
                table = files.table(),
                "rewritten files that no commit named were deleted; they are written again"
            );
            self.groups = kept;
        }
        Ok(())
    }

    /// Drops the groups, and their files, of which an output was written before that time: no VACUUM that begins before the swap may
    /// find one old enough to be deleted.
    fn drop_old_groups(&mut self, files: &TableFiles, before_ms: i64) {
        let count = self.groups.len();
        self.groups.retain(|group| {
            let is_old = group.outputs.iter().any(|output| output.modification_time < before_ms);
            if is_old {
                delete_files(files, &group.outputs);
            }
            !is_old
        });
        if self.groups.len() < count {
            tracing::warn!(
                table = files.table(),
                groups = count - self.groups.len(),
                "rewritten files that no commit named were so old that a VACUUM may take them; they are written again"
            );
        }
    }
}

/// Whether all of these files are there, and whole.
fn are_there(files: &TableFiles, outputs: &[Add]) -> Result<bool, TableError> {
    for output in outputs {
        let found = files.facts(&output.path)?;
        if !found.is_some_and(|facts| i64::try_from(facts.bytes) == Ok(output.size)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A step failed: says so, and how long to wait before the next. Where there is no space all that was rewritten goes, for it would
/// take the space from what the stream has to write.
pub(super) fn note_failure(files: &TableFiles, table: &mut LoadedTable, error: &TableError) -> Duration {
    // While the outcome of the swap is unknown its files may be part of the table.
    if !error.is_full() || table.unresolved.is_some() {
        table.widening.trouble = Some(error.to_string());
        return CARE_RETRY;
    }
    for group in std::mem::take(&mut table.widening.groups) {
        delete_files(files, &group.outputs);
    }
    table.widening.trouble = Some(format!(
        "{error}; making the columns BIGINT needs space for about {} bytes besides what is there, and begins anew within {} minutes",
        table.snapshot.totals.bytes,
        WIDENING_FULL_RETRY.as_secs() / 60
    ));
    WIDENING_FULL_RETRY
}

/// Takes in what care has rewritten, or swaps if care found that little is left.
pub(super) fn take_step(files: &TableFiles, table: &mut LoadedTable, step: WideningStep) -> Result<(), TableError> {
    if step.places != table.widening.places {
        // Another definition came meanwhile.
        if let Some(group) = step.group {
            delete_files(files, &group.outputs);
        }
        return Ok(());
    }
    table.widening.cleaned = true;
    table.widening.trouble = None;
    table.widening.drop_groups_of(files, &step.gone);
    match step.group {
        Some(group) => {
            table.widening.groups.push(group);
            Ok(())
        }
        None => swap(files, table, step.target_file_bytes),
    }
}

/// Rewrites what is left and swaps. If another writer brings too much meanwhile, care goes on and it is tried again.
fn swap(files: &TableFiles, table: &mut LoadedTable, target_file_bytes: u64) -> Result<(), TableError> {
    for _ in 0..SWAP_ATTEMPTS_MAX {
        probe(files, table)?;
        doubled::undo(files, table)?;
        if table.widening.places.is_empty() {
            return Ok(());
        }
        let now_ms = clock::now_ms();
        table
            .widening
            .drop_old_groups(files, now_ms.saturating_sub(oldest_swapped_ms(table)));
        table.widening.drop_lost_groups(files)?;
        let version = table.snapshot.version;
        let live = live_files(files, version, &|_| true)?;
        let left = left_of(files, &live, &table.widening.done())?;
        table.widening.drop_groups_of(files, &left.gone);
        if !left.gone.is_empty() {
            continue;
        }
        if !fits_the_committer(&left.todo, target_file_bytes) {
            return Ok(());
        }
        if !left.todo.is_empty() {
            let leave = Leave {
                stopping: tokio_util::sync::CancellationToken::new(),
                version,
                entry: table.snapshot.entry,
            };
            let columns = table.widened_columns();
            let group = rewrite(files, &left.todo, &columns, target_file_bytes, &leave)?;
            table.widening.groups.push(group);
        }
        if commit_swap(files, table, &live)? {
            tracing::info!(
                table = files.table(),
                version = table.snapshot.version,
                files = live.len(),
                "columns are BIGINT now"
            );
            // The sums over files that were large are not known; what cannot be read now is read before the next commit.
            table.files_stale = true;
            if let Err(error) = probe(files, table) {
                tracing::warn!(table = files.table(), %error, "a table could not be read again after its columns were widened");
            }
            return Ok(());
        }
    }
    Ok(())
}

/// Age of rewritten files up to which they go into the swap, in milliseconds: half of what a VACUUM leaves alone.
fn oldest_swapped_ms(table: &LoadedTable) -> i64 {
    let retention = properties::deleted_file_retention(&table.snapshot.metadata.configuration);
    let age = (retention / 2).max(WIDENED_FILE_AGE_MIN);
    i64::try_from(age.as_millis()).unwrap_or(i64::MAX)
}

/// Commits the swap at the version of those live files; false if another writer was faster, or took a rewritten file away.
fn commit_swap(files: &TableFiles, table: &mut LoadedTable, live: &[Add]) -> Result<bool, TableError> {
    expect_all_rows(files, live, &table.widening.groups)?;
    let (version, outputs) = (table.snapshot.version, outputs(&table.widening.groups));
    let actions = |table: &LoadedTable| {
        if table.snapshot.version != version || !are_there(files, &outputs)? {
            return Ok(None);
        }
        let now_ms = clock::now_ms();
        let metadata = Action::from(widened_metadata(files, table)?);
        let removals = live.iter().map(|add| Action::from(removal(add, now_ms)));
        let additions = outputs.iter().cloned().map(Action::from);
        Ok(Some(std::iter::once(metadata).chain(removals).chain(additions).collect()))
    };
    let committed = commit(
        files,
        table,
        &Commit {
            operation: Operation::Widen,
            note: None,
            actions: &actions,
        },
    )?;
    Ok(committed.is_some())
}

fn outputs(groups: &[Group]) -> Vec<Add> {
    groups.iter().flat_map(|group| &group.outputs).cloned().collect()
}

/// Refuses to swap unless the new files hold as many rows as the old ones, as far as the log says how many those hold.
fn expect_all_rows(files: &TableFiles, live: &[Add], groups: &[Group]) -> Result<(), TableError> {
    let known: HashMap<String, Option<i64>> = live.iter().map(|add| (add.key(), add.rows())).collect();
    for group in groups {
        let expected: Option<i64> = group.inputs.iter().map(|input| known.get(input).copied().flatten()).sum();
        let written: i64 = group.outputs.iter().filter_map(Add::rows).sum();
        if expected.is_some_and(|expected| expected != written) {
            return Err(files.internal(format!(
                "widening wrote {written} rows of {}; nothing was changed",
                expected.unwrap_or_default()
            )));
        }
    }
    Ok(())
}

fn widened_metadata(files: &TableFiles, table: &LoadedTable) -> Result<Metadata, TableError> {
    let old = &table.snapshot.metadata;
    let grown = grow(&old.schema_string, &table.widened_columns(), Ints::Widened);
    let grown = grown.map_err(|error| files.internal(format!("its columns do not become BIGINT: {error:?}")))?;
    let mut metadata = Metadata {
        schema_string: grown.text.unwrap_or_else(|| old.schema_string.clone()),
        ..old.clone()
    };
    properties::set_widening(&mut metadata.configuration, &Places::new());
    Ok(metadata)
}

fn removal(add: &Add, now_ms: i64) -> Remove {
    Remove {
        path: add.path.clone(),
        deletion_timestamp: Some(now_ms),
        data_change: false,
        extended_file_metadata: Some(true),
        partition_values: Some(add.partition_values.clone()),
        size: Some(add.size),
        deletion_vector: None,
    }
}
