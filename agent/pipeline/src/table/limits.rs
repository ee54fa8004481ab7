//! Every bound of the table room, with its reason. Nothing here grows with a table's age.

use std::time::Duration;

/// Requests that wait for one committer. A commit takes milliseconds and each caller waits for its own, so a few are plenty.
pub(super) const COMMIT_QUEUE: usize = 16;

/// Times that one commit is rebuilt after losing the race for a version. Foreign writers commit now and then; one that wins
/// this often in a row is writing in a loop, and the caller should hear of it.
pub(super) const COMMIT_ATTEMPTS_MAX: usize = 32;

/// Largest log entry or small text that is read whole. A foreign rewrite of a large table names every file in one entry.
pub(super) const LOG_FILE_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Rows of a checkpoint that are in memory at once; each is one action with its statistics, some hundred bytes.
pub(super) const CHECKPOINT_BATCH_ROWS: usize = 1024;

/// A checkpoint rewrites every live file and every kept removal, so a longer one is written less often: once per this many
/// of its actions for each commit. The cost of checkpoints per commit stays the same at any age.
pub(super) const CHECKPOINT_ACTIONS_PER_COMMIT: i64 = 1000;

/// Commits between two checkpoints at most, however long a checkpoint is: the tail is read again at every open.
pub(super) const CHECKPOINT_EVERY_COMMITS_MAX: i64 = 2000;

/// Old checkpoints that are kept over the whole history, evenly spaced: each is a starting point for reading old versions.
pub(super) const CHECKPOINTS_KEPT_PER_HISTORY: i64 = 64;

/// A checkpoint or temporary file younger than this is left alone: a reader or a writer may be in the middle of it.
pub(super) const YOUNG_FILE: Duration = Duration::from_secs(60 * 60);

/// A last entry that cannot be read is taken for one that is still being written while it is younger than this: some writers
/// copy it into place, which takes seconds at most.
pub(super) const YOUNG_ENTRY: Duration = Duration::from_secs(60);

/// Time between two sweeps of one table's expired log and orphans; a sweep lists folders that may hold a week of files.
pub(super) const SWEEP_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Care jobs (checkpoint, compaction, sweep) of one warehouse that run at once: they must not starve the streams.
pub(super) const CARE_JOBS: usize = 2;

/// Wait before a failed care job of a table is tried again.
pub(super) const CARE_RETRY: Duration = Duration::from_secs(30);

/// Files too small for good that are remembered per table; more than that are compacted after the next open.
pub(super) const SMALL_FILES_MAX: usize = 4096;

/// Files within a factor of 2 to this power are compacted together. Larger steps read more at once, smaller ones rewrite
/// each row more often; with 32-fold steps a row is rewritten about three times on its way to a full file.
pub(super) const COMPACTION_CLASS_BITS: u32 = 5;

/// Rows that compaction decodes at once, and the bytes that it aims at with them: wide rows come in smaller batches.
pub(super) const COMPACTION_BATCH_ROWS: usize = 8192;
/// See [`COMPACTION_BATCH_ROWS`].
pub(super) const COMPACTION_BATCH_BYTES: u64 = 8 * 1024 * 1024;

/// Encoded bytes of a row group that are held in memory before they go to the file.
pub(super) const ROW_GROUP_BYTES: usize = 32 * 1024 * 1024;

/// Columns (leaves, in schema order) with minimum, maximum and null count in the log, as Delta's default is.
pub(super) const STATISTICS_COLUMNS: usize = 32;

/// Bytes of a text's prefix in statistics; longer values are cut, the maximum rounded up.
pub(super) const STATISTICS_TEXT_BYTES: usize = 64;

/// A text that could not be cut (no character can be raised) and is longer than this has no minimum or maximum.
pub(super) const STATISTICS_TEXT_BYTES_MAX: usize = 256;

/// Wait for a table's former committer to end before it is opened again, or trashed: it ends after the commit under way, and
/// a care job that stops early.
pub(super) const CLOSE_WAIT: Duration = Duration::from_secs(30);
