//! Every bound of this package, with its reason. Nothing here grows with a table's age.
//!
//! The bounds of the table room are in `table/limits.rs`, those of the filter room in `filter/limits.rs`.

use std::time::Duration;

/// New topics and partitions are found within this time (product part K4).
pub const DISCOVERY_INTERVAL: Duration = Duration::from_secs(30);

/// A stream with a schema registry takes the latest versions of its subjects after this time (product part D5).
pub const REGISTRY_RESTART_INTERVAL: Duration = Duration::from_secs(4 * 60 * 60);

/// Shortest such time: a stream that only starts reads nothing.
pub const REGISTRY_RESTART_INTERVAL_MIN: Duration = Duration::from_millis(100);

/// The same where the registry did not tell what is latest: soon, but not so often that each attempt costs the stream its flow.
pub const REGISTRY_RETRY_WAIT: Duration = Duration::from_secs(60);

/// Longest wait of a batch for the schemas that its messages name: after that they wait by themselves, and the others go on.
pub const SCHEMAS_WAIT: Duration = Duration::from_secs(10);

/// Schemas, and messages of schemas, of one side that stay known between two batches: a topic has some dozens, and what only looks like
/// an id is forgotten.
pub const WRITERS_KEPT_MAX: usize = 1_000;

/// How long it is believed that a registry does not have a schema: it may be registered at any time.
pub const WRITER_MISSING_KEPT: Duration = Duration::from_secs(60);

/// Bytes of messages that make a full batch: large enough for Parquet files of useful size, small enough that a batch
/// being gathered, one being decoded and one being written fit in memory for many streams.
pub const BATCH_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Batches of one stream that are in memory at once: one gathered, one decoded, one written. Each may go beyond its bound by
/// one message.
pub const BATCHES_AT_ONCE: usize = 3;

/// Bytes of messages that are decoded at once, and then freed: few beside a batch, enough for the cost of a portion to vanish.
pub const DECODE_PORTION_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of decoded rows from which on the rest of a batch waits for a part of its own, which is one more commit: messages that leave
/// out most fields of a wide struct become hundreds of times their bytes. Rows of other messages stay below it. A part may go beyond
/// it by what a decoder builds at once: [`stream_decode::limits::BATCH_CELLS_MAX`] cells of each side, and one message's.
pub const DECODED_BYTES_MAX: usize = 4 * BATCH_BYTES_MAX;

/// Messages of which the status names the places, per side and reason why they did not fit: enough to look at samples in the source.
pub const MISFIT_PLACES_MAX: usize = 3;

/// Arenas of the C library's allocator. Eight per core, its own choice, hold a third more memory at full speed, and no less CPU
/// time is spent than with two; one makes threads wait for one another.
pub const MALLOC_ARENAS_MAX: i32 = 2;

/// What a batch takes in memory, as a multiple of its messages: the messages, and the columns that are made of them, with room
/// for the growth of their buffers. Messages that do not name most of the fields that they fill take more; for these
/// [`DECODED_BYTES_MAX`] is the bound.
pub const BATCH_MEMORY_FACTOR: usize = 2;

/// Memory of an agent beside its streams: code, threads, the database, and what the allocator keeps.
pub const AGENT_MEMORY: usize = 128 * 1024 * 1024;

/// Memory of a partition that is read: what the client keeps for it.
pub const PARTITION_MEMORY: usize = 64 * 1024;

/// The most memory that one stream takes, whatever its source and its disk do, where its messages name the fields that they fill (else
/// [`DECODED_BYTES_MAX`] bounds a batch, and one message may take what [`stream_decode::limits::STRUCT_CELLS_PER_MESSAGE_MAX`] cells
/// do): fetched ahead ([`QUEUE_BYTES_MAX`], and one fetch
/// as it arrived and unpacked), the batches on their way, and the file that is being written. `message_bytes` is the largest
/// message of its topics, which every part may go beyond its bound by. Producers that compress more than threefold add to the
/// one fetch as much as they compress.
#[must_use]
pub const fn stream_memory_max(partitions: usize, message_bytes: usize) -> usize {
    let fetched = QUEUE_BYTES_MAX + 4 * FETCH_BYTES_MAX + 2 * message_bytes;
    let batches = BATCHES_AT_ONCE * BATCH_MEMORY_FACTOR * (BATCH_BYTES_MAX + message_bytes);
    fetched + batches + crate::table::FILE_MEMORY + partitions * PARTITION_MEMORY
}

/// Largest bound of a batch that is followed: with it, and the one message that goes beyond it, a decoder takes the batch.
pub const BATCH_BYTES_CEILING: usize = stream_decode::limits::BATCH_BYTES_MAX / 2;

/// Kafka clients that an agent has open at once, unless its configuration says otherwise: streams need one each where they read one topic.
/// A client takes three threads and one for each broker, and a megabyte or two, so this many are a thousand threads or two.
pub const KAFKA_CLIENTS_MAX: usize = 256;

/// How long the thread of a client waits for events before it looks whether the client is still used.
pub const CLIENT_EVENT_WAIT: Duration = Duration::from_millis(500);

/// Longest wait of a client between two attempts to connect to a broker that is away.
pub const RECONNECT_WAIT_MAX: Duration = Duration::from_secs(5);

/// Largest response that a client takes. Decompression of zstd grows a buffer threefold and gives up above this limit,
/// which stalls a partition for ever (confluentinc/librdkafka#5260): far above any batch that a broker holds.
pub const RESPONSE_BYTES_MAX: usize = 1_000_000_000;

/// Bytes that one fetch asks a broker for, over all its partitions.
pub const FETCH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes that one fetch asks for per partition. A larger message is delivered all the same, alone.
pub const PARTITION_FETCH_BYTES: usize = 1024 * 1024;

/// Bytes that a fetch waits for at the broker, but no longer than [`FETCH_WAIT`]: at ten megabytes a second, forty answers a
/// second instead of one for each request of a producer. Not more than a partition is asked for, or a stream of one partition
/// would wait for bytes that never come together.
pub const FETCH_BYTES_MIN: usize = 256 * 1024;

/// How long a fetch waits for [`FETCH_BYTES_MIN`]: added to the flush interval where few records come.
pub const FETCH_WAIT: Duration = Duration::from_millis(100);

/// Bytes fetched ahead for one stream, over all its partitions: they share one queue, whose size this bounds. Overshoot is
/// one fetch, [`FETCH_BYTES_MAX`], per broker.
pub const QUEUE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes taken from a stream's queue after which all that it held before is taken to be gone from it, although it was never
/// found empty: several times its bound, because a fetch that has started overshoots it.
pub const QUEUE_TURNOVER_BYTES: usize = 8 * QUEUE_BYTES_MAX;

/// Messages fetched ahead for one stream: the client stops fetching at this number, so that many small messages do not
/// cost more in bookkeeping than in bytes.
pub const QUEUE_MESSAGES_MAX: usize = 100_000;

/// How long a client waits before it looks again at a queue that was full.
pub const FULL_QUEUE_WAIT: Duration = Duration::from_millis(20);

/// Longest wait for an answer of a broker: long enough for a broker that restarts, short enough that a create which waits
/// for it (30 s) still hears the reason.
pub const SOURCE_ANSWER_WAIT: Duration = Duration::from_secs(10);

/// Messages taken from a client by one call: enough to make the call's cost vanish, few enough that other events get their
/// turn, and that little is put off when a batch is full.
pub const TAKE_MESSAGES_MAX: usize = 1_000;

/// Bytes that a gathered message counts beside its key and payload, about what librdkafka keeps for it: a bound on bytes is
/// then also one on the number of empty messages.
pub const MESSAGE_OVERHEAD_BYTES: usize = 256;

/// Longest wait for the leaders of a running stream's partitions to tell offsets. One that is away must not keep the others
/// from being read; one that is asked again later costs nothing.
pub const OFFSETS_WAIT: Duration = Duration::from_secs(2);

/// Longest wait for a client to stop reading a stream's partitions.
pub const DETACH_WAIT: Duration = Duration::from_secs(10);

/// Sentences in one condition's message: a stream of a thousand partitions must stay readable.
pub const CONDITION_SENTENCES_MAX: usize = 5;

/// Longest wait for an answer about topics, once a broker is known to answer.
pub const DESCRIPTION_WAIT: Duration = Duration::from_secs(5);

/// Longest wait for the names of all topics of a cluster, once a broker is known to answer: a hundred thousand take a second or two.
pub const LISTING_WAIT: Duration = Duration::from_secs(5);

/// Topics of all streams of a client that one question about topics takes along, so that others need not ask: beyond that a stream
/// asks for its own alone, because an answer about everybody's topics would cost more than the questions that it saves.
pub const DESCRIBED_TOGETHER_MAX: usize = 1_000;

/// Partitions of which one question about ends asks, those of other streams of the client among them: librdkafka looks for each answer
/// among all that were asked, one by one.
pub const OFFSETS_TOGETHER_MAX: usize = 1_000;

/// The part of the discovery interval for which one stream's answer about topics or ends is good enough for the others' looks around: each
/// looks that much earlier, and a client answers at most so many times per interval for all of them.
pub const SHARED_ANSWER_PART: u32 = 8;

/// Steps that matching the topics that are new in a list may take with one pattern, together: about a second at most. The longest
/// list with a sensible pattern needs a tenth of it.
pub const PATTERN_LISTING_WORK: u64 = 50_000_000;

/// Longest wait for all servers of an address to take a connection, when a connection is tried.
pub const ADDRESS_WAIT: Duration = Duration::from_secs(5);

/// Longest look at a certificate that was not accepted. It is for a message, and the thread that looks serves the client's events.
pub const CERTIFICATE_LOOK_WAIT: Duration = Duration::from_secs(3);

/// A broker's certificate that is still not accepted is looked at again after this time: there may be another one by then.
pub const CERTIFICATE_LOOK_INTERVAL: Duration = Duration::from_secs(60);

/// How much longer than its timeout a question to a client is waited for: a client looks once a second for what has timed out,
/// and an answer in which one broker's part is missing must not be lost with the others' parts.
pub const ANSWER_GRACE: Duration = Duration::from_secs(3);

/// How long one call blocks a thread while a cluster is away: the process cannot end before such calls do.
pub const BLOCKING_SLICE: Duration = Duration::from_millis(250);

/// Longest wait of a client for the token that it signs in with: whoever gives tokens has a bound below it.
pub const TOKEN_WAIT: Duration = Duration::from_secs(25);

/// How long a new client may fail to connect before the reason is reported: a second attempt fits in it.
pub const TROUBLE_PATIENCE: Duration = Duration::from_secs(3);

/// Longest wait for a stream to commit what is in flight when it is stopped: a broker's answer and a commit fit in it, and the
/// agent's own bound for its shutdown (20 s) is longer.
pub const STOP_WAIT: Duration = Duration::from_secs(15);

/// First wait after a failure that may heal; doubled after each one that follows without success.
pub const RETRY_WAIT_MIN: Duration = Duration::from_millis(500);

/// Longest wait after a failure that may heal.
pub const RETRY_WAIT_MAX: Duration = Duration::from_secs(30);

/// Wait before a source that has changed is opened again.
pub const REOPEN_WAIT: Duration = Duration::from_millis(200);

/// How often a topic that is missing, or a cluster that is away, is looked for.
pub const MISSING_TOPIC_WAIT: Duration = Duration::from_secs(5);

/// How soon the cluster is asked when something seems wrong: not at once, because trouble comes in swarms.
pub const SURVEY_SOON: Duration = Duration::from_millis(500);

/// How long a partition may stand before its end without a record before its client is made anew.
pub const STALL_PATIENCE_MIN: Duration = Duration::from_secs(60);

/// Longest patience with a partition that a new client does not move.
pub const STALL_PATIENCE_MAX: Duration = Duration::from_secs(60 * 60);

/// What a commit is taken to need until one was seen: about what a small one needs on a local disk.
pub const COMMIT_TIME_GUESS: Duration = Duration::from_millis(50);
