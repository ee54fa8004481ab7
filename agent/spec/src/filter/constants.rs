//! Constants in the parser's tree: numbers, texts, bytes, dates and times, intervals.

use sqlparser::ast::{Expr as Sql, Interval, TypedString, Value, ValueWithSpan};

use super::check::Checker;
use super::expr::{Expr, ExprType, Literal};
use super::problem::Refusal;
use super::{casts, interval, literal};
use crate::types::DataType;

impl Checker<'_> {
    pub(super) fn value(&mut self, sql: &Sql, value: &ValueWithSpan, negative: bool) -> Option<Expr> {
        let read = match &value.value {
            Value::Number(number, _) => literal::number(number, negative),
            Value::Boolean(truth) => Ok(literal::constant(DataType::Boolean, Literal::Boolean(*truth))),
            Value::Null => Ok(literal::null(ExprType::Null)),
            Value::HexStringLiteral(digits) => literal::bytes(digits),
            Value::Placeholder(name) => Err(Refusal::new(
                format!("a filter has no parameters, and `{name}` is one"),
                "write the value itself",
            )),
            _ => match string_of(value) {
                Some(text) => Ok(literal::constant(DataType::String, Literal::String(text))),
                None => Err(Refusal::new(
                    "this kind of literal is not supported",
                    "write texts as 'text', bytes as X'1F'",
                )),
            },
        };
        let at = if negative { sql } else { &Sql::Value(value.clone()) };
        self.settle(at, read)
    }

    pub(super) fn typed_string(&mut self, sql: &Sql, typed: &TypedString) -> Option<Expr> {
        let text = string_of(&typed.value).unwrap_or_default();
        let target = self.settle(sql, casts::data_type(&typed.data_type))?;
        self.settle(sql, literal::moment(&text, &target))
    }

    pub(super) fn interval(&mut self, sql: &Sql, written: &Interval) -> Option<Expr> {
        let (text, range) = interval_parts(written);
        self.settle(sql, interval::literal(&text, range.as_deref()).map(|read| read.expr))
    }

    /// An interval whose units are days or longer, by how it is written: its type has only days.
    pub(super) fn is_of_whole_days(&self, sql: &Sql) -> bool {
        let mut here = sql;
        loop {
            here = match here {
                Sql::Nested(inner) | Sql::UnaryOp { expr: inner, .. } => inner,
                Sql::Interval(written) => {
                    let (text, range) = interval_parts(written);
                    return interval::literal(&text, range.as_deref()).is_ok_and(|read| read.whole_days);
                }
                _ => return false,
            };
        }
    }
}

/// A string literal's text.
pub(super) fn string_of(value: &ValueWithSpan) -> Option<String> {
    match &value.value {
        Value::SingleQuotedString(raw) => Some(literal::string(raw, '\'')),
        Value::DoubleQuotedString(raw) => Some(literal::string(raw, '"')),
        Value::SingleQuotedRawStringLiteral(raw) | Value::DoubleQuotedRawStringLiteral(raw) => Some(raw.clone()),
        _ => None,
    }
}

fn interval_parts(written: &Interval) -> (String, Option<String>) {
    let text = match written.value.as_ref() {
        Sql::Value(value) => string_of(value).unwrap_or_default(),
        _ => String::new(),
    };
    (text, written.leading_field.as_ref().map(ToString::to_string))
}
