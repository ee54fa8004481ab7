//! Every bound of the filter room, with its reason. What goes beyond one is null: a stream never stops for a record.

/// Steps of all LIKEs of a filter over a batch. A pattern with some `%` goes over each character a few times, and a batch here is some
/// megabytes of messages, so hundreds of such patterns stay below; it is a matter of seconds, where text times pattern, both from a
/// producer, could be one of days.
pub(super) const LIKE_STEPS_MAX: u64 = 1_000_000_000;

/// Steps of all regular expressions of a filter over a batch: four seconds or so. What is regular in the strict sense counts one step for
/// some bytes, the rest a few for each character: of the few megabytes of a batch, dozens of either stay below. Texts on which a
/// pattern backtracks without end are given up one by one, forty in all, and then every other.
pub(super) const RLIKE_STEPS_MAX: u64 = 200_000_000;

/// The right side of an AND or OR is evaluated for those rows alone that the left has not decided, where these are one in so many or
/// fewer: taking values out of the columns costs about what comparing them does, and most of what stands on a right side costs more.
pub(super) const NARROWED_SHARE: usize = 4;

/// Bytes of the texts (or of the BINARY values) that one function makes of a batch, many times what a batch of messages holds.
/// Arrow's offsets end at 2 GiB; a long literal beside many records would go beyond.
pub(super) const RESULT_BYTES_MAX: usize = 512 * 1024 * 1024;

/// From so many texts on a set is faster than comparing the column with each, as measured.
pub(super) const SET_TEXTS_MIN: usize = 16;
