//! Reads a pattern in the syntax of Java 17. Anything that Java refuses is refused, and so is what the matcher cannot do exactly as
//! Java does. This file reads alternatives, sequences, literals and quantifiers; groups, escapes and classes have files of their own.

mod class;
mod escape;
mod group;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::escape::Escaped;
use super::PatternProblem;
use super::reader::{END, Reader, plain};
use super::set::{CharSet, LAST};
use super::tree::{Assertion, Greed, Node, One, Pattern, Times};
use super::unicode::tables;
use crate::limits::{PATTERN_CHARS_MAX, PATTERN_DEPTH_MAX};

/// Inline flags.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    any_case: bool,
    every_line: bool,
    dot_all: bool,
    unicode_case: bool,
    unicode_class: bool,
}

/// What is known while reading.
struct Parser {
    reader: Reader,
    flags: Flags,
    names: BTreeMap<String, usize>,
    groups: usize,
    depth: usize,
    by_code_points: bool,
    refers_back: bool,
    lone_surrogate: bool,
}

/// Reads a pattern.
pub(super) fn pattern(text: &str) -> Result<Pattern, PatternProblem> {
    if text.chars().count() > PATTERN_CHARS_MAX {
        return Err(PatternProblem {
            construct: "a pattern this long".to_owned(),
            place: PATTERN_CHARS_MAX,
            found: format!("{} characters", text.chars().count()),
            remedy: format!("use at most {PATTERN_CHARS_MAX} characters"),
        });
    }
    let reader = Reader::new(text);
    let by_code_points = reader.has_supplementary_from(0);
    let mut parser = Parser {
        reader,
        flags: Flags::default(),
        names: BTreeMap::new(),
        groups: 1,
        depth: 0,
        by_code_points,
        refers_back: false,
        lone_surrogate: false,
    };
    if let Some(place) = text.chars().position(|character| character == '\0') {
        return Err(parser.reader.problem_at(place, "a NUL character", "write `\\x00`"));
    }
    let root = parser.alternatives()?;
    if !parser.reader.is_at_end() {
        return Err(parser
            .reader
            .problem_at(parser.reader.cursor, "an unmatched `)`", "write `\\)` for the character itself"));
    }
    Ok(Pattern {
        root,
        groups: parser.groups,
        by_code_points: parser.by_code_points,
        refers_back: parser.refers_back,
        lone_surrogate: parser.lone_surrogate,
    })
}

fn is(code: u32, character: char) -> bool {
    code == u32::from(character)
}

fn is_any(code: u32, characters: &str) -> bool {
    characters.chars().any(|character| is(code, character))
}

impl Parser {
    fn alternatives(&mut self) -> Result<Node, PatternProblem> {
        self.deeper()?;
        let mut parts = vec![self.sequence()?];
        while is(self.reader.peek(), '|') {
            self.reader.next();
            parts.push(self.sequence()?);
        }
        self.depth -= 1;
        match parts.len() {
            1 => Ok(parts.pop().unwrap_or(Node::Sequence(Vec::new()))),
            _ => Ok(Node::Alternatives(parts)),
        }
    }

    fn deeper(&mut self) -> Result<(), PatternProblem> {
        self.depth += 1;
        if self.depth > PATTERN_DEPTH_MAX {
            return Err(self
                .reader
                .problem("nesting this deep", &format!("nest at most {PATTERN_DEPTH_MAX} groups and classes")));
        }
        Ok(())
    }

    fn sequence(&mut self) -> Result<Node, PatternProblem> {
        let mut parts = Vec::new();
        loop {
            let code = self.reader.peek();
            let node = if is(code, '(') {
                match self.group()? {
                    Some(node) => node,
                    None => continue,
                }
            } else if is(code, '[') {
                let set = self.class(true)?;
                self.one_of(set)
            } else if is(code, '^') {
                self.reader.next();
                Node::Assertion(match self.flags.every_line {
                    true => Assertion::LineBegin {
                        unix: self.reader.unix_lines,
                    },
                    false => Assertion::Begin,
                })
            } else if is(code, '$') {
                self.reader.next();
                let every_line = self.flags.every_line;
                Node::Assertion(Assertion::LineEnd {
                    unix: self.reader.unix_lines,
                    every_line,
                })
            } else if is(code, '.') {
                self.reader.next();
                Node::Set(Arc::new(self.dot()))
            } else if is_any(code, "|)") || code == END {
                break;
            } else if is_any(code, "?*+") {
                let index = self.reader.cursor;
                return Err(self
                    .reader
                    .problem_at(index, "a quantifier of nothing", "write `\\` before the character itself"));
            } else {
                // To Java a `{` where nothing is to be repeated, as behind another repetition, repeats an empty text.
                self.atom()?
            };
            // A group reads its own quantifier: flags that end with it are no longer in force there.
            let node = if is(code, '(') { node } else { self.quantified(node)? };
            parts.push(node);
        }
        match parts.len() {
            1 => Ok(parts.pop().unwrap_or(Node::Sequence(Vec::new()))),
            _ => Ok(Node::Sequence(parts)),
        }
    }

    fn dot(&self) -> CharSet {
        let terminators: &[(u32, u32)] = match (self.flags.dot_all, self.reader.unix_lines) {
            (true, _) => &[],
            (false, true) => &[(0x0A, 0x0A)],
            (false, false) => &[(0x0A, 0x0A), (0x0D, 0x0D), (0x85, 0x85), (0x2028, 0x2029)],
        };
        CharSet::new(false, terminators.iter().copied()).complement()
    }

    /// A node of one character, as Java makes it of a class: it decides where a search may begin.
    fn one_of(&mut self, set: CharSet) -> Node {
        self.by_code_points |= !set.bmp;
        Node::Set(Arc::new(set))
    }

    /// Literal characters as far as they go, or one escape that is not a character.
    fn atom(&mut self) -> Result<Node, PatternProblem> {
        let mut characters: Vec<u32> = Vec::new();
        let mut before_last = self.reader.cursor;
        loop {
            let code = self.reader.peek();
            if is_any(code, "*+?{") {
                // The quantifier is the last character's alone.
                if characters.len() > 1 {
                    self.reader.cursor = before_last;
                    characters.pop();
                }
                break;
            }
            if is_any(code, "$.^([|)") || code == END {
                break;
            }
            before_last = self.reader.cursor;
            if !is(code, '\\') {
                characters.push(plain(code));
                self.reader.cursor += 1;
                continue;
            }
            match self.escape(false, false)? {
                Escaped::Character(code) => characters.push(code),
                Escaped::Set(set) if characters.is_empty() => return Ok(self.one_of(set)),
                Escaped::Node(node) if characters.is_empty() => return Ok(node),
                Escaped::Set(_) | Escaped::Node(_) => {
                    self.reader.cursor = before_last;
                    break;
                }
            }
        }
        self.lone_surrogate |= characters.iter().any(|code| matches!(code, 0xD800..=0xDFFF));
        match characters.as_slice() {
            [code] => {
                let set = self.single(*code);
                Ok(self.one_of(set))
            }
            _ => Ok(Node::Run(characters.into_iter().map(|code| self.one_of_run(code)).collect())),
        }
    }

    /// The set of one literal character by itself.
    fn single(&self, code: u32) -> CharSet {
        let exactly = CharSet::new(code <= 0xFFFF && !matches!(code, 0xD800..=0xDFFF), [(code, code)]);
        if !self.flags.any_case {
            return exactly;
        }
        if self.flags.unicode_case {
            let upper = tables().to_upper(code);
            let lower = tables().to_lower(upper);
            return if upper == lower { exactly } else { equal_but_for_case(lower) };
        }
        match u8::try_from(code) {
            Ok(byte) if byte.is_ascii_alphabetic() => either_case(byte),
            _ => exactly,
        }
    }

    /// One literal character among others. Java compares it a little differently from one that stands alone.
    fn one_of_run(&self, code: u32) -> One {
        if self.flags.any_case && self.flags.unicode_case {
            return One::AnyOf(Arc::new(equal_but_for_case(tables().folded(code))));
        }
        match u8::try_from(code) {
            Ok(byte) if self.flags.any_case && byte.is_ascii_alphabetic() => One::AnyOf(Arc::new(either_case(byte))),
            _ => One::Exactly(code),
        }
    }

    fn quantified(&mut self, node: Node) -> Result<Node, PatternProblem> {
        let code = self.reader.peek();
        let times = if is(code, '?') {
            Times { min: 0, max: Some(1) }
        } else if is(code, '*') {
            Times { min: 0, max: None }
        } else if is(code, '+') {
            Times { min: 1, max: None }
        } else if is(code, '{') {
            self.counted()?
        } else {
            return Ok(node);
        };
        let code = self.reader.next();
        let greed = if is(code, '?') {
            self.reader.next();
            Greed::Lazy
        } else if is(code, '+') {
            self.reader.next();
            Greed::Possessive
        } else {
            Greed::Greedy
        };
        Ok(Node::Repeat {
            body: Box::new(node),
            times,
            greed,
        })
    }

    /// `{n}`, `{n,}` or `{n,m}`; leaves the cursor at the closing brace.
    fn counted(&mut self) -> Result<Times, PatternProblem> {
        let open = self.reader.cursor;
        let remedy = "write `{n}`, `{n,}` or `{n,m}`, or `\\{` for the character itself";
        let wrong = |parser: &Self| parser.reader.problem_at(open, "a repetition that is not one", remedy);
        let mut code = self.reader.skip();
        let Some(min) = self.number(&mut code) else {
            return Err(wrong(self));
        };
        let mut max = Some(min);
        if is(code, ',') {
            code = self.reader.read();
            max = None;
            if !is(code, '}') {
                // Java reads `{2,x}` no further than the `x`, and `{0,` before it as nothing at all.
                max = Some(self.number(&mut code).ok_or_else(|| wrong(self))?);
            }
        }
        if !is(code, '}') || max.is_some_and(|max| max < min) {
            return Err(wrong(self));
        }
        self.reader.unread();
        Ok(Times {
            min,
            max: max.filter(|max| *max < i32::MAX as u32),
        })
    }

    /// The digits from `code` on, which is then what follows them. None without a digit, or above what Java counts to.
    fn number(&mut self, code: &mut u32) -> Option<u32> {
        let mut value: Option<u32> = None;
        while let Some(digit) = char::from_u32(*code).and_then(|character| character.to_digit(10)) {
            let next = value.unwrap_or(0).checked_mul(10)?.checked_add(digit)?;
            value = Some(next).filter(|value| i32::try_from(*value).is_ok());
            value?;
            *code = self.reader.read();
        }
        value
    }
}

/// Both cases of an ASCII letter.
fn either_case(byte: u8) -> CharSet {
    let both = [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
    CharSet::new(true, both.map(|byte| (u32::from(byte), u32::from(byte))))
}

/// What folds to a folded character, and itself.
fn equal_but_for_case(folded: u32) -> CharSet {
    let others = tables().cased().filter(|(_, other)| *other == folded).map(|(code, _)| (code, code));
    CharSet::new(false, others.chain([(folded, folded)]).filter(|(code, _)| *code <= LAST))
}
