//! The live files that are too small to stay, in the order of their commits: what compaction chooses from.
//!
//! Invariant: bounded; a file is here at most once, and one that is forgotten is found again by the next read of the log.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

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

/// Live files below a size, by their class of sizes and the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct SmallFiles {
    below: u64,
    next: u64,
    classes: BTreeMap<u32, SizeClass>,
    /// Class and order of each file.
    places: HashMap<String, (u32, u64)>,
    /// Live files that compaction could not read: not chosen again until the table is opened again.
    aside: BTreeSet<String>,
    /// There was no room for some.
    forgotten: bool,
}

/// Files of like size.
#[derive(Clone, Debug, Default)]
struct SizeClass {
    files: BTreeMap<u64, SmallFile>,
    bytes: u64,
}

impl SmallFiles {
    /// Remembers files of fewer bytes than that.
    pub(super) fn new(below: u64) -> Self {
        Self { below, ..Self::default() }
    }

    /// The size under which files are remembered.
    pub(super) fn below(&self) -> u64 {
        self.below
    }

    /// A file came, or says something new of itself. Only files with known rows are remembered: their sum must be right after
    /// compaction.
    pub(super) fn added(&mut self, path: &str, bytes: i64, rows: Option<i64>) {
        self.take(path);
        let (Ok(bytes), Some(rows)) = (u64::try_from(bytes), rows) else {
            return;
        };
        if bytes >= self.below || self.aside.contains(path) {
            return;
        }
        if self.places.len() >= SMALL_FILES_MAX {
            self.forgotten = true;
            return;
        }
        let (path, order, class) = (path.to_owned(), self.next, size_class(bytes));
        self.next += 1;
        self.places.insert(path.clone(), (class, order));
        let class = self.classes.entry(class).or_default();
        class.bytes += bytes;
        class.files.insert(order, SmallFile { path, bytes, rows });
    }

    /// A file went; nothing if it was not remembered.
    pub(super) fn removed(&mut self, path: &str) -> Option<SmallFile> {
        self.aside.remove(path);
        self.take(path)
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
        inputs.iter().all(|input| self.get(&input.path) == Some(input))
    }

    /// Whether there is room again for many that were forgotten: reading the log finds them.
    pub(super) fn want_reading(&self) -> bool {
        self.forgotten && self.places.len() <= SMALL_FILES_MAX / 2
    }

    /// Files to put into one: of like size, oldest first, once there are `count` of them or enough for a full file. Of several
    /// classes that are due the one that is furthest behind: else one that is due again and again would hold up the others.
    pub(super) fn choose(&self, count: usize, target_bytes: u64) -> Option<Vec<SmallFile>> {
        let pressure = |class: &SizeClass| {
            let by_count = per_mille(class.files.len() as u64, count as u64);
            by_count.max(per_mille(class.bytes, target_bytes))
        };
        let due = |class: &&SizeClass| class.files.len() >= 2 && (class.files.len() >= count || class.bytes >= target_bytes);
        // From the largest on, so that of equals the smallest files come first: the last maximum counts.
        let class = self.classes.values().rev().filter(due).max_by_key(|class| pressure(class))?;
        let mut bytes = 0;
        let mut chosen = Vec::new();
        for file in class.files.values() {
            chosen.push(file.clone());
            bytes += file.bytes;
            if bytes >= target_bytes {
                break;
            }
        }
        Some(chosen)
    }

    /// The same without some of the files.
    pub(super) fn without(&self, taken: &HashSet<String>) -> Self {
        let mut left = self.clone();
        let paths: Vec<&String> = self.places.keys().filter(|path| taken.contains(*path)).collect();
        paths.into_iter().for_each(|path| drop(left.take(path)));
        left
    }

    fn get(&self, path: &str) -> Option<&SmallFile> {
        let (class, order) = self.places.get(path)?;
        self.classes.get(class)?.files.get(order)
    }

    fn take(&mut self, path: &str) -> Option<SmallFile> {
        let (number, order) = self.places.remove(path)?;
        let class = self.classes.get_mut(&number)?;
        let file = class.files.remove(&order)?;
        class.bytes -= file.bytes;
        if class.files.is_empty() {
            self.classes.remove(&number);
        }
        Some(file)
    }
}

fn size_class(bytes: u64) -> u32 {
    bytes.checked_ilog2().unwrap_or_default() / COMPACTION_CLASS_BITS
}

fn per_mille(part: u64, whole: u64) -> u64 {
    part.saturating_mul(1000) / whole.max(1)
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

    #[test]
    fn a_file_that_is_named_again_is_there_once() {
        let mut files = SmallFiles::new(100);
        files.added("a", 1, Some(1));
        files.added("b", 1, Some(1));
        files.added("a", 2, Some(1));
        let chosen = files.choose(2, 100).unwrap();
        assert_eq!(chosen.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        files.set_aside("b");
        files.added("b", 1, Some(1));
        assert!(files.choose(2, 100).is_none());
    }

    #[test]
    fn files_for_which_there_was_no_room_are_asked_for_once_there_is() {
        let mut files = SmallFiles::new(100);
        let all: Vec<String> = (0..=SMALL_FILES_MAX).map(|number| number.to_string()).collect();
        all.iter().take(SMALL_FILES_MAX).for_each(|path| files.added(path, 1, Some(1)));
        all.iter()
            .for_each(|path| assert!(files.removed(path).is_some() || path == all.last().unwrap()));
        assert!(!files.want_reading(), "none was forgotten");
        all.iter().for_each(|path| files.added(path, 1, Some(1)));
        assert!(!files.want_reading());
        all.iter().take(SMALL_FILES_MAX / 2).for_each(|path| drop(files.removed(path)));
        assert!(files.want_reading());
    }

    /// Commits one file after another with compaction beside them, which takes some commits' time. Returns the most small
    /// files that were live at once, how many times each byte was written on average, and the number of full files.
    fn run(commits: u64, file_bytes: i64, job_commits: u64) -> (usize, f64, u64) {
        let settings = crate::table::TableCareSettings::default();
        let mut files = SmallFiles::new(settings.small_below());
        let mut job: Option<(u64, Vec<SmallFile>)> = None;
        let (mut most, mut rewritten, mut full) = (0, 0, 0);
        for commit in 0..commits {
            files.added(&format!("commit-{commit}"), file_bytes, Some(1));
            if let Some((_, inputs)) = job.take_if(|(end, _)| *end <= commit) {
                let bytes: u64 = inputs.iter().map(|input| input.bytes).sum();
                inputs.iter().for_each(|input| drop(files.removed(&input.path)));
                files.added(&format!("output-{commit}"), i64::try_from(bytes).unwrap(), Some(1));
                rewritten += bytes;
                full += u64::from(bytes >= settings.small_below());
            }
            if job.is_none() {
                let chosen = files.choose(settings.compact_at_files, settings.target_file_bytes);
                job = chosen.map(|inputs| (commit + job_commits, inputs));
            }
            most = most.max(files.places.len());
        }
        let written = commits as f64 * file_bytes as f64;
        (most, 1.0 + rewritten as f64 / written, full)
    }

    #[test]
    fn a_flush_a_second_leaves_few_small_files_and_writes_each_byte_a_few_times() {
        // A day and more of flushes every second. Three classes of 63 files and a fourth that bytes bound; while a job runs,
        // the commits of its time come on top in each class.
        let cases = [
            (4 << 10, 1, 200, 4.0),
            (4 << 10, 100, 500, 4.0),
            (300 << 10, 1, 140, 4.0),
            (300 << 10, 100, 450, 4.0),
            (2 << 20, 30, 140, 2.1),
            (20 << 20, 4, 40, 2.1),
            (63 << 20, 1, 4, 2.1),
        ];
        for (file_bytes, job_commits, most_allowed, times_allowed) in cases {
            let (most, times, full) = run(100_000, file_bytes, job_commits);
            let case = format!("files of {file_bytes} bytes, jobs of {job_commits} commits: {most} files, {times:.2} times, {full} full");
            assert!(most <= most_allowed && times <= times_allowed, "{case}");
            let bytes = 100_000 * file_bytes.unsigned_abs();
            assert!(full >= bytes / (200 << 20), "{case}");
        }
    }
}
