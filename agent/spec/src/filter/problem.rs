//! Why a filter is refused: the part, its place in the text, and what is supported instead.

use sqlparser::tokenizer::{Location, Span};

use crate::violation::Violation;

/// The attribute that holds a filter.
pub const FIELD: &str = "record_type_filter";

/// One thing that is wrong with a filter's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// Where it is, as far as that is known.
    pub(super) at: Location,
    /// The part of the text.
    pub(super) part: String,
    /// What is wrong, lower case.
    pub(super) problem: String,
    /// What is supported, lower case.
    pub(super) remedy: String,
}

impl Problem {
    pub(super) fn violation(self) -> Violation {
        let at = match self.at {
            Location { line: 0, .. } => String::new(),
            Location { line, column } => format!(" at line {line}, column {column}"),
        };
        Violation::new(FIELD, &self.part, format!("{}{at}", self.problem), self.remedy)
    }
}

/// A problem whose place is still to be said.
#[derive(Debug)]
pub(super) struct Refusal {
    /// What is wrong, lower case.
    pub(super) problem: String,
    /// What is supported, lower case.
    pub(super) remedy: String,
}

impl Refusal {
    pub(super) fn new(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

/// The part of `text` that a span covers, with the brackets closed that it opens: the parser's spans end before them.
pub(super) fn part_of(text: &str, span: Span) -> String {
    let (Some(start), Some(end)) = (offset(text, span.start), offset(text, span.end)) else {
        return String::new();
    };
    let Some(mut part) = text.get(start..end.max(start)).map(str::to_owned) else {
        return String::new();
    };
    let mut rest = text.get(end.max(start)..).unwrap_or_default();
    // Brackets inside texts count too: at worst a part is shown with one too many or too few.
    for (open, close) in [('[', ']'), ('(', ')')] {
        while part.matches(open).count() > part.matches(close).count() {
            let Some((before, after)) = rest.split_once(close).filter(|(before, _)| before.trim().is_empty()) else {
                break;
            };
            part.push_str(before);
            part.push(close);
            rest = after;
        }
    }
    part
}

/// The place of a location (lines and columns from 1, columns in characters) in bytes.
fn offset(text: &str, location: Location) -> Option<usize> {
    let line = usize::try_from(location.line).ok()?.checked_sub(1)?;
    let column = usize::try_from(location.column).ok()?.checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text.get(start..)?;
    let inside = rest.char_indices().nth(column).map_or(rest.len(), |(index, _)| index);
    Some(start + inside)
}
