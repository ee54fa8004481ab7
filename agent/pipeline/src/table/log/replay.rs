//! One pass over a log: checkpoint and tail, to what the table is now.
//!
//! What it means for a stream is `state`'s. Invariant: files are counted, not kept, except the few that are small.

use std::collections::{HashMap, HashSet};

use super::actions::{Add, Metadata, Protocol, parse_entry};
use super::base::{Checkpoint, hinted, list};
use super::checkpoint_reader::{ADD_FIELDS, FileRows, adds_of, scan, singles_of, wanted_columns};
use super::tail::Tail;
use super::{entry_name, entry_path};
use crate::table::limits::YOUNG_ENTRY;
use crate::table::small_files::SmallFiles;
use crate::table::store::FileFacts;
use crate::table::store::table_files::TableFiles;
use crate::table::{TableError, TableTotals, clock};

/// What the log says at its last version.
#[derive(Clone, Debug)]
pub(in crate::table) struct Snapshot {
    /// Last version.
    pub version: i64,
    /// Facts of its entry: how a swapped table is noticed.
    pub entry: FileFacts,
    /// Protocol in force.
    pub protocol: Protocol,
    /// Metadata in force.
    pub metadata: Metadata,
    /// Version of every application.
    pub txns: HashMap<String, i64>,
    /// Sums over live files.
    pub totals: TableTotals,
    /// Live files that are worth compacting.
    pub small_files: SmallFiles,
    /// Version and number of actions of the last checkpoint; −1 and 0 without one.
    pub checkpoint: CheckpointSize,
    /// Versions after the last checkpoint that rewrote files which were rewritten before, and were not taken back.
    pub doubling: Vec<i64>,
}

/// How far the last checkpoint is, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) struct CheckpointSize {
    /// Version.
    pub version: i64,
    /// Number of actions.
    pub actions: i64,
}

/// The checkpoint to start from, if there is one, at or before `up_to`.
pub(in crate::table) struct Start {
    /// The checkpoint.
    pub checkpoint: Option<Checkpoint>,
    /// Highest entry that a listing showed; the tail must reach it.
    pub listed_last: Option<i64>,
}

/// Finds where to start reading.
pub(in crate::table) fn find_start(files: &TableFiles, up_to: i64) -> Result<Start, TableError> {
    if let Some(checkpoint) = hinted(files)?
        && checkpoint.version <= up_to
    {
        return Ok(Start {
            checkpoint: Some(checkpoint),
            listed_last: None,
        });
    }
    let Some(listing) = list(files)? else { return Err(files.gone()) };
    let checkpoint = listing
        .checkpoints
        .range(..=up_to)
        .next_back()
        .map(|(_, checkpoint)| checkpoint.clone());
    match (listing.entries, &checkpoint) {
        (None, None) => Err(files.gone()),
        (Some((first, _)), None) if first > 0 => Err(files.altered(format!(
            "its log begins at version {first} without a checkpoint; restore `_delta_log` or make a new stream"
        ))),
        (entries, _) => Ok(Start {
            checkpoint,
            listed_last: entries.map(|(_, last)| last),
        }),
    }
}

/// Folds the entries `from..=up_to`, as far as there are any; returns the last version read, `from - 1` if there was none.
pub(in crate::table) fn read_tail(files: &TableFiles, from: i64, up_to: i64) -> Result<(Tail, i64), TableError> {
    let mut tail = Tail::default();
    let mut last = from - 1;
    while last < up_to {
        let Some(text) = files.read(&entry_path(last + 1))? else { break };
        let actions = parse_entry(&text).map_err(|error| unreadable(files, last + 1, &error))?;
        last += 1;
        tail.fold_entry(last, actions);
    }
    Ok((tail, last))
}

/// Highest entry that a listing of the log shows.
pub(in crate::table) fn last_listed(files: &TableFiles) -> Result<Option<i64>, TableError> {
    Ok(list(files)?.and_then(|listing| listing.entries).map(|(_, last)| last))
}

/// Refuses a log that was read up to a version while a listing made before showed a later entry.
pub(in crate::table) fn expect_no_gap(files: &TableFiles, version: i64, listed_last: Option<i64>) -> Result<(), TableError> {
    match listed_last {
        Some(listed) if listed > version => Err(files.altered(format!(
            "entry {} of its log is missing, while entry {listed} is there",
            version + 1
        ))),
        _ => Ok(()),
    }
}

/// An entry cannot be read. Of the last one, while it is young, another look may see more: not every writer makes an entry
/// visible as a whole.
pub(in crate::table) fn unreadable(files: &TableFiles, version: i64, error: &serde_json::Error) -> TableError {
    let what = format!("entry {version} of its log is not readable: {error}");
    let facts = |version: i64| files.facts(&entry_path(version));
    let age_ms = |facts: FileFacts| clock::now_ms().saturating_sub(facts.modified_ms());
    match (facts(version), facts(version + 1)) {
        (Ok(Some(facts)), Ok(None)) if u128::from(age_ms(facts).unsigned_abs()) < YOUNG_ENTRY.as_millis() => {
            files.failed("reading the log", what)
        }
        _ => files.altered(what),
    }
}

/// Reads the table's last version. Files of fewer bytes than `small_below` are remembered.
pub(in crate::table) fn read_snapshot(files: &TableFiles, small_below: u64) -> Result<Snapshot, TableError> {
    let start = find_start(files, i64::MAX)?;
    let base_version = start.checkpoint.as_ref().map_or(-1, |checkpoint| checkpoint.version);
    let (tail, version) = read_tail(files, base_version + 1, i64::MAX)?;
    expect_no_gap(files, version, start.listed_last)?;
    let Some(entry) = files.facts(&entry_path(version))? else {
        return Err(files.altered(format!(
            "entry `{}` of its log is missing, while its checkpoint is there",
            entry_name(version)
        )));
    };
    let mut fold = SnapshotFold {
        totals: TableTotals::default(),
        small_files: SmallFiles::new(small_below),
        asked: tail.rewrites.unknown(),
        checkpointed: HashSet::new(),
    };
    let mut older = Tail::default();
    let mut actions = 0;
    if let Some(checkpoint) = &start.checkpoint {
        let wanted = wanted_columns(
            &["txn", "metaData", "protocol", "add"],
            &["path", "size", "stats", "deletionVector"],
        );
        scan(files, checkpoint, &wanted, &mut |batch| {
            older.fold(singles_of(files, batch)?);
            fold.checkpoint_rows(batch, &tail);
            Ok(())
        })?;
        actions = checkpoint_actions(files, checkpoint)?;
    }
    for add in tail.added() {
        fold.add(add);
    }
    let doubling = tail.rewrites.doubling(&fold.checkpointed);
    let (totals, small_files) = (fold.totals, fold.small_files);
    let mut txns: HashMap<String, i64> = older.txns.into_values().map(|txn| (txn.app_id, txn.version)).collect();
    txns.extend(tail.txns.into_values().map(|txn| (txn.app_id, txn.version)));
    let missing = |what: &str| files.altered(format!("its log has no {what}"));
    Ok(Snapshot {
        version,
        entry,
        protocol: tail.protocol.or(older.protocol).ok_or_else(|| missing("protocol"))?,
        metadata: tail.metadata.or(older.metadata).ok_or_else(|| missing("metadata"))?,
        txns,
        totals,
        small_files,
        checkpoint: CheckpointSize {
            version: base_version,
            actions,
        },
        doubling,
    })
}

/// The live files of a version whose keys are wanted, with all that the log says of them.
pub(in crate::table) fn live_files(files: &TableFiles, version: i64, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Add>, TableError> {
    let start = find_start(files, version)?;
    let base_version = start.checkpoint.as_ref().map_or(-1, |checkpoint| checkpoint.version);
    let (tail, last) = read_tail(files, base_version + 1, version)?;
    if last != version {
        return Err(files.failed("reading the log", format!("it ends at version {last}, before {version}")));
    }
    let mut live: Vec<Add> = tail.added().into_iter().filter(|add| wanted(&add.key())).cloned().collect();
    if let Some(checkpoint) = &start.checkpoint {
        scan(files, checkpoint, &wanted_columns(&["add"], &ADD_FIELDS), &mut |batch| {
            live.extend(adds_of(files, batch, &|key| wanted(key) && !tail.files.contains_key(key))?);
            Ok(())
        })?;
    }
    Ok(live)
}

/// Number of rows of a checkpoint, by its footers.
fn checkpoint_actions(files: &TableFiles, checkpoint: &Checkpoint) -> Result<i64, TableError> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let mut actions = 0;
    for path in &checkpoint.paths {
        let Some(source) = files.open(path)? else { continue };
        let reader = SerializedFileReader::new(source).map_err(|error| files.failed("reading a checkpoint", error))?;
        actions += reader.metadata().file_metadata().num_rows();
    }
    Ok(actions)
}

struct SnapshotFold<'a> {
    totals: TableTotals,
    small_files: SmallFiles,
    /// Files of which the tail wants to know whether the checkpoint has them.
    asked: HashSet<&'a str>,
    /// Those that it has.
    checkpointed: HashSet<String>,
}

impl SnapshotFold<'_> {
    /// Counts the live files of a checkpoint's batch that the tail does not speak of.
    fn checkpoint_rows(&mut self, batch: &arrow_array::RecordBatch, tail: &Tail) {
        let Some(adds) = FileRows::of(batch, "add") else { return };
        for row in 0..batch.num_rows() {
            let Some(key) = adds.key(row) else { continue };
            if tail.files.contains_key(&key) {
                if self.asked.contains(key.as_str()) {
                    self.checkpointed.insert(key);
                }
                continue;
            }
            let bytes = adds.long("size", row).unwrap_or_default();
            let rows = adds.text("stats", row).and_then(super::actions::rows_of);
            self.count(bytes, rows.map(|rows| rows - adds.hidden_rows(row)));
            if !adds.has_vector(row) {
                self.small_files.added(&key, bytes, rows);
            }
        }
    }

    fn add(&mut self, add: &Add) {
        self.count(add.size, add.live_rows());
        if add.deletion_vector.is_none() {
            self.small_files.added(&add.path, add.size, add.rows());
        }
    }

    fn count(&mut self, bytes: i64, rows: Option<i64>) {
        self.totals.files += 1;
        self.totals.bytes += bytes;
        self.totals.rows += rows.unwrap_or_default();
    }
}
