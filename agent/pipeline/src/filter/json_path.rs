//! `get_json_object`: the part of a JSON text that a path leads to, as text, exactly as Spark (and Hive before it) gives it.
//!
//! The path steps down while the text is scanned once. The one invariant: a text that is broken before its end gives null, whatever
//! was found.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;

use super::error::FilterError;
use super::json_scan::{Broken, Kind, Scanner, Style as QuoteStyle};
use super::limits::RESULT_BYTES_MAX;
use super::node::Kernel;
use super::text::append;
use super::values::{Texts, Values};

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// `.name` or `['name']`
    Name(String),
    /// `[3]`
    Index(u64),
    /// `[*]`
    Elements,
    /// `.*`, which Spark reads and then never matches.
    Fields,
}

/// The kernel for a path; a text that is no path makes every result null.
pub(super) fn kernel(path: Option<&str>) -> Kernel {
    let steps = path.and_then(steps);
    Box::new(move |operands, rows| find_all(steps.as_deref(), operands, rows))
}

fn find_all(steps: Option<&[Step]>, operands: &[Values], rows: usize) -> Result<ArrayRef, FilterError> {
    let Some(texts) = operands.first() else {
        return Err(FilterError::mismatch("a text and a path", "nothing"));
    };
    let texts = Texts::of(texts)?;
    let mut out = StringBuilder::new();
    for row in 0..rows {
        let found = steps.zip(texts.get(row)).and_then(|(steps, text)| find(steps, text));
        append(&mut out, found.as_deref(), RESULT_BYTES_MAX);
    }
    Ok(Arc::new(out.finish()))
}

/// White space that may stand before some parts of a path.
fn unindented(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\r', '\u{B}', '\u{C}'])
}

/// Reads a path: `$` and then steps. White space may stand before names, indexes, `.*` and `['`, as Spark's parser happens to skip it
/// there and nowhere else.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !unindented(rest).is_empty() {
        let (step, behind) = step(rest)?;
        steps.push(step);
        rest = behind;
    }
    Some(steps)
}

fn step(text: &str) -> Option<(Step, &str)> {
    let start = unindented(text);
    if let Some(behind) = start.strip_prefix(".*").or_else(|| start.strip_prefix("['*']")) {
        return Some((Step::Fields, behind));
    }
    if let Some(named) = text.strip_prefix('.') {
        let named = unindented(named);
        let (name, behind) = named.split_at_checked(named.find(['.', '[']).unwrap_or(named.len()))?;
        return Some((Step::Name(some_name(name)?), behind));
    }
    if let Some(quoted) = start.strip_prefix("['") {
        let (name, behind) = unindented(quoted).split_once('\'')?;
        return Some((Step::Name(some_name(name)?), behind.strip_prefix(']')?));
    }
    let inside = text.strip_prefix('[')?;
    if let Some(behind) = inside.strip_prefix("*]") {
        return Some((Step::Elements, behind));
    }
    let inside = unindented(inside);
    let end = inside.find(|character: char| !character.is_ascii_digit()).unwrap_or(inside.len());
    let (digits, behind) = inside.split_at_checked(end)?;
    Some((Step::Index(digits.parse().ok()?), behind.strip_prefix(']')?))
}

fn some_name(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| name.to_owned())
}

/// How what is found is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// The only thing found: a text without its quotes.
    Raw,
    /// One of several: as JSON.
    Quoted,
    /// As JSON, arrays without their brackets.
    Flat,
}

/// What is found, written as elements with commas between.
struct Found {
    text: String,
    count: usize,
    style: QuoteStyle,
}

impl Found {
    fn new(style: QuoteStyle) -> Self {
        Self {
            text: String::new(),
            count: 0,
            style,
        }
    }

    fn separate(&mut self) {
        if self.count > 0 {
            self.text.push(',');
        }
        self.count += 1;
    }
}

fn find(steps: &[Step], text: &str) -> Option<String> {
    let mut scanner = Scanner::new(text);
    let mut found = Found::new(QuoteStyle::EscapeSupplementary);
    let matched = evaluate(&mut scanner, steps, Style::Raw, &mut found).ok()?;
    matched.then_some(found.text)
}

/// Follows the steps from the value that is next in the text, and goes behind it. Says whether something was found.
fn evaluate(scanner: &mut Scanner<'_>, steps: &[Step], style: Style, found: &mut Found) -> Result<bool, Broken> {
    let kind = scanner.kind()?;
    match (kind, steps) {
        (Kind::Text, []) if style == Style::Raw => {
            found.separate();
            scanner.push_text(&mut found.text)?;
            Ok(true)
        }
        (Kind::Array, []) if style == Style::Flat => {
            let mut any = false;
            elements(scanner, |scanner, _| {
                any |= evaluate(scanner, &[], style, found)?;
                Ok(())
            })?;
            Ok(any)
        }
        (_, []) => {
            found.separate();
            let style = found.style;
            scanner.push_json(&mut found.text, style)?;
            Ok(true)
        }
        (Kind::Object, [Step::Name(name), rest @ ..]) => field(scanner, name, rest, style, found),
        (Kind::Array, [Step::Elements, Step::Elements, rest @ ..]) => {
            found.separate();
            collect(scanner, rest, Style::Flat, found)
        }
        (Kind::Array, [Step::Elements, rest @ ..]) if style != Style::Quoted => {
            let inner = if style == Style::Raw { Style::Quoted } else { Style::Flat };
            // Spark writes these with another generator, which leaves characters as they are.
            let mut buffer = Found::new(QuoteStyle::Plain);
            let mut matches = 0;
            elements(scanner, |scanner, _| {
                matches += usize::from(evaluate(scanner, rest, inner, &mut buffer)?);
                Ok(())
            })?;
            if matches == 0 {
                return Ok(false);
            }
            found.separate();
            if matches == 1 {
                found.text.push_str(&buffer.text);
            } else {
                found.text.push('[');
                found.text.push_str(&buffer.text);
                found.text.push(']');
            }
            Ok(true)
        }
        (Kind::Array, [Step::Elements, rest @ ..]) => {
            found.separate();
            collect(scanner, rest, Style::Quoted, found)
        }
        (Kind::Array, [Step::Index(index), rest @ ..]) => {
            let style = if rest.first() == Some(&Step::Elements) {
                Style::Quoted
            } else {
                style
            };
            let mut any = false;
            elements(scanner, |scanner, at| {
                if at == *index {
                    any = evaluate(scanner, rest, style, found)?;
                    Ok(())
                } else {
                    scanner.skip()
                }
            })?;
            Ok(any)
        }
        _ => {
            scanner.skip()?;
            Ok(false)
        }
    }
}

/// The first field of that name with something in it; later ones do not count, but must be whole.
fn field(scanner: &mut Scanner<'_>, name: &str, rest: &[Step], style: Style, found: &mut Found) -> Result<bool, Broken> {
    let mut any = false;
    let mut own_name = String::new();
    let mut more = scanner.enter()?;
    while more {
        own_name.clear();
        let nameable = scanner.read_name(&mut own_name)?;
        if !any && nameable && own_name == name && scanner.kind()? != Kind::Null {
            any = evaluate(scanner, rest, style, found)?;
        } else {
            scanner.skip()?;
        }
        more = scanner.next_member()?;
    }
    Ok(any)
}

/// Writes an array of all that is found in the elements.
fn collect(scanner: &mut Scanner<'_>, rest: &[Step], style: Style, found: &mut Found) -> Result<bool, Broken> {
    let mut inner = Found::new(found.style);
    let mut any = false;
    elements(scanner, |scanner, _| {
        any |= evaluate(scanner, rest, style, &mut inner)?;
        Ok(())
    })?;
    found.text.push('[');
    found.text.push_str(&inner.text);
    found.text.push(']');
    Ok(any)
}

fn elements<'a>(scanner: &mut Scanner<'a>, mut each: impl FnMut(&mut Scanner<'a>, u64) -> Result<(), Broken>) -> Result<(), Broken> {
    let mut more = scanner.enter()?;
    let mut index = 0;
    while more {
        each(scanner, index)?;
        index += 1;
        more = scanner.next_member()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{find, steps};

    fn check(text: &str, path: &str, expected: Option<&str>) {
        let found = steps(path).and_then(|steps| find(&steps, text));
        assert_eq!(found.as_deref(), expected, "{path} of {text}");
    }

    #[test]
    fn paths_lead_where_they_lead_in_spark() {
        check(r#"{"a":{"b":[10,20]}}"#, "$.a.b[1]", Some("20"));
        check(r#"{"a":1.50}"#, "$['a']", Some("1.5"));
        check(r#"{"a":1}"#, "$. a", Some("1"));
        check(r#"{" a":1,"a":2}"#, "$[' a']", Some("2"));
        check(r#"{"a":[{"b":1},{"b":2}]}"#, "$.a[*].b", Some("[1,2]"));
        check(r#"{"a":[{"b":"x"}]}"#, "$.a[*].b", Some(r#""x""#));
        check(r#"{"a":null,"a":3}"#, "$.a", Some("3"));
        check(r#"[[1,2],[3]]"#, "$[*][*]", Some("[1,2,3]"));
        check(r#"{"a":1}"#, "$.*", None);
        check(r#"{"a":1}"#, "a", None);
        check(r#"{"a":1}"#, "$.", None);
        check(r#"{"a":1}"#, "$[1", None);
        check("[7]", "$[ 0]", Some("7"));
        check("[7]", "$[0 ]", None);
        check("[7]", "$ [0]", None);
    }

    #[test]
    fn half_a_pair_counts_only_where_it_is_written_as_it_is() {
        check(r#"{"x":"cut \ud83d","a":1}"#, "$.a", Some("1"));
        check(r#"{"a":1,"x":"\ude00"}"#, "$.a", Some("1"));
        check(r#"{"a\ud83d":0,"\ud83da":0,"a":1}"#, "$.a", Some("1"));
        check(r#"{"a":["\ud83d"]}"#, "$.a", Some(r#"["\uD83D"]"#));
        check(r#"{"a":["\ud83d"]}"#, "$.a[0]", None);
        check(r#"{"a":"cut \ud83d"}"#, "$.a", None);
        check(r#"{"a":["\ud83d","b"]}"#, "$.a[*]", None);
        check(r#"{"a":"\ud83d\ude00"}"#, "$.a", Some("😀"));
        check(r#"{"x":"\ud83","a":1}"#, "$.a", None);
    }

    #[test]
    fn a_broken_text_gives_nothing() {
        for text in [
            r#"{"a":1, broken"#,
            r#"{"a":1,}"#,
            r#"{"a":1 "b":2}"#,
            r#"{"a":01}"#,
            r#"{"a":NaN}"#,
            r#"{"a":"\q"}"#,
            "",
        ] {
            check(text, "$.a", None);
        }
        check(r#"{"a":1} trailing"#, "$.a", Some("1"));
        check("{'a':'b\n'}", "$.a", Some("b\n"));
    }
}
