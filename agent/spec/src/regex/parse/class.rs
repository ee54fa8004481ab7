//! Classes in brackets: members, ranges, nested classes, intersections.

use super::super::PatternProblem;
use super::super::reader::{END, plain};
use super::super::set::CharSet;
use super::super::unicode::tables;
use super::escape::Escaped;
use super::{LAST, Parser, is};

/// A class while it is read. Characters of Latin-1 gather apart from the rest, since they bind more tightly than `&&`.
#[derive(Default)]
struct Gathered {
    latin: Vec<(u32, u32)>,
    has_latin: bool,
    rest: Option<CharSet>,
}

impl Gathered {
    fn add(&mut self, set: &CharSet) {
        self.rest = Some(match &self.rest {
            Some(rest) => rest.union(set),
            None => set.clone(),
        });
    }

    /// All of it so far.
    fn whole(&mut self) -> Option<CharSet> {
        if self.has_latin {
            let latin = CharSet::new(true, self.latin.drain(..));
            self.add(&latin);
            self.has_latin = false;
        }
        self.rest.clone()
    }
}

impl Parser {
    /// Reads from the `[` on, or from before the right side of `&&`; behind the `]`, or up to it if it is another's.
    pub(super) fn class(&mut self, takes_bracket: bool) -> Result<CharSet, PatternProblem> {
        self.deeper()?;
        let open = self.reader.cursor;
        let mut code = self.reader.next();
        let negative = is(code, '^') && is(self.reader.at(self.reader.cursor - 1), '[');
        if negative {
            code = self.reader.next();
        }
        let mut gathered = Gathered::default();
        let set = loop {
            if code == END {
                return Err(self.reader.problem_at(
                    open,
                    "a class that is not closed",
                    "close it with `]`, or write `\\[` for the character itself",
                ));
            } else if is(code, '[') {
                let nested = self.class(true)?;
                gathered.add(&nested);
            } else if is(code, '&') && self.intersects()? {
                let right = self.right_side(open)?;
                let both = match gathered.whole() {
                    Some(left) => left.intersection(&right),
                    None => right,
                };
                gathered.rest = Some(both);
                self.only_more_intersections(open)?;
            } else if is(code, ']')
                && let Some(set) = gathered.whole()
            {
                if takes_bracket {
                    self.reader.next();
                }
                break set;
            } else {
                self.member(&mut gathered)?;
            }
            code = self.reader.peek();
        };
        self.depth -= 1;
        Ok(if negative { set.complement() } else { set })
    }

    /// Whether the `&` at the cursor is the first of two; the cursor is then behind both, else where it was.
    fn intersects(&mut self) -> Result<bool, PatternProblem> {
        if is(self.reader.next(), '&') {
            self.reader.next();
            return Ok(true);
        }
        self.reader.unread();
        Ok(false)
    }

    fn right_side(&mut self, open: usize) -> Result<CharSet, PatternProblem> {
        let mut right: Option<CharSet> = None;
        loop {
            let code = self.reader.peek();
            if is(code, ']') || is(code, '&') {
                break;
            }
            if !is(code, '[') {
                self.reader.unread();
            }
            let set = self.class(is(code, '['))?;
            right = Some(match right {
                Some(right) => right.union(&set),
                None => set,
            });
        }
        right.ok_or_else(|| {
            self.reader.problem_at(
                open,
                "an `&&` with nothing behind it",
                "write what both sides share, or `\\&` for the character itself",
            )
        })
    }

    /// Java keeps what was on the left of an intersection and adds to it what follows one, which nobody means.
    fn only_more_intersections(&mut self, open: usize) -> Result<(), PatternProblem> {
        let cursor = self.reader.cursor;
        let code = self.reader.peek();
        if is(code, ']') || (is(code, '&') && is(self.reader.next(), '&')) {
            self.reader.cursor = cursor;
            return Ok(());
        }
        Err(self.reader.problem_at(
            open,
            "members behind an intersection",
            "put the intersection in brackets of its own",
        ))
    }

    /// A character, a range, or an escape that is a class.
    fn member(&mut self, gathered: &mut Gathered) -> Result<(), PatternProblem> {
        let start = self.reader.cursor;
        let mut code = self.reader.peek();
        if is(code, '\\') {
            let bounds_range = is(self.reader.at(self.reader.cursor + 2), '-');
            match self.escape(true, bounds_range)? {
                Escaped::Character(character) => code = character,
                Escaped::Set(set) => {
                    gathered.add(&set);
                    return Ok(());
                }
                Escaped::Node(_) => {
                    return Err(self
                        .reader
                        .problem_at(start, "an escape that is no member of a class", "write it outside the class"));
                }
            }
        } else {
            code = plain(code);
            self.reader.next();
        }
        let is_range = is(self.reader.peek(), '-');
        let behind = self.reader.at(self.reader.cursor + 1);
        if is_range && !is(behind, '[') && !is(behind, ']') {
            self.reader.next();
            let set = self.range(start, code)?;
            gathered.add(&set);
            return Ok(());
        }
        self.lone_surrogate |= matches!(code, 0xD800..=0xDFFF);
        self.member_character(code, gathered);
        Ok(())
    }

    fn range(&mut self, start: usize, first: u32) -> Result<CharSet, PatternProblem> {
        let mut last = self.reader.peek();
        if is(last, '\\') {
            last = match self.escape(true, true)? {
                Escaped::Character(character) => character,
                Escaped::Set(_) | Escaped::Node(_) => {
                    return Err(self
                        .reader
                        .problem_at(start, "a range that ends in a class", "write `\\-` for the character itself"));
                }
            };
        } else {
            last = plain(last);
            self.reader.next();
        }
        if last < first || last > LAST {
            return Err(self
                .reader
                .problem_at(start, "a range that ends before it begins", "write the lower character first"));
        }
        let flags = self.flags;
        if !flags.any_case {
            let bmp = last < 0xD800 || (first > 0xDFFF && last <= 0xFFFF);
            return Ok(CharSet::new(bmp, [(first, last)]));
        }
        let inside = |code: u32| first <= code && code <= last;
        if flags.unicode_case {
            let tables = tables();
            let others = tables
                .cased()
                .filter(|(code, folded)| inside(tables.to_upper(*code)) || inside(*folded));
            return Ok(CharSet::new(false, others.map(|(code, _)| (code, code)).chain([(first, last)])));
        }
        let letters = (b'A'..=b'Z')
            .chain(b'a'..=b'z')
            .filter(|letter| inside(u32::from(letter.to_ascii_lowercase())) || inside(u32::from(letter.to_ascii_uppercase())));
        Ok(CharSet::new(
            false,
            letters.map(|letter| (u32::from(letter), u32::from(letter))).chain([(first, last)]),
        ))
    }

    fn member_character(&mut self, code: u32, gathered: &mut Gathered) {
        let flags = self.flags;
        // Letters whose other case lies outside Latin-1, and those that such a one folds to.
        let far = matches!(code, 0xFF | 0xB5 | 0x49 | 0x69 | 0x53 | 0x73 | 0x4B | 0x6B | 0xC5 | 0xE5);
        if code > 0xFF || (flags.any_case && flags.unicode_case && far) {
            let set = self.single(code);
            gathered.add(&set);
            return;
        }
        gathered.has_latin = true;
        gathered.latin.push((code, code));
        if !flags.any_case {
            return;
        }
        if let Some(letter) = u8::try_from(code).ok().filter(u8::is_ascii) {
            for other in [letter.to_ascii_lowercase(), letter.to_ascii_uppercase()] {
                gathered.latin.push((u32::from(other), u32::from(other)));
            }
        } else if flags.unicode_case {
            for other in [tables().to_lower(code), tables().to_upper(code)] {
                gathered.latin.push((other, other));
            }
        }
    }
}
