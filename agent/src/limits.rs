//! Every bound of the binary, with its reason.

use std::time::Duration;

/// Longest wait, at a shutdown, for streams to make their last commits and for the database to be closed. Streams bound their
/// last commits below this (`STOP_WAIT` of the pipeline, 15 s).
pub(crate) const SHUTDOWN_WAIT: Duration = Duration::from_secs(20);

/// The process has ended this long after it was told to, whatever hangs: calls that are cut off after 5 s, [`SHUTDOWN_WAIT`],
/// and some slack. Supervisors commonly kill after 30 s.
pub(crate) const STOPPED_WITHIN: Duration = Duration::from_secs(28);

/// Exit code of an agent that was told to stop and whose last commit failed, or that ended at one of these bounds, because a disk
/// or a broker hung. Nothing is lost or doubled: what was in flight is read again at the next start. 0 is an end in order, 1 an
/// error, 2 a wrong command line.
pub(crate) const ENDED_CUT_SHORT: u8 = 3;

/// Exit code of a question whose answer is no, as an update that is refused. 1 is an error: nobody should take it for an answer.
pub(crate) const ANSWER_IS_NO: u8 = 4;

/// Wait at the start for a warehouse that another agent has, which may be one that is just ending, or whose storage does not
/// answer. A process that was killed gives it back at once.
pub(crate) const WAREHOUSE_WAIT: Duration = Duration::from_secs(5);

/// Between two looks whether the other agent has ended.
pub(crate) const WAREHOUSE_LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Largest message that `decode` takes: what the product takes of a broker, which is 20 MB, and some room.
pub(crate) const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Longest value that a table for people shows of a field.
pub(crate) const TABLE_CELL_CHARS_MAX: usize = 40;

/// Threads for work that blocks: decoding, writing, looking at storage. Storage that hangs keeps at most five for a table (rows
/// being written, the commit, a look, a job of care, a trashing), so this many tables on one dead disk do not stop the others.
/// A thread that waits costs a few dozen kilobytes.
pub(crate) const BLOCKING_THREADS_MAX: usize = 1024;

/// How long a deleted table can be restored unless the configuration says otherwise.
pub(crate) const TRASH_RETENTION: Duration = Duration::from_secs(7 * 24 * 3600);

/// Largest configuration file that is read: a larger one is a mistake in the path.
pub(crate) const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Longest span of time that a setting may have: ten years. Beyond it, arithmetic on times stops being safe.
pub(crate) const SETTING_SECS_MAX: u64 = 10 * 366 * 24 * 3600;

/// How far the clocks of an issuer and of this machine may be apart unless the configuration says otherwise.
pub(crate) const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// Most that may be configured of that: an expired token is good for so long.
pub(crate) const CLOCK_SKEW_MAX: Duration = Duration::from_secs(600);

/// How often a demo's agent asks its broker where partitions end: the broker is in the same process, so it costs nothing.
pub(crate) const DEMO_DISCOVERY_INTERVAL: Duration = Duration::from_secs(1);

/// Longest wait of a command for its connection to the agent: somebody sits before it.
pub(crate) const CLIENT_CONNECT_WAIT: Duration = Duration::from_secs(5);

/// Longest wait of a command for an answer. The agent itself waits no longer than 30 s for anything.
pub(crate) const CLIENT_CALL_WAIT: Duration = Duration::from_secs(60);

/// Pages that a command lists: with a hundred to a page, more than anybody reads.
pub(crate) const CLIENT_LIST_PAGES_MAX: usize = 1_000;

/// Largest file that a token, a key or certificates are read from: a bundle of all public authorities has a fifth of it.
pub(crate) const CREDENTIAL_FILE_BYTES_MAX: u64 = 1 << 20;

/// Names that one message lists: enough to act on, never a page full.
pub(crate) const NAMES_IN_A_MESSAGE_MAX: usize = 5;
