//! JSON messages, read as Spark's `from_json` reads them: Jackson's tokenizer with its laziness and its places to go on
//! from after an error, and Spark's partial results on top.
//!
//! `tokenizer` pulls tokens from bytes (`cursor`, `strings`, `number` below it), `convert` writes them into columns by a
//! [`Shape`], `rewrite` and `base64` are two conversions of their own. No tree of values is ever built. The one
//! invariant: every token is read at most twice, so time is linear in the message.

mod base64;
mod convert;
mod cursor;
mod fast;
mod number;
mod rewrite;
mod shape;
mod strings;
mod tokenizer;

use crate::builders::Column;
use crate::limits::SCRATCH_BYTES_KEPT_MAX;
use crate::report::MisfitReason;
use crate::text::utf8::append_repaired;

use self::fast::FastSpace;
pub(crate) use self::shape::Shape;
use self::tokenizer::TokenizerSpace;

/// A UTF-16 unit.
type Unit = u16;

/// The unit as an ASCII character; NUL, which no syntax uses, if it is none.
fn ascii(unit: Unit) -> u8 {
    u8::try_from(unit).ok().filter(u8::is_ascii).unwrap_or(0)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// The end of the input, or of what can be read after an error.
    End,
    /// A field's name; the value behind it is recognised already.
    Name,
    ObjectStart,
    ObjectEnd,
    ArrayStart,
    ArrayEnd,
    Text,
    Integer,
    Float,
    True,
    False,
    Null,
}

/// Buffers that messages share.
#[derive(Default)]
pub(crate) struct Scratch {
    repaired: Vec<u8>,
    fast: FastSpace,
    tokenizer: TokenizerSpace,
    /// Every message is read the exact way. It changes the time that messages take, never their rows: tests prove it.
    pub(crate) exact_only: bool,
}

/// Appends one message as one row. Says why, if something in it did not fit. Adds to `cells` those that it filled.
pub(crate) fn append(
    payload: &[u8],
    shape: &mut Shape,
    column: &mut Column,
    scratch: &mut Scratch,
    cells: &mut usize,
) -> Option<MisfitReason> {
    let valid = match simdutf8::basic::from_utf8(payload) {
        Ok(text) => text,
        Err(_) => {
            scratch.repaired.clear();
            append_repaired(payload, &mut scratch.repaired);
            std::str::from_utf8(&scratch.repaired).unwrap_or_default()
        }
    };
    let misfit = if !scratch.exact_only && fast::append(valid, shape, column, &mut scratch.fast, cells) {
        None
    } else {
        convert::message(valid, shape, column, &mut scratch.tokenizer, cells)
    };
    if scratch.repaired.capacity() > SCRATCH_BYTES_KEPT_MAX {
        scratch.repaired = Vec::new();
    }
    misfit
}
