//! The record filter (product part D6): a SQL predicate over a decoded record, with the types and the coercions of Spark.
//!
//! The text is parsed (`parse`), then every part of it is checked and given its type (`check`, `reference`, `call`); what comes
//! out is an [`expr::Expr`] that evaluation takes as it is. Provider, agent and command line call [`check`] with the columns of
//! [`columns_for`], so that a plan and its apply say the same.
//! `datetime_pattern` reads the patterns of dates and times in a filter.

mod call;
mod casts;
mod check;
mod coerce;
mod constants;
pub mod datetime_pattern;
pub mod expr;
pub(crate) mod footprint;
mod functions;
mod interval;
mod literal;
mod moment;
mod names;
mod operators;
mod parse;
mod problem;
mod reference;
mod shared;
mod span;
mod texts;
mod times;

#[cfg(test)]
mod tests;

use self::check::Checker;
use self::expr::{ExprType, Filter};
pub use self::problem::FIELD;
use self::problem::{Problem, Refusal};
use crate::schema;
use crate::stream::{DirectSchemas, Side, SourceConfig};
use crate::table::{self, RECORD_SOURCE};
use crate::types::{DataType, Field};
use crate::violation::Violation;

/// The text of a string literal's content between `quote`s, as Spark reads its escapes; `None` if an escape is no character.
pub(crate) fn text_of_literal(raw: &str, quote: char) -> Option<String> {
    literal::string(raw, quote).ok()
}

/// Parses a filter and checks it against the columns that it may read ([`columns`] or [`columns_for`]).
///
/// Errors: everything that is wrong with it, each with its place in the text and the nearest that is supported.
pub fn check(text: &str, columns: &[Field]) -> Result<Filter, Vec<Violation>> {
    let violations = |problems: Vec<Problem>| problems.into_iter().map(Problem::violation).collect::<Vec<_>>();
    let parsed = parse::expression(text).map_err(|problem| violations(vec![problem]))?;
    let mut checker = Checker::new(text, columns);
    let predicate = checker.expression(&parsed);
    match predicate {
        Some(predicate) if predicate.ty == ExprType::Null || predicate.ty == ExprType::Value(DataType::Boolean) => Ok(Filter {
            predicate,
            reads: checker.reads,
        }),
        Some(other) => {
            let refusal = Refusal::new(
                format!("a filter is a predicate, and this is {}", other.ty),
                "compare it with something, as in `value.amount > 0`",
            );
            let _: Option<()> = checker.refuse(span::of(&parsed), refusal);
            Err(violations(checker.into_problems()))
        }
        None => Err(violations(checker.into_problems())),
    }
}

/// The form of a filter whose columns are not known yet, as with a schema registry: what [`check`] says before it looks at names.
pub fn check_form(text: &str) -> Result<(), Vec<Violation>> {
    parse::expression(text).map(drop).map_err(|problem| vec![problem.violation()])
}

/// The columns that a filter may read: key and value as they are decoded, with what the stream excludes, and the source's
/// metadata. Not `record_source`: one filter holds for the stream and for a backfill.
pub fn columns(source: &SourceConfig, key: DataType, value: DataType) -> Vec<Field> {
    let mut columns = table::with_metadata(source, key, value);
    columns.retain(|column| column.name != RECORD_SOURCE);
    columns
}

/// [`columns`] with the metadata of every source: for judging an update, which changes none of it.
pub(crate) fn columns_of_any_source(key: DataType, value: DataType) -> Vec<Field> {
    let mut columns = table::with_any_metadata(key, value);
    columns.retain(|column| column.name != RECORD_SOURCE);
    columns
}

/// [`columns`] by schemas in the definition. Errors: a schema that cannot be read.
pub fn columns_for(source: &SourceConfig, schemas: &DirectSchemas) -> Result<Vec<Field>, Vec<Violation>> {
    let decoded = |side: Side| -> Result<DataType, Vec<Violation>> {
        // The key of a Kinesis record is its partition key.
        let of_kinesis = matches!(source, SourceConfig::Kinesis(_)) && side == Side::Key;
        let Some(text) = schemas.side(side).filter(|_| !of_kinesis) else {
            return Ok(DataType::String);
        };
        schema::parse(text).map(|parsed| parsed.data_type).map_err(|problems| {
            let field = format!("{}.{}", side.attribute(), text.attribute());
            problems.iter().map(|problem| problem.violation(field.clone())).collect()
        })
    };
    Ok(columns(source, decoded(Side::Key)?, decoded(Side::Payload)?))
}

/// True when two filters keep the same records: their checked expressions are the same. Without columns, or where one of the two
/// is not sound, their tokens must be.
pub fn same_meaning(left: &str, right: &str, columns: Option<&[Field]>) -> bool {
    if parse::same_tokens(left, right) {
        return true;
    }
    let Some(columns) = columns else { return false };
    matches!((check(left, columns), check(right, columns)), (Ok(left), Ok(right)) if left.predicate == right.predicate)
}
