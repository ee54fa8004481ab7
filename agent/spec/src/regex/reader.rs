//! The pattern's characters under a cursor. `\Q…\E` is taken out first: what it quotes can only be itself. With `(?x)` most looks
//! pass over white space and comments; which ones do not is Java's choice, kept in the names here.
//! Invariant: past the end every look gives [`END`], which equals no character.

use super::PatternProblem;

/// What stands after the last character.
pub(super) const END: u32 = u32::MAX;

/// Set in a character that was quoted: it equals none that means anything.
const QUOTED: u32 = 1 << 31;

/// A character without the mark of having been quoted.
pub(super) fn plain(code: u32) -> u32 {
    if code == END { END } else { code & !QUOTED }
}

/// The pattern and a place in it.
pub(super) struct Reader {
    characters: Vec<(u32, usize)>,
    end: usize,
    pub(super) cursor: usize,
    /// `(?x)`.
    pub(super) comments: bool,
    /// `(?d)`: only a line feed ends a comment.
    pub(super) unix_lines: bool,
}

impl Reader {
    /// Takes a pattern apart.
    pub(super) fn new(text: &str) -> Self {
        let all: Vec<char> = text.chars().collect();
        let mut characters = Vec::with_capacity(all.len());
        let mut quoted = false;
        let mut index = 0;
        while let Some(character) = all.get(index) {
            let next = all.get(index + 1);
            match (quoted, character, next) {
                (false, '\\', Some('Q')) | (true, '\\', Some('E')) => {
                    quoted = !quoted;
                    index += 2;
                }
                (false, '\\', Some(escaped)) => {
                    characters.push((u32::from('\\'), index));
                    characters.push((u32::from(*escaped), index + 1));
                    index += 2;
                }
                (true, ..) => {
                    characters.push((u32::from(*character) | QUOTED, index));
                    index += 1;
                }
                (false, ..) => {
                    characters.push((u32::from(*character), index));
                    index += 1;
                }
            }
        }
        Self {
            characters,
            end: all.len(),
            cursor: 0,
            comments: false,
            unix_lines: false,
        }
    }

    /// The character at an index.
    pub(super) fn at(&self, index: usize) -> u32 {
        self.characters.get(index).map_or(END, |(code, _)| *code)
    }

    /// Whether the cursor is past the last character.
    pub(super) fn is_at_end(&self) -> bool {
        self.cursor >= self.characters.len()
    }

    /// Whether a character outside the basic plane is spelled from an index on.
    pub(super) fn has_supplementary_from(&self, index: usize) -> bool {
        self.characters.iter().skip(index).any(|(code, _)| plain(*code) > 0xFFFF)
    }

    /// The character at the cursor, white space and comments passed over.
    pub(super) fn peek(&mut self) -> u32 {
        self.pass();
        self.at(self.cursor)
    }

    /// One further, then as `peek`.
    pub(super) fn next(&mut self) -> u32 {
        self.cursor += 1;
        self.peek()
    }

    /// As `peek`, and one further.
    pub(super) fn read(&mut self) -> u32 {
        self.pass();
        let code = self.at(self.cursor);
        self.cursor += 1;
        code
    }

    /// The character after the one at the cursor as it is, and two further.
    pub(super) fn skip(&mut self) -> u32 {
        let code = self.at(self.cursor + 1);
        self.cursor += 2;
        code
    }

    /// One back.
    pub(super) fn unread(&mut self) {
        self.cursor = self.cursor.saturating_sub(1);
    }

    /// A problem with the character before the cursor.
    pub(super) fn problem(&self, construct: &str, remedy: &str) -> PatternProblem {
        self.problem_at(self.cursor.saturating_sub(1), construct, remedy)
    }

    /// A problem with the character at an index.
    pub(super) fn problem_at(&self, index: usize, construct: &str, remedy: &str) -> PatternProblem {
        let found: String = self
            .characters
            .iter()
            .skip(index)
            .take(FOUND_CHARS_MAX)
            .filter_map(|(code, _)| char::from_u32(plain(*code)))
            .collect();
        PatternProblem {
            construct: construct.to_owned(),
            place: self.characters.get(index).map_or(self.end, |(_, place)| *place),
            found,
            remedy: remedy.to_owned(),
        }
    }

    fn pass(&mut self) {
        if !self.comments {
            return;
        }
        loop {
            let code = self.at(self.cursor);
            if is_space(code) {
                self.cursor += 1;
            } else if code == u32::from('#') {
                // The terminator stays: white space passes over it in the next round, another one is an ordinary character, as in Java.
                self.cursor += 1;
                while self.at(self.cursor) != END && !self.is_terminator(self.at(self.cursor)) {
                    self.cursor += 1;
                }
                if !is_space(self.at(self.cursor)) && self.at(self.cursor) != u32::from('#') {
                    return;
                }
            } else {
                return;
            }
        }
    }

    fn is_terminator(&self, code: u32) -> bool {
        code == 0x0A || (!self.unix_lines && matches!(code, 0x0D | 0x85 | 0x2028 | 0x2029))
    }
}

/// How much of a pattern a problem shows.
const FOUND_CHARS_MAX: usize = 20;

fn is_space(code: u32) -> bool {
    matches!(code, 0x09..=0x0D | 0x20)
}
