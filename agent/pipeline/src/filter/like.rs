//! LIKE, ILIKE and RLIKE.
//!
//! A pattern that is a constant is read once; those that only ask for a beginning, an end or a part become Arrow's kernels for that.
//! ILIKE is LIKE of both sides in lower case, as in Spark. The one invariant: a match costs at most text times pattern, and all of a batch
//! together no more than the work of one evaluation; rows beyond it are null.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, StringArray};
use arrow_string::like as kernels;
use stream_spec::regex::JavaPattern;

use super::error::FilterError;
use super::logic::exactly;
use super::node::MeteredKernel;
use super::text::lower_case;
use super::values::{Texts, Values, strings};
use super::work::Work;

/// What a pattern asks for.
enum Pattern {
    Equal(String),
    StartsWith(String),
    EndsWith(String),
    Contains(String),
    Steps(Vec<Step>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Exactly(char),
    AnyOne,
    AnyMany,
}

/// The text first, then the pattern, which `constant` is if it is one.
pub(super) fn kernel(constant: Option<&Values>, escape: char, any_case: bool) -> Result<MeteredKernel, FilterError> {
    let Some(constant) = constant else {
        return Ok(Box::new(move |operands, rows, work| {
            by_columns(operands, rows, work, (escape, any_case))
        }));
    };
    let text = strings(constant.array())?.iter().next().flatten();
    let pattern = text.and_then(|text| Pattern::read(&cased(text, any_case), escape));
    Ok(Box::new(move |operands, rows, work| {
        let [text, _] = exactly(operands)?;
        let Some(pattern) = &pattern else {
            return Ok(Arc::new(BooleanArray::new_null(rows)));
        };
        let text = match any_case {
            true => lower_case(text)?,
            false => text.array().clone(),
        };
        pattern.matches(&text, work)
    }))
}

fn cased(text: &str, any_case: bool) -> String {
    if any_case { text.to_lowercase() } else { text.to_owned() }
}

fn by_columns(operands: &[Values], rows: usize, work: &Work, (escape, any_case): (char, bool)) -> Result<ArrayRef, FilterError> {
    let [text, pattern] = exactly(operands)?;
    let (texts, patterns) = (Texts::of(text)?, Texts::of(pattern)?);
    // Patterns in a column are mostly the same from row to row.
    let mut last: Option<(&str, Option<Vec<Step>>)> = None;
    let mut answer = |row| {
        let (text, pattern) = (texts.get(row)?, patterns.get(row)?);
        // Both are gone over whatever the match takes.
        work.spend(text.len() + pattern.len())?;
        if last.as_ref().is_none_or(|(known, _)| *known != pattern) {
            last = Some((pattern, steps(&cased(pattern, any_case), escape)));
        }
        let steps = last.as_ref().and_then(|(_, steps)| steps.as_deref())?;
        match any_case {
            true => is_match(&text.to_lowercase(), steps, work),
            false => is_match(text, steps, work),
        }
    };
    let answers: BooleanArray = (0..rows).map(&mut answer).collect();
    Ok(Arc::new(answers))
}

/// The pattern's steps; none if the escape character stands at its end or before what needs none, where Spark raises.
fn steps(pattern: &str, escape: char) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        let step = if character == escape {
            match characters.next()? {
                escaped if escaped == '_' || escaped == '%' || escaped == escape => Step::Exactly(escaped),
                _ => return None,
            }
        } else {
            match character {
                '_' => Step::AnyOne,
                '%' => Step::AnyMany,
                other => Step::Exactly(other),
            }
        };
        if step != Step::AnyMany || steps.last() != Some(&Step::AnyMany) {
            steps.push(step);
        }
    }
    Some(steps)
}

impl Pattern {
    fn read(pattern: &str, escape: char) -> Option<Self> {
        let steps = steps(pattern, escape)?;
        let literal = |steps: &[Step]| -> Option<String> {
            steps
                .iter()
                .map(|step| match step {
                    Step::Exactly(character) => Some(*character),
                    _ => None,
                })
                .collect()
        };
        let simple = match steps.as_slice() {
            [Step::AnyMany, middle @ .., Step::AnyMany] => literal(middle).map(Self::Contains),
            [Step::AnyMany, end @ ..] => literal(end).map(Self::EndsWith),
            [start @ .., Step::AnyMany] => literal(start).map(Self::StartsWith),
            all => literal(all).map(Self::Equal),
        };
        Some(simple.unwrap_or(Self::Steps(steps)))
    }

    fn matches(&self, text: &ArrayRef, work: &Work) -> Result<ArrayRef, FilterError> {
        let scalar = |part: &String| StringArray::new_scalar(part);
        Ok(Arc::new(match self {
            Self::Equal(whole) => arrow_ord::cmp::eq(text, &scalar(whole))?,
            Self::StartsWith(part) => kernels::starts_with(text, &scalar(part))?,
            Self::EndsWith(part) => kernels::ends_with(text, &scalar(part))?,
            Self::Contains(part) => kernels::contains(text, &scalar(part))?,
            Self::Steps(steps) => {
                let texts = strings(text)?.iter();
                texts.map(|text| is_match(text?, steps, work)).collect()
            }
        }))
    }
}

/// Walks text and steps side by side; after a failure the last `%` takes one character more. Nothing if there is too much work.
fn is_match(text: &str, steps: &[Step], work: &Work) -> Option<bool> {
    let (mut rest, mut at) = (text, 0);
    let mut retry: Option<(&str, usize)> = None;
    loop {
        work.spend(1)?;
        let mut characters = rest.chars();
        let next = characters.next();
        match (steps.get(at), next) {
            (None, None) => return Some(true),
            (Some(Step::AnyMany), _) => {
                at += 1;
                retry = Some((rest, at));
                continue;
            }
            (Some(Step::AnyOne), Some(_)) => {
                (rest, at) = (characters.as_str(), at + 1);
                continue;
            }
            (Some(Step::Exactly(wanted)), Some(found)) if *wanted == found => {
                (rest, at) = (characters.as_str(), at + 1);
                continue;
            }
            _ => {}
        }
        let Some((from, behind)) = retry else {
            return Some(false);
        };
        let mut later = from.chars();
        if later.next().is_none() {
            return Some(false);
        }
        (rest, at) = (later.as_str(), behind);
        retry = Some((rest, behind));
    }
}

/// RLIKE: found anywhere in the text. A text that takes too much work has no answer.
pub(super) fn regular(pattern: JavaPattern) -> MeteredKernel {
    Box::new(move |operands, _, work| {
        let [text] = exactly(operands)?;
        let texts = strings(text.array())?.iter();
        let answers: BooleanArray = texts.map(|text| work.find(&pattern, text?)).collect();
        Ok(Arc::new(answers))
    })
}

#[cfg(test)]
mod tests {
    use super::super::work::Work;
    use super::{Step, is_match, steps};

    fn check(text: &str, pattern: &str, expected: Option<bool>) {
        let answer = steps(pattern, '\\').and_then(|steps| is_match(text, &steps, &Work::new()));
        assert_eq!(answer, expected, "{text} LIKE {pattern}");
    }

    #[test]
    fn wildcards_match_as_in_spark() {
        check("", "", Some(true));
        check("", "%", Some(true));
        check("", "_", Some(false));
        check("😀é", "__", Some(true));
        check("a\nb", "a_b", Some(true));
        check("aXbXc", "a%b%c", Some(true));
        check("abcabd", "%ab_", Some(true));
        check("abcabde", "%ab_", Some(false));
        check("100%", "100\\%", Some(true));
        check("1000", "100\\%", Some(false));
        check("a\\b", "a\\\\b", Some(true));
        check("ab", "a\\b", None);
        check("a", "a\\", None);
    }

    #[test]
    fn a_hard_pattern_costs_no_more_than_its_length_times_the_text() {
        let text = "a".repeat(20_000);
        let steps = steps(&"%a_".repeat(200), '\\').expect("a pattern");
        let mut failing = steps.clone();
        failing.push(Step::Exactly('b'));
        let work = Work::new();
        assert_eq!(is_match(&text, &steps, &work), Some(true));
        assert_eq!(is_match(&text, &failing, &work), Some(false));
    }

    #[test]
    fn rows_beyond_the_budget_have_no_answer() {
        let steps = steps("%a_b%c", '\\').expect("a pattern");
        let work = Work::of(30, 0);
        assert_eq!(is_match("aabc", &steps, &work), Some(true));
        assert_eq!(is_match(&"a".repeat(30), &steps, &work), None);
        assert_eq!(is_match("aabc", &steps, &work), None);
        assert_eq!((work.left(), work.unanswered()), ((0, 0), 2));
    }
}
