//! A position in a message, read as Java reads it: one UTF-16 unit at a time.
//!
//! The input is valid UTF-8. A character beyond the Basic Multilingual Plane is two units, and reading can stop between
//! them: that position is the byte two into the four-byte sequence. The one invariant: every read advances or fails at the end.

use super::Unit;
use crate::limits::BROKEN_TOKEN_UNITS_MAX;
use crate::report::MisfitReason::{self, Malformed};
use crate::text::unicode::is_identifier_part;

const CHARACTER_BYTES_MAX: usize = 4;

const REPLACEMENT_UNIT: Unit = 0xFFFD;

pub(super) struct Cursor<'a> {
    text: &'a str,
    pub(super) input: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            input: text.as_bytes(),
            at: 0,
        }
    }

    #[inline]
    pub(super) fn peek_byte(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    /// What stands between two characters of the input.
    #[inline]
    pub(super) fn text_slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    #[inline]
    pub(super) fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        self.input.get(start..end).unwrap_or_default()
    }

    /// The next unit, stepped over. The end of the input is malformed.
    #[inline]
    pub(super) fn next_unit(&mut self) -> Result<Unit, MisfitReason> {
        match self.peek_byte() {
            Some(byte) if byte.is_ascii() => {
                self.at += 1;
                Ok(Unit::from(byte))
            }
            Some(_) => {
                let (unit, bytes) = self.wide_unit();
                self.at += bytes;
                Ok(unit)
            }
            None => Err(Malformed),
        }
    }

    pub(super) fn peek_unit(&self) -> Option<Unit> {
        match self.peek_byte()? {
            byte if byte.is_ascii() => Some(Unit::from(byte)),
            _ => Some(self.wide_unit().0),
        }
    }

    /// The unit at a non-ASCII byte, and how many bytes further the next one is.
    fn wide_unit(&self) -> (Unit, usize) {
        let character_at = |at: usize| {
            let bytes = self.slice(at, (at + CHARACTER_BYTES_MAX).min(self.input.len()));
            let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            valid.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)
        };
        let is_low_half = self.peek_byte().is_some_and(|byte| byte & 0xC0 == 0x80);
        let character = if is_low_half {
            character_at(self.at.saturating_sub(2))
        } else {
            character_at(self.at)
        };
        let mut units = [0; 2];
        match (character.encode_utf16(&mut units), is_low_half) {
            ([unit], _) => (*unit, character.len_utf8()),
            ([_, low], true) => (*low, 2),
            ([high, _], false) => (*high, 2),
            _ => (REPLACEMENT_UNIT, 1),
        }
    }

    /// The next unit that is not white space, stepped over.
    #[inline]
    pub(super) fn next_significant(&mut self) -> Result<Unit, MisfitReason> {
        match self.peek_byte() {
            Some(byte @ (b'!'..=b'.' | b'0'..=b'~')) => {
                self.at += 1;
                Ok(Unit::from(byte))
            }
            _ => self.next_significant_behind_others(),
        }
    }

    #[inline(never)]
    fn next_significant_behind_others(&mut self) -> Result<Unit, MisfitReason> {
        loop {
            match self.next_unit()? {
                0x20 | 0x09 | 0x0A | 0x0D => {}
                // Other controls are no white space, and a comment may not be there.
                0..=0x1F | 0x2F => return Err(Malformed),
                unit => return Ok(unit),
            }
        }
    }

    /// Steps over white space and tells whether that was all.
    pub(super) fn is_at_end(&mut self) -> bool {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek_byte() {
            self.at += 1;
        }
        self.at >= self.input.len()
    }

    /// Steps over the rest of a word, of which `matched` bytes are read already, and checks that it ends there.
    pub(super) fn expect_word(&mut self, word: &[u8], matched: usize) -> Result<(), MisfitReason> {
        for expected in word.iter().skip(matched) {
            if self.peek_byte() != Some(*expected) {
                return self.fail_behind_identifier();
            }
            self.at += 1;
        }
        match self.peek_byte() {
            None | Some(0..b'0' | b']' | b'}') => Ok(()),
            Some(_) if self.peek_unit().is_some_and(is_identifier_part) => self.fail_behind_identifier(),
            Some(_) => Ok(()),
        }
    }

    /// Jackson reports a broken token together with what looks like the rest of it, and goes on behind that.
    pub(super) fn fail_behind_identifier<T>(&mut self) -> Result<T, MisfitReason> {
        for _ in 0..BROKEN_TOKEN_UNITS_MAX {
            match self.peek_unit() {
                Some(unit) if is_identifier_part(unit) => self.next_unit()?,
                _ => break,
            };
        }
        Err(Malformed)
    }
}
