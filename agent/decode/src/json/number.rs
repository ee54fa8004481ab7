//! Numbers and the words that stand for numbers, with Jackson's places to go on from after a broken one.

use super::cursor::Cursor;
use super::{Token, Unit, ascii};
use crate::limits::NUMBER_DIGITS_MAX;
use crate::report::MisfitReason::{self, BeyondLimit, Malformed};
use crate::text::unicode::is_identifier_start;

/// What a number token says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// Digits at these places of the input.
    Digits {
        start: usize,
        end: usize,
    },
    Nan,
    Infinity,
    NegativeInfinity,
}

impl Cursor<'_> {
    /// A number whose sign or first digit is at `start` and already read.
    pub(super) fn number(&mut self, start: usize, at_root: bool) -> Result<(Token, Number), MisfitReason> {
        let first_digit = start + usize::from(self.input.get(start) == Some(&b'-'));
        let leading_zero = self.input.get(first_digit) == Some(&b'0');
        if leading_zero && self.is_digit(first_digit + 1) {
            self.at = first_digit + 1;
            return Err(Malformed);
        }
        let mut token = Token::Integer;
        let mut at = self.skip_digits(first_digit);
        let mut digits = at - first_digit;
        let mut resume = None;
        if self.input.get(at) == Some(&b'.') {
            token = Token::Float;
            let fraction = at + 1;
            resume = Some(fraction);
            at = self.skip_digits(fraction);
            digits += at - fraction;
            if at == fraction {
                return self.fail_in_number(at, fraction, leading_zero);
            }
        }
        if let Some(b'e' | b'E') = self.input.get(at) {
            token = Token::Float;
            let sign = at + 1;
            let exponent = sign + usize::from(matches!(self.input.get(sign), Some(b'+' | b'-')));
            at = self.skip_digits(exponent);
            digits += at - exponent;
            if at == exponent {
                return self.fail_in_number(at, resume.unwrap_or(sign), leading_zero);
            }
        }
        self.at = at;
        if at_root && self.input.get(at).is_some_and(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
            return Err(Malformed);
        }
        if digits > NUMBER_DIGITS_MAX {
            return Err(BeyondLimit);
        }
        Ok((token, Number::Digits { start, end: at }))
    }

    /// Digits are missing at `at`. Jackson has two readers of numbers: the one for a leading zero (and for the end of the
    /// input) goes on behind the offending character, the other where it began the last part.
    fn fail_in_number<T>(&mut self, at: usize, resume: usize, leading_zero: bool) -> Result<T, MisfitReason> {
        if leading_zero || at >= self.input.len() {
            self.at = at;
            self.next_unit()?;
        } else {
            self.at = resume;
        }
        Err(Malformed)
    }

    fn is_digit(&self, at: usize) -> bool {
        self.input.get(at).is_some_and(u8::is_ascii_digit)
    }

    fn skip_digits(&self, from: usize) -> usize {
        let rest = self.input.get(from..).unwrap_or_default();
        from + rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len())
    }

    /// What begins with a minus, already read.
    pub(super) fn negative(&mut self, at_root: bool) -> Result<(Token, Number), MisfitReason> {
        if self.is_digit(self.at) {
            return self.number(self.at - 1, at_root);
        }
        let unit = self.next_unit()?;
        self.signed_infinity(unit, Number::NegativeInfinity)
    }

    /// A value that begins with no character of plain JSON.
    pub(super) fn unusual(&mut self, unit: Unit) -> Result<(Token, Number), MisfitReason> {
        match ascii(unit) {
            b'N' => self.expect_word(b"NaN", 1).map(|()| (Token::Float, Number::Nan)),
            b'I' => self.expect_word(b"Infinity", 1).map(|()| (Token::Float, Number::Infinity)),
            b'+' => {
                let unit = self.next_unit()?;
                self.signed_infinity(unit, Number::Infinity)
            }
            _ if is_identifier_start(unit) => self.fail_behind_identifier(),
            _ => Err(Malformed),
        }
    }

    /// `INF` or `Infinity` behind a sign; `unit` is its first.
    fn signed_infinity(&mut self, unit: Unit, number: Number) -> Result<(Token, Number), MisfitReason> {
        if ascii(unit) != b'I' {
            return Err(Malformed);
        }
        match ascii(self.next_unit()?) {
            b'N' => self.expect_word(b"INF", 2)?,
            b'n' => self.expect_word(b"Infinity", 2)?,
            _ => return Err(Malformed),
        }
        Ok((Token::Float, number))
    }
}
