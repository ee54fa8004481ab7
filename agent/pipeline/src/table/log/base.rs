//! Where reading a log begins: at its last checkpoint, found by the hint or by listing, or at version 0.
//!
//! Invariant: the hint is used only while the entry of its own version is there, for expired logs lose entries below a newer
//! checkpoint; without that, entries after a stale hint could be missing and the table would look older than it is.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{LAST_CHECKPOINT, LogName, checkpoint_part_path, checkpoint_path, entry_path};
use crate::table::TableError;
use crate::table::store::table_files::{LOG_FOLDER, TableFiles};

/// A complete checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::table) struct Checkpoint {
    /// State as of this version.
    pub version: i64,
    /// Files, all of which are there.
    pub paths: Vec<String>,
}

/// The text of `_last_checkpoint`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::table) struct LastCheckpoint {
    /// Version.
    pub version: i64,
    /// Number of actions.
    pub size: i64,
    /// Number of files, if several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<u64>,
    /// Length of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_in_bytes: Option<i64>,
    /// Live files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_of_add_files: Option<i64>,
}

/// What a listing of the log folder shows.
#[derive(Clone, Debug, Default)]
pub(in crate::table) struct LogListing {
    /// Complete checkpoints by version.
    pub checkpoints: BTreeMap<i64, Checkpoint>,
    /// Lowest and highest version with an entry.
    pub entries: Option<(i64, i64)>,
}

/// The checkpoint that `_last_checkpoint` names, if it can be trusted.
pub(in crate::table) fn hinted(files: &TableFiles) -> Result<Option<Checkpoint>, TableError> {
    let Some(text) = files.read(LAST_CHECKPOINT)? else {
        return Ok(None);
    };
    let Ok(hint) = serde_json::from_slice::<LastCheckpoint>(&text) else {
        return Ok(None);
    };
    let paths = checkpoint_paths(hint.version, hint.parts);
    for path in paths.iter().chain([&entry_path(hint.version)]) {
        if files.facts(path)?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(Checkpoint {
        version: hint.version,
        paths,
    }))
}

/// Lists the log folder; nothing if there is none. Only versions are kept, not the names of entries.
pub(in crate::table) fn list(files: &TableFiles) -> Result<Option<LogListing>, TableError> {
    let mut listing = LogListing::default();
    let mut parts_seen: BTreeMap<(i64, u64), u64> = BTreeMap::new();
    let mut single: BTreeSet<i64> = BTreeSet::new();
    let there = files.list(LOG_FOLDER, &mut |listed| match LogName::parse(listed.name) {
        Some(LogName::Entry(version)) => {
            let (low, high) = listing.entries.unwrap_or((version, version));
            listing.entries = Some((low.min(version), high.max(version)));
        }
        Some(LogName::Checkpoint(version)) => {
            single.insert(version);
        }
        Some(LogName::CheckpointPart { version, parts }) => *parts_seen.entry((version, parts)).or_default() += 1,
        None => {}
    })?;
    if !there {
        return Ok(None);
    }
    for ((version, parts), seen) in parts_seen {
        if seen == parts {
            listing.checkpoints.insert(
                version,
                Checkpoint {
                    version,
                    paths: checkpoint_paths(version, Some(parts)),
                },
            );
        }
    }
    for version in single {
        listing.checkpoints.insert(
            version,
            Checkpoint {
                version,
                paths: checkpoint_paths(version, None),
            },
        );
    }
    Ok(Some(listing))
}

fn checkpoint_paths(version: i64, parts: Option<u64>) -> Vec<String> {
    match parts {
        None => vec![checkpoint_path(version)],
        Some(parts) => (1..=parts).map(|part| checkpoint_part_path(version, part, parts)).collect(),
    }
}
