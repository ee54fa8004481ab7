//! Values that no column takes: stepped over, and checked as if they were read.

use super::scan::special_from;
use crate::limits::{FAST_SKIP_DEPTH_MAX, NAME_UNITS_MAX, NUMBER_DIGITS_MAX};

/// The place behind a word that stands at `at`.
#[inline]
pub(super) fn word(input: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    input.get(at..)?.starts_with(word).then_some(at + word.len())
}

/// The place behind a quoted name without escapes that begins at `at`.
#[inline]
pub(super) fn name(input: &[u8], at: usize) -> Option<usize> {
    if input.get(at) != Some(&b'"') {
        return None;
    }
    let end = special_from(input, at + 1);
    (input.get(end) == Some(&b'"') && end - at <= NAME_UNITS_MAX).then_some(end + 1)
}

/// The place behind a number.
pub(super) fn number(input: &[u8], at: usize) -> Option<usize> {
    let start = at + usize::from(input.get(at) == Some(&b'-'));
    let mut behind = some_digits(input, start)?;
    if input.get(start) == Some(&b'0') && behind - start > 1 {
        return None;
    }
    if input.get(behind) == Some(&b'.') {
        behind = some_digits(input, behind + 1)?;
    }
    if let Some(b'e' | b'E') = input.get(behind) {
        let sign = usize::from(matches!(input.get(behind + 1), Some(b'+' | b'-')));
        behind = some_digits(input, behind + 1 + sign)?;
    }
    (behind - at <= NUMBER_DIGITS_MAX).then_some(behind)
}

fn some_digits(input: &[u8], at: usize) -> Option<usize> {
    let rest = input.get(at..)?;
    let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    (count > 0).then_some(at + count)
}

/// The place behind a text whose opening quote is read.
fn text(input: &[u8], at: usize) -> Option<usize> {
    let mut at = special_from(input, at);
    while input.get(at) == Some(&b'\\') {
        at = match input.get(at + 1)? {
            b'b' | b't' | b'n' | b'f' | b'r' | b'"' | b'/' | b'\\' | b'\'' => at + 2,
            b'u' => {
                let digits = input.get(at + 2..at + 6)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                at + 6
            }
            _ => return None,
        };
        at = special_from(input, at);
    }
    (input.get(at) == Some(&b'"')).then_some(at + 1)
}

fn behind_space(input: &[u8], at: usize) -> usize {
    let rest = input.get(at..).unwrap_or_default();
    at + rest
        .iter()
        .position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
        .unwrap_or(rest.len())
}

/// The place behind any value. A loop, with one bit for each open object or array.
pub(super) fn value(input: &[u8], at: usize) -> Option<usize> {
    let (mut at, mut depth, mut objects) = (at, 0_u32, 0_u64);
    loop {
        let first = *input.get(at)?;
        at = match first {
            b'{' | b'[' => {
                let is_object = first == b'{';
                if depth == FAST_SKIP_DEPTH_MAX {
                    return None;
                }
                (depth, objects) = (depth + 1, objects << 1 | u64::from(is_object));
                let inner = behind_space(input, at + 1);
                if input.get(inner) != Some(if is_object { &b'}' } else { &b']' }) {
                    at = if is_object { field(input, inner)? } else { inner };
                    continue;
                }
                inner
            }
            b'"' => text(input, at + 1)?,
            b't' => word(input, at, b"true")?,
            b'f' => word(input, at, b"false")?,
            b'n' => word(input, at, b"null")?,
            _ => number(input, at)?,
        };
        // Behind a value, or at the end of what has none.
        loop {
            if depth == 0 {
                return Some(at);
            }
            let is_object = objects & 1 == 1;
            at = behind_space(input, at);
            match *input.get(at)? {
                b',' => {
                    let next = behind_space(input, at + 1);
                    at = if is_object { field(input, next)? } else { next };
                    break;
                }
                b'}' if is_object => {}
                b']' if !is_object => {}
                _ => return None,
            }
            (at, depth, objects) = (at + 1, depth - 1, objects >> 1);
        }
    }
}

/// The place of the value behind a name and its colon.
fn field(input: &[u8], at: usize) -> Option<usize> {
    let colon = behind_space(input, name(input, at)?);
    (input.get(colon) == Some(&b':')).then(|| behind_space(input, colon + 1))
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn whole_values_are_stepped_over() {
        for sound in [
            "1",
            "-0.5e+3",
            "true",
            "null",
            "false",
            r#""x""#,
            r#""\"\\\/\u00e9\ud83d é""#,
            "[]",
            "{}",
            "[ ]",
            "{ }",
            "[1 , 2]",
            r#"{"a":[{"b":{}}],"c" : [[] , 1]}"#,
            "[[[]],{}]",
        ] {
            assert_eq!(value(format!("{sound},").as_bytes(), 0), Some(sound.len()), "{sound}");
        }
    }

    #[test]
    fn anything_else_is_a_surprise() {
        for surprise in [
            "",
            "-",
            "01",
            "1.",
            "tru",
            "nul",
            "\"x",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"a\tb\"",
            "[",
            "{",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "[1}",
            "{\"a\":1]",
            "{1:2}",
            "{'a':1}",
            "]",
            "}",
            ",",
            "NaN",
            "+1",
            "{\"a\\n\":1}",
        ] {
            assert_eq!(value(surprise.as_bytes(), 0), None, "{surprise}");
        }
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(value(nested(64).as_bytes(), 0), Some(128));
        assert_eq!(value(nested(65).as_bytes(), 0), None);
    }
}
