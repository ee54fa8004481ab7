//! A pull tokenizer that does what Jackson's reader-based parser does, errors included.
//!
//! Three habits of Jackson decide what survives of a broken message, and are kept here:
//! - The value behind a field's name is recognised together with the name: numbers, words and single-quoted texts to
//!   their end, a `"`, `{` or `[` only as such. An error there is an error of fetching the name.
//! - A `"` text is read when it is asked for, or skipped when the next token is fetched.
//! - After an error, reading goes on right behind the offending character, in whatever object or array was open,
//!   expecting a comma or an end.

use super::cursor::Cursor;
use super::number::Number;
use super::strings::replace_lone_surrogates;
use super::{Token, Unit, ascii};
use crate::limits::{NAME_UNITS_MAX, NESTING_DEPTH_MAX, SCRATCH_BYTES_KEPT_MAX, STRING_UNITS_MAX};
use crate::report::MisfitReason::{self, BeyondLimit, Malformed};

/// Buffers of a tokenizer, kept between messages.
#[derive(Default)]
pub(super) struct TokenizerSpace {
    /// The objects and arrays around the current one, outermost first.
    outer: Vec<Context>,
    /// Unescaped texts of the message.
    unescaped: Vec<u8>,
}

impl TokenizerSpace {
    fn clear(&mut self) {
        self.outer.clear();
        self.unescaped.clear();
        if self.unescaped.capacity() > SCRATCH_BYTES_KEPT_MAX {
            self.unescaped = Vec::new();
        }
    }
}

pub(super) struct Tokenizer<'a> {
    pub(super) cursor: Cursor<'a>,
    space: &'a mut TokenizerSpace,
    context: Context,
    token: Token,
    /// The token behind the current name.
    behind_name: Token,
    /// The current text is not read yet; the cursor is behind its opening quote.
    pub(super) text_is_open: bool,
    text: TextPlace,
    number: Number,
}

/// An object or array that was entered, or the message itself.
#[derive(Clone, Copy)]
struct Context {
    kind: ContextKind,
    /// Values (in an object: fields) begun.
    count: u32,
    /// The last field's name; it stays known until the next one.
    name: Option<TextPlace>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ContextKind {
    Root,
    Object,
    Array,
}

impl Context {
    fn new(kind: ContextKind) -> Self {
        Self {
            kind,
            count: 0,
            name: None,
        }
    }
}

/// Where a text is, without its quotes.
#[derive(Clone, Copy)]
struct TextPlace {
    start: usize,
    end: usize,
    buffer: TextBuffer,
    /// Holds surrogates in their three-byte form.
    surrogates: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TextBuffer {
    Input,
    Unescaped,
}

impl TextPlace {
    const EMPTY: Self = Self {
        start: 0,
        end: 0,
        buffer: TextBuffer::Input,
        surrogates: false,
    };
}

impl<'a> Tokenizer<'a> {
    pub(super) fn new(input: &'a str, space: &'a mut TokenizerSpace) -> Self {
        space.clear();
        Self {
            cursor: Cursor::new(input),
            space,
            context: Context::new(ContextKind::Root),
            token: Token::End,
            behind_name: Token::End,
            text_is_open: false,
            text: TextPlace::EMPTY,
            number: Number::Nan,
        }
    }

    #[inline]
    pub(super) fn token(&self) -> Token {
        self.token
    }

    pub(super) fn number(&self) -> Number {
        self.number
    }

    /// Whether something stands before the current token in its object or array.
    pub(super) fn follows_another(&self) -> bool {
        self.context_of_token().count > 1
    }

    /// Open objects and arrays.
    pub(super) fn depth(&self) -> usize {
        self.space.outer.len()
    }

    /// The name that goes with the current token.
    pub(super) fn name(&self) -> Option<&[u8]> {
        self.context_of_token().name.map(|place| self.text_at(place))
    }

    /// What the current token stands in; a token that opens something is itself in what is around that.
    fn context_of_token(&self) -> &Context {
        match self.token {
            Token::ObjectStart | Token::ArrayStart => self.space.outer.last().unwrap_or(&self.context),
            _ => &self.context,
        }
    }

    /// Fetches the next token. After an error the current token is what it was.
    pub(super) fn next(&mut self) -> Result<Token, MisfitReason> {
        if self.token == Token::Name {
            let token = std::mem::replace(&mut self.behind_name, Token::End);
            self.enter(token)?;
            self.token = token;
            return Ok(token);
        }
        if self.text_is_open {
            self.text_is_open = false;
            self.cursor.skip_quoted(b'"')?;
        }
        if self.context.kind == ContextKind::Root && self.cursor.is_at_end() {
            self.token = Token::End;
            return Ok(Token::End);
        }
        let unit = self.cursor.next_significant()?;
        if let b'}' | b']' = ascii(unit) {
            return self.leave(unit);
        }
        let unit = self.separated(unit)?;
        if self.context.kind == ContextKind::Object {
            self.context.name = Some(self.field_name(unit)?);
            self.token = Token::Name;
            if ascii(self.cursor.next_significant()?) != b':' {
                return Err(Malformed);
            }
            let unit = self.cursor.next_significant()?;
            self.behind_name = self.value(unit)?;
        } else {
            let token = self.value(unit)?;
            self.enter(token)?;
            self.token = token;
        }
        Ok(self.token)
    }

    /// Counts a value and steps over the comma that must stand before all but the first.
    fn separated(&mut self, unit: Unit) -> Result<Unit, MisfitReason> {
        self.context.count = self.context.count.saturating_add(1);
        if self.context.kind == ContextKind::Root || self.context.count == 1 {
            return Ok(unit);
        }
        match ascii(unit) {
            b',' => self.cursor.next_significant(),
            _ => Err(Malformed),
        }
    }

    fn enter(&mut self, token: Token) -> Result<(), MisfitReason> {
        let kind = match token {
            Token::ObjectStart => ContextKind::Object,
            Token::ArrayStart => ContextKind::Array,
            _ => return Ok(()),
        };
        self.space.outer.push(self.context);
        self.context = Context::new(kind);
        if self.depth() > NESTING_DEPTH_MAX {
            return Err(BeyondLimit);
        }
        Ok(())
    }

    fn leave(&mut self, unit: Unit) -> Result<Token, MisfitReason> {
        let (kind, token) = match ascii(unit) {
            b'}' => (ContextKind::Object, Token::ObjectEnd),
            _ => (ContextKind::Array, Token::ArrayEnd),
        };
        if self.context.kind != kind {
            return Err(Malformed);
        }
        self.context = self.space.outer.pop().unwrap_or(Context::new(ContextKind::Root));
        self.token = token;
        Ok(token)
    }

    /// Recognises a value by its first character.
    #[inline]
    fn value(&mut self, unit: Unit) -> Result<Token, MisfitReason> {
        let at_root = self.context.kind == ContextKind::Root;
        let (token, number) = match ascii(unit) {
            b'"' => {
                self.text_is_open = true;
                return Ok(Token::Text);
            }
            b'{' => return Ok(Token::ObjectStart),
            b'[' => return Ok(Token::ArrayStart),
            b't' => return self.cursor.expect_word(b"true", 1).map(|()| Token::True),
            b'f' => return self.cursor.expect_word(b"false", 1).map(|()| Token::False),
            b'n' => return self.cursor.expect_word(b"null", 1).map(|()| Token::Null),
            b'\'' => {
                self.text = self.quoted(b'\'')?;
                self.check_text_length(self.text)?;
                return Ok(Token::Text);
            }
            b'0'..=b'9' => self.cursor.number(self.cursor.at - 1, at_root)?,
            b'-' => self.cursor.negative(at_root)?,
            _ => self.cursor.unusual(unit)?,
        };
        self.number = number;
        Ok(token)
    }

    fn field_name(&mut self, unit: Unit) -> Result<TextPlace, MisfitReason> {
        let quote = match ascii(unit) {
            quote @ (b'"' | b'\'') => quote,
            _ => return Err(Malformed),
        };
        let mut place = self.quoted(quote)?;
        if place.end - place.start > NAME_UNITS_MAX && units(self.text_at(place)) > NAME_UNITS_MAX {
            return Err(BeyondLimit);
        }
        if place.surrogates {
            replace_lone_surrogates(&mut self.space.unescaped, place.start);
            place.end = self.space.unescaped.len();
        }
        Ok(place)
    }

    /// Reads a quoted text whose opening quote is read.
    #[inline]
    fn quoted(&mut self, quote: u8) -> Result<TextPlace, MisfitReason> {
        if let Some((start, end)) = self.cursor.take_plain(quote) {
            return Ok(TextPlace {
                start,
                end,
                buffer: TextBuffer::Input,
                surrogates: false,
            });
        }
        let start = self.space.unescaped.len();
        let surrogates = self.cursor.unescape(quote, &mut self.space.unescaped)?;
        Ok(TextPlace {
            start,
            end: self.space.unescaped.len(),
            buffer: TextBuffer::Unescaped,
            surrogates,
        })
    }

    fn text_at(&self, place: TextPlace) -> &[u8] {
        match place.buffer {
            TextBuffer::Input => self.cursor.slice(place.start, place.end),
            TextBuffer::Unescaped => self.space.unescaped.get(place.start..place.end).unwrap_or_default(),
        }
    }

    /// Reads the current text to its end, if that was not done yet.
    pub(super) fn finish_text(&mut self) -> Result<(), MisfitReason> {
        if self.text_is_open {
            self.text_is_open = false;
            self.text = TextPlace::EMPTY;
            self.text = self.quoted(b'"')?;
            self.check_text_length(self.text)?;
        }
        Ok(())
    }

    fn check_text_length(&self, place: TextPlace) -> Result<(), MisfitReason> {
        if place.end - place.start > STRING_UNITS_MAX && units(self.text_at(place)) > STRING_UNITS_MAX {
            return Err(BeyondLimit);
        }
        Ok(())
    }

    /// The current text with surrogates in their three-byte form.
    pub(super) fn raw_text(&mut self) -> Result<&[u8], MisfitReason> {
        self.finish_text()?;
        Ok(self.text_at(self.text))
    }

    /// The current text; lone surrogates are `?`.
    pub(super) fn text(&mut self) -> Result<&str, MisfitReason> {
        self.finish_text()?;
        if self.text.surrogates {
            // The text is the last thing in the buffer: nothing was unescaped since.
            replace_lone_surrogates(&mut self.space.unescaped, self.text.start);
            self.text.end = self.space.unescaped.len();
            self.text.surrogates = false;
        }
        Ok(match self.text.buffer {
            TextBuffer::Input => self.cursor.text_slice(self.text.start, self.text.end),
            TextBuffer::Unescaped => std::str::from_utf8(self.text_at(self.text)).unwrap_or_default(),
        })
    }

    /// Appends the current text to `out`, without a detour when it is not read yet.
    #[inline]
    pub(super) fn copy_text(&mut self, out: &mut Vec<u8>) -> Result<(), MisfitReason> {
        if !self.text_is_open {
            out.extend_from_slice(self.text()?.as_bytes());
            return Ok(());
        }
        self.text_is_open = false;
        self.text = TextPlace::EMPTY;
        let start = out.len();
        if let Some((from, to)) = self.cursor.take_plain(b'"') {
            out.extend_from_slice(self.cursor.slice(from, to));
        } else if self.cursor.unescape(b'"', out)? {
            replace_lone_surrogates(out, start);
        }
        if out.len() - start > STRING_UNITS_MAX && units(out.get(start..).unwrap_or_default()) > STRING_UNITS_MAX {
            return Err(BeyondLimit);
        }
        Ok(())
    }

    /// If the current token opens an object or array, goes on to its end.
    pub(super) fn skip_children(&mut self) -> Result<(), MisfitReason> {
        if !matches!(self.token, Token::ObjectStart | Token::ArrayStart) {
            return Ok(());
        }
        let mut depth = 1_usize;
        while depth > 0 {
            match self.next()? {
                Token::End if self.context.kind == ContextKind::Root => return Ok(()),
                Token::End => return Err(Malformed),
                Token::ObjectStart | Token::ArrayStart => depth += 1,
                Token::ObjectEnd | Token::ArrayEnd => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }
}

/// UTF-16 units of a UTF-8 text: one per character, two per character of four bytes.
fn units(text: &[u8]) -> usize {
    text.iter()
        .map(|byte| usize::from(byte & 0xC0 != 0x80) + usize::from(*byte >= 0xF0))
        .sum()
}
