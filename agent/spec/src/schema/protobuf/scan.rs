//! The tokens of a text, as far as they are needed before it is compiled: to bound its nesting and to read its edition.
//!
//! Never fails: what is no Protobuf makes tokens too, and the compiler says what is wrong with them.

use std::ops::Range;

/// A token and the bytes it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// What it is.
    pub(super) kind: TokenKind,
    /// Where it is in the text.
    pub(super) span: Range<usize>,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name, a keyword, or a number.
    Word,
    /// A quoted string.
    Text,
    /// Any other single character.
    Symbol(char),
}

impl Token {
    /// The token's bytes in its text.
    pub(super) fn of<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.span.clone()).unwrap_or_default()
    }

    /// True for that symbol.
    pub(super) fn is(&self, symbol: char) -> bool {
        self.kind == TokenKind::Symbol(symbol)
    }
}

/// All tokens of a text, comments and white space left out.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        let (length, kind) = match first {
            '/' if rest.starts_with("//") => (line_length(rest), None),
            '#' => (line_length(rest), None),
            '/' if rest.starts_with("/*") => (rest.find("*/").map_or(rest.len(), |end| end + 2), None),
            '"' | '\'' => (quoted_length(rest, first), Some(TokenKind::Text)),
            c if is_word(c) => (rest.find(|c| !is_word(c)).unwrap_or(rest.len()), Some(TokenKind::Word)),
            c if c.is_whitespace() => (c.len_utf8(), None),
            c => (c.len_utf8(), Some(TokenKind::Symbol(c))),
        };
        let span = at..at + length;
        at = span.end;
        tokens.extend(kind.map(|kind| Token { kind, span }));
    }
    tokens
}

/// The first token that opens more than `max` brackets one in another.
pub(super) fn too_deep(tokens: &[Token], max: usize) -> Option<&Token> {
    let mut depth = 0_usize;
    tokens.iter().find(|token| {
        match token.kind {
            TokenKind::Symbol('{' | '[' | '(' | '<') => depth += 1,
            TokenKind::Symbol('}' | ']' | ')' | '>') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > max
    })
}

/// The token at which a dotted name gets longer than `max` bytes.
pub(super) fn too_long(tokens: &[Token], max: usize) -> Option<&Token> {
    let mut length = 0;
    let mut after_word = false;
    tokens.iter().find(|token| {
        let word = token.kind == TokenKind::Word;
        length = match (word, after_word, token.is('.')) {
            (true, true, _) | (false, _, false) => token.span.len(),
            _ => length + token.span.len(),
        };
        after_word = word;
        (word || token.is('.')) && length > max
    })
}

/// At most so many bytes are all names of a text with the names around them: the compiler spells each of them out.
pub(super) fn full_names_bytes(tokens: &[Token], text: &str) -> usize {
    let mut prefixes = vec![0_usize];
    let (mut total, mut last_word) = (0_usize, 0_usize);
    let mut package = false;
    for token in tokens {
        let prefix = prefixes.last().copied().unwrap_or_default();
        match token.kind {
            TokenKind::Word => {
                let length = token.span.len();
                last_word = length;
                total = total.saturating_add(prefix + length);
                package |= prefixes.len() == 1 && token.of(text) == "package";
                if package {
                    prefixes = vec![prefix + length + 1];
                }
            }
            TokenKind::Symbol('{') => prefixes.push(prefix + last_word + 1),
            TokenKind::Symbol('}') if prefixes.len() > 1 => drop(prefixes.pop()),
            TokenKind::Symbol(';') => package = false,
            _ => {}
        }
    }
    total
}

/// `line:column` of a byte of a text, both from one.
pub(super) fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
    format!("{line}:{column}")
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn line_length(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// The length of a quoted string that `text` begins with; one that does not end goes to the end of its line.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = true;
    for (index, c) in text.char_indices() {
        match c {
            '\n' => return index,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return index + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_hide_what_is_in_them() {
        for (text, expected) in [
            ("message M {}", &["message", "M", "{", "}"] as &[&str]),
            ("a/*{ \n*/b // {\nc # {\n.d", &["a", "b", "c", ".", "d"]),
            (r#"x="a\"{}" 'b"'y"#, &["x", "=", r#""a\"{}""#, r#"'b"'"#, "y"]),
            ("\"open\nnext", &["\"open", "next"]),
            ("ünï /* no end {", &["ü", "n", "ï"]),
            ("", &[]),
        ] {
            let found: Vec<&str> = tokens(text).iter().map(|token| token.of(text)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn the_first_bracket_too_deep_is_found() {
        for (text, max, expected) in [("{[(<", 4, None), ("{[(<", 3, Some(3)), ("{}{}{}", 1, None), ("}}{{", 1, Some(3))] {
            assert_eq!(too_deep(&tokens(text), max).map(|token| token.span.start), expected, "{text}");
        }
        assert_eq!(place("a\nüb{", 5), "2:3");
    }

    #[test]
    fn names_are_measured_with_what_is_around_them() {
        for (text, max, expected) in [
            ("aa.bb cc", 5, None),
            ("aa . bb", 4, Some(5)),
            ("a aa aaa", 2, Some(5)),
            ("= .aaa", 3, Some(3)),
        ] {
            assert_eq!(too_long(&tokens(text), max).map(|token| token.span.start), expected, "{text}");
        }
        let total = |text: &str| full_names_bytes(&tokens(text), text);
        assert_eq!(total("message M { int32 a = 1; } x"), 8 + (2 + 5) + (2 + 1) + (2 + 1) + 1);
        let packaged = "package p.q; message M { a }";
        assert_eq!(total(packaged), 7 + (8 + 1) + (10 + 1) + (12 + 7) + (12 + 1) + (14 + 1));
    }
}
