//! Escapes, inside classes and outside.

use super::super::PatternProblem;
use super::super::property::{Reading, named, unicode_digit, unicode_space, unicode_word};
use super::super::reader::{END, plain};
use super::super::set::CharSet;
use super::super::tree::{Assertion, Fold, Node};
use super::super::unicode::tables;
use super::{Parser, is};

/// What an escape means.
pub(super) enum Escaped {
    /// A character.
    Character(u32),
    /// A class.
    Set(CharSet),
    /// Something that is not one character.
    Node(Node),
}

impl Parser {
    /// Reads from the `\` on. `bounds_range`: it is an end of a range of a class.
    pub(super) fn escape(&mut self, in_class: bool, bounds_range: bool) -> Result<Escaped, PatternProblem> {
        let start = self.reader.cursor;
        let code = self.reader.skip();
        let Some(character) = char::from_u32(plain(code)).filter(|_| code != END) else {
            return Err(self
                .reader
                .problem_at(start, "a `\\` at the end", "write `\\\\` for the character itself"));
        };
        if let Some(literal) = self.spelled(start, character)? {
            return Ok(Escaped::Character(literal));
        }
        if character == 'v' && bounds_range {
            return Ok(Escaped::Character(0x0B));
        }
        if let Some(set) = self.class_escape(start, character)? {
            return Ok(Escaped::Set(set));
        }
        if !in_class && let Some(node) = self.node_escape(start, character)? {
            return Ok(Escaped::Node(node));
        }
        if character.is_ascii_alphanumeric() {
            let remedy = "remove the `\\`, or see the list of constructs of java.util.regex.Pattern";
            return Err(self.reader.problem_at(start, "an escape that means nothing here", remedy));
        }
        Ok(Escaped::Character(u32::from(character)))
    }

    /// Escapes that spell one character.
    fn spelled(&mut self, start: usize, character: char) -> Result<Option<u32>, PatternProblem> {
        Ok(Some(match character {
            'a' => 0x07,
            'e' => 0x1B,
            'f' => 0x0C,
            'n' => 0x0A,
            'r' => 0x0D,
            't' => 0x09,
            '0' => self.octal(start)?,
            'x' => self.hexadecimal(start)?,
            'u' => self.utf16(start)?,
            'N' => self.named_character(start)?,
            'c' => match self.reader.read() {
                END => return Err(self.reader.problem_at(start, "a `\\c` at the end", "write a letter after it")),
                code => plain(code) ^ 64,
            },
            _ => return Ok(None),
        }))
    }

    fn class_escape(&mut self, start: usize, character: char) -> Result<Option<CharSet>, PatternProblem> {
        let unicode = self.flags.unicode_class;
        let set = match character.to_ascii_lowercase() {
            'd' if unicode => unicode_digit(),
            'd' => CharSet::new(true, [(0x30, 0x39)]),
            's' if unicode => unicode_space(),
            's' => CharSet::new(true, [(0x09, 0x0D), (0x20, 0x20)]),
            'w' if unicode => unicode_word(),
            'w' => CharSet::new(true, [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]),
            'h' => CharSet::new(
                true,
                [0x09, 0x20, 0xA0, 0x1680, 0x180E, 0x202F, 0x205F, 0x3000]
                    .map(|code| (code, code))
                    .into_iter()
                    .chain([(0x2000, 0x200A)]),
            ),
            'v' => CharSet::new(true, [(0x0A, 0x0D), (0x85, 0x85), (0x2028, 0x2029)]),
            'p' => return self.property(start, character == 'P').map(Some),
            _ => return Ok(None),
        };
        Ok(Some(if character.is_ascii_uppercase() { set.complement() } else { set }))
    }

    fn node_escape(&mut self, start: usize, character: char) -> Result<Option<Node>, PatternProblem> {
        let unicode = self.flags.unicode_class;
        let unix = self.reader.unix_lines;
        Ok(Some(match character {
            'A' | 'G' => Node::Assertion(Assertion::Begin),
            'z' => Node::Assertion(Assertion::End),
            'Z' => Node::Assertion(Assertion::LineEnd { unix, every_line: false }),
            'B' => Node::Assertion(Assertion::WordBoundary { negative: true, unicode }),
            'b' if is(self.reader.peek(), '{') && is(self.reader.at(self.reader.cursor + 1), 'g') => {
                return Err(self
                    .reader
                    .problem_at(start, "`\\b{g}`", "use `\\b`; boundaries of grapheme clusters are not supported"));
            }
            'b' => Node::Assertion(Assertion::WordBoundary { negative: false, unicode }),
            'R' => Node::LineEnding,
            'X' => Node::Grapheme,
            'k' => self.named_reference(start)?,
            '1'..='9' => self.numbered_reference(character),
            _ => return Ok(None),
        }))
    }

    fn fold(&self) -> Fold {
        match (self.flags.any_case, self.flags.unicode_case) {
            (false, _) => Fold::None,
            (true, false) => Fold::Ascii,
            (true, true) => Fold::Unicode,
        }
    }

    fn named_reference(&mut self, start: usize) -> Result<Node, PatternProblem> {
        if !is(self.reader.read(), '<') {
            return Err(self.reader.problem_at(start, "a `\\k` without a name", "write `\\k<name>`"));
        }
        let first = self.reader.read();
        let name = self.group_name(first)?;
        let Some(group) = self.names.get(&name).copied() else {
            return Err(self
                .reader
                .problem_at(start, "a reference to no group", "name a group that stands before it"));
        };
        self.refers_back = true;
        Ok(Node::BackReference { group, fold: self.fold() })
    }

    /// Further digits belong to it as long as there is such a group.
    fn numbered_reference(&mut self, first: char) -> Node {
        let mut group = first.to_digit(10).map_or(0, |digit| digit as usize);
        while let Some(digit) = char::from_u32(self.reader.peek()).and_then(|character| character.to_digit(10)) {
            let longer = group.saturating_mul(10).saturating_add(digit as usize);
            if longer >= self.groups {
                break;
            }
            group = longer;
            self.reader.read();
        }
        self.refers_back = true;
        Node::BackReference { group, fold: self.fold() }
    }

    /// `\0n`, `\0nn` or `\0mnn`.
    fn octal(&mut self, start: usize) -> Result<u32, PatternProblem> {
        let digit = |code: u32| char::from_u32(code).and_then(|character| character.to_digit(8));
        let Some(mut value) = digit(self.reader.read()) else {
            return Err(self.reader.problem_at(
                start,
                "a `\\0` without octal digits",
                "write `\\x00` for NUL, or a digit from 0 to 7 after it",
            ));
        };
        let longest = if value <= 3 { 2 } else { 1 };
        for _ in 0..longest {
            match digit(self.reader.read()) {
                Some(next) => value = value * 8 + next,
                None => {
                    self.reader.unread();
                    break;
                }
            }
        }
        Ok(value)
    }

    /// `\xhh` or `\x{h…h}`.
    fn hexadecimal(&mut self, start: usize) -> Result<u32, PatternProblem> {
        let digit = |code: u32| char::from_u32(code).and_then(|character| character.to_digit(16));
        let first = self.reader.read();
        let mut value = None;
        if is(first, '{') {
            let mut code = self.reader.read();
            while let Some(next) = digit(code) {
                value = Some(value.unwrap_or(0) * 16 + next).filter(|value| *value <= super::LAST);
                if value.is_none() {
                    break;
                }
                code = self.reader.read();
            }
            value = value.filter(|_| is(code, '}'));
        } else if let Some(high) = digit(first)
            && let Some(low) = digit(self.reader.read())
        {
            value = Some(high * 16 + low);
        }
        value.ok_or_else(|| {
            self.reader.problem_at(
                start,
                "a `\\x` that spells no character",
                "write `\\xhh` or `\\x{h…h}`, up to 10FFFF",
            )
        })
    }

    /// `\uhhhh`, or two of them that are a pair.
    fn utf16(&mut self, start: usize) -> Result<u32, PatternProblem> {
        let high = self.four_digits(start)?;
        if matches!(high, 0xD800..=0xDBFF) {
            let behind = self.reader.cursor;
            if is(self.reader.read(), '\\') && is(self.reader.read(), 'u') {
                let low = self.four_digits(start)?;
                if matches!(low, 0xDC00..=0xDFFF) {
                    return Ok(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00));
                }
            }
            self.reader.cursor = behind;
        }
        Ok(high)
    }

    fn four_digits(&mut self, start: usize) -> Result<u32, PatternProblem> {
        let mut value = 0;
        for _ in 0..4 {
            let code = self.reader.read();
            let Some(digit) = char::from_u32(code).and_then(|character| character.to_digit(16)) else {
                return Err(self.reader.problem_at(
                    start,
                    "a `\\u` that spells no character",
                    "write four hexadecimal digits, or `\\x{h…h}`",
                ));
            };
            value = value * 16 + digit;
        }
        Ok(value)
    }

    /// `\N{name}`, from behind the letter on. Of all the names that Java knows these are those of ASCII's characters, of which the
    /// names of topics are made; the others would be a megabyte of names for something that is written as itself.
    fn named_character(&mut self, start: usize) -> Result<u32, PatternProblem> {
        let remedy = "write the character itself, `\\x{h…h}`, or a name as in `\\N{LATIN SMALL LETTER A}`";
        if !is(self.reader.read(), '{') {
            return Err(self.reader.problem_at(start, "a `\\N` without a name", remedy));
        }
        let mut name = String::new();
        loop {
            let at = self.reader.cursor;
            match self.reader.read() {
                END => return Err(self.reader.problem_at(start, "a `\\N{` that is not closed", "close it with `}`")),
                code if is(code, '}') => break,
                // White space belongs to a name, comments or not.
                _ => name.extend((at..self.reader.cursor).filter_map(|index| char::from_u32(plain(self.reader.at(index))))),
            }
        }
        let named = tables().set("name", &name.trim().to_uppercase());
        match named.and_then(|set| set.ranges().first()) {
            Some((code, _)) => Ok(*code),
            None => Err(self
                .reader
                .problem_at(start, "a name of no character, or of one that is not ASCII", remedy)),
        }
    }

    /// `\p{name}`, `\pL` and their complements, from behind the letter on.
    fn property(&mut self, start: usize, negative: bool) -> Result<CharSet, PatternProblem> {
        let mut name = String::new();
        let first = self.reader.at(self.reader.cursor);
        let mut cursor = self.reader.cursor + 1;
        if is(first, '{') {
            loop {
                match self.reader.at(cursor) {
                    END => return Err(self.reader.problem_at(start, "a `\\p{` that is not closed", "close it with `}`")),
                    code if is(code, '}') => break,
                    code => name.extend(char::from_u32(code)),
                }
                cursor += 1;
            }
            cursor += 1;
        } else {
            name.extend(char::from_u32(first));
        }
        self.reader.cursor = cursor;
        let reading = Reading {
            any_case: self.flags.any_case,
            unicode: self.flags.unicode_class,
        };
        let Some(set) = named(&name, reading) else {
            let remedy = "use a name of java.util.regex.Pattern, as in `\\p{L}`, `\\p{Alpha}`, `\\p{IsLatin}`, `\\p{InGreek}` or `\\p{javaLowerCase}`";
            return Err(self
                .reader
                .problem_at(start, "a character property that Java does not know", remedy));
        };
        if negative {
            self.by_code_points = true;
            return Ok(set.complement());
        }
        Ok(set)
    }
}
