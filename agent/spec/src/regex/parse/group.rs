//! Groups: capturing, named, plain, atomic, look-around, and inline flags.

use super::super::PatternProblem;
use super::super::length::length;
use super::super::tree::{Behind, Node};
use super::{Parser, is};

impl Parser {
    /// Reads from `(` on, quantifier included. None if it only set flags.
    pub(super) fn group(&mut self) -> Result<Option<Node>, PatternProblem> {
        let open = self.reader.cursor;
        let (flags, comments, unix_lines) = (self.flags, self.reader.comments, self.reader.unix_lines);
        let code = self.reader.next();
        let node = if is(code, '?') {
            let kind = self.reader.skip();
            match char::from_u32(kind) {
                Some(':') => self.plain_group(None)?,
                Some('=') => self.look(None, false)?,
                Some('!') => self.look(None, true)?,
                Some('>') => Node::Atomic(Box::new(self.alternatives()?)),
                Some('<') => self.after_less()?,
                Some('P') => {
                    return Err(self.reader.problem_at(
                        open,
                        "`(?P…)`",
                        "write `(?<name>…)` for a named group, `\\k<name>` for what it matched",
                    ));
                }
                _ => {
                    self.reader.unread();
                    self.set_flags()?;
                    let code = self.reader.read();
                    if is(code, ')') {
                        return Ok(None);
                    }
                    if !is(code, ':') {
                        return Err(self
                            .reader
                            .problem("an unknown kind of group", "the flags are i, m, s, u, U, x and d"));
                    }
                    self.plain_group(None)?
                }
            }
        } else {
            let number = self.groups;
            self.groups += 1;
            self.plain_group(Some(number))?
        };
        if !is(self.reader.read(), ')') {
            return Err(self.reader.problem_at(
                open,
                "a group that is not closed",
                "close it with `)`, or write `\\(` for the character itself",
            ));
        }
        self.flags = flags;
        self.reader.comments = comments;
        self.reader.unix_lines = unix_lines;
        self.quantified(node).map(Some)
    }

    fn plain_group(&mut self, capture: Option<usize>) -> Result<Node, PatternProblem> {
        Ok(Node::Group {
            capture,
            body: Box::new(self.alternatives()?),
        })
    }

    fn look(&mut self, behind: Option<Behind>, negative: bool) -> Result<Node, PatternProblem> {
        Ok(Node::Look {
            behind,
            negative,
            body: Box::new(self.alternatives()?),
        })
    }

    /// Look-behind or a named group.
    fn after_less(&mut self) -> Result<Node, PatternProblem> {
        let code = self.reader.read();
        if !is(code, '=') && !is(code, '!') {
            let name = self.group_name(code)?;
            if self.names.contains_key(&name) {
                return Err(self
                    .reader
                    .problem("a second group of the same name", "give each group a name of its own"));
            }
            let number = self.groups;
            self.groups += 1;
            self.names.insert(name, number);
            return self.plain_group(Some(number));
        }
        let start = self.reader.cursor;
        // Java asks this of all the rest of the pattern, not only of the group.
        let by_code_points = self.reader.has_supplementary_from(start);
        let body = self.alternatives()?;
        let Some(length) = length(&body) else {
            let remedy = "give each repetition in it a greatest number, write out repeated alternatives and leave out back-references";
            return Err(self
                .reader
                .problem_at(start, "a look-behind without an obvious greatest length", remedy));
        };
        if by_code_points && length.max < 0 {
            let remedy = "give all repetitions in it but one a greatest number: Java cannot count this far";
            return Err(self.reader.problem_at(start, "a look-behind that is too long to count", remedy));
        }
        let behind = Some(Behind { length, by_code_points });
        Ok(Node::Look {
            behind,
            negative: is(code, '!'),
            body: Box::new(body),
        })
    }

    /// A group's name, from its first character to behind the `>`.
    pub(super) fn group_name(&mut self, first: u32) -> Result<String, PatternProblem> {
        let mut name = String::new();
        let mut code = first;
        while let Some(character) = char::from_u32(code).filter(char::is_ascii_alphanumeric) {
            if name.is_empty() && character.is_ascii_digit() {
                break;
            }
            name.push(character);
            code = self.reader.read();
        }
        if name.is_empty() || !is(code, '>') {
            return Err(self.reader.problem(
                "a group name that is not one",
                "use ASCII letters and digits, a letter first, and close it with `>`",
            ));
        }
        Ok(name)
    }

    fn set_flags(&mut self) -> Result<(), PatternProblem> {
        let mut on = true;
        let mut code = self.reader.peek();
        loop {
            match char::from_u32(code) {
                Some('i') => self.flags.any_case = on,
                Some('m') => self.flags.every_line = on,
                Some('s') => self.flags.dot_all = on,
                Some('d') => self.reader.unix_lines = on,
                Some('u') => self.flags.unicode_case = on,
                Some('x') => self.reader.comments = on,
                Some('U') => {
                    self.flags.unicode_class = on;
                    self.flags.unicode_case = on;
                }
                Some('c') => {
                    let index = self.reader.cursor;
                    return Err(self.reader.problem_at(
                        index,
                        "the flag `c` (canonical equivalence)",
                        "write out the spellings that are meant",
                    ));
                }
                Some('-') if on => on = false,
                _ => return Ok(()),
            }
            code = self.reader.next();
        }
    }
}
