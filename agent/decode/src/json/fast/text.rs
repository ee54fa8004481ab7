//! Texts: borrowed when they hold no escape, else put together in a buffer.

use super::super::tokenizer::Tokenizer;
use super::scan::{CHUNK_BYTES, copy_plain, special_from};
use super::{Reader, skip};
use crate::builders::BytesColumn;
use crate::limits::STRING_UNITS_MAX;

impl<'a> Reader<'a> {
    /// A text without escapes whose opening quote is read.
    #[inline]
    pub(super) fn plain_text(&self, at: usize) -> Option<(&'a str, usize)> {
        let end = special_from(self.input, at);
        if self.byte(end)? != b'"' || end - at > STRING_UNITS_MAX {
            return None;
        }
        Some((self.text.get(at..end)?, end + 1))
    }

    /// Appends a text whose opening quote is read.
    #[inline]
    pub(super) fn copy_text(&mut self, at: usize, column: &mut BytesColumn) -> Option<usize> {
        let end = special_from(self.input, at);
        match self.byte(end)? {
            b'"' if end - at <= STRING_UNITS_MAX => {
                column.append_ahead(self.input.get(at..)?, end - at);
                Some(end + 1)
            }
            b'\\' => self.unescape(at, column),
            _ => None,
        }
    }

    /// Appends a value of another kind as text. Stepping over it shows that it is sound and where it ends.
    pub(super) fn rewrite(&mut self, at: usize, column: &mut BytesColumn) -> Option<usize> {
        let behind = skip::value(self.input, at)?;
        let mut tokens = Tokenizer::new(self.text.get(at..behind)?, self.tokenizer);
        tokens.next().ok()?;
        tokens.rewrite(column.tail()).ok()?;
        column.commit_tail();
        Some(behind)
    }

    /// Appends the bytes of a base64 text without escapes, whose opening quote is read.
    pub(super) fn decode_base64(&mut self, at: usize, column: &mut BytesColumn) -> Option<usize> {
        let (_, behind) = self.plain_text(at)?;
        let quoted = self.text.get(at - 1..behind)?;
        let mut tokens = Tokenizer::new(quoted, self.tokenizer);
        tokens.next().ok()?;
        tokens.decode_base64(column.tail()).ok()?;
        if tokens.cursor.at != quoted.len() {
            return None;
        }
        column.commit_tail();
        Some(behind)
    }

    /// Appends a text with escapes, put together in the buffer first.
    fn unescape(&mut self, at: usize, column: &mut BytesColumn) -> Option<usize> {
        // What an escape stands for is never longer than the escape.
        let room = self.input.len() - at + CHUNK_BYTES;
        if self.unescaped.len() < room {
            self.unescaped.resize(room, 0);
        }
        let (mut at, mut len) = (at, 0);
        loop {
            (at, len) = copy_plain(self.input, at, self.unescaped, len)?;
            match self.byte(at)? {
                b'"' => break,
                b'\\' => (at, len) = self.escape(at + 1, len)?,
                _ => return None,
            }
        }
        if len > STRING_UNITS_MAX {
            return None;
        }
        column.append(self.unescaped.get(..len)?);
        Some(at + 1)
    }

    /// Writes what stands behind a backslash. A surrogate without its other half is a surprise.
    #[inline]
    fn escape(&mut self, at: usize, len: usize) -> Option<(usize, usize)> {
        let byte = match self.byte(at)? {
            literal @ (b'"' | b'/' | b'\\' | b'\'') => literal,
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 0x08,
            b'f' => 0x0C,
            b'u' => return self.escaped_units(at + 1, len),
            _ => return None,
        };
        *self.unescaped.get_mut(len)? = byte;
        Some((at + 1, len + 1))
    }

    fn escaped_units(&mut self, at: usize, len: usize) -> Option<(usize, usize)> {
        let unit = self.hex_digits(at)?;
        let (character, behind) = match unit {
            0xD800..0xDC00 => {
                if self.input.get(at + 4..at + 6)? != b"\\u" {
                    return None;
                }
                let low = self.hex_digits(at + 6)?;
                if !(0xDC00..0xE000).contains(&low) {
                    return None;
                }
                (0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00), at + 10)
            }
            unit => (unit, at + 4),
        };
        let character = char::from_u32(character)?;
        let written = character
            .encode_utf8(self.unescaped.get_mut(len..len + character.len_utf8())?)
            .len();
        Some((behind, len + written))
    }

    fn hex_digits(&self, at: usize) -> Option<u32> {
        let digits = self.input.get(at..at + 4)?;
        digits
            .iter()
            .try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    }
}
