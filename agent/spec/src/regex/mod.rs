//! Java's regular expressions (`java.util.regex.Pattern`, Java 17): topic patterns and RLIKE are written in them.
//!
//! `parse` reads a pattern, `property` and `unicode` hold Java's classes of characters. What is regular in the strict sense is matched
//! by Rust's engine (`translate`); the rest, and texts on which Java is peculiar, by a `machine` that tries what Java tries.
//! Invariant: an answer is Java's answer. What cannot be answered so is refused when the pattern is read.

mod grapheme;
mod length;
mod machine;
mod parse;
mod program;
mod property;
mod reader;
mod set;
mod text;
mod translate;
mod tree;
mod unicode;
mod work;

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use self::machine::Machine;
use self::program::Program;
use self::translate::{Translation, translate};
use self::tree::Pattern;
pub use self::work::Work;
use crate::limits::PATTERN_TEXT_BYTES_PER_STEP;

/// A pattern that was read. Two are equal when their texts are.
#[derive(Clone, Debug)]
pub struct JavaPattern {
    text: Arc<str>,
    compiled: Arc<Compiled>,
}

#[derive(Debug)]
struct Compiled {
    pattern: Pattern,
    program: Program,
    find: OnceLock<Option<Translation>>,
    whole: OnceLock<Option<Translation>>,
}

/// What is wrong with a pattern: Java refuses it, or we cannot match it as Java would.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{construct} at character {place}, found `{found}`: {remedy}")]
pub struct PatternProblem {
    /// What it is.
    pub construct: String,
    /// Where, in characters from 0.
    pub place: usize,
    /// The pattern from there on, shortened.
    pub found: String,
    /// What to do about it.
    pub remedy: String,
}

/// Matching took more steps than any sensible pattern needs; there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("matching the pattern took too much work")]
pub struct TooMuchWork;

impl JavaPattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Self, PatternProblem> {
        let pattern = parse::pattern(text)?;
        let program = program::compile(&pattern);
        let compiled = Compiled {
            pattern,
            program,
            find: OnceLock::new(),
            whole: OnceLock::new(),
        };
        Ok(Self {
            text: text.into(),
            compiled: Arc::new(compiled),
        })
    }

    /// The pattern as the user wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a part of the text matches, as `Matcher.find` and Spark's RLIKE have it.
    pub fn is_found_in(&self, text: &str) -> Result<bool, TooMuchWork> {
        self.find_within(text, &mut Work::without_end())
    }

    /// [`Self::is_found_in`] for one of many texts, which share their work. Once it is used up there is no answer for any.
    pub fn find_within(&self, text: &str, work: &mut Work) -> Result<bool, TooMuchWork> {
        let compiled = &self.compiled;
        let fast = compiled.find.get_or_init(|| translate(&compiled.pattern, false));
        work.spend(1 + (text.len() / PATTERN_TEXT_BYTES_PER_STEP) as u64)?;
        match fast.as_ref().and_then(|fast| fast.is_match(text)) {
            Some(found) => Ok(found),
            None => self.slow_find(text, work),
        }
    }

    /// Whether the text as a whole matches, as `Matcher.matches` and Kafka's topic patterns have it.
    pub fn matches_whole(&self, text: &str) -> Result<bool, TooMuchWork> {
        self.matches_within(text, &mut Work::without_end())
    }

    /// [`Self::matches_whole`] for one of many texts, which share their work. Once it is used up there is no answer for any.
    pub fn matches_within(&self, text: &str, work: &mut Work) -> Result<bool, TooMuchWork> {
        let compiled = &self.compiled;
        let fast = compiled.whole.get_or_init(|| translate(&compiled.pattern, true));
        work.spend(1 + (text.len() / PATTERN_TEXT_BYTES_PER_STEP) as u64)?;
        match fast.as_ref().and_then(|fast| fast.is_match(text)) {
            Some(matches) => Ok(matches),
            None => self.slow_match(text, work),
        }
    }

    fn slow_find(&self, text: &str, work: &mut Work) -> Result<bool, TooMuchWork> {
        let units: Vec<u16> = text.encode_utf16().collect();
        work.of_text(units.len(), |steps| {
            let mut machine = Machine::new(&self.compiled.program, &units, steps);
            (machine.finds(), machine.left())
        })
    }

    fn slow_match(&self, text: &str, work: &mut Work) -> Result<bool, TooMuchWork> {
        let units: Vec<u16> = text.encode_utf16().collect();
        work.of_text(units.len(), |steps| {
            let mut machine = Machine::new(&self.compiled.program, &units, steps);
            (machine.matches_whole(), machine.left())
        })
    }
}

impl PartialEq for JavaPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
