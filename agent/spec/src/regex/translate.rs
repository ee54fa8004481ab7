//! The fast way: a pattern that is a regular expression in the strict sense, in the syntax of Rust's, which matches it in linear time.
//! What a match is called does not matter here, only whether there is one; so lazy may become greedy and groups may be forgotten.
//!
//! Some assertions have no equal there but mean a simpler thing on simple texts. Then the translation says which texts those are, and
//! the machine is left to match the others.

use fancy_regex::{Regex, RegexBuilder};

use super::set::CharSet;
use super::tree::{Assertion, Greed, Node, One, Pattern};
use crate::limits::{PATTERN_COMPILED_BYTES_MAX, PATTERN_COUNTED_MAX, PATTERN_TRANSLATED_BYTES_MAX};

/// A translation, and what it asks of a text.
#[derive(Debug)]
pub(super) struct Translation {
    regex: Regex,
    needs: Needs,
}

/// What a text must be for the translation to mean the same.
#[derive(Clone, Copy, Debug, Default)]
struct Needs {
    /// ASCII: Java's `\b` looks at marks and their bases beyond it.
    ascii: bool,
    /// Without a line terminator at its end: there `$` is also before it.
    no_last_terminator: bool,
    /// Without any line terminator.
    no_terminator: bool,
    /// Not empty: Java's `(?m)^` is not at the end.
    some_text: bool,
}

/// Translates a pattern to be found, or to match a whole text. None if it is not regular, or too large.
pub(super) fn translate(pattern: &Pattern, whole: bool) -> Option<Translation> {
    let writer = write(pattern, whole)?;
    let mut builder = RegexBuilder::new(&writer.text);
    builder
        .delegate_size_limit(PATTERN_COMPILED_BYTES_MAX)
        .delegate_dfa_size_limit(PATTERN_COMPILED_BYTES_MAX);
    Some(Translation {
        regex: builder.build().ok()?,
        needs: writer.needs,
    })
}

/// The translation's text.
fn write(pattern: &Pattern, whole: bool) -> Option<Writer> {
    if pattern.refers_back || pattern.lone_surrogate {
        return None;
    }
    let mut writer = Writer {
        text: String::new(),
        needs: Needs::default(),
        times: 1,
        counted: 0,
    };
    if whole {
        writer.text.push_str("\\A(?:");
    }
    writer.node(&pattern.root, false)?;
    if whole {
        writer.text.push_str(")\\z");
    }
    Some(writer)
}

#[cfg(test)]
pub(super) fn written_bytes(pattern: &Pattern) -> Option<usize> {
    write(pattern, true).map(|writer| writer.text.len())
}

impl Translation {
    /// Whether there is a match; none if the text is not one that this can tell for.
    pub(super) fn is_match(&self, text: &str) -> Option<bool> {
        let needs = self.needs;
        if (needs.ascii && !text.is_ascii())
            || (needs.some_text && text.is_empty())
            || (needs.no_last_terminator && text.ends_with(TERMINATORS))
            || (needs.no_terminator && text.contains(TERMINATORS))
        {
            return None;
        }
        self.regex.is_match(text).ok()
    }
}

/// Java's line terminators.
const TERMINATORS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

struct Writer {
    text: String,
    needs: Needs,
    /// How often the repetitions around ask for what is written.
    times: usize,
    /// Characters that are asked for again by repetitions with a count.
    counted: usize,
}

impl Writer {
    /// Writes a node. None if it is not regular, or too long.
    fn node(&mut self, node: &Node, repeated: bool) -> Option<()> {
        match node {
            Node::Set(set) => {
                self.count(1)?;
                self.set(set)?;
            }
            Node::Run(characters) => {
                self.count(characters.len())?;
                for one in characters {
                    match one {
                        One::Exactly(code) => self.code(*code),
                        One::AnyOf(set) => self.set(set)?,
                    }
                }
            }
            Node::Assertion(assertion) => self.assertion(*assertion),
            // Repeated, Java settles each one by itself.
            Node::LineEnding if repeated => return None,
            Node::LineEnding => self.text.push_str("(?:\\x{D}\\x{A}|[\\x{A}-\\x{D}\\x{85}\\x{2028}\\x{2029}])"),
            // Where no marks and no pairs of line terminators can be, it is any character.
            Node::Grapheme => {
                self.count(1)?;
                self.needs.ascii = true;
                self.needs.no_terminator = true;
                self.text.push_str("[\\x{0}-\\x{7F}]");
            }
            Node::Sequence(parts) => parts.iter().try_for_each(|part| self.node(part, repeated))?,
            Node::Alternatives(parts) => {
                self.text.push_str("(?:");
                for (index, part) in parts.iter().enumerate() {
                    if index > 0 {
                        self.text.push('|');
                    }
                    self.node(part, repeated)?;
                }
                self.text.push(')');
            }
            Node::Group { body, .. } => {
                self.text.push_str("(?:");
                self.node(body, repeated)?;
                self.text.push(')');
            }
            Node::Repeat {
                greed: Greed::Possessive, ..
            } => return None,
            Node::Repeat { body, times, .. } => {
                // `(?:)` is not to be repeated there, so what may be empty gets company.
                self.text.push_str("(?:(?:");
                let outside = self.times;
                let most = times.max.unwrap_or(times.min).max(1);
                self.times = outside.saturating_mul(usize::try_from(most).unwrap_or(usize::MAX));
                self.node(body, true)?;
                self.times = outside;
                self.text.push_str("|[^\\x{0}-\\x{10FFFF}])");
                match times.max {
                    Some(max) => self.text.push_str(&format!("{{{},{max}}})", times.min)),
                    None => self.text.push_str(&format!("{{{},}})", times.min)),
                }
            }
            Node::BackReference { .. } | Node::Look { .. } | Node::Atomic(_) => return None,
        }
        Some(())
    }

    /// Counts characters that a repetition asks for. None once there are too many: each may be a place that Rust's engine is at, for each
    /// character of the text.
    fn count(&mut self, characters: usize) -> Option<()> {
        if self.times > 1 {
            self.counted = self.counted.saturating_add(self.times.saturating_mul(characters));
        }
        (self.counted <= PATTERN_COUNTED_MAX).then_some(())
    }

    fn assertion(&mut self, assertion: Assertion) {
        self.text.push_str(match assertion {
            Assertion::Begin | Assertion::LineBegin { .. } => "\\A",
            Assertion::End | Assertion::LineEnd { .. } => "\\z",
            Assertion::WordBoundary { negative: false, .. } => "\\b",
            Assertion::WordBoundary { negative: true, .. } => "\\B",
        });
        match assertion {
            Assertion::Begin | Assertion::End => {}
            Assertion::LineBegin { .. } => {
                self.needs.no_terminator = true;
                self.needs.some_text = true;
            }
            Assertion::LineEnd { every_line: false, .. } => self.needs.no_last_terminator = true,
            Assertion::LineEnd { every_line: true, .. } => self.needs.no_terminator = true,
            Assertion::WordBoundary { .. } => self.needs.ascii = true,
        }
    }

    /// Writes a class, which is what makes a translation long. None once it is too long.
    fn set(&mut self, set: &CharSet) -> Option<()> {
        self.text.push('[');
        let before = self.text.len();
        for (first, last) in set.ranges() {
            // A text of ours holds no surrogates.
            self.range(*first, (*last).min(0xD7FF));
            self.range((*first).max(0xE000), *last);
        }
        if self.text.len() == before {
            self.text.push_str("^\\x{0}-\\x{10FFFF}");
        }
        self.text.push(']');
        (self.text.len() <= PATTERN_TRANSLATED_BYTES_MAX).then_some(())
    }

    fn range(&mut self, first: u32, last: u32) {
        if first <= last {
            self.text.push_str(&format!("\\x{{{first:X}}}-\\x{{{last:X}}}"));
        }
    }

    fn code(&mut self, code: u32) {
        self.text.push_str(&format!("\\x{{{code:X}}}"));
    }
}
