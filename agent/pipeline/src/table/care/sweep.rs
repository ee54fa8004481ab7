//! Sweeps what time has made useless: log entries and checkpoints before the history, spare checkpoints, temporary files, and
//! data files of ours that no commit ever named.
//!
//! Invariant: every version younger than the history stays readable, and a file is an orphan only if neither a live file nor a
//! kept removal has its name and it is older than any write takes. Nothing is deleted before a look whose table it is.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use super::before;
use crate::failpoint::Point;
use crate::table::TableError;
use crate::table::limits::{CHECKPOINTS_KEPT_PER_HISTORY, YOUNG_FILE};
use crate::table::log::base::{Checkpoint, LogListing, list};
use crate::table::log::checkpoint_reader::{FileRows, scan, wanted_columns};
use crate::table::log::entry_path;
use crate::table::log::replay::{find_start, read_tail};
use crate::table::store::TEMPORARY_SUFFIX;
use crate::table::store::table_files::{LOG_FOLDER, Leave, TableFiles};
use crate::table::write::{DATA_FILE_PREFIX, DATA_FILE_SUFFIX, WIDENED_FILE_PREFIX};

/// Sweeps a table. What a widening that is under way has written is named by no commit yet, and stays.
pub(super) fn sweep(files: &TableFiles, now_ms: i64, history: Duration, widening: bool, leave: &Leave) -> Result<(), TableError> {
    sweep_log(files, now_ms, history, leave)?;
    sweep_temporary(files, LOG_FOLDER, now_ms, leave)?;
    sweep_temporary(files, "", now_ms, leave)?;
    sweep_orphans(files, now_ms, widening, leave)
}

/// Deletes entries and checkpoints that no version within the history needs.
pub(in crate::table) fn sweep_log(files: &TableFiles, now_ms: i64, history: Duration, leave: &Leave) -> Result<(), TableError> {
    let Some(listing) = list(files)? else { return Ok(()) };
    let times = checkpoint_times(files, &listing)?;
    let cutoff = before(now_ms, history);
    // The newest checkpoint that is as old as the history: every younger version can be read from it on.
    let first_kept = times.iter().filter(|(_, time)| **time <= cutoff).map(|(version, _)| *version).max();
    if let (Some(first_kept), Some((first_entry, _))) = (first_kept, listing.entries) {
        // Oldest first, so that what is left never has a gap.
        for version in first_entry..first_kept {
            files.expect_wanted(leave)?;
            files.pass(Point::CleanupBeforeEntry)?;
            files.delete(&entry_path(version))?;
            files.pass(Point::CleanupAfterEntry)?;
        }
        for checkpoint in listing.checkpoints.range(..first_kept).map(|(_, checkpoint)| checkpoint) {
            files.expect_wanted(leave)?;
            delete_checkpoint(files, checkpoint)?;
        }
    }
    for version in spare_checkpoints(&times, first_kept, now_ms, history) {
        if let Some(checkpoint) = listing.checkpoints.get(&version) {
            files.expect_wanted(leave)?;
            delete_checkpoint(files, checkpoint)?;
        }
    }
    Ok(())
}

/// When the version of each checkpoint was committed. A checkpoint without its entry counts as its own file does.
fn checkpoint_times(files: &TableFiles, listing: &LogListing) -> Result<BTreeMap<i64, i64>, TableError> {
    let mut times = BTreeMap::new();
    for (version, checkpoint) in &listing.checkpoints {
        let mut facts = files.facts(&entry_path(*version))?;
        if facts.is_none()
            && let Some(path) = checkpoint.paths.first()
        {
            facts = files.facts(path)?;
        }
        if let Some(facts) = facts {
            times.insert(*version, facts.modified_ms());
        }
    }
    Ok(times)
}

/// Checkpoints between others that are so close in time that reading old versions does without them. The newest two stay, and
/// young ones, for a reader may just have been pointed to them.
fn spare_checkpoints(times: &BTreeMap<i64, i64>, first_kept: Option<i64>, now_ms: i64, history: Duration) -> Vec<i64> {
    let spacing = i64::try_from(history.as_millis()).unwrap_or(i64::MAX) / CHECKPOINTS_KEPT_PER_HISTORY;
    let young = before(now_ms, YOUNG_FILE);
    let newest: Vec<i64> = times.keys().rev().take(2).copied().collect();
    let mut spare = Vec::new();
    let mut last_kept = None;
    for (version, time) in times
        .iter()
        .filter(|(version, _)| first_kept.is_none_or(|first| **version >= first))
    {
        let near = last_kept.is_some_and(|last: i64| time.saturating_sub(last) < spacing);
        if near && *time < young && !newest.contains(version) {
            spare.push(*version);
        } else {
            last_kept = Some(*time);
        }
    }
    spare
}

fn delete_checkpoint(files: &TableFiles, checkpoint: &Checkpoint) -> Result<(), TableError> {
    files.pass(Point::CleanupBeforeCheckpoint)?;
    checkpoint.paths.iter().try_for_each(|path| files.delete(path))?;
    files.pass(Point::CleanupAfterCheckpoint)
}

/// Deletes temporary files that a crash left.
fn sweep_temporary(files: &TableFiles, folder: &str, now_ms: i64, leave: &Leave) -> Result<(), TableError> {
    let mut names = Vec::new();
    files.list(folder, &mut |listed| {
        if !listed.folder && listed.name.starts_with('.') && listed.name.ends_with(TEMPORARY_SUFFIX) {
            names.push(if folder.is_empty() {
                listed.name.to_owned()
            } else {
                format!("{folder}/{}", listed.name)
            });
        }
    })?;
    names.iter().try_for_each(|path| delete_unless_young(files, path, now_ms, leave))
}

/// Deletes data files of ours that no commit names. Files are known by eight bytes of their name's hash; two names with one
/// hash keep an orphan alive, never the other way round. A file that is committed while this runs is too young to be touched.
pub(in crate::table) fn sweep_orphans(files: &TableFiles, now_ms: i64, widening: bool, leave: &Leave) -> Result<(), TableError> {
    let unnamed = unnamed_files(files, DATA_FILE_PREFIX, leave)?;
    let orphans = unnamed.iter().filter(|name| !(widening && name.starts_with(WIDENED_FILE_PREFIX)));
    orphans
        .into_iter()
        .try_for_each(|name| delete_unless_young(files, name, now_ms, leave))
}

/// Deletes data files of ours, with names that begin so, that no commit names, however young: nobody may be writing such files.
pub(super) fn sweep_unnamed(files: &TableFiles, prefix: &str, leave: &Leave) -> Result<(), TableError> {
    for name in unnamed_files(files, prefix, leave)? {
        files.expect_wanted(leave)?;
        files.pass(Point::OrphanBeforeDelete)?;
        files.delete(&name)?;
        files.pass(Point::OrphanAfterDelete)?;
    }
    Ok(())
}

fn unnamed_files(files: &TableFiles, prefix: &str, leave: &Leave) -> Result<Vec<String>, TableError> {
    let named = named_files(files, leave)?;
    let mut unnamed = Vec::new();
    files.list("", &mut |listed| {
        let ours = listed.name.starts_with(prefix) && listed.name.ends_with(DATA_FILE_SUFFIX);
        if ours && !listed.folder && !named.contains(&hash(listed.name)) {
            unnamed.push(listed.name.to_owned());
        }
    })?;
    Ok(unnamed)
}

/// Hashes of all names that the log knows: live files and removals that are kept.
fn named_files(files: &TableFiles, leave: &Leave) -> Result<HashSet<u64>, TableError> {
    let start = find_start(files, i64::MAX)?;
    let mut named = HashSet::new();
    if let Some(checkpoint) = &start.checkpoint {
        scan(files, checkpoint, &wanted_columns(&["add", "remove"], &["path"]), &mut |batch| {
            files.expect_wanted(leave)?;
            for rows in ["add", "remove"].into_iter().filter_map(|action| FileRows::of(batch, action)) {
                named.extend((0..batch.num_rows()).filter_map(|row| rows.path(row)).map(hash));
            }
            Ok(())
        })?;
    }
    let from = start.checkpoint.map_or(0, |checkpoint| checkpoint.version + 1);
    let (tail, _) = read_tail(files, from, i64::MAX)?;
    named.extend(tail.files.keys().map(|key| hash(key.split('\n').next().unwrap_or(key))));
    Ok(named)
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

fn delete_unless_young(files: &TableFiles, path: &str, now_ms: i64, leave: &Leave) -> Result<(), TableError> {
    match files.facts(path)? {
        Some(facts) if facts.modified_ms() < before(now_ms, YOUNG_FILE) => {
            files.expect_wanted(leave)?;
            tracing::debug!(table = files.table(), file = path, "deleting a file that no commit names");
            files.pass(Point::OrphanBeforeDelete)?;
            files.delete(path)?;
            files.pass(Point::OrphanAfterDelete)
        }
        _ => Ok(()),
    }
}
