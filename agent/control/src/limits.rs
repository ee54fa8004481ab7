//! Every bound of this package, with its reason.

use std::time::Duration;

/// Longest wait for a schema registry to say what a definition would come to: a plan goes on without, and says so.
pub(crate) const REGISTRY_CHECK_WAIT: Duration = Duration::from_secs(5);

/// Database jobs that wait for its thread. A job takes about a millisecond (one fsync): more would hide an overload from
/// callers instead of slowing them down.
pub(crate) const STORE_JOBS_MAX: usize = 256;

/// Longest wait for the database file at start: an agent that was just killed may hold it until the system has cleaned
/// up after it.
pub(crate) const DATABASE_BUSY_WAIT: Duration = Duration::from_secs(5);

/// Names that one message lists: enough to act on, never a page full.
pub(crate) const NAMES_IN_A_MESSAGE_MAX: usize = 5;

/// Users of one thing that are looked at before its deletion is refused: whether a caller may know of each is asked of the store.
pub(crate) const USERS_LOOKED_AT_MAX: usize = 100;

/// First wait after a failed reconcile run: long enough for a hiccup to pass, short enough not to be noticed.
pub(crate) const RETRY_WAIT_FIRST: Duration = Duration::from_millis(500);

/// Longest wait after failed runs: a topic or broker that appears is found within this time.
pub(crate) const RETRY_WAIT_MAX: Duration = Duration::from_secs(10);

/// A settled stream is looked at again after this time even if nothing woke it: the safety net of a level-triggered
/// reconciler, not how it usually learns of changes.
pub(crate) const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(300);

/// A stream whose table is gone is looked at again after this time: the table may come back with its disk or from a copy, and
/// nothing wakes the reconciler then. A look reads one folder's log, or finds that there is none.
pub(crate) const TABLE_AWAY_LOOK_AFTER: Duration = Duration::from_secs(10);

/// Reconcile runs at once. A run mostly waits (for brokers that do not answer, for storage), so this is far above the
/// number of cores; the bound keeps a start with thousands of streams from opening thousands of files at once.
pub(crate) const RUNS_AT_ONCE_MAX: usize = 64;

/// How often the trash is looked through. Retention is counted in days.
pub(crate) const TRASH_PURGE_INTERVAL: Duration = Duration::from_secs(3600);

/// Longest look at a table in its storage while somebody waits for an answer.
pub(crate) const TABLE_PROBE_WAIT: Duration = Duration::from_secs(5);

/// Longest wait of a call for the reconciler, and the default: below the deadlines that proxies and clients commonly have.
pub(crate) const CALL_WAIT_MAX: Duration = Duration::from_secs(30);

/// Items of a page if the caller does not say.
pub(crate) const PAGE_SIZE_DEFAULT: usize = 100;

/// Former streams whose readers are remembered, so that they are told that a stream is gone and not that they may not see it.
/// The newest are kept: a plan that was made before comes within days.
pub(crate) const FORMER_STREAMS_MAX: usize = 10_000;

/// Most items of a page.
pub(crate) const PAGE_SIZE_MAX: usize = 1_000;

/// Longest page token: hexadecimal of a parent and a name of three parts of 255 bytes, rounded up.
pub(crate) const PAGE_TOKEN_BYTES_MAX: usize = 4_096;

/// Versions of a stream's schemas. The verdict compares with each of them, and each is named in every answer: a stream
/// that changes its schema every day comes here after almost three years.
pub(crate) const SCHEMA_VERSIONS_MAX: usize = 1_000;

/// First positions that are kept of a stream's schemas, over all versions. Each observation of the stream is stored with them, and an answer
/// about the stream has them: some hundred kilobytes at worst, and every version of most streams.
pub(crate) const SCHEMA_START_POSITIONS_MAX: usize = 10_000;

/// Attempts to write a change when others keep writing in between and the caller did not ask to be told of them.
pub(crate) const WRITE_ATTEMPTS_MAX: usize = 10;

/// Connections that are tried at once. Each attempt opens a client with threads of its own and takes half a minute at most.
pub(crate) const CONNECTION_TESTS_AT_ONCE_MAX: usize = 4;

/// Longest wait for one of these tests to end: most take a second, and a call that waits holds a place of its caller's.
pub(crate) const CONNECTION_TEST_WAIT: Duration = Duration::from_secs(2);

/// How long a caller is told to wait whose connection could not be tried: a test that meets silence takes half a minute.
pub(crate) const CONNECTION_TEST_ADVICE: Duration = Duration::from_secs(10);

/// Largest request about a stream: two schema texts of a mebibyte each with plenty of room around them.
pub(crate) const STREAM_MESSAGE_BYTES_IN_MAX: usize = 16 << 20;

/// Largest request about anything else: the largest secret has an eighth of it, and a statement or a connection less.
pub(crate) const MESSAGE_BYTES_IN_MAX: usize = 1 << 20;

/// Bytes of a request that count towards no budget: most requests have some kilobytes, and must not be kept out by large ones.
/// As many calls as one principal may have hold 32 MiB by it.
pub(crate) const REQUEST_BYTES_FREE: usize = 64 << 10;

/// Bytes that the requests of one principal may hold at once, beyond what is free: two of the largest, or fifteen streams with
/// two schemas of a mebibyte. A request is held before it is known whether its caller may ask for it.
pub(crate) const REQUEST_BYTES_PER_PRINCIPAL_MAX: usize = 32 << 20;

/// Bytes that all requests may hold at once, beyond what is free: three principals at their bound, and an agent beside its
/// pipelines still has room.
pub(crate) const REQUEST_BYTES_MAX: usize = 96 << 20;

/// Texts of earlier schemas in an answer about one stream, all versions together: hundreds of usual ones. With the texts in
/// force, two of a mebibyte at most, an answer stays below the 4 MiB that gRPC clients take when nobody tells them more.
pub(crate) const SCHEMA_TEXTS_BYTES_MAX: usize = 1 << 20;

/// Largest answer. Beside schema texts, which have a bound of their own, it is partitions and columns that grow: this is
/// some hundred thousand of them.
pub(crate) const MESSAGE_BYTES_OUT_MAX: usize = 64 << 20;

/// A page of a list ends after so many bytes, however few streams that is.
pub(crate) const PAGE_BYTES_MAX: usize = 2 << 20;

/// Audit events that wait to be written to their table, some 300 bytes each: days of a busy agent. Beyond that nothing changes,
/// because a change without its event would be lost to the audit.
pub(crate) const AUDIT_EVENTS_MAX: i64 = 1_000_000;

/// Audit events from which on those of changes alone are taken, and others counted: whoever reads, or is denied, must not keep
/// others from changing things. The rest is days of changes.
pub(crate) const AUDIT_EVENTS_HIGH: i64 = AUDIT_EVENTS_MAX / 10 * 9;

/// Addresses and reasons of refused callers that are told apart: those of an office. Of more, the count is told. A hundred thousand
/// events a day at most.
pub(crate) const REFUSED_PEERS_MAX: usize = 64;

/// Between two audit events of one refused address and reason: soon enough to see that it goes on.
pub(crate) const REFUSAL_INTERVAL: Duration = Duration::from_secs(60);

/// Between two looks for audit events that wait: soon enough for whoever looks into the table, and one file for all calls of a
/// Terraform command.
pub(crate) const AUDIT_INTERVAL: Duration = Duration::from_secs(5);

/// Audit events of one commit: a few megabytes.
pub(crate) const AUDIT_BATCH_EVENTS: usize = 10_000;

/// Longest wait after audit events could not be carried: each attempt is a line in the log.
pub(crate) const AUDIT_RETRY_WAIT_MAX: Duration = Duration::from_secs(60);

/// Longest wait, at a shutdown, for the last audit events to get into their table. Below that of the binary for everything.
pub(crate) const AUDIT_STOP_WAIT: Duration = Duration::from_secs(10);

/// Longest name of something in an audit event, in bytes: a name of three parts of 255 bytes with its kind, rounded up. What is
/// longer names nothing that there is, and is cut.
pub(crate) const AUDIT_NAME_BYTES_MAX: usize = 1_024;

/// Names that a filtered list passes over before it gives up: reading on without end would let one list of a caller who sees
/// nothing cost as much as it likes.
pub(crate) const LIST_PASSED_OVER_MAX: usize = 100_000;

/// Longest request id that is taken from a header into logs.
pub(crate) const REQUEST_ID_CHARS_MAX: usize = 128;

/// How long a caller is told to wait before it repeats a call that met a storage failure.
pub(crate) const RETRY_ADVICE: Duration = Duration::from_secs(1);

/// How long calls may go on after the agent was told to stop. Waits end at once then; what remains is one database job.
pub(crate) const CALLS_END_WAIT: Duration = Duration::from_secs(5);

/// Tokens of one principal that are good at once: one for each of its machines, and plenty.
pub(crate) const TOKENS_PER_PRINCIPAL_MAX: usize = 200;

/// How long a token is good for unless its maker says otherwise: long enough not to be a daily worry, short enough that one which
/// was forgotten somewhere ends by itself.
pub(crate) const TOKEN_LIFETIME_DEFAULT: Duration = Duration::from_secs(90 * 24 * 3600);

/// Longest life of a token: two years.
pub(crate) const TOKEN_LIFETIME_MAX: Duration = Duration::from_secs(731 * 24 * 3600);

/// A token's use is written at most this often: it is for finding tokens that nobody uses, and costs an fsync.
pub(crate) const TOKEN_USE_WRITE_INTERVAL: Duration = Duration::from_secs(60);

/// Longest `authorization` header: JSON web tokens with many groups have some kilobytes.
pub(crate) const AUTHORIZATION_BYTES_MAX: usize = 16 << 10;

/// Parts of a JSON web token: header, claims, signature.
pub(crate) const JWT_PARTS: usize = 3;

/// Groups that an identity provider may name of one caller. Each is looked for in grants; directories of large companies put people
/// into some hundred.
pub(crate) const GROUPS_OF_A_CALLER_MAX: usize = 1_000;

/// Groups that an identity provider named are believed for so long while their member shows no newer token: as long as a token of
/// ours is good for.
pub(crate) const GROUPS_SEEN_AGE_MAX: Duration = TOKEN_LIFETIME_DEFAULT;

/// Longest wait for an issuer's answer: a caller waits for it, when its key is not known yet.
pub(crate) const ISSUER_WAIT: Duration = Duration::from_secs(10);

/// Largest answer of an issuer: keys have some kilobytes.
pub(crate) const ISSUER_ANSWER_BYTES_MAX: usize = 1 << 20;

/// Keys of one issuer that are looked at: issuers publish two or three.
pub(crate) const ISSUER_KEYS_MAX: usize = 100;

/// Keys that are older are read again: a key that its issuer takes back is good for so long at most.
pub(crate) const ISSUER_KEYS_AGE_MAX: Duration = Duration::from_secs(3600);

/// Keys that could not be read again are believed for so long: an issuer that is away for a night stops nobody.
pub(crate) const ISSUER_KEYS_STALE_MAX: Duration = Duration::from_secs(24 * 3600);

/// Tokens that name an unknown key have the issuer asked at most this often: anybody can write such a token.
pub(crate) const ISSUER_LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// Largest file of certificates or a key: a bundle of all public authorities has a fifth of it.
pub(crate) const PEM_BYTES_MAX: u64 = 1 << 20;

/// How often the files of certificates are looked at: they are renewed days before they expire.
pub(crate) const CERTIFICATES_LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// Connections at once on which somebody is known. Each costs a file, a task and some dozens of kilobytes; Terraform opens one per
/// provider process.
pub(crate) const CONNECTIONS_MAX: usize = 1_024;

/// Of these, those of one principal: a quarter, so that one that goes wild leaves places to others. It is a hundred Terraform commands
/// at once with one token.
pub(crate) const CONNECTIONS_PER_PRINCIPAL_MAX: usize = 256;

/// Connections at once on which nobody is known yet; one more costs the oldest its place. Whoever is honest is known after a round
/// trip: only one who makes so many connections within that time keeps others out. Health checks are among these.
pub(crate) const STRANGERS_MAX: usize = 128;

/// Connections that are open: all of these, and strangers that were sent away and are being closed.
pub(crate) const CONNECTIONS_OPEN_MAX: usize = CONNECTIONS_MAX + 2 * STRANGERS_MAX;

/// Calls of one connection that are refused because nobody is known, before it is ended: a caller with an old token learns it from
/// the first. Each costs a look into the database or a signature.
pub(crate) const REFUSALS_PER_CONNECTION_MAX: u32 = 10;

/// A connection on which no call came for so long is ended: five times what a call may take. Clients connect again when they need to.
pub(crate) const CONNECTION_IDLE_WAIT: Duration = Duration::from_secs(600);

/// A connection is ended at this age, when its calls are answered: certificates that were renewed or have expired are looked at anew,
/// and clients spread over what stands before several agents.
pub(crate) const CONNECTION_AGE_MAX: Duration = Duration::from_secs(3600);

/// Connections end so much earlier by chance, so that those that were made at once are not made again at once.
pub(crate) const CONNECTION_AGE_SPREAD: Duration = Duration::from_secs(360);

/// How long a connection may go on that was asked to end: a call that is under way and its answer, at their bounds.
pub(crate) const CONNECTION_END_WAIT: Duration = Duration::from_secs(240);

/// Longest time that a peer may take for an answer: as long as for its request. Answers are held in memory until then.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_secs(120);

/// How often the answers of a connection are looked at: a peer that takes none is found at most so much later.
pub(crate) const ANSWER_LOOK_INTERVAL: Duration = Duration::from_secs(15);

/// Wait after a connection could not be accepted, which is when too many files are open.
pub(crate) const ACCEPT_AGAIN_WAIT: Duration = Duration::from_millis(100);

/// Longest TLS handshake: two round trips and a signature.
pub(crate) const HANDSHAKE_WAIT: Duration = Duration::from_secs(10);

/// A connection on which nobody became known ends after this time: strangers must not take all places. Health checks take a moment.
pub(crate) const UNKNOWN_CONNECTION_WAIT: Duration = Duration::from_secs(30);

/// Longest wait for a request's headers over HTTP/1.1, which health checks use.
pub(crate) const HEADER_WAIT: Duration = Duration::from_secs(10);

/// Most bytes of one request's headers: the longest token and as much again.
pub(crate) const HEADER_BYTES_MAX: usize = 32 << 10;

/// Calls at once on one connection: above what one principal may have, a connection more would be no gain.
pub(crate) const STREAMS_PER_CONNECTION_MAX: u32 = 512;

/// A peer that sends nothing is asked for a sign of life this often, so that a place is not kept for a machine that is gone.
pub(crate) const PEER_SIGN_INTERVAL: Duration = Duration::from_secs(30);

/// Longest wait for that sign.
pub(crate) const PEER_SIGN_WAIT: Duration = Duration::from_secs(20);

/// Longest time for one call, its request included: four times what a call may wait for. It ends those whose request comes in drops.
pub(crate) const CALL_TIME_MAX: Duration = Duration::from_secs(120);

/// Calls of one principal that are answered at once. Terraform makes ten; a thousand streams that are made at once by hand wait
/// for one another.
pub(crate) const CALLS_AT_ONCE_MAX: usize = 512;

/// Calls of one principal a second, over time: a plan of a thousand resources goes on without a pause.
pub(crate) const CALLS_PER_SECOND_MAX: u32 = 500;

/// Calls of one principal that may come at once after a rest.
pub(crate) const CALLS_BURST_MAX: u32 = 2_000;

/// Principals whose calls are counted before those who rest are forgotten. A count has a hundred bytes.
pub(crate) const PRINCIPALS_COUNTED_MAX: usize = 4_096;

/// Most secrets of one scope: the limit of the public API. A rotation seals all values of a scope in one transaction, which is
/// 128 MiB then at most.
pub(crate) const SECRETS_PER_SCOPE_MAX: usize = 1_000;

/// Scopes that a rotation asks the store for at once: their keys are a hundred bytes each.
pub(crate) const SCOPES_AT_ONCE: usize = 100;

/// Longest master key file: 44 characters, and room for white space around them.
pub(crate) const MASTER_KEY_FILE_BYTES_MAX: usize = 1024;

/// Largest file of a volume that is read: a key store with many certificates has a tenth of it.
pub(crate) const VOLUME_FILE_BYTES_MAX: usize = 1 << 20;

/// Longest wait for a connection to AWS: its services answer within milliseconds.
pub(crate) const AWS_CONNECT_WAIT: Duration = Duration::from_secs(3);

/// Longest wait for one attempt of a call to AWS.
pub(crate) const AWS_ATTEMPT_WAIT: Duration = Duration::from_secs(5);

/// Attempts of a call to AWS that was throttled or met a passing failure.
pub(crate) const AWS_ATTEMPTS_MAX: u32 = 3;

/// First wait between two attempts, doubled and shortened by chance.
pub(crate) const AWS_RETRY_WAIT_FIRST: Duration = Duration::from_millis(250);

/// Longest wait for a call to AWS with all its attempts.
pub(crate) const AWS_OPERATION_WAIT: Duration = Duration::from_secs(17);

/// The same with what comes before it: the agent's own credentials, the region. Below the deadlines of calls.
pub(crate) const AWS_CALL_WAIT: Duration = Duration::from_secs(20);

/// Longest wait for AWS in the answer to whoever declares a credential: it is kept already, and trying it is a courtesy.
pub(crate) const CREDENTIAL_TRIAL_WAIT: Duration = Duration::from_secs(10);

/// Characters of what AWS says that a message repeats.
pub(crate) const AWS_PROBLEM_CHARS_MAX: usize = 500;

/// How long a role is assumed for: the longest that every role allows.
pub(crate) const ROLE_SESSION: Duration = Duration::from_secs(3600);

/// Longest name of a role's session that AWS takes.
pub(crate) const SESSION_NAME_CHARS_MAX: usize = 64;

/// Credentials that end sooner are renewed: some tries have room before they end.
pub(crate) const CREDENTIALS_RENEWED_BEFORE: Duration = Duration::from_secs(15 * 60);

/// Credentials that could not be renewed are given out as long as they are good for so long.
pub(crate) const CREDENTIALS_GOOD_FOR_MIN: Duration = Duration::from_secs(60);

/// Credentials of the environment that have no end are looked at again after this time: files of keys are changed by hand.
pub(crate) const AMBIENT_CREDENTIALS_AGE_MAX: Duration = Duration::from_secs(300);

/// Whoever wants credentials that were refused a moment ago gets the same answer: many streams with one role ask once.
pub(crate) const ASSUME_AGAIN_WAIT: Duration = Duration::from_secs(5);

/// How long a token for Amazon MSK is good for: the longest that MSK takes.
pub(crate) const MSK_TOKEN_LIFE: Duration = Duration::from_secs(900);

/// Credentials that are kept: one for each stream with a role, about two kilobytes each.
pub(crate) const CREDENTIALS_CACHED_MAX: usize = 1_024;

/// Longest wait for a file of a volume: a megabyte takes moments, and a stream that waits hears nothing else meanwhile.
pub(crate) const VOLUME_READ_WAIT: Duration = Duration::from_secs(10);

/// A file that has other bytes than before is read once more after this time: where the two differ, somebody is still writing it.
pub(crate) const FILE_SETTLES_AFTER: Duration = Duration::from_secs(1);
