//! Texts as Java and Spark read and write them: UTF-8 repair, dates and times, decimals, doubles, identifiers.
//!
//! Public where Spark's own casts of texts do the same: the record filter casts by them. Knows no message format. The one invariant: every function is linear in its input and depends on nothing else.

pub mod datetime;
pub mod decimal;
pub mod double;
pub(crate) mod unicode;
pub(crate) mod utf8;
mod zone;

use crate::builders::{Column, ColumnBuilder};

/// Appends a payload that is the value itself.
pub(crate) fn append(payload: &[u8], column: &mut Column) {
    match column {
        Column::String(texts) => {
            utf8::append_repaired(payload, texts.tail());
            texts.commit_tail();
        }
        other => {
            debug_assert!(false, "a text plan fills a string column");
            other.append_null();
        }
    }
}
