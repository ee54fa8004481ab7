//! The live files that are too small to stay, in the order of their commits: what compaction chooses from.
//!
//! Invariant: bounded; a file that is forgotten here is found again by the next read of the log.

use std::collections::{BTreeMap, BTreeSet};

use super::limits::{COMPACTION_CLASS_BITS, SMALL_FILES_MAX};

/// One small file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SmallFile {
    /// As the log spells it.
    pub path: String,
    /// Length.
    pub bytes: u64,
    /// Rows, where known.
    pub rows: i64,
}

/// Live files below a size, by the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct SmallFiles {
    below: u64,
    next: u64,
    files: BTreeMap<u64, SmallFile>,
    /// Live files that compaction could not read: not chosen again until the table is opened again.
    aside: BTreeSet<String>,
}

impl SmallFiles {
    /// Remembers files of fewer bytes than that.
    pub(super) fn new(below: u64) -> Self {
        Self {
            below,
            next: 0,
            files: BTreeMap::new(),
            aside: BTreeSet::new(),
        }
    }

    /// The size under which files are remembered.
    pub(super) fn below(&self) -> u64 {
        self.below
    }

    /// A file came. Only files with known rows are remembered: their sum must be right after compaction.
    pub(super) fn added(&mut self, path: &str, bytes: i64, rows: Option<i64>) {
        let (Ok(bytes), Some(rows)) = (u64::try_from(bytes), rows) else {
            return;
        };
        if bytes < self.below && self.files.len() < SMALL_FILES_MAX {
            self.files.insert(
                self.next,
                SmallFile {
                    path: path.to_owned(),
                    bytes,
                    rows,
                },
            );
        }
        self.next += 1;
    }

    /// A file went; nothing if it was not remembered.
    pub(super) fn removed(&mut self, path: &str) -> Option<SmallFile> {
        self.aside.remove(path);
        let order = self.files.iter().find(|(_, file)| file.path == path).map(|(order, _)| *order)?;
        self.files.remove(&order)
    }

    /// A file cannot be compacted: it is left as it is, so that the others do not wait for it.
    pub(super) fn set_aside(&mut self, path: &str) {
        if self.removed(path).is_some() && self.aside.len() < SMALL_FILES_MAX {
            self.aside.insert(path.to_owned());
        }
    }

    /// Sets the files aside that were so before the log was read anew, as far as they are still live.
    pub(super) fn keep_aside(&mut self, before: &Self) {
        before.aside.iter().for_each(|path| self.set_aside(path));
    }

    /// Whether all of these are still live, as far as is known.
    pub(super) fn hold(&self, inputs: &[SmallFile]) -> bool {
        inputs.iter().all(|input| self.files.values().any(|file| file == input))
    }

    /// Files to put into one: of like size, oldest first, once there are `count` of them or enough for a full file.
    pub(super) fn choose(&self, count: usize, target_bytes: u64) -> Option<Vec<SmallFile>> {
        let mut classes: BTreeMap<u32, Vec<&SmallFile>> = BTreeMap::new();
        for file in self.files.values() {
            classes.entry(size_class(file.bytes)).or_default().push(file);
        }
        for members in classes.into_values() {
            let total: u64 = members.iter().map(|file| file.bytes).sum();
            if members.len() < 2 || (members.len() < count && total < target_bytes) {
                continue;
            }
            let mut bytes = 0;
            let mut chosen = Vec::new();
            for file in members {
                chosen.push(file.clone());
                bytes += file.bytes;
                if bytes >= target_bytes {
                    break;
                }
            }
            return Some(chosen);
        }
        None
    }
}

fn size_class(bytes: u64) -> u32 {
    bytes.checked_ilog2().unwrap_or_default() / COMPACTION_CLASS_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(sizes: &[i64], count: usize, target: u64) -> Option<Vec<u64>> {
        let mut files = SmallFiles::new(target);
        for (index, size) in sizes.iter().enumerate() {
            files.added(&format!("f{index}"), *size, Some(1));
        }
        files
            .choose(count, target)
            .map(|chosen| chosen.iter().map(|file| file.bytes).collect())
    }

    #[test]
    fn files_of_like_size_are_put_together_and_large_results_wait_for_their_like() {
        let cases: [(&[i64], Option<&[u64]>); 5] = [
            (&[10, 11, 12], None),
            (&[10, 11, 12, 13], Some(&[10, 11, 12, 13])),
            (&[100_000, 10, 11, 12, 13], Some(&[10, 11, 12, 13])),
            (&[900_000, 800_000], Some(&[900_000, 800_000])),
            (&[900_000, 2_000_000], None),
        ];
        for (sizes, expected) in cases {
            assert_eq!(choose(sizes, 4, 1_000_000).as_deref(), expected, "{sizes:?}");
        }
    }

    #[test]
    fn a_removed_file_is_no_longer_held() {
        let mut files = SmallFiles::new(100);
        files.added("a", 1, Some(1));
        files.added("b", 1, Some(1));
        let inputs = files.choose(2, 100).unwrap();
        assert!(files.hold(&inputs));
        assert!(files.removed("a").is_some());
        assert!(files.removed("a").is_none());
        assert!(!files.hold(&inputs));
    }
}
