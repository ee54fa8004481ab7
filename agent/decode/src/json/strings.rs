//! Quoted texts: skipped, borrowed when they hold no escape, or unescaped into a buffer.
//!
//! A surrogate that an escape names alone stays in the buffer in its three-byte form (it is not UTF-8 then) until
//! [`replace_lone_surrogates`] turns it into `?`; two that follow each other become one character at once.

use super::cursor::Cursor;
use super::{Unit, ascii};
use crate::report::MisfitReason::{self, Malformed};

/// Bytes looked at together for the end of a text.
const CHUNK_BYTES: usize = 8;

impl<'a> Cursor<'a> {
    /// The text up to the closing quote, if it needs no unescaping; then the quote is stepped over. Otherwise nothing moves.
    #[inline]
    pub(super) fn take_plain(&mut self, quote: u8) -> Option<(usize, usize)> {
        let start = self.at;
        let end = self.find_special(quote);
        if self.input.get(end) != Some(&quote) {
            return None;
        }
        self.at = end + 1;
        Some((start, end))
    }

    /// Unescapes up to and over the closing quote into `out`. Says whether surrogates were written.
    pub(super) fn unescape(&mut self, quote: u8, out: &mut Vec<u8>) -> Result<bool, MisfitReason> {
        let mut surrogates = false;
        let start = out.len();
        loop {
            let end = self.find_special(quote);
            out.extend_from_slice(self.slice(self.at, end));
            self.at = end;
            match ascii(self.next_unit()?) {
                byte if byte == quote => return Ok(surrogates),
                b'\\' => {
                    let unit = self.escape()?;
                    surrogates |= (0xD800..0xE000).contains(&unit);
                    push_unit(unit, start, out);
                }
                _ => return Err(Malformed),
            }
        }
    }

    /// Steps over the closing quote.
    pub(super) fn skip_quoted(&mut self, quote: u8) -> Result<(), MisfitReason> {
        loop {
            self.at = self.find_special(quote);
            match ascii(self.next_unit()?) {
                byte if byte == quote => return Ok(()),
                b'\\' => self.escape()?,
                _ => return Err(Malformed),
            };
        }
    }

    /// What stands behind a backslash.
    pub(super) fn escape(&mut self) -> Result<Unit, MisfitReason> {
        match ascii(self.next_unit()?) {
            b'b' => Ok(0x08),
            b't' => Ok(0x09),
            b'n' => Ok(0x0A),
            b'f' => Ok(0x0C),
            b'r' => Ok(0x0D),
            literal @ (b'"' | b'/' | b'\\' | b'\'') => Ok(Unit::from(literal)),
            b'u' => {
                let mut unit = 0;
                for _ in 0..4 {
                    let digit = char::from(ascii(self.next_unit()?))
                        .to_digit(16)
                        .and_then(|digit| Unit::try_from(digit).ok());
                    unit = unit << 4 | digit.ok_or(Malformed)?;
                }
                Ok(unit)
            }
            _ => Err(Malformed),
        }
    }

    /// Where the first quote, backslash or control character is, or the end of the input.
    #[inline]
    fn find_special(&self, quote: u8) -> usize {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let (chunks, tail) = rest.as_chunks::<CHUNK_BYTES>();
        let mut at = self.at;
        for chunk in chunks {
            let special = special_bytes(u64::from_le_bytes(*chunk), quote);
            if special != 0 {
                return at + (special.trailing_zeros() / 8) as usize;
            }
            at += CHUNK_BYTES;
        }
        let is_special = |byte: &u8| *byte == quote || *byte == b'\\' || *byte < 0x20;
        at + tail.iter().position(is_special).unwrap_or(tail.len())
    }
}

/// The high bit of each byte of a chunk that is special; exact up to the first.
#[inline]
fn special_bytes(chunk: u64, quote: u8) -> u64 {
    const ONES: u64 = u64::from_le_bytes([0x01; CHUNK_BYTES]);
    const HIGHS: u64 = ONES << 7;
    let equal_to = |byte: u8| {
        let difference = chunk ^ (ONES * u64::from(byte));
        difference.wrapping_sub(ONES) & !difference
    };
    let control = chunk.wrapping_sub(ONES * 0x20) & !chunk;
    (equal_to(quote) | equal_to(b'\\') | control) & HIGHS
}

/// Appends one UTF-16 unit to the text that begins at `start`; a low surrogate behind a high one completes its character.
fn push_unit(unit: Unit, start: usize, out: &mut Vec<u8>) {
    if let Ok(byte) = u8::try_from(unit)
        && byte.is_ascii()
    {
        return out.push(byte);
    }
    let units = [out.get(start..).and_then(high_surrogate_at_end).unwrap_or(0), unit];
    if (0xDC00..0xE000).contains(&unit)
        && let Some(Ok(character)) = char::decode_utf16(units).next()
        && character.len_utf16() == 2
    {
        out.truncate(out.len() - 3);
        push_character(character, out);
    } else if let Some(character) = char::from_u32(u32::from(unit)) {
        push_character(character, out);
    } else {
        let [high, low] = unit.to_be_bytes();
        out.extend_from_slice(&[0xE0 | high >> 4, 0x80 | (high & 0x0F) << 2 | low >> 6, 0x80 | low & 0x3F]);
    }
}

fn push_character(character: char, out: &mut Vec<u8>) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

fn high_surrogate_at_end(out: &[u8]) -> Option<Unit> {
    match out {
        [.., 0xED, middle @ 0xA0..=0xAF, last] => Some(0xD800 | Unit::from(middle & 0x0F) << 6 | Unit::from(last & 0x3F)),
        _ => None,
    }
}

/// Makes `text[from..]` valid UTF-8: each surrogate in its three-byte form becomes `?`, as in Java's encoder.
pub(super) fn replace_lone_surrogates(text: &mut Vec<u8>, from: usize) {
    let (mut read, mut write) = (from, from);
    while let Some(byte) = text.get(read).copied() {
        let is_surrogate = byte == 0xED && text.get(read + 1).is_some_and(|next| *next >= 0xA0);
        let replacement = if is_surrogate { b'?' } else { byte };
        if let Some(place) = text.get_mut(write) {
            *place = replacement;
        }
        read += if is_surrogate { 3 } else { 1 };
        write += 1;
    }
    text.truncate(write);
}

#[cfg(test)]
mod tests {
    use super::super::cursor::Cursor;
    use super::replace_lone_surrogates;

    fn check(quoted: &str, expected: Option<&str>) {
        let mut cursor = Cursor::new(quoted);
        let mut out = b"before:".to_vec();
        let result = cursor.unescape(b'"', &mut out);
        replace_lone_surrogates(&mut out, 7);
        let text = result.ok().map(|_| String::from_utf8(out).unwrap());
        assert_eq!(text.as_deref().map(|text| &text[7..]), expected, "{quoted}");
        let mut skipped = Cursor::new(quoted);
        assert_eq!(skipped.skip_quoted(b'"').is_ok(), expected.is_some(), "{quoted}");
        assert_eq!(skipped.at, cursor.at, "skipping stops where reading stops: {quoted}");
    }

    #[test]
    fn surrogates_of_two_texts_in_one_buffer_stay_apart() {
        let mut out = Vec::new();
        for quoted in [r#"\ud83d""#, r#"\ude00""#] {
            assert_eq!(Cursor::new(quoted).unescape(b'"', &mut out), Ok(true));
        }
        replace_lone_surrogates(&mut out, 0);
        assert_eq!(out, b"??");
    }

    #[test]
    fn escapes_become_characters_and_lone_surrogates_question_marks() {
        check(
            r#"plain text of more than eight bytes" rest"#,
            Some("plain text of more than eight bytes"),
        );
        check(r#"\"\\\/\b\f\n\r\t\'\u0041\u00e9""#, Some("\"\\/\u{8}\u{c}\n\r\t'Aé"));
        check(r#"\ud83d\ude00""#, Some("😀"));
        check(r#"\ud83dx\ude00""#, Some("?x?"));
        check(r#"\ude00\ud83d""#, Some("??"));
        check(r#"\ud83d\ud83d\ude00""#, Some("?😀"));
        check(r#"é€😀'""#, Some("é€😀'"));
        check("", None);
        check("no end", None);
        check("a\tb\"", None);
        check(r#"\q""#, None);
        check(r#"\u12"#, None);
        check(r#"\u12é4""#, None);
    }
}
