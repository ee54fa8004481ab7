//! The Delta log: names of its files, its actions, its checkpoints, and one pass over them that gives a table's state.
//!
//! Nothing is written here but checkpoints; commits are the committer's. Invariant: memory is bounded by the log's tail since
//! the last checkpoint, never by the number of commits or files.

pub(super) mod actions;
pub(super) mod base;
pub(super) mod checkpoint_reader;
pub(super) mod checkpoint_schema;
pub(super) mod checkpoint_writer;
pub(super) mod replay;
pub(super) mod rewrites;
pub(super) mod tail;

use super::store::table_files::LOG_FOLDER;

/// The file that names the last checkpoint; a hint, never the truth.
pub(super) const LAST_CHECKPOINT: &str = "_delta_log/_last_checkpoint";

/// Name of a version's entry inside the log folder.
pub(super) fn entry_name(version: i64) -> String {
    format!("{version:020}.json")
}

/// Path of a version's entry inside the table.
pub(super) fn entry_path(version: i64) -> String {
    format!("{LOG_FOLDER}/{}", entry_name(version))
}

/// Path of a checkpoint in one file.
pub(super) fn checkpoint_path(version: i64) -> String {
    format!("{LOG_FOLDER}/{version:020}.checkpoint.parquet")
}

/// Path of one part of a checkpoint in several files; parts count from 1.
pub(super) fn checkpoint_part_path(version: i64, part: u64, parts: u64) -> String {
    format!("{LOG_FOLDER}/{version:020}.checkpoint.{part:010}.{parts:010}.parquet")
}

/// What a name in the log folder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogName {
    /// The entry of a version.
    Entry(i64),
    /// A checkpoint in one file.
    Checkpoint(i64),
    /// One of several parts of a checkpoint.
    CheckpointPart {
        /// Version.
        version: i64,
        /// Number of parts.
        parts: u64,
    },
}

impl LogName {
    /// Reads a name; nothing if it is none of the log's own, or of a kind that is not read here.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (digits, rest) = name.split_once('.')?;
        if digits.len() != 20 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let version = digits.parse().ok()?;
        if rest == "json" {
            return Some(Self::Entry(version));
        }
        match rest.strip_prefix("checkpoint.")? {
            "parquet" => Some(Self::Checkpoint(version)),
            parts => {
                let (_, of) = parts.strip_suffix(".parquet")?.split_once('.')?;
                Some(Self::CheckpointPart {
                    version,
                    parts: of.parse().ok()?,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_log_are_told_apart() {
        let cases = [
            ("00000000000000000007.json", Some(LogName::Entry(7))),
            ("00000000000000000050.checkpoint.parquet", Some(LogName::Checkpoint(50))),
            (
                "00000000000000000050.checkpoint.0000000001.0000000003.parquet",
                Some(LogName::CheckpointPart { version: 50, parts: 3 }),
            ),
            ("00000000000000000050.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet", None),
            ("00000000000000000007.crc", None),
            ("_last_checkpoint", None),
            (".00000000000000000007.json.0123.tmp", None),
            ("7.json", None),
        ];
        for (name, expected) in cases {
            assert_eq!(LogName::parse(name), expected, "{name}");
        }
    }
}
