//! Every bound of the table room, with its reason. Nothing here grows with a table's age.

use std::time::Duration;

/// Requests that wait for one committer. A commit takes milliseconds and each caller waits for its own, so a few are plenty.
pub(super) const COMMIT_QUEUE: usize = 16;

/// Losses that a table's properties remember for the status, one of each partition; every one is in the log entry of its commit
/// besides. More partitions than a stream has by far, as a rule, and the metadata stays some hundred kilobytes at worst.
pub(super) const LOSSES_KEPT: usize = 1_000;

/// Former ids of a topic that a table's properties remember: a broker that does not know of the last times that the topic was created
/// again has hung, or was cut off, for as long.
pub(super) const FORMER_TOPIC_IDS_MAX: usize = 8;

/// Departed topics whose ids a table's properties keep. Each further departure writes them all once more, and the log keeps each for as
/// long as the table's history: so many are some ninety kilobytes. More names than a stream has that go and are there again, as a rule.
pub(super) const DEPARTED_KEPT: usize = 1_000;

/// Versions of the schemas whose beginnings a table's properties remember: the control plane keeps them from then on, and so many
/// updates in a row do not come to pass without it having looked.
pub(super) const SCHEMA_STARTS_KEPT: usize = 5;

/// Partitions of which the beginning of a version tells the position. With all versions these are as many as losses.
pub(super) const SCHEMA_START_PARTITIONS: usize = 200;

/// Times that one commit is rebuilt after losing the race for a version. Foreign writers commit now and then; one that wins
/// this often in a row is writing in a loop, and the caller should hear of it.
pub(super) const COMMIT_ATTEMPTS_MAX: usize = 32;

/// Largest log entry or small text that is read whole. A foreign rewrite of a large table names every file in one entry.
pub(super) const LOG_FILE_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// History that readers can go back to, unless the settings say otherwise: what was wrong last week can still be looked at.
pub(super) const HISTORY: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Commits between two checkpoints of a short log, unless the settings say otherwise: an open reads this many entries at most
/// beside the checkpoint.
pub(super) const CHECKPOINT_EVERY_COMMITS: u64 = 50;

/// Small files that are worth a compaction, unless the settings say otherwise: about a minute of one file a second.
pub(super) const COMPACT_AT_FILES: usize = 64;

/// Size that compaction aims at, unless the settings say otherwise: large enough that a reader of a large table opens few files.
pub(super) const TARGET_FILE_BYTES: u64 = 128 * 1024 * 1024;

/// Rows of a checkpoint that are in memory at once; each is one action with its statistics, some hundred bytes.
pub(super) const CHECKPOINT_BATCH_ROWS: usize = 1024;

/// Encoded bytes of a checkpoint's row group: what its writer holds before it writes, and what a reader of it holds at once.
/// Without it a checkpoint is one row group, and both hold all of it.
pub(super) const CHECKPOINT_GROUP_BYTES: usize = 1024 * 1024;

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

/// Care jobs (checkpoint, compaction, widening, sweep) of one warehouse that run at once: they must not starve the streams.
pub(super) const CARE_JOBS: usize = 2;

/// Wait before a failed care job of a table is tried again.
pub(super) const CARE_RETRY: Duration = Duration::from_secs(30);

/// Wait before a widening that found no space is begun anew: it needs the space of the whole table, and the streams of the warehouse
/// need what little there is.
pub(super) const WIDENING_FULL_RETRY: Duration = Duration::from_secs(60 * 60);

/// Files too small for good that are remembered per table. If there are more, the log is read again once half of these are
/// put together.
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

/// Values of a column that are looked at to tell whether they repeat: a fraction of a millisecond for all columns of a file.
pub(super) const DICTIONARY_SAMPLE_VALUES: usize = 1024;

/// Average bytes of the values from which on no dictionary is tried: the writer gives one up at a mebibyte, a few hundred of them.
pub(super) const DICTIONARY_VALUE_BYTES_MAX: usize = 1024;

/// Bytes before compression of a row group, on average, from which on compaction copies row groups as they are: what readers
/// still read well one by one. Smaller ones are put together, so a stream that is slow gets files as if written at once.
pub(super) const COPIED_GROUP_BYTES_MIN: i64 = 4 * 1024 * 1024;

/// Files that one compaction copies row groups of: all of them are open at once. Twice what makes a compaction due.
pub(super) const COPIED_FILES_MAX: usize = 128;

/// Files that are rewritten at once to widen their columns, and that the committer rewrites at most while appends wait; it takes
/// half a full file of bytes at most besides, a second's work or so.
pub(super) const WIDENED_FILES_AT_ONCE: usize = 128;

/// Retention of deleted files where a table's properties do not say: Delta's default.
pub(super) const DELETED_FILE_RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Age up to which rewritten files go into the swap however short the table's retention is: a widening must come to its end. That
/// they are there is looked at besides.
pub(super) const WIDENED_FILE_AGE_MIN: Duration = Duration::from_secs(60 * 60);

/// Times in a row that a swap of widened files is begun anew because another writer was faster; then care looks again.
pub(super) const SWAP_ATTEMPTS_MAX: usize = 4;

/// Memory of a file that is being written: a row group, and the page of each column that is being made.
pub const FILE_MEMORY: usize = 2 * ROW_GROUP_BYTES;

/// Leaves, in schema order, with minimum, maximum and null count in the log, as Delta's default is. Columns that are leaves
/// themselves have them wherever they stand.
pub(super) const STATISTICS_COLUMNS: usize = 32;

/// Bytes of a text's prefix in statistics; longer values are cut, the maximum rounded up.
pub(super) const STATISTICS_TEXT_BYTES: usize = 64;

/// A text that could not be cut (no character can be raised) and is longer than this has no minimum or maximum.
pub(super) const STATISTICS_TEXT_BYTES_MAX: usize = 256;

/// Wait for a look at a table that began before, of which there is one at a time: longer than anybody who asks waits.
pub(super) const LOOK_WAIT: Duration = Duration::from_secs(10);

/// Attempts to lock a file that someone removes at the same time.
pub(super) const LOCK_ATTEMPTS_MAX: usize = 8;

/// What is read of the text that the holder of a lock wrote: a process, a host and a time.
pub(super) const LOCK_HOLDER_BYTES_MAX: u64 = 1024;

/// Wait for a table's former committer to end before it is opened again, or trashed: it ends after the commit under way, and
/// a care job that stops early.
pub(super) const CLOSE_WAIT: Duration = Duration::from_secs(30);
