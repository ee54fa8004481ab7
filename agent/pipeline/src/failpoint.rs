//! Named points in the steps that must survive a crash, at which a test makes this process die, hang or fail.
//!
//! In a build without the feature `failpoints` passing a point is nothing at all. With it, the environment variable
//! `FEATURESTORE_FAILPOINTS` names a file that is read at every pass, so that a test can arm and disarm a process that runs. Each of
//! its lines is `point action`, or `point action N` to let N passes through first:
//!
//! - `kill`: the process ends at once, as by `kill -9`;
//! - `hang`: the pass waits until the line is gone;
//! - `fail:ERRNO`: the pass is an error of the operating system with that number.
//!
//! Before a point acts it writes its name to the file `<file>.hits`. Invariant: a point stands immediately before or after
//! an effect that others can see, and passing it changes nothing else.

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
    /// The rows of a batch are about to be written to a data file.
    AppendBeforeFile = "append.before_file",
    /// A batch's data file is durable, and no commit names it.
    AppendAfterFile = "append.after_file",
    /// A log entry is about to be linked.
    CommitBeforeEntry = "commit.before_entry",
    /// A log entry is linked, and its folder is not yet synced.
    CommitAfterEntry = "commit.after_entry",
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
            Action::Fail(errno) => Err(io::Error::from_raw_os_error(errno)),
        }
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
