//! Named points in the steps that must survive a crash, at which a test makes this process die, hang or fail.
//!
//! In a build without the feature `failpoints` passing a point is nothing at all. With it, the environment variable
//! `FEATURESTORE_FAILPOINTS` names a file that is read at every pass, so that a test can arm and disarm a process that runs. Each of
//! its lines is `point action`, or `point action N` to let N passes through first:
//!
//! - `kill`: the process ends at once, as by `kill -9`;
//! - `hang`: the pass waits until the line is gone;
//! - `panic`: the pass is a bug, with whatever its callers hold;
//! - `fail:ERRNO`: the pass is an error of the operating system with that number.
//!
//! Before a point acts it writes its name to the file `<file>.hits`. Invariant: a point stands immediately before or after
//! an effect that others can see, and passing it changes nothing else.

/// Whether the points of this build can act.
pub const ENABLED: bool = cfg!(feature = "failpoints");

/// Names the file that arms points.
#[cfg(feature = "failpoints")]
pub const FILE_VARIABLE: &str = "FEATURESTORE_FAILPOINTS";

macro_rules! points {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A point. Named by the step and where in it the process stands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Point { $($(#[$doc])* $variant,)* }

        impl Point {
            /// Every point there is.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name in the arming file.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

points! {
    /// A data file, checkpoint, hint or marker is complete and durable under a temporary name.
    FileBeforeName = "file.before_name",
    /// Such a file has its name, and its folder is not yet synced.
    FileAfterName = "file.after_name",

    /// A new warehouse is about to get its mark.
    MarkBeforeEntry = "mark.before_entry",
    /// The mark is there, and nobody remembers it yet.
    MarkAfterEntry = "mark.after_entry",
    /// A new table's folder is about to be made.
    CreateBeforeFolder = "create.before_folder",
    /// The folder is there, and no log.
    CreateAfterFolder = "create.after_folder",
    /// Version 0 is about to be written.
    CreateBeforeEntry = "create.before_entry",
    /// Version 0 is there, and the store does not know.
    CreateAfterEntry = "create.after_entry",

    /// The rows of a batch are about to be written to a data file.
    AppendBeforeFile = "append.before_file",
    /// A batch's data file is durable, and no commit names it.
    AppendAfterFile = "append.after_file",
    /// A batch's commit is about to be made.
    AppendBeforeCommit = "append.before_commit",
    /// A batch's commit is durable, and nobody was told.
    AppendAfterCommit = "append.after_commit",
    /// A new definition's commit is about to be made.
    SwitchBeforeCommit = "switch.before_commit",
    /// A new definition's commit is durable, and nobody was told.
    SwitchAfterCommit = "switch.after_commit",

    /// A log entry of any kind is about to be written.
    CommitBeforeEntry = "commit.before_entry",
    /// A log entry is durable under a temporary name.
    CommitAfterTemporary = "commit.after_temporary",
    /// A log entry is linked, and its folder is not yet synced.
    CommitAfterEntry = "commit.after_entry",
    /// The folder of a log in which an entry of unknown outcome was found is about to be synced.
    LogBeforeSync = "log.before_sync",
    /// A table's state is about to be read for somebody who asked.
    LookBeforeRead = "look.before_read",

    /// Small files are about to be put together.
    CompactBeforeFiles = "compact.before_files",
    /// The files that hold their rows are durable, and no commit names them.
    CompactAfterFiles = "compact.after_files",
    /// A compaction's commit is about to be made.
    CompactBeforeCommit = "compact.before_commit",
    /// A compaction's commit is durable.
    CompactAfterCommit = "compact.after_commit",

    /// Files are about to be rewritten with BIGINT columns.
    WidenBeforeFiles = "widen.before_files",
    /// Rewritten files are durable, and no commit names them.
    WidenAfterFiles = "widen.after_files",
    /// The commit that puts all rewritten files and the BIGINT columns into force is about to be made.
    WidenBeforeCommit = "widen.before_commit",
    /// That commit is durable.
    WidenAfterCommit = "widen.after_commit",

    /// A checkpoint is about to be written.
    CheckpointBeforeFile = "checkpoint.before_file",
    /// A data file whose removal is older than the history is about to be deleted.
    CheckpointBeforeDelete = "checkpoint.before_delete",
    /// That file is gone, and the log still has its removal.
    CheckpointAfterDelete = "checkpoint.after_delete",
    /// A checkpoint is there, and `_last_checkpoint` does not name it.
    CheckpointAfterFile = "checkpoint.after_file",
    /// `_last_checkpoint` names the new checkpoint.
    CheckpointAfterHint = "checkpoint.after_hint",
    /// A log entry older than the history is about to be deleted.
    CleanupBeforeEntry = "cleanup.before_entry",
    /// One such entry is gone, others are not.
    CleanupAfterEntry = "cleanup.after_entry",
    /// A checkpoint that nothing needs is about to be deleted.
    CleanupBeforeCheckpoint = "cleanup.before_checkpoint",
    /// That checkpoint is gone.
    CleanupAfterCheckpoint = "cleanup.after_checkpoint",
    /// A file that no commit names is about to be deleted.
    OrphanBeforeDelete = "orphan.before_delete",
    /// That file is gone.
    OrphanAfterDelete = "orphan.after_delete",

    /// A deleted stream's table is about to get the time of its deletion.
    TrashBeforeMarker = "trash.before_marker",
    /// The time is in the table, and the table at its name.
    TrashAfterMarker = "trash.after_marker",
    /// The table is in the trash.
    TrashAfterMove = "trash.after_move",
    /// A table is about to come back from the trash.
    RestoreBeforeMove = "restore.before_move",
    /// The table is at its name, with the time of its deletion inside.
    RestoreAfterMove = "restore.after_move",
    /// The table is back as it was.
    RestoreAfterMarker = "restore.after_marker",
    /// A table's time in the trash is over.
    PurgeBeforeMove = "purge.before_move",
    /// Nothing can bring the table back, and all its files are there.
    PurgeAfterMove = "purge.after_move",
    /// One of its files is about to be deleted.
    PurgeBeforeFile = "purge.before_file",
    /// The table's folder is gone.
    PurgeAfterDelete = "purge.after_delete",

    /// The agent's store is about to take a new stream.
    StoreBeforeInsert = "store.before_insert",
    /// It has the stream, and the caller was not told.
    StoreAfterInsert = "store.after_insert",
    /// The store is about to take a change, or a deletion, of what is declared.
    StoreBeforeDeclare = "store.before_declare",
    /// It has the change, and the caller was not told.
    StoreAfterDeclare = "store.after_declare",
    /// The store is about to take what the reconciler saw or did.
    StoreBeforeObserve = "store.before_observe",
    /// It has it.
    StoreAfterObserve = "store.after_observe",
    /// The store is about to forget a deleted stream.
    StoreBeforeForget = "store.before_forget",
    /// It has forgotten the stream.
    StoreAfterForget = "store.after_forget",
    /// The store is about to take the warehouse's id.
    StoreBeforeWarehouse = "store.before_warehouse",
    /// It has the id.
    StoreAfterWarehouse = "store.after_warehouse",
    /// Before a governance record is written.
    StoreBeforeDocument = "store.before_document",
    /// After a governance record was written.
    StoreAfterDocument = "store.after_document",
    /// The store is about to take, change or remove a connection.
    StoreBeforeConnection = "store.before_connection",
    /// It has done so, and the caller was not told.
    StoreAfterConnection = "store.after_connection",
}

/// Passes a point: nothing happens unless a test has armed it.
///
/// Blocks the calling thread while the point is armed to hang.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub fn pass(_point: Point) -> std::io::Result<()> {
    Ok(())
}

#[cfg(feature = "failpoints")]
pub use armed::pass;

#[cfg(feature = "failpoints")]
mod armed {
    use std::collections::BTreeMap;
    use std::fs::{self, OpenOptions};
    use std::io::{self, Write};
    use std::path::PathBuf;
    use std::sync::{LazyLock, Mutex, PoisonError};
    use std::time::Duration;

    use super::{FILE_VARIABLE, Point};

    const HANG_LOOK: Duration = Duration::from_millis(10);

    static FILE: LazyLock<Option<PathBuf>> = LazyLock::new(|| std::env::var_os(FILE_VARIABLE).map(PathBuf::from));
    /// Passes let through so far, of points that are armed.
    static PASSED: Mutex<BTreeMap<Point, u64>> = Mutex::new(BTreeMap::new());

    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Action {
        Kill,
        Hang,
        Panic,
        Fail(i32),
    }

    /// Passes a point as the arming file says.
    pub fn pass(point: Point) -> io::Result<()> {
        let Some((action, skipped)) = armed(point) else { return Ok(()) };
        if !is_due(point, skipped) {
            return Ok(());
        }
        record(point)?;
        match action {
            Action::Kill => {
                // The end of `kill -9`: no destructor, no flush, no exit handler.
                let _cannot_fail = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
                loop {
                    std::thread::park();
                }
            }
            Action::Hang => {
                while armed(point).is_some_and(|(action, _)| action == Action::Hang) {
                    std::thread::sleep(HANG_LOOK);
                }
                Ok(())
            }
            Action::Panic => panic(point),
            Action::Fail(errno) => Err(io::Error::from_raw_os_error(errno)),
        }
    }

    #[expect(clippy::panic, reason = "the bug that a test asks for")]
    fn panic(point: Point) -> ! {
        panic!("the point {} is armed to panic", point.name())
    }

    fn armed(point: Point) -> Option<(Action, u64)> {
        let text = fs::read_to_string(FILE.as_ref()?).ok()?;
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            if words.next() != Some(point.name()) {
                return None;
            }
            let action = match words.next()? {
                "kill" => Action::Kill,
                "hang" => Action::Hang,
                "panic" => Action::Panic,
                other => Action::Fail(other.strip_prefix("fail:")?.parse().ok()?),
            };
            let skipped = words.next().and_then(|count| count.parse().ok()).unwrap_or(0);
            Some((action, skipped))
        })
    }

    fn is_due(point: Point, skipped: u64) -> bool {
        let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
        let count = passed.entry(point).or_default();
        *count += 1;
        *count > skipped
    }

    fn record(point: Point) -> io::Result<()> {
        let Some(file) = FILE.as_ref() else { return Ok(()) };
        let mut name = file.clone().into_os_string();
        name.push(".hits");
        let mut hits = OpenOptions::new().create(true).append(true).open(name)?;
        writeln!(hits, "{}", point.name())
    }
}
