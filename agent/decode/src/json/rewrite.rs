//! Any JSON value as text again, the way Jackson's generator writes it: no white space, integers as they are, other
//! numbers through a double, characters beyond the Basic Multilingual Plane and lone surrogates escaped.
//!
//! A loop over tokens, so that deeply nested values need no machine stack.

use super::number::Number;
use super::tokenizer::Tokenizer;
use super::{Token, Unit};
use crate::report::MisfitReason::{self, Malformed, WrongKind};
use crate::text::double::append_java_double;

const HEX_DIGITS: &[u8; 16] = b"0123456789ABCDEF";

impl Tokenizer<'_> {
    /// Appends the value at the current token and goes on to its last token.
    pub(super) fn rewrite(&mut self, out: &mut Vec<u8>) -> Result<(), MisfitReason> {
        let outside = match self.token() {
            Token::ObjectStart | Token::ArrayStart => self.depth() - 1,
            // A bracket met after an error inside the value.
            Token::ObjectEnd | Token::ArrayEnd => return Err(WrongKind),
            _ => self.depth(),
        };
        self.write_token(out)?;
        while self.depth() > outside {
            let token = self.next()?;
            if !matches!(token, Token::ObjectEnd | Token::ArrayEnd) && self.follows_another() {
                out.push(b',');
            }
            if token == Token::Name {
                write_quoted(self.name().unwrap_or_default(), out);
                out.push(b':');
                self.next()?;
            }
            self.write_token(out)?;
        }
        Ok(())
    }

    fn write_token(&mut self, out: &mut Vec<u8>) -> Result<(), MisfitReason> {
        match self.token() {
            Token::ObjectStart => out.push(b'{'),
            Token::ObjectEnd => out.push(b'}'),
            Token::ArrayStart => out.push(b'['),
            Token::ArrayEnd => out.push(b']'),
            Token::True => out.extend_from_slice(b"true"),
            Token::False => out.extend_from_slice(b"false"),
            Token::Null => out.extend_from_slice(b"null"),
            Token::Text => write_quoted(self.raw_text()?, out),
            Token::Integer => match self.number_text() {
                "-0" => out.push(b'0'),
                digits => out.extend_from_slice(digits.as_bytes()),
            },
            Token::Float => write_double(self.double(), out),
            Token::Name | Token::End => return Err(Malformed),
        }
        Ok(())
    }

    /// The digits of the current number; nothing for the words that stand for numbers.
    pub(super) fn number_text(&self) -> &str {
        match self.number() {
            Number::Digits { start, end } => self.cursor.text_slice(start, end),
            Number::Nan | Number::Infinity | Number::NegativeInfinity => "",
        }
    }

    /// The current number as a double; beyond its range it is infinite.
    pub(super) fn double(&self) -> f64 {
        match self.number() {
            Number::Digits { .. } => self.number_text().parse().unwrap_or(f64::NAN),
            Number::Nan => f64::NAN,
            Number::Infinity => f64::INFINITY,
            Number::NegativeInfinity => f64::NEG_INFINITY,
        }
    }
}

fn write_double(value: f64, out: &mut Vec<u8>) {
    if value.is_nan() {
        out.extend_from_slice(b"\"NaN\"");
    } else if value == f64::INFINITY {
        out.extend_from_slice(b"\"Infinity\"");
    } else if value == f64::NEG_INFINITY {
        out.extend_from_slice(b"\"-Infinity\"");
    } else {
        append_java_double(value, out);
    }
}

/// Writes a text whose lone surrogates are in their three-byte form.
fn write_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        match (first, others) {
            (b'"' | b'\\', _) => out.extend_from_slice(&[b'\\', *first]),
            (0x08, _) => out.extend_from_slice(b"\\b"),
            (b'\t', _) => out.extend_from_slice(b"\\t"),
            (b'\n', _) => out.extend_from_slice(b"\\n"),
            (0x0C, _) => out.extend_from_slice(b"\\f"),
            (b'\r', _) => out.extend_from_slice(b"\\r"),
            (0..0x20, _) => write_escape(Unit::from(*first), out),
            (0xED, [second @ 0xA0..=0xBF, third, behind @ ..]) => {
                write_escape(0xD000 | Unit::from(second & 0x3F) << 6 | Unit::from(third & 0x3F), out);
                rest = behind;
            }
            (0xF0..=0xF4, [second, third, fourth, behind @ ..]) => {
                let high_bits = u32::from(first & 0x07) << 18 | u32::from(second & 0x3F) << 12;
                let character = char::from_u32(high_bits | u32::from(third & 0x3F) << 6 | u32::from(fourth & 0x3F));
                for unit in character.unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf16(&mut [0; 2]) {
                    write_escape(*unit, out);
                }
                rest = behind;
            }
            _ => out.push(*first),
        }
    }
    out.push(b'"');
}

fn write_escape(unit: Unit, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\\u");
    for shift in [12, 8, 4, 0] {
        out.push(HEX_DIGITS.get(usize::from(unit >> shift & 0xF)).copied().unwrap_or(b'0'));
    }
}
