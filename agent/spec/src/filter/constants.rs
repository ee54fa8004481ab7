//! Constants in the parser's tree: numbers, texts, bytes, dates and times, intervals.

use sqlparser::ast::{BinaryOperator, Expr as Sql, Interval, TypedString, Value, ValueWithSpan};

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
                Some(text) => text.map(|text| literal::constant(DataType::String, Literal::String(text))),
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
        let text = string_of(&typed.value).unwrap_or_else(|| Ok(String::new()));
        let text = self.settle(&Sql::Value(typed.value.clone()), text)?;
        let target = self.settle(sql, casts::data_type(&typed.data_type))?;
        self.settle(sql, literal::moment(&text, &target))
    }

    pub(super) fn interval(&mut self, sql: &Sql, written: &Interval) -> Option<Expr> {
        let (text, range) = interval_parts(written);
        self.settle(sql, interval::literal(&text, range.as_deref()).map(|read| read.expr))
    }
}

/// Whether an interval's units are all days or longer, by how it is written: its type has only days. `None` for another expression.
pub(super) fn is_of_whole_days(sql: &Sql) -> Option<bool> {
    let (mut here, mut whole) = (sql, true);
    loop {
        here = match here {
            Sql::Nested(inner) | Sql::UnaryOp { expr: inner, .. } => inner,
            Sql::BinaryOp {
                left,
                op: BinaryOperator::Plus | BinaryOperator::Minus,
                right,
            } => {
                whole &= is_of_whole_days(right)?;
                left
            }
            Sql::Interval(written) => {
                let (text, range) = interval_parts(written);
                let read = interval::literal(&text, range.as_deref()).ok()?;
                return Some(whole && read.whole_days);
            }
            _ => return None,
        };
    }
}

/// A string literal's text; `None` for another literal.
pub(super) fn string_of(value: &ValueWithSpan) -> Option<Result<String, Refusal>> {
    match &value.value {
        Value::SingleQuotedString(raw) => Some(literal::string(raw, '\'')),
        Value::DoubleQuotedString(raw) => Some(literal::string(raw, '"')),
        Value::SingleQuotedRawStringLiteral(raw) | Value::DoubleQuotedRawStringLiteral(raw) => Some(Ok(raw.clone())),
        _ => None,
    }
}

fn interval_parts(written: &Interval) -> (String, Option<String>) {
    let text = match written.value.as_ref() {
        // One that is no text cannot be read as an interval either.
        Sql::Value(value) => string_of(value).and_then(Result::ok).unwrap_or_default(),
        _ => String::new(),
    };
    (text, written.leading_field.as_ref().map(ToString::to_string))
}
