//! Every bound of this package, each with its reason. No other file names a number that limits input.

/// Longest schema text, in bytes. Real schemas are tens of kilobytes; a text travels in every plan and every answer.
pub const SCHEMA_TEXT_BYTES_MAX: usize = 1024 * 1024;

/// Most texts that a schema of a registry may refer to, those of its references counted. Large real ones have some dozens.
pub const REFERENCES_MAX: usize = 200;

/// Most bytes of the texts that a schema refers to, together: several times the longest text.
pub const REFERENCES_BYTES_MAX: usize = 4 * SCHEMA_TEXT_BYTES_MAX;

/// Deepest nesting of a column's type, counting structs, arrays and maps. Parquet readers recurse once per level.
pub const TYPE_DEPTH_MAX: usize = 100;

/// Deepest nesting of the JSON that spells a schema. One level of type takes at most two of JSON (`properties` and the
/// property), the rest is room for `$defs` and combinators. Parsing recurses once per level: at this depth a debug build
/// needs between 1.0 and 1.1 MB of stack, of the 2 MiB that an ordinary thread has.
pub const JSON_DEPTH_MAX: usize = 220;

/// Most parts that a schema may have once local references are followed. References can multiply: thirty definitions
/// that each use the next one twice would be a billion columns.
pub const SCHEMA_PARTS_MAX: usize = 20_000;

/// Most brackets that may be open at once in a Protobuf text: 32 nested messages, as protoc has it, and an option's value inside.
/// The compiler recurses once per bracket.
pub const PROTO_BRACKETS_MAX: usize = 64;

/// Longest dotted name in a Protobuf text, in bytes: the compiler keeps every prefix of a package.
pub const PROTO_NAME_BYTES_MAX: usize = 1000;

/// Most bytes of all full names in a Protobuf text, about: short names in a long package are what costs memory. A large real schema
/// has a tenth of it.
pub const PROTO_FULL_NAMES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Longest default value in a Protobuf text, in bytes. A schema's tree holds it once for each place that uses the message.
pub const PROTO_DEFAULT_BYTES_MAX: usize = 4096;

/// Most enum values that a schema may have, counted once per field that uses the enum: a schema's tree holds them that often.
pub const SCHEMA_ENUM_VALUES_MAX: usize = 200_000;

/// Longest full name in an Avro schema, in bytes: every definition inside a namespace has it in its own.
pub const AVRO_NAME_BYTES_MAX: usize = 1000;

/// Most bytes of all names, aliases, symbols and defaults of an Avro schema, about, counted once per use of what has them: the
/// tree holds them that often. A large real schema has a hundredth of it.
pub const AVRO_TEXTS_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Most problems reported for one schema: enough to mend it in one go, few enough to read.
pub const SCHEMA_PROBLEMS_MAX: usize = 20;

/// Longest SQL statement about a connection, in bytes: room for certificates and two secrets of their greatest length.
pub const SQL_TEXT_BYTES_MAX: usize = 1024 * 1024;

/// Longest text of a connection's option, in bytes: the certificate authorities that a system trusts are a quarter of a megabyte.
pub const CONNECTION_OPTION_BYTES_MAX: usize = 512 * 1024;

/// Most tags on a stream (product part S3).
pub const TAGS_MAX: usize = 25;

/// Longest Kafka topic name, in bytes: the broker's own limit.
pub const TOPIC_NAME_BYTES_MAX: usize = 249;

/// Longest Kinesis stream or consumer name, in bytes: the service's own limit.
pub const KINESIS_NAME_BYTES_MAX: usize = 128;

/// Shortest flush interval in milliseconds: below it commits, not records, would be the load.
pub const FLUSH_INTERVAL_MILLIS_MIN: u64 = 100;

/// Interval of a stream that says none: rows are visible within a second or two, and a day makes 86,400 files at most.
pub const FLUSH_INTERVAL_MILLIS_DEFAULT: u64 = 1000;

/// Longest flush interval in milliseconds: rows wait in memory until then, and the last flush is repeated after a crash.
pub const FLUSH_INTERVAL_MILLIS_MAX: u64 = 60 * 60 * 1000;

/// Range of `kafka.request.timeout.ms`: what librdkafka accepts for a socket.
pub const REQUEST_TIMEOUT_MILLIS: std::ops::RangeInclusive<i64> = 1_000..=300_000;

/// Range of `kafka.session.timeout.ms`: what librdkafka accepts.
pub const SESSION_TIMEOUT_MILLIS: std::ops::RangeInclusive<i64> = 1..=3_600_000;

/// Range of `kafka.max.partition.fetch.bytes`: what librdkafka accepts.
pub const PARTITION_FETCH_BYTES: std::ops::RangeInclusive<i64> = 1..=1_000_000_000;

/// Range of `maxRecordsPerFetch`: what Kinesis' GetRecords accepts.
pub const KINESIS_RECORDS_PER_FETCH: std::ops::RangeInclusive<i64> = 1..=10_000;

/// Highest `maxFetchRate` in MiB per second: a shard gives no more to one reader.
pub const KINESIS_FETCH_RATE_MAX: f64 = 2.0;

/// Shortest `minFetchPeriod` in milliseconds: Kinesis allows five reads a second and shard.
pub const KINESIS_FETCH_PERIOD_MILLIS_MIN: u64 = 200;

/// Longest option that is a duration, in milliseconds: a day; anything above is a slip of units.
pub const OPTION_DURATION_MILLIS_MAX: u64 = 24 * 60 * 60 * 1000;

/// Longest pattern of dates and times in a filter: several times what a date, a time and a zone with text between them need.
pub const DATETIME_PATTERN_BYTES_MAX: usize = 128;

/// Longest record filter, in bytes: room for an IN list of thousands of values; it travels in every plan and every answer.
pub const FILTER_TEXT_BYTES_MAX: usize = 64 * 1024;

/// Most names and operators in a record filter, literals and commas not counted. The parser makes of a chain such as
/// `a OR b OR c` a tree as deep as the chain is long, and taking it down recurses: at this depth an unoptimised build needs 1 MB
/// of stack, of the 2 MiB that an ordinary thread has.
pub const FILTER_PARTS_MAX: usize = 2_000;

/// The parser's limit of recursion for a record filter: one level each for parentheses, for a call and for an operator's right
/// side. At this depth the parser, which is optimised in every build, needs half a megabyte of stack.
pub const FILTER_NESTING_MAX: usize = 64;

/// Deepest checked expression of a record filter; AND, OR and `||` of any length are one level. Evaluation recurses once per
/// level, on every batch.
pub const FILTER_DEPTH_MAX: usize = 100;

/// Most parts of a checked record filter that are there again because their operand is: BETWEEN, CASE with an operand and `nullif`
/// compare theirs more than once. Inside one another these double at every level; side by side, a filter of the longest text has
/// some thousand.
pub const FILTER_REPEATED_MAX: usize = 10_000;

/// Most problems reported for one record filter.
pub const FILTER_PROBLEMS_MAX: usize = 20;

/// Longest regular expression, in characters. The longest that people write are lists of some hundred topics.
pub const PATTERN_CHARS_MAX: usize = 10_000;

/// Deepest nesting of groups and classes in a regular expression. Reading and some matching recurse once per level.
pub const PATTERN_DEPTH_MAX: usize = 50;

/// Steps that matching a regular expression may take, beside those per unit of text: a tenth of a second or so. Patterns that
/// backtrack without end are cut off here; for Java they would block the task.
pub const PATTERN_WORK_MAX: u64 = 5_000_000;

/// Steps that matching a regular expression may take per UTF-16 unit of the text, so that a long text may be searched.
pub const PATTERN_WORK_PER_UNIT: u64 = 100;

/// Characters that repetitions with a count may ask for in a pattern for Rust's engine, such as a thousand in `[a-z]{1,1000}`; one with
/// more is matched step by step. In the worst text the engine is at all of these places at once, 15 ns for each and each byte as
/// measured: a pattern of a few characters could ask for a hundred thousand.
pub const PATTERN_COUNTED_MAX: usize = 1_000;

/// Bytes of a text that count as one step of matching where Rust's engine matches it: it goes over them in a step's time. How long it
/// takes grows with the text alone, times [`PATTERN_COUNTED_MAX`] or the pattern's own length where both are made for it.
pub const PATTERN_TEXT_BYTES_PER_STEP: usize = 8;

/// Most places to go back to that are kept while matching a regular expression: some 30 MB.
pub const PATTERN_STACK_MAX: usize = 500_000;

/// Longest translation of a regular expression for Rust's engine, in bytes; a pattern with a longer one is matched step by step. A
/// class of all of Unicode's letters takes twelve kilobytes, and the engine's parsers several times what they read.
pub const PATTERN_TRANSLATED_BYTES_MAX: usize = 1024 * 1024;

/// Largest form of a regular expression that Rust's engine may make; a larger one is matched step by step. A few classes of all of
/// Unicode take a hundred kilobytes.
pub const PATTERN_COMPILED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Longest value of a secret, in bytes: the limit of the public API.
pub const SECRET_VALUE_BYTES_MAX: usize = 128 * 1024;

/// Longest name of a principal, in bytes: an e-mail address has at most 254.
pub const PRINCIPAL_BYTES_MAX: usize = 255;

/// Most principals that hold something on one securable: more belong into a group, and a set of grants travels whole.
pub const GRANTS_PER_SECURABLE_MAX: usize = 1_000;

/// Longest external id of a role: the limit of AWS.
pub const EXTERNAL_ID_CHARS_MAX: usize = 1_224;
