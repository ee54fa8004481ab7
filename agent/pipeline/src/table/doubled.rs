//! Undoes what another writer made of files that were not there any more: their rows would be in the table twice.
//!
//! Two rewrites of one file must not both be made. Some writers see no conflict with a compaction, because that changes no data
//! (delta-rs does not), and commit theirs over it. Invariant: an undo leaves exactly the files that were live before the commit
//! that it undoes, and those that came after.

use std::collections::HashSet;

use super::commit::{Commit, Operation, commit};
use super::data_path::inside_table;
use super::log::actions::{Action, Add, Remove, parse_entry};
use super::log::entry_path;
use super::log::replay::{live_files, unreadable};
use super::state::LoadedTable;
use super::store::table_files::TableFiles;
use super::{TableError, clock};

/// A commit of another writer that rewrote files that were rewritten before, or files that such a commit had made.
#[derive(Clone, Debug)]
pub(super) struct Doubled {
    /// Its version.
    version: i64,
    /// Files that it added.
    added: Vec<Add>,
    /// Files that it removed, as far as they were live.
    removed: Vec<Add>,
}

/// Looks whether the commit of that version put something in the place of files that were not live, or of files that one of the
/// `known` made: that one can be undone only after this. If it only rewrote rows, it can be undone; if it changed some, its writer
/// has to.
pub(super) fn find(files: &TableFiles, version: i64, actions: &[Action], known: &[Doubled]) -> Result<Option<Doubled>, TableError> {
    let keys: HashSet<String> = actions
        .iter()
        .filter_map(|action| action.remove.as_ref())
        .map(Remove::key)
        .collect();
    let added: Vec<Add> = actions.iter().filter_map(|action| action.add.clone()).collect();
    if keys.is_empty() || added.is_empty() {
        return Ok(None);
    }
    let removed = live_files(files, version - 1, &|key| keys.contains(key))?;
    if removed.len() == keys.len() && !known.iter().any(|doubled| doubled.is_rewritten(&keys, &added)) {
        return Ok(None);
    }
    if added.iter().any(|add| add.data_change) {
        return Err(files.altered(undo_it(version)));
    }
    Ok(Some(Doubled { version, added, removed }))
}

/// Finds again what the log says was not undone: an undo can fail, and the agent can end before it or be away at the time.
/// What was taken back meanwhile, the log says too, as far back as its last checkpoint.
pub(super) fn recall(files: &TableFiles, table: &mut LoadedTable) -> Result<(), TableError> {
    let (doubling, checkpoint) = (&table.snapshot.doubling, table.snapshot.checkpoint.version);
    table
        .doubled
        .retain(|doubled| doubled.version <= checkpoint || doubling.contains(&doubled.version));
    for version in &table.snapshot.doubling {
        if table.doubled.iter().any(|doubled| doubled.version == *version) {
            continue;
        }
        let Some(text) = files.read(&entry_path(*version))? else { continue };
        let actions = parse_entry(&text).map_err(|error| unreadable(files, *version, &error))?;
        let found = find(files, *version, &actions, &table.doubled)?;
        table.doubled.extend(found);
        table.doubled.sort_by_key(|doubled| doubled.version);
    }
    Ok(())
}

/// Undoes what was found, the newest first: it may have rewritten what an older one made.
pub(super) fn undo(files: &TableFiles, table: &mut LoadedTable) -> Result<(), TableError> {
    while let Some(doubled) = table.doubled.last().cloned() {
        tracing::warn!(
            table = files.table(),
            version = doubled.version,
            "undoing another writer's rewrite of files that were rewritten before: their rows were in the table twice"
        );
        let is_newest = |table: &LoadedTable| table.doubled.iter().all(|other| other.version <= doubled.version);
        let actions = |table: &LoadedTable| match is_newest(table) {
            true => doubled.undoing(files, table.snapshot.version),
            // Another one landed while this was committed: its turn comes first.
            false => Ok(None),
        };
        let undone = commit(
            files,
            table,
            &Commit {
                operation: Operation::Undo,
                note: Some(("featurestore.undoneVersion", doubled.version.into())),
                actions: &actions,
            },
        );
        if undone?.is_none() && !is_newest(table) {
            continue;
        }
        table.doubled.retain(|other| other.version != doubled.version);
        // The files that went are not all known, so the sums are not either.
        table.files_stale = true;
    }
    Ok(())
}

impl Doubled {
    /// Whether a commit that removed and added these rewrote what this one made. One that puts back what this one removed takes
    /// it back.
    fn is_rewritten(&self, removed: &HashSet<String>, added: &[Add]) -> bool {
        let takes_back = added.iter().any(|add| self.removed.iter().any(|own| own.key() == add.key()));
        !takes_back && self.added.iter().any(|add| removed.contains(&add.key()))
    }

    /// What undoes it at that version; nothing if that is done.
    fn undoing(&self, files: &TableFiles, version: i64) -> Result<Option<Vec<Action>>, TableError> {
        let all: HashSet<String> = self.added.iter().chain(&self.removed).map(Add::key).collect();
        let live = live_files(files, version, &|key| all.contains(key))?;
        let live: HashSet<String> = live.iter().map(Add::key).collect();
        let count = |files: &[Add]| files.iter().filter(|add| live.contains(&add.key())).count();
        if count(&self.added) == self.added.len() && count(&self.removed) == 0 {
            for add in &self.removed {
                // It can be long ago: a VACUUM may have been faster.
                if let Some(path) = inside_table(&add.path)
                    && files.facts(&path)?.is_none()
                {
                    return Err(files.altered(undo_it(self.version)));
                }
            }
            let now_ms = clock::now_ms();
            let removals = self.added.iter().map(|add| Action::from(removal(add, now_ms)));
            let additions = self.removed.iter().map(|add| {
                Action::from(Add {
                    data_change: false,
                    ..add.clone()
                })
            });
            return Ok(Some(removals.chain(additions).collect()));
        }
        if count(&self.added) == 0 && count(&self.removed) == self.removed.len() {
            return Ok(None);
        }
        Err(files.altered(undo_it(self.version)))
    }
}

fn undo_it(version: i64) -> String {
    format!(
        "version {version} rewrote files that had been rewritten before, so rows are in it twice; undo it with `RESTORE TABLE … TO \
         VERSION AS OF {}` and make the change again",
        version - 1
    )
}

fn removal(add: &Add, now_ms: i64) -> Remove {
    Remove {
        path: add.path.clone(),
        deletion_timestamp: Some(now_ms),
        data_change: false,
        extended_file_metadata: Some(true),
        partition_values: Some(add.partition_values.clone()),
        size: Some(add.size),
        deletion_vector: add.deletion_vector.clone(),
    }
}
