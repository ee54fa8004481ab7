//! Texts: borrowed when they hold no escape, else put together in a buffer.

use super::Reader;
use super::scan::special_from;
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
                column.append(self.input.get(at..end)?);
                Some(end + 1)
            }
            b'\\' => {
                let behind = self.unescape(at, end)?;
                column.append(self.unescaped);
                Some(behind)
            }
            _ => None,
        }
    }

    /// Puts the text from `at` on, whose first escape is at `escape`, into the buffer.
    fn unescape(&mut self, at: usize, escape: usize) -> Option<usize> {
        self.unescaped.clear();
        let (mut at, mut end) = (at, escape);
        loop {
            self.unescaped.extend_from_slice(self.input.get(at..end)?);
            at = match self.byte(end)? {
                b'"' => break,
                b'\\' => self.escape(end + 1)?,
                _ => return None,
            };
            end = special_from(self.input, at);
        }
        (self.unescaped.len() <= STRING_UNITS_MAX).then_some(end + 1)
    }

    /// What stands behind a backslash. A surrogate without its other half is a surprise.
    #[inline]
    fn escape(&mut self, at: usize) -> Option<usize> {
        let byte = match self.byte(at)? {
            literal @ (b'"' | b'/' | b'\\' | b'\'') => literal,
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 0x08,
            b'f' => 0x0C,
            b'u' => return self.escaped_unit(at + 1),
            _ => return None,
        };
        self.unescaped.push(byte);
        Some(at + 1)
    }

    fn escaped_unit(&mut self, at: usize) -> Option<usize> {
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
        self.unescaped.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Some(behind)
    }

    fn hex_digits(&self, at: usize) -> Option<u32> {
        let digits = self.input.get(at..at + 4)?;
        digits
            .iter()
            .try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    }
}
