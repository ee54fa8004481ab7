//! A text as Java sees it: UTF-16 units, read as code points from any unit on. The conditions on a place are here too.

use std::sync::OnceLock;

use super::property::{letter_or_digit, unicode_word};
use super::set::CharSet;
use super::tree::Assertion;
use super::unicode::tables;

/// Units of a text.
#[derive(Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a [u16]);

impl Text<'_> {
    /// The unit at a place.
    pub(super) fn unit_at(self, at: usize) -> Option<u16> {
        self.0.get(at).copied()
    }

    /// The code point that begins at a place, and its units. The second half of a pair is one by itself.
    pub(super) fn code_at(self, at: usize) -> Option<(u32, usize)> {
        let unit = u32::from(self.unit_at(at)?);
        if let (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) = (unit, self.unit_at(at + 1)) {
            return Some((0x1_0000 + ((unit - 0xD800) << 10) + (u32::from(low) - 0xDC00), 2));
        }
        Some((unit, 1))
    }

    /// The code point that ends at a place. The first half of a pair is one by itself.
    fn code_before(self, at: usize) -> Option<u32> {
        match self.width_before(at) {
            1 => self.unit_at(at.checked_sub(1)?).map(u32::from),
            width => self.code_at(at.checked_sub(width)?).map(|(code, _)| code),
        }
    }

    /// Units of the code point at a place; one past the end.
    pub(super) fn width_at(self, at: usize) -> usize {
        self.code_at(at).map_or(1, |(_, width)| width)
    }

    /// Units of the code point before a place; one at the begin.
    pub(super) fn width_before(self, at: usize) -> usize {
        let pair = at.checked_sub(2).and_then(|begin| self.code_at(begin));
        pair.map_or(1, |(_, width)| width)
    }

    /// Units of so many code points before a place, as far as there are any.
    pub(super) fn units_before(self, at: usize, count: usize) -> usize {
        let mut place = at;
        for _ in 0..count {
            if place == 0 {
                break;
            }
            place -= self.width_before(place);
        }
        at - place
    }
}

/// Java's line terminators.
fn is_terminator(unit: u16) -> bool {
    matches!(unit, 0x0A | 0x0D | 0x85 | 0x2028 | 0x2029)
}

/// Whether an assertion holds at a place.
pub(super) fn holds(text: Text<'_>, assertion: Assertion, at: usize, bases: &mut Bases) -> bool {
    let end = text.0.len();
    match assertion {
        Assertion::Begin => at == 0,
        Assertion::End => at == end,
        Assertion::LineBegin { unix } => line_begins(text, at, unix),
        Assertion::LineEnd { unix: true, every_line } => at == end || (text.unit_at(at) == Some(0x0A) && (every_line || at + 1 == end)),
        Assertion::LineEnd { unix: false, every_line } => line_ends(text, at, every_line),
        Assertion::WordBoundary { negative, unicode } => is_boundary(text, at, unicode, bases) != negative,
    }
}

/// Never at the very end, not even of an empty text.
fn line_begins(text: Text<'_>, at: usize, unix: bool) -> bool {
    let Some(unit) = text.unit_at(at) else { return false };
    let Some(before) = at.checked_sub(1).and_then(|before| text.unit_at(before)) else {
        return true;
    };
    if unix {
        return before == 0x0A;
    }
    is_terminator(before) && !(before == 0x0D && unit == 0x0A)
}

fn line_ends(text: Text<'_>, at: usize, every_line: bool) -> bool {
    let Some(unit) = text.unit_at(at) else { return true };
    let left = text.0.len() - at;
    if !every_line && (left > 2 || (left == 2 && (unit != 0x0D || text.unit_at(at + 1) != Some(0x0A)))) {
        return false;
    }
    let between = unit == 0x0A && at.checked_sub(1).and_then(|before| text.unit_at(before)) == Some(0x0D);
    is_terminator(unit) && !between
}

/// The sets that word boundaries are made of.
struct Words {
    plain: CharSet,
    unicode: CharSet,
    base: CharSet,
    mark: CharSet,
}

fn words() -> &'static Words {
    static WORDS: OnceLock<Words> = OnceLock::new();
    WORDS.get_or_init(|| Words {
        plain: letter_or_digit().union(&CharSet::new(false, [(0x5F, 0x5F)])),
        unicode: unicode_word(),
        base: letter_or_digit(),
        mark: tables().categories(&["Mn"]),
    })
}

fn is_boundary(text: Text<'_>, at: usize, unicode: bool, bases: &mut Bases) -> bool {
    let words = words();
    let mut in_word = |code: u32, place: usize| {
        let set = if unicode { &words.unicode } else { &words.plain };
        set.contains(code) || (words.mark.contains(code) && bases.has_base(text, place))
    };
    let left = match at.checked_sub(1) {
        Some(before) => text.code_before(at).is_some_and(|code| in_word(code, before)),
        None => false,
    };
    let right = text.code_at(at).is_some_and(|(code, _)| in_word(code, at));
    left != right
}

/// What marks stand on, as far as it was looked for: asked at every place of a long run of them, each is looked at once.
#[derive(Default)]
pub(super) struct Bases {
    known: Option<Run>,
    looked_at: u64,
}

/// Marks, with what is before them as the first.
struct Run {
    first: usize,
    last: usize,
    has_base: bool,
}

impl Bases {
    /// Units looked at since this was last asked.
    pub(super) fn take_looked_at(&mut self) -> u64 {
        std::mem::take(&mut self.looked_at)
    }

    /// Whether marks from a place backwards stand on a letter or digit. Unit by unit, so one outside the basic plane is none.
    fn has_base(&mut self, text: Text<'_>, from: usize) -> bool {
        let words = words();
        for place in (0..=from).rev() {
            if let Some(run) = &mut self.known
                && (run.first..=run.last).contains(&place)
            {
                run.last = run.last.max(from);
                return run.has_base;
            }
            self.looked_at += 1;
            let code = text.code_at(place).map(|(code, _)| code);
            let has_base = code.is_some_and(|code| words.base.contains(code));
            let is_mark = code.is_some_and(|code| words.mark.contains(code));
            if has_base || !is_mark || place == 0 {
                self.known = Some(Run {
                    first: place,
                    last: from,
                    has_base,
                });
                return has_base;
            }
        }
        false
    }
}
