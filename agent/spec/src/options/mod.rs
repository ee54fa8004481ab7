//! Options: the allow-lists, and what each value may be. Extra options of a source, one file per source, and those of connections.
//!
//! An option that is not listed is refused by name: a misspelt one would otherwise be silently without effect.

pub mod connection;
pub mod kafka;
pub mod kinesis;

use crate::suggest;
use crate::violation::Violation;

/// The violation of an option that `source` does not have.
fn unknown(field: &str, source: &str, name: &str, known: &[&str]) -> Violation {
    let remedy = match suggest::nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("use {}", known.join(", ")),
    };
    Violation::new(field, name, format!("`{name}` is not an option of a {source} stream"), remedy)
}

/// A whole number within `range`.
fn integer(field: &str, name: &str, text: &str, range: std::ops::RangeInclusive<i64>) -> Result<i64, Violation> {
    match text.parse::<i64>() {
        Ok(number) if range.contains(&number) => Ok(number),
        parsed => {
            let problem = if parsed.is_ok() {
                "is out of range"
            } else {
                "is not a whole number"
            };
            let remedy = if *range.end() == i64::MAX {
                format!("write a whole number of at least {}", range.start())
            } else {
                format!("write a whole number from {} to {}", range.start(), range.end())
            };
            Err(Violation::new(field, text, format!("`{name}` {problem}"), remedy))
        }
    }
}
