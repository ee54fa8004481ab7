//! Words, texts and signs of a statement, each with its place. The invariant: texts are whole or an error, so that nothing inside
//! quotes is ever read as SQL.

use super::{Place, SqlError, SqlText};
use crate::filter;
use crate::limits::SQL_TEXT_BYTES_MAX;

/// One token. A word or a name may be a value whose quotes were lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A keyword, name or number without quotes.
    Word(SqlText),
    /// A name in backticks.
    Name(SqlText),
    /// A text in single or double quotes, escapes resolved.
    Text(SqlText),
    /// One of `(`, `)`, `,`, `=`, `;`.
    Sign(char),
    /// The end of the statement's text.
    End,
}

/// A token and where it begins.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) place: Place,
}

/// All tokens of a text; the last one is its end.
pub(super) fn read(text: &str) -> Result<Vec<Placed>, SqlError> {
    let mut reader = Reader {
        rest: text,
        place: Place { line: 1, column: 1 },
    };
    if text.len() > SQL_TEXT_BYTES_MAX {
        let problem = format!("the statement has {} bytes", text.len());
        return Err(SqlError::new(
            reader.place,
            problem,
            format!("keep it within {SQL_TEXT_BYTES_MAX} bytes"),
        ));
    }
    let mut tokens = Vec::new();
    loop {
        reader.skip_blanks()?;
        let place = reader.place;
        let token = reader.token()?;
        let is_end = token == Token::End;
        tokens.push(Placed { token, place });
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
    place: Place,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next()?;
        self.rest = chars.as_str();
        if next == '\n' {
            self.place.line += 1;
            self.place.column = 1;
        } else {
            self.place.column += 1;
        }
        Some(next)
    }

    /// White space and comments.
    fn skip_blanks(&mut self) -> Result<(), SqlError> {
        loop {
            if self.peek().is_some_and(char::is_whitespace) {
                self.next();
            } else if self.rest.starts_with("--") {
                while self.peek().is_some_and(|next| next != '\n') {
                    self.next();
                }
            } else if self.rest.starts_with("/*") {
                let begin = self.place;
                self.next();
                self.next();
                while !self.rest.starts_with("*/") {
                    if self.next().is_none() {
                        return Err(SqlError::new(begin, "the comment has no end", "close it with `*/`"));
                    }
                }
                self.next();
                self.next();
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token, SqlError> {
        let place = self.place;
        if let Some(quote @ ('\'' | '"')) = raw_quote(self.rest) {
            self.next();
            let raw = self.quoted(quote, Escapes::None)?;
            return Ok(Token::Text(undoubled(raw, quote)));
        }
        match self.peek() {
            None => Ok(Token::End),
            Some(sign @ ('(' | ')' | ',' | '=' | ';')) => {
                self.next();
                Ok(Token::Sign(sign))
            }
            Some(quote @ ('\'' | '"')) => {
                let raw = self.quoted(quote, Escapes::Backslash)?;
                let text = filter::text_of_literal(raw, quote).ok_or_else(|| {
                    let remedy = "write the character itself, or up to '\\U0010FFFF'";
                    SqlError::new(place, "an escape in the text is no character", remedy)
                })?;
                Ok(Token::Text(SqlText::new(text)))
            }
            Some('`') => {
                let raw = self.quoted('`', Escapes::None)?;
                Ok(Token::Name(undoubled(raw, '`')))
            }
            Some(next) if is_of_word(next) => {
                let length = self.rest.find(|next| !is_of_word(next)).unwrap_or(self.rest.len());
                let word = self.rest.get(..length).unwrap_or_default().to_owned();
                while self.peek().is_some_and(is_of_word) {
                    self.next();
                }
                Ok(Token::Word(SqlText::new(word)))
            }
            Some(_) => Err(SqlError::new(
                place,
                "this character means nothing here",
                "put values in single quotes, and names with other characters than letters, digits and `_` in backticks",
            )),
        }
    }

    /// What stands between quotes, with its escapes; a doubled quote is one of the text.
    fn quoted(&mut self, quote: char, escapes: Escapes) -> Result<&'a str, SqlError> {
        let begin = self.place;
        self.next();
        let whole = self.rest;
        loop {
            let here = whole.len() - self.rest.len();
            match self.next() {
                None => {
                    let problem = format!("the quote `{quote}` has no end");
                    return Err(SqlError::new(begin, problem, "close it, and double each quote inside"));
                }
                Some('\\') if escapes == Escapes::Backslash => drop(self.next()),
                Some(next) if next == quote => {
                    if self.peek() != Some(quote) {
                        return Ok(whole.get(..here).unwrap_or_default());
                    }
                    self.next();
                }
                Some(_) => {}
            }
        }
    }
}

/// Whether a backslash keeps a quote from being the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    Backslash,
    None,
}

/// The quote of a raw text, `r'…'`, in which a backslash is one.
fn raw_quote(rest: &str) -> Option<char> {
    rest.strip_prefix(['r', 'R'])?.chars().next()
}

/// A text in which each quote is doubled, with each once. It is made in one piece: one that grew would leave copies behind.
fn undoubled(raw: &str, quote: char) -> SqlText {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw.chars();
    while let Some(next) = rest.next() {
        text.push(next);
        if next == quote {
            rest.next();
        }
    }
    SqlText::new(text)
}

fn is_of_word(next: char) -> bool {
    next.is_ascii_alphanumeric() || matches!(next, '_' | '.')
}
