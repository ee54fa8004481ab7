//! Base64 texts to bytes by Jackson's rules: padding wanted, white space between groups of four, escapes allowed, and
//! groups may go on behind padding.
//!
//! A double-quoted text is decoded straight from the input. After an error in it the text stays open at the offending
//! character, so that the next token is looked for behind its closing quote.

use super::tokenizer::Tokenizer;
use super::{Unit, ascii};
use crate::report::MisfitReason::{self, UnreadableText};

/// What one character means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Symbol {
    Value(u8),
    Padding,
    /// White space, which may stand where a group would begin.
    Space,
    End,
    Foreign,
}

/// A place in a group of four characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    First,
    Second,
    Third,
    Fourth,
    /// The fourth, behind padding in the third.
    SecondPadding,
}

impl Tokenizer<'_> {
    /// Appends the bytes that the current text stands for.
    pub(super) fn decode_base64(&mut self, out: &mut Vec<u8>) -> Result<(), MisfitReason> {
        if self.text_is_open {
            decode(|place| self.next_symbol(place), out)?;
            self.text_is_open = false;
            Ok(())
        } else {
            let mut text = self.raw_text()?.iter();
            decode(|_| Ok(text.next().map_or(Symbol::End, |byte| symbol(Unit::from(*byte)))), out)
        }
    }

    fn next_symbol(&mut self, place: Place) -> Result<Symbol, MisfitReason> {
        let unit = self.cursor.next_unit()?;
        match ascii(unit) {
            b'"' => {
                // Jackson leaves the quote of a group that lacks its third or fourth character, and it then ends the text.
                if matches!(place, Place::Third | Place::Fourth) {
                    self.cursor.at -= 1;
                }
                Ok(Symbol::End)
            }
            b'\\' => self.cursor.escape().map(symbol),
            _ => Ok(symbol(unit)),
        }
    }
}

fn decode(mut next: impl FnMut(Place) -> Result<Symbol, MisfitReason>, out: &mut Vec<u8>) -> Result<(), MisfitReason> {
    loop {
        let first = loop {
            match next(Place::First)? {
                Symbol::Value(bits) => break bits,
                Symbol::Space => {}
                Symbol::End => return Ok(()),
                Symbol::Padding | Symbol::Foreign => return Err(UnreadableText),
            }
        };
        let Symbol::Value(second) = next(Place::Second)? else {
            return Err(UnreadableText);
        };
        out.push(first << 2 | second >> 4);
        let third = match next(Place::Third)? {
            Symbol::Value(bits) => bits,
            Symbol::Padding if next(Place::SecondPadding)? == Symbol::Padding => continue,
            _ => return Err(UnreadableText),
        };
        out.push(second << 4 | third >> 2);
        match next(Place::Fourth)? {
            Symbol::Value(fourth) => out.push(third << 6 | fourth),
            Symbol::Padding => {}
            _ => return Err(UnreadableText),
        }
    }
}

fn symbol(unit: Unit) -> Symbol {
    match ascii(unit) {
        letter @ b'A'..=b'Z' => Symbol::Value(letter - b'A'),
        letter @ b'a'..=b'z' => Symbol::Value(letter - b'a' + 26),
        digit @ b'0'..=b'9' => Symbol::Value(digit - b'0' + 52),
        b'+' => Symbol::Value(62),
        b'/' => Symbol::Value(63),
        b'=' => Symbol::Padding,
        _ if unit <= Unit::from(b' ') => Symbol::Space,
        _ => Symbol::Foreign,
    }
}
