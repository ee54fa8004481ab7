//! Scans a JSON text as Spark's `get_json_object` has Jackson do it: strict but for single quotes and control characters in texts.
//!
//! Values are skipped, or written again as Jackson's generator writes them: numbers that are no integers through a double, no white
//! space. Loops, no recursion: nesting is counted. The one invariant: a step forward is taken only over what is whole.

use stream_decode::text::double::append_java_double;

/// Deepest nesting that Jackson reads.
const DEPTH_MAX: usize = 1000;

/// Longest number that Jackson reads.
const NUMBER_BYTES_MAX: usize = 1000;

/// The text is no JSON from here on.
#[derive(Debug)]
pub(super) struct Broken;

/// What the next value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Object,
    Array,
    Text,
    Number,
    Word,
    Null,
}

/// How texts are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Characters as they are.
    Plain,
    /// Characters beyond the Basic Multilingual Plane as two escapes.
    EscapeSupplementary,
}

/// A part of a text.
enum Part<'a> {
    Plain(&'a str),
    Escaped(char),
    /// An escape of half a pair, without the other half.
    Half(u16),
}

pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Objects (true) and arrays that are open.
    open: Vec<bool>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            open: Vec::new(),
        }
    }

    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn expect(&mut self, wanted: u8) -> Result<(), Broken> {
        if self.peek() != Some(wanted) {
            return Err(Broken);
        }
        self.at += 1;
        Ok(())
    }

    /// What the next value is, by its first character.
    pub(super) fn kind(&mut self) -> Result<Kind, Broken> {
        match self.peek().ok_or(Broken)? {
            b'{' => Ok(Kind::Object),
            b'[' => Ok(Kind::Array),
            b'"' | b'\'' => Ok(Kind::Text),
            b'-' | b'0'..=b'9' => Ok(Kind::Number),
            b't' | b'f' => Ok(Kind::Word),
            b'n' => Ok(Kind::Null),
            _ => Err(Broken),
        }
    }

    /// Enters the object or array that is next. Says whether it has a member.
    pub(super) fn enter(&mut self) -> Result<bool, Broken> {
        let is_object = self.kind()? == Kind::Object;
        self.at += 1;
        self.open.push(is_object);
        if self.open.len() > DEPTH_MAX {
            return Err(Broken);
        }
        self.unless_closed()
    }

    /// Goes on behind a member: to the next one, or out of what is open.
    pub(super) fn next_member(&mut self) -> Result<bool, Broken> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(b'}' | b']') => self.unless_closed(),
            _ => Err(Broken),
        }
    }

    fn unless_closed(&mut self) -> Result<bool, Broken> {
        let closing = match self.open.last() {
            Some(true) => b'}',
            _ => b']',
        };
        if self.peek() == Some(closing) {
            self.at += 1;
            self.open.pop();
            return Ok(false);
        }
        Ok(true)
    }

    /// Reads a field's name and the colon behind it. Says whether it is a name that a path can have: no half of a pair is in it.
    pub(super) fn read_name(&mut self, out: &mut String) -> Result<bool, Broken> {
        let mut whole = true;
        self.name(|part| {
            match part {
                Part::Plain(text) => out.push_str(text),
                Part::Escaped(character) => out.push(character),
                Part::Half(_) => whole = false,
            }
            Ok(())
        })?;
        Ok(whole)
    }

    fn name(&mut self, each: impl FnMut(Part<'a>) -> Result<(), Broken>) -> Result<(), Broken> {
        if !matches!(self.peek(), Some(b'"' | b'\'')) {
            return Err(Broken);
        }
        self.parts(each)?;
        self.expect(b':')
    }

    /// Writes a text without its quotes. Half a pair cannot be written so, and Spark gives null then.
    pub(super) fn push_text(&mut self, out: &mut String) -> Result<(), Broken> {
        self.parts(|part| {
            match part {
                Part::Plain(text) => out.push_str(text),
                Part::Escaped(character) => out.push(character),
                Part::Half(_) => return Err(Broken),
            }
            Ok(())
        })
    }

    /// Goes through a text with its quotes.
    fn parts(&mut self, mut each: impl FnMut(Part<'a>) -> Result<(), Broken>) -> Result<(), Broken> {
        let quote = self.peek().ok_or(Broken)?;
        self.at += 1;
        loop {
            let rest = self.text.as_bytes().get(self.at..).ok_or(Broken)?;
            let plain = rest.iter().position(|byte| *byte == quote || *byte == b'\\').ok_or(Broken)?;
            each(Part::Plain(self.text.get(self.at..self.at + plain).ok_or(Broken)?))?;
            self.at += plain + 1;
            if rest.get(plain) == Some(&quote) {
                return Ok(());
            }
            each(self.escaped()?)?;
        }
    }

    /// What stands behind a backslash.
    fn escaped(&mut self) -> Result<Part<'a>, Broken> {
        let escape = self.text.as_bytes().get(self.at).copied().ok_or(Broken)?;
        self.at += 1;
        Ok(Part::Escaped(match escape {
            b'b' => '\u{8}',
            b't' => '\t',
            b'n' => '\n',
            b'f' => '\u{C}',
            b'r' => '\r',
            b'"' | b'/' | b'\\' | b'\'' => char::from(escape),
            b'u' => {
                let unit = self.unit()?;
                let behind = self.at;
                if (0xD800..0xDC00).contains(&unit) && self.text.get(behind..).is_some_and(|rest| rest.starts_with("\\u")) {
                    self.at += 2;
                    let low = self.unit()?;
                    if let Some(Ok(character)) = char::decode_utf16([unit, low]).next() {
                        return Ok(Part::Escaped(character));
                    }
                    // What follows may be the first half of a pair itself.
                    self.at = behind;
                }
                match char::from_u32(unit.into()) {
                    Some(character) => character,
                    None => return Ok(Part::Half(unit)),
                }
            }
            _ => return Err(Broken),
        }))
    }

    fn unit(&mut self) -> Result<u16, Broken> {
        let digits = self.text.get(self.at..self.at + 4).ok_or(Broken)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(Broken);
        }
        self.at += 4;
        u16::from_str_radix(digits, 16).map_err(|_| Broken)
    }

    /// Goes behind the next value.
    pub(super) fn skip(&mut self) -> Result<(), Broken> {
        self.copy(None)
    }

    /// Writes the next value.
    pub(super) fn push_json(&mut self, out: &mut String, style: Style) -> Result<(), Broken> {
        self.copy(Some((out, style)))
    }

    fn copy(&mut self, mut out: Option<(&mut String, Style)>) -> Result<(), Broken> {
        let outside = self.open.len();
        loop {
            // A value is next, or in an object a name and a value.
            if self.open.len() > outside && self.open.last() == Some(&true) {
                push(&mut out, "\"");
                self.name(|part| push_part(part, &mut out))?;
                push(&mut out, "\":");
            }
            let kind = self.kind()?;
            let mut more = match kind {
                Kind::Object | Kind::Array => {
                    push(&mut out, if kind == Kind::Object { "{" } else { "[" });
                    let more = self.enter()?;
                    if more {
                        continue;
                    }
                    push(&mut out, if kind == Kind::Object { "}" } else { "]" });
                    more
                }
                Kind::Text => {
                    push(&mut out, "\"");
                    self.parts(|part| push_part(part, &mut out))?;
                    push(&mut out, "\"");
                    false
                }
                Kind::Number => {
                    let number = self.number()?;
                    if let Some((out, _)) = &mut out {
                        push_number(number, out);
                    }
                    false
                }
                Kind::Word | Kind::Null => {
                    let word = self.word()?;
                    push(&mut out, word);
                    false
                }
            };
            // Behind a value: what it is in goes on, or ends with it.
            while !more {
                if self.open.len() == outside {
                    return Ok(());
                }
                let is_object = self.open.last() == Some(&true);
                more = self.next_member()?;
                push(
                    &mut out,
                    match (more, is_object) {
                        (true, _) => ",",
                        (false, true) => "}",
                        (false, false) => "]",
                    },
                );
            }
        }
    }

    fn word(&mut self) -> Result<&'static str, Broken> {
        let rest = self.text.get(self.at..).ok_or(Broken)?;
        let word = ["true", "false", "null"]
            .into_iter()
            .find(|word| rest.starts_with(word))
            .ok_or(Broken)?;
        let behind = rest.get(word.len()..).and_then(|rest| rest.chars().next());
        if behind.is_some_and(|next| next.is_alphanumeric() || next == '_' || next == '$') {
            return Err(Broken);
        }
        self.at += word.len();
        Ok(word)
    }

    fn number(&mut self) -> Result<&'a str, Broken> {
        let rest = self.text.get(self.at..).ok_or(Broken)?;
        let bytes = rest.as_bytes();
        let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
        let mut end = usize::from(bytes.first() == Some(&b'-'));
        let whole = digits(end);
        if whole == 0 || whole > 1 && bytes.get(end) == Some(&b'0') {
            return Err(Broken);
        }
        end += whole;
        if bytes.get(end) == Some(&b'.') {
            let fraction = digits(end + 1);
            if fraction == 0 {
                return Err(Broken);
            }
            end += 1 + fraction;
        }
        if let Some(b'e' | b'E') = bytes.get(end) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent == 0 {
                return Err(Broken);
            }
            end += 1 + sign + exponent;
        }
        // At the root white space must follow.
        let followed = bytes.get(end).is_some_and(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        if end > NUMBER_BYTES_MAX || self.open.is_empty() && followed {
            return Err(Broken);
        }
        self.at += end;
        rest.get(..end).ok_or(Broken)
    }
}

fn push(out: &mut Option<(&mut String, Style)>, text: &str) {
    if let Some((out, _)) = out {
        out.push_str(text);
    }
}

fn push_number(number: &str, out: &mut String) {
    if !number.contains(['.', 'e', 'E']) {
        out.push_str(if number == "-0" { "0" } else { number });
        return;
    }
    let value: f64 = number.parse().unwrap_or(f64::NAN);
    if value.is_finite() {
        let mut text = Vec::new();
        append_java_double(value, &mut text);
        out.push_str(&String::from_utf8_lossy(&text));
    } else {
        out.push_str(if value > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" });
    }
}

/// Writes a part of a text in quotes, if anything is written.
fn push_part(part: Part<'_>, out: &mut Option<(&mut String, Style)>) -> Result<(), Broken> {
    let Some((out, style)) = out else {
        return Ok(());
    };
    match part {
        Part::Plain(text) => text.chars().for_each(|character| push_quoted(character, *style, out)),
        Part::Escaped(character) => push_quoted(character, *style, out),
        Part::Half(unit) if *style == Style::EscapeSupplementary => push_escape(unit, out),
        Part::Half(_) => return Err(Broken),
    }
    Ok(())
}

fn push_quoted(character: char, style: Style, out: &mut String) {
    match character {
        '"' | '\\' => out.extend(['\\', character]),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{C}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        '\0'..='\u{1F}' => push_escape(u16::try_from(u32::from(character)).unwrap_or_default(), out),
        '\u{10000}'.. if style == Style::EscapeSupplementary => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                push_escape(*unit, out);
            }
        }
        other => out.push(other),
    }
}

fn push_escape(unit: u16, out: &mut String) {
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        let digit = char::from_digit(u32::from(unit >> shift & 0xF), 16).unwrap_or('0');
        out.push(digit.to_ascii_uppercase());
    }
}

#[cfg(test)]
mod tests {
    use super::{Scanner, Style};

    fn rewritten(text: &str) -> Option<String> {
        let mut out = String::new();
        Scanner::new(text).push_json(&mut out, Style::EscapeSupplementary).ok()?;
        Some(out)
    }

    #[test]
    fn values_are_written_as_jackson_writes_them() {
        for (text, expected) in [
            (
                r#" { "a" : [ 1 , 1.50 , -0 , 1e3 ] , "b" : { } , "c" : [ ] } "#,
                r#"{"a":[1,1.5,0,1000.0],"b":{},"c":[]}"#,
            ),
            (r#"["😀", "\u00e9\n", true, null]"#, r#"["\uD83D\uDE00","é\n",true,null]"#),
            (r#"[[1],[{"x":[2]}],3]"#, r#"[[1],[{"x":[2]}],3]"#),
            ("[1e400]", r#"["Infinity"]"#),
            (
                r#"{"\ud83d":["\ud83d\u0041","\ude00","\ud83d\ud83d\ude00"]}"#,
                r#"{"\uD83D":["\uD83DA","\uDE00","\uD83D\uD83D\uDE00"]}"#,
            ),
        ] {
            assert_eq!(rewritten(text).as_deref(), Some(expected));
        }
        for text in [
            "[1 2]",
            "{\"a\" 1}",
            "[1}",
            "{1:2}",
            "[tru]",
            "[nullx]",
            "[1.]",
            "[",
            "\"open",
            "1x",
            r#"["\ud83"]"#,
            r#"["\ud83d\u12"]"#,
        ] {
            assert_eq!(rewritten(text), None, "{text}");
        }
        let deep = "[".repeat(1001) + &"]".repeat(1001);
        assert!(rewritten(&deep).is_none() && rewritten(&deep[1..2001]).is_some());
    }
}
