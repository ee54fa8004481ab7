//! Every bound of the filter room, with its reason. What goes beyond one is null: a stream never stops for a record.

/// Steps of one LIKE over a batch. A pattern with some `%` goes over each character a few times, so the largest batch stays below;
/// it is a matter of seconds, where text times pattern, both from a producer, could be one of days.
pub(super) const LIKE_STEPS_MAX: u64 = 1_000_000_000;

/// Rows of a batch on which one RLIKE may give up before it stops trying. Each has cost the regex room's most steps,
/// millions: together a hundred million. Texts that stay just below that bound are not counted.
pub(super) const RLIKE_FAILURES_MAX: usize = 20;

/// Bytes of the texts (or of the BINARY values) that one function makes of a batch, many times what a batch of messages holds.
/// Arrow's offsets end at 2 GiB; a long literal beside many records would go beyond.
pub(super) const RESULT_BYTES_MAX: usize = 512 * 1024 * 1024;

/// From so many texts on a set is faster than comparing the column with each, as measured.
pub(super) const SET_TEXTS_MIN: usize = 16;
