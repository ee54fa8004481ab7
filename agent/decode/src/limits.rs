//! Every bound of this package, with its reason.

/// Payload bytes of one batch. Arrow's string and list offsets are 32-bit, and a text grows three-fold at worst (a
/// malformed byte becomes a three-byte U+FFFD; `1e6` is re-written as `1000000.0`), so a batch of this size cannot
/// overflow an offset.
pub const BATCH_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Levels of structs, arrays and maps in a type. Conversion recurses once per level of the *type* (never of the data),
/// so this bounds the machine stack. The schema parser refuses deeper schemas; this is the same number.
pub const TYPE_DEPTH_MAX: usize = 100;

/// Open objects and arrays in one message, as Jackson's `StreamReadConstraints` has it.
pub(crate) const NESTING_DEPTH_MAX: usize = 1_000;

/// Digits of one JSON number, as Jackson's `StreamReadConstraints` has it.
pub(crate) const NUMBER_DIGITS_MAX: usize = 1_000;

/// UTF-16 units of one field name, as Jackson's `StreamReadConstraints` has it.
pub(crate) const NAME_UNITS_MAX: usize = 50_000;

/// UTF-16 units of one string value, as Jackson's `StreamReadConstraints` has it.
pub(crate) const STRING_UNITS_MAX: usize = 20_000_000;

/// Characters of a broken token that Jackson steps over before it reports it. Results depend on it: reading resumes
/// behind them.
pub(crate) const BROKEN_TOKEN_UNITS_MAX: usize = 256;

/// Column cells that the structs of one message may fill. A message cannot name that many values; only objects that leave
/// out most fields of a wide struct get there (`[{},{},…]`), and one of 20 MB could take the machine's memory otherwise.
/// Spark has no such bound. Such a message is given up as a whole.
pub const STRUCT_CELLS_PER_MESSAGE_MAX: usize = 1 << 25;

/// Column cells from which on a batch takes no further message: a few messages, each within its own bound, could take the machine's
/// memory together otherwise. Of messages that name their values a portion of some megabytes stays below it; 32 MiB, at eight bytes
/// a cell, are built before the batch ends. The last message may go beyond it by [`STRUCT_CELLS_PER_MESSAGE_MAX`].
pub const BATCH_CELLS_MAX: usize = 1 << 22;

/// Bytes that a message has put into columns without containing them and that count as one cell of a batch.
pub(crate) const MADE_UP_BYTES_PER_CELL: usize = 8;

/// Fields up to which a name that was not predicted is looked for one by one; beyond that a hash map is faster.
pub(crate) const LINEAR_NAME_SEARCH_FIELDS_MAX: usize = 8;

/// Open objects and arrays that the fast way steps over in a value without a column: one bit each of a word. Deeper ones are
/// left to the exact way.
pub(crate) const FAST_SKIP_DEPTH_MAX: u32 = 64;

/// Messages in a row that a format's fast way leaves before it is given a rest: each of them was read in vain up to its surprise.
pub(crate) const FAST_MISSES_MAX: u32 = 16;

/// Messages that go the exact way at once while the fast one rests; then it is tried again.
pub(crate) const FAST_REST_MESSAGES: u32 = 64;

/// Row indexes kept per reason in a report: enough to look at samples, small enough to forget.
pub const REPORTED_ROWS_MAX: usize = 8;

/// Plans of one decoder: the index per row is 16 bits wide.
pub const PLANS_MAX: usize = 1 << 16;

/// Scratch space kept from one message to the next. A rare large message must not hold its memory for ever.
pub(crate) const SCRATCH_BYTES_KEPT_MAX: usize = 1 << 20;

/// Messages and groups inside each other in one Protobuf message, known and unknown, as protobuf-java has it. Reading recurses
/// once per level.
pub(crate) const PROTOBUF_NESTING_MAX: usize = 100;

/// Bytes of text that one Protobuf message may have put into columns without containing them: names of enum values, of which each
/// takes one byte on the wire, and defaults of the schema. Spark has no such bound. Such a message is given up as a whole.
pub const PROTOBUF_MADE_UP_BYTES_PER_MESSAGE_MAX: usize = 1 << 26;

/// Bytes of one text column of a batch beyond which nothing is made up any more; then messages that would need it are given up. The
/// texts of the messages themselves, three times [`BATCH_BYTES_MAX`] at worst, still have offsets behind it.
pub const COLUMN_MADE_UP_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Field numbers up to here are found by position, four bytes each; in a message of many fields also those up to a multiple of
/// their count. Larger ones are searched for.
pub(crate) const DENSE_FIELD_NUMBER_MIN: usize = 255;

/// Positions for each field of a message of many fields.
pub(crate) const DENSE_FIELD_NUMBERS_PER_FIELD: usize = 8;

/// Items without a byte of their own (nulls, records of nothing, a fixed of no bytes) that one Avro message may have per byte of it, so
/// that [`BATCH_BYTES_MAX`] of messages cannot overflow the offsets of lists. No schema of a table has such items; Spark runs out
/// of memory instead. Such a message is given up as a whole.
pub const AVRO_ITEMS_WITHOUT_BYTES_PER_BYTE_MAX: usize = 2;

/// Bytes of values that one Avro message may have put into columns without containing them: symbols of enums, of which each takes one
/// byte on the wire, and defaults of the reader's schema. Spark has no such bound. Such a message is given up as a whole.
pub const AVRO_MADE_UP_BYTES_PER_MESSAGE_MAX: usize = 1 << 26;

/// Bytes that one Avro message may have read a second time, as a multiple of its own: maps in maps that have a key twice double the
/// readings with every level. Three such levels inside each other stay below it, and no writer's library writes one. Spark reads each
/// map once. Such a message is given up as a whole.
pub(crate) const AVRO_REREAD_PER_BYTE_MAX: usize = 8;

/// Levels of a record in itself that are stepped over where its column has ended. Reading recurses once per level; Spark overflows
/// its stack at some thousands. Such a message is given up as a whole.
pub(crate) const AVRO_SKIPPED_RECURSION_MAX: usize = 200;

/// Schemas and messages of schemas that the frames of one batch may name before it is cut. A topic has a few, but any bytes may look
/// like an id; each is asked for.
pub const FRAME_KEYS_MAX: usize = 4_096;

/// Indexes that the frame of a Protobuf message may have: messages are declared inside each other at most so deep, as protoc has it.
pub const MESSAGE_INDEXES_MAX: usize = 32;
