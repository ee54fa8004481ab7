//! Every bound of the provider, with its reason. Nothing else lives here; no other file names a number that limits a
//! wait, a retry or a size.

use std::time::Duration;

/// Longest a connection to the agent may take to come about: a loopback or data-centre address answers in milliseconds,
/// and a wrong one should fail while the user still looks.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest one attempt of a call may take beyond the wait that the call itself asks for.
pub(crate) const REQUEST_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// What the agent is told beyond our own deadline.
pub(crate) const DEADLINE_SLACK: Duration = Duration::from_secs(1);

/// Shortest and longest `request_timeout` a user may set: under 100 ms every call fails, over an hour nobody waits.
pub(crate) const REQUEST_TIMEOUT_RANGE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3600));

/// Attempts after the first one: together with the backoff below about 15 seconds, enough for a restart of the agent.
pub(crate) const RETRIES_DEFAULT: u32 = 6;

/// Most retries a user may ask for; more would hide an agent that is simply gone.
pub(crate) const RETRIES_MAX: u32 = 30;

/// Retries of a check at plan: the plan goes on without the answer, so it must not wait for a restart.
pub(crate) const PLAN_CHECK_RETRIES_MAX: u32 = 1;

/// Retries after attempts that were sent and never answered: each took the whole `request_timeout`, and one answer is
/// enough to learn what came of the others.
pub(crate) const SILENT_RETRIES_MAX: u32 = 2;

/// A connection that is in use is asked for a sign of life this often, so that a host that vanished is noticed before the
/// call's own time is up.
pub(crate) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// Longest wait for that sign.
pub(crate) const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Looks that may in a row find nothing of a stream that was just made or changed, before it counts as gone: an agent that
/// lags behind itself is worth a few seconds.
pub(crate) const ABSENT_LOOKS_MAX: u32 = 10;

/// First pause between attempts; doubles with each.
pub(crate) const BACKOFF_FIRST: Duration = Duration::from_millis(200);

/// Longest pause between attempts that we choose ourselves.
pub(crate) const BACKOFF_LONGEST: Duration = Duration::from_secs(5);

/// Longest pause that the agent's own advice can ask for; more than this and the user should hear of it.
pub(crate) const RETRY_ADVICE_LONGEST: Duration = Duration::from_secs(60);

/// How long the agent may hold a call that changes a stream before it answers. Much shorter than its own limit: the
/// provider polls afterwards, and after a Ctrl-C no answer has to be thrown away.
pub(crate) const AGENT_WAIT: Duration = Duration::from_secs(2);

/// How long an attempt in flight may still come to its answer after Terraform said stop: the agent's wait and some more.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(5);

/// How long a stream may stay failed after a repair was asked for, before that counts as the repair's result.
pub(crate) const REPAIR_PATIENCE: Duration = Duration::from_secs(20);

/// Pause between two looks at a stream that is still on its way.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Default of `timeouts.create`: a broker that is away must not hold an apply for long, since the agent goes on alone.
pub(crate) const CREATE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(60);

/// Default of `timeouts.update`: an update waits for one switch commit between two batches.
pub(crate) const UPDATE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(120);

/// Default of `timeouts.delete`: the pipeline commits what is in flight, then the table moves to the trash.
pub(crate) const DELETE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(300);

/// Longest timeout a user may set; the agent has given up on anything long before.
pub(crate) const TIMEOUT_LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Largest answer read from the agent, which sends none larger: a stream with some hundred thousand partitions or columns.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Longest a `token_command` may run: it may open a browser, but not forget to end.
pub(crate) const TOKEN_COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// Longest token; HTTP/2 peers refuse longer header lists.
pub(crate) const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// Most conditions of a stream that one diagnostic repeats.
pub(crate) const CONDITIONS_SHOWN_MAX: usize = 10;

/// How long an answer that many resources share may be used. A refresh of some hundred resources takes less, and what someone
/// else does meanwhile would be seen by chance only.
pub(crate) const SHARED_ANSWER_LIFETIME: Duration = Duration::from_secs(10);

/// Items of one page of a list: the most that the agent gives.
pub(crate) const LIST_PAGE_SIZE: i32 = 1_000;

/// Most pages of one list. More would be an agent that never comes to the end.
pub(crate) const LIST_PAGES_MAX: u32 = 1_000;

/// Largest file of certificates or a key that is read: a bundle of all public authorities has a fifth of it.
pub(crate) const PEM_BYTES_MAX: u64 = 1024 * 1024;

/// Names that one message lists: enough to recognise what it is about, and one screen holds it.
pub(crate) const NAMES_IN_A_MESSAGE_MAX: usize = 10;

/// Characters of a column's type that a plan shows: the type of a wide message fills pages, and the data source has it whole.
pub(crate) const COLUMN_TYPE_SHOWN_CHARS_MAX: usize = 1_000;
