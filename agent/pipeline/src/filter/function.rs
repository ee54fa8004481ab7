//! Which kernel a function's name stands for.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::DataType as ArrowType;
use arrow_string::like as kernels;
use stream_decode::arrow_types::arrow_type;
use stream_spec::filter::expr::{Expr, ExprKind, Function, Literal};

use super::error::FilterError;
use super::logic::exactly;
use super::node::Kernel;
use super::text::{self, Ends};
use super::values::Values;
use super::{arithmetic, collection, datetime, json_path, logic};

/// The kernel of a call with these arguments and a result of this type.
pub(super) fn kernel(function: Function, arguments: &[Expr], ty: &ArrowType) -> Result<Kernel, FilterError> {
    let first = || arguments.first().and_then(value_type);
    Ok(match function {
        Function::Lower => one(text::lower_case),
        Function::Upper => one(text::upper_case),
        Function::Trim => text::trim(Ends { left: true, right: true }),
        Function::LeftTrim => text::trim(Ends { left: true, right: false }),
        Function::RightTrim => text::trim(Ends { left: false, right: true }),
        Function::Length => text::length(),
        Function::Substring => text::substring(),
        Function::Concat => text::concat(),
        Function::StartsWith => two(|text, part| Ok(Arc::new(kernels::starts_with(text, part)?))),
        Function::EndsWith => two(|text, part| Ok(Arc::new(kernels::ends_with(text, part)?))),
        Function::Contains => two(|text, part| Ok(Arc::new(kernels::contains(text, part)?))),
        Function::Coalesce => logic::coalesce(),
        Function::NullIf => logic::null_if(),
        Function::Abs => arithmetic::abs(ty.clone()),
        Function::Round => arithmetic::round(digits(arguments)?, &first().unwrap_or(ArrowType::Null), ty)?,
        Function::Size => collection::size(),
        Function::ArrayContains => collection::array_contains(),
        Function::ElementAt => collection::element_at(first().as_ref()),
        Function::MapKeys => collection::map_keys(ty)?,
        Function::MapValues => collection::map_values(ty)?,
        Function::GetJsonObject => json_path::kernel(text_literal(arguments, 1)?),
        Function::ToDate => datetime::to_date(first().as_ref(), text_literal(arguments, 1)?)?,
        Function::ToTimestamp => datetime::to_timestamp(first().as_ref(), ty, text_literal(arguments, 1)?)?,
        Function::UnixTimestamp => datetime::unix_timestamp(first().as_ref(), text_literal(arguments, 1)?)?,
        Function::DateTrunc => datetime::date_trunc(),
        Function::Year => datetime::date_part(|date| date.year),
        Function::Month => datetime::date_part(|date| date.month),
        Function::Day => datetime::date_part(|date| date.day),
        Function::Hour => datetime::time_part(3600, 24),
        Function::Minute => datetime::time_part(60, 60),
        Function::Second => datetime::time_part(1, 60),
    })
}

fn one(compute: fn(&Values) -> Result<ArrayRef, FilterError>) -> Kernel {
    Box::new(move |operands, _| {
        let [operand] = exactly(operands)?;
        compute(operand)
    })
}

fn two(compute: fn(&Values, &Values) -> Result<ArrayRef, FilterError>) -> Kernel {
    Box::new(move |operands, _| {
        let [left, right] = exactly(operands)?;
        compute(left, right)
    })
}

fn value_type(expr: &Expr) -> Option<ArrowType> {
    expr.ty.data_type().map(arrow_type)
}

/// A text that must be a constant, if it is there at all. A null one makes the result null before any kernel is asked.
fn text_literal(arguments: &[Expr], index: usize) -> Result<Option<&str>, FilterError> {
    match arguments.get(index).map(|argument| &argument.kind) {
        None => Ok(None),
        Some(ExprKind::Literal(Literal::String(text))) => Ok(Some(text)),
        Some(other) => Err(FilterError::mismatch("a text literal", format!("{other:?}"))),
    }
}

fn digits(arguments: &[Expr]) -> Result<i32, FilterError> {
    match arguments.get(1).map(|argument| &argument.kind) {
        None => Ok(0),
        Some(ExprKind::Literal(Literal::Integer(digits))) => {
            i32::try_from(*digits).map_err(|_| FilterError::mismatch("an INT of digits", digits))
        }
        // `-1` that was not made a literal.
        Some(ExprKind::Negate(inner)) => match &inner.kind {
            ExprKind::Literal(Literal::Integer(digits)) => {
                i32::try_from(-*digits).map_err(|_| FilterError::mismatch("an INT of digits", digits))
            }
            other => Err(FilterError::mismatch("a literal of digits", format!("{other:?}"))),
        },
        Some(other) => Err(FilterError::mismatch("a literal of digits", format!("{other:?}"))),
    }
}
