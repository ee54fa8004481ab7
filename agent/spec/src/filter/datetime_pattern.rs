//! Patterns of dates and times (`yyyy-MM-dd HH:mm:ss`), as `to_date`, `to_timestamp` and `unix_timestamp` take them in Spark.
//!
//! A pattern becomes a list of items; reading a text by them is the evaluator's. Letters that only matter for writing, text that
//! needs a locale, names of zones and optional sections are refused. The one invariant: what is accepted here reads texts as Spark does.

use crate::limits::DATETIME_PATTERN_BYTES_MAX;

/// A pattern that can be read by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatetimePattern {
    items: Vec<PatternItem>,
}

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternItem {
    /// A number.
    Number(NumberItem),
    /// `MMM` or `MMMM`: the English name of a month in any case, three letters or whole.
    MonthName {
        /// Whole names.
        whole: bool,
    },
    /// `a`: AM or PM in any case.
    HalfOfDay,
    /// `S`: one digit of the second's fraction up to so many.
    Fraction {
        /// Most digits.
        digits_max: usize,
    },
    /// `X` or `Z`: hours and minutes east of UTC.
    Offset(OffsetItem),
    /// What must stand there, whatever its case.
    Literal(String),
}

/// A number in a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberItem {
    /// What it counts.
    pub field: NumberField,
    /// Fewest digits, which a sign does not count to.
    pub digits_min: usize,
    /// Most digits.
    pub digits_max: usize,
    /// A sign may stand before it: `-` always, `+` where more than the fewest digits follow.
    pub sign: NumberSign,
    /// Digits of the numbers that follow without anything between: they are theirs.
    pub reserved: usize,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberField {
    /// `y`, but not `yy`.
    Year,
    /// `yy`: 2000 to 2099.
    YearOfCentury,
    /// `M` or `MM`.
    Month,
    /// `d`
    Day,
    /// `H`: 0 to 23.
    Hour,
    /// `h`: 1 to 12, of the morning unless `a` says otherwise.
    HourOfHalf,
    /// `m`
    Minute,
    /// `s`
    Second,
}

/// Which sign a number may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberSign {
    /// None.
    Never,
    /// `-`.
    Minus,
    /// `-`, and `+` exactly when there are more than the fewest digits.
    WhereLong,
}

/// An offset from UTC in a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetItem {
    /// Minutes may be missing.
    pub minutes_optional: bool,
    /// A colon stands before the minutes.
    pub colon: bool,
    /// `Z` stands for no offset.
    pub zulu: bool,
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct PatternError {
    /// What is wrong, lower case.
    pub problem: String,
    /// What to do, lower case.
    pub remedy: String,
}

/// Java reads so many digits of a number whose width is open.
const OPEN_DIGITS_MAX: usize = 19;

const LETTERS: &str = "the letters are y, M, d, H, h, a, m, s, S, X and Z; other text stands between single quotes";

impl DatetimePattern {
    /// Reads a pattern, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        if text.len() > DATETIME_PATTERN_BYTES_MAX {
            return Err(refused(
                format!("the pattern is {} bytes long", text.len()),
                format!("a pattern has at most {DATETIME_PATTERN_BYTES_MAX}"),
            ));
        }
        let mut items = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let run = rest.chars().take_while(|character| *character == first).count();
            let behind = match first {
                '\'' => quoted(rest, &mut items)?,
                letter if letter.is_ascii_alphabetic() => {
                    items.push(letters(letter, run)?);
                    rest.get(run..)
                }
                '[' | ']' | '{' | '}' | '#' => {
                    return Err(refused(
                        format!("`{first}` has a meaning of its own in patterns that is not supported"),
                        "put it between single quotes, or leave it out".into(),
                    ));
                }
                other => {
                    push_literal(other, &mut items);
                    rest.get(other.len_utf8()..)
                }
            };
            rest = behind.unwrap_or_default();
        }
        reserve(&mut items);
        Ok(Self { items })
    }

    /// Its parts in order.
    pub fn items(&self) -> &[PatternItem] {
        &self.items
    }
}

fn letters(letter: char, count: usize) -> Result<PatternItem, PatternError> {
    let fixed = |field, count| number(field, count, count, NumberSign::Never);
    let offset = |minutes_optional, colon, zulu| {
        PatternItem::Offset(OffsetItem {
            minutes_optional,
            colon,
            zulu,
        })
    };
    let one_or_two = |field| match count {
        1 => number(field, 1, OPEN_DIGITS_MAX, NumberSign::Minus),
        _ => fixed(field, 2),
    };
    Ok(match (letter, count) {
        ('y', 2) => fixed(NumberField::YearOfCentury, 2),
        ('y', 1 | 3) => number(NumberField::Year, count, OPEN_DIGITS_MAX, NumberSign::Minus),
        ('y', 4..=6) => number(NumberField::Year, count, OPEN_DIGITS_MAX, NumberSign::WhereLong),
        ('M', 1 | 2) => one_or_two(NumberField::Month),
        ('M', 3 | 4) => PatternItem::MonthName { whole: count == 4 },
        ('d', 1 | 2) => one_or_two(NumberField::Day),
        ('H', 1 | 2) => one_or_two(NumberField::Hour),
        ('h', 1 | 2) => one_or_two(NumberField::HourOfHalf),
        ('m', 1 | 2) => one_or_two(NumberField::Minute),
        ('s', 1 | 2) => one_or_two(NumberField::Second),
        ('a', 1) => PatternItem::HalfOfDay,
        ('S', 1..=9) => PatternItem::Fraction { digits_max: count },
        ('X', 1) => offset(true, false, true),
        ('X', 2) => offset(false, false, true),
        ('X', 3) => offset(false, true, true),
        ('Z', 1..=3) => offset(false, false, false),
        _ => {
            let spelt: String = std::iter::repeat_n(letter, count.min(OPEN_DIGITS_MAX)).collect();
            return Err(refused(format!("`{spelt}` is not supported in a pattern"), LETTERS.into()));
        }
    })
}

fn number(field: NumberField, digits_min: usize, digits_max: usize, sign: NumberSign) -> PatternItem {
    PatternItem::Number(NumberItem {
        field,
        digits_min,
        digits_max,
        sign,
        reserved: 0,
    })
}

/// Reads what stands between quotes; two of them are one, inside and outside. Gives what follows.
fn quoted<'a>(text: &'a str, items: &mut Vec<PatternItem>) -> Result<Option<&'a str>, PatternError> {
    let inside = text.get(1..).unwrap_or_default();
    if let Some(behind) = inside.strip_prefix('\'') {
        push_literal('\'', items);
        return Ok(Some(behind));
    }
    let mut characters = inside.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let doubled = character == '\'' && characters.next_if(|(_, next)| *next == '\'').is_some();
        if character == '\'' && !doubled {
            return Ok(inside.get(at + 1..));
        }
        push_literal(character, items);
    }
    Err(refused(
        "a single quote is not closed in the pattern".into(),
        "close it; inside quotes write two of them for one".into(),
    ))
}

fn push_literal(character: char, items: &mut Vec<PatternItem>) {
    match items.last_mut() {
        Some(PatternItem::Literal(text)) => text.push(character),
        _ => items.push(PatternItem::Literal(character.into())),
    }
}

/// A number of open width leaves the digits of the fixed ones right behind it to them: `yyyyMMdd`.
fn reserve(items: &mut [PatternItem]) {
    let mut followers = 0;
    for item in items.iter_mut().rev() {
        match item {
            PatternItem::Number(number) if number.digits_min == number.digits_max => followers += number.digits_max,
            PatternItem::Number(number) => number.reserved = std::mem::take(&mut followers),
            _ => followers = 0,
        }
    }
}

fn refused(problem: String, remedy: String) -> PatternError {
    PatternError { problem, remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_quotes_become_items() {
        let pattern = DatetimePattern::parse("yyyyMMdd'T'HH:mm'''h'SSSXXX").expect("supported");
        let items: Vec<String> = pattern
            .items()
            .iter()
            .map(|item| match item {
                PatternItem::Number(number) => format!(
                    "{:?} {}-{} keeps {}",
                    number.field, number.digits_min, number.digits_max, number.reserved
                ),
                other => format!("{other:?}"),
            })
            .collect();
        let expected = [
            "Year 4-19 keeps 4",
            "Month 2-2 keeps 0",
            "Day 2-2 keeps 0",
            "Literal(\"T\")",
            "Hour 2-2 keeps 0",
            "Literal(\":\")",
            "Minute 2-2 keeps 0",
            "Literal(\"'h\")",
            "Fraction { digits_max: 3 }",
            "Offset(OffsetItem { minutes_optional: false, colon: true, zulu: true })",
        ];
        assert_eq!(items, expected);
    }

    #[test]
    fn what_would_be_read_otherwise_is_refused() {
        for (text, expected) in [
            ("yyyy-MM-dd EEE", "`EEE` is not supported in a pattern"),
            ("uuuu", "`uuuu` is not supported in a pattern"),
            ("ddd", "`ddd` is not supported in a pattern"),
            ("yyyy[-MM]", "`[` has a meaning of its own in patterns that is not supported"),
            ("yyyy'T", "a single quote is not closed in the pattern"),
            ("HH:mm VV", "`VV` is not supported in a pattern"),
        ] {
            assert_eq!(DatetimePattern::parse(text).expect_err(text).problem, expected, "{text}");
        }
        let long = "-".repeat(DATETIME_PATTERN_BYTES_MAX + 1);
        assert!(DatetimePattern::parse(&long).is_err());
    }
}
