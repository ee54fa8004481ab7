//! Spark's implicit conversions with ANSI mode on: which type two operands, several results, or a function's argument take.

use super::expr::{Expr, ExprKind, ExprType, Literal};
use super::literal;
use crate::types::DataType;

/// Most digits of a DECIMAL.
pub(super) const PRECISION_MAX: u8 = 38;
/// Digits after the point that a division or a product keeps before it gives up digits before it.
const SCALE_KEPT_MIN: u8 = 6;

/// `expr` as `ty`: itself if it is of that type, else converted. NULL takes any type.
pub(super) fn cast(expr: Expr, ty: ExprType) -> Expr {
    if expr.ty == ty {
        return expr;
    }
    if expr.ty == ExprType::Null {
        return literal::null(ty);
    }
    Expr {
        ty,
        kind: ExprKind::Cast(Box::new(expr)),
    }
}

/// [`cast`] to a column's type.
pub(super) fn cast_to(expr: Expr, data_type: DataType) -> Expr {
    cast(expr, ExprType::of(data_type))
}

/// The column type of an expression; `None` for NULL and intervals.
pub(super) fn value_type(expr: &Expr) -> Option<&DataType> {
    expr.ty.data_type()
}

pub(super) fn is(expr: &Expr, data_type: &DataType) -> bool {
    value_type(expr) == Some(data_type)
}

pub(super) fn is_null(expr: &Expr) -> bool {
    expr.ty == ExprType::Null
}

pub(super) fn is_string(expr: &Expr) -> bool {
    is(expr, &DataType::String)
}

pub(super) fn is_integral(data_type: &DataType) -> bool {
    integral_digits(data_type).is_some()
}

pub(super) fn is_numeric(data_type: &DataType) -> bool {
    is_integral(data_type) || matches!(data_type, DataType::Float | DataType::Double | DataType::Decimal { .. })
}

/// A type without parts.
pub(super) fn is_atomic(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Struct(_) | DataType::Array(_) | DataType::Map(..))
}

/// Digits of an integer type's largest value, as the DECIMAL that holds all of them has.
fn integral_digits(data_type: &DataType) -> Option<u8> {
    match data_type {
        DataType::TinyInt => Some(3),
        DataType::SmallInt => Some(5),
        DataType::Int => Some(10),
        DataType::BigInt => Some(20),
        _ => None,
    }
}

/// Digits of a number without its sign; one for zero.
pub(super) fn digits(number: i128) -> u8 {
    let mut rest = number.unsigned_abs() / 10;
    let mut count = 1;
    while rest > 0 {
        rest /= 10;
        count += 1;
    }
    count
}

/// The DECIMAL of a number type: its own, or the one that holds every integer of the type.
pub(super) fn as_decimal(data_type: &DataType) -> Option<(u8, u8)> {
    match data_type {
        DataType::Decimal { precision, scale } => Some((*precision, *scale)),
        other => integral_digits(other).map(|precision| (precision, 0)),
    }
}

/// One type of two that loses nothing, as operators take it.
pub(super) fn tightest(left: &ExprType, right: &ExprType) -> Option<ExprType> {
    match (left, right) {
        (left, right) if left == right => Some(left.clone()),
        (ExprType::Null, other) | (other, ExprType::Null) => Some(other.clone()),
        (ExprType::Value(left), ExprType::Value(right)) => tightest_value(left, right).map(ExprType::Value),
        (ExprType::Parts(left), ExprType::Parts(right)) => tightest_value(left, right).map(ExprType::of),
        _ => None,
    }
}

fn tightest_value(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType::{Array, Date, Decimal, Double, Float, Timestamp, TimestampNtz};
    match (left, right) {
        (Decimal { .. }, _) | (_, Decimal { .. }) => None,
        (Double, other) | (other, Double) if is_numeric(other) => Some(Double),
        (Float, other) | (other, Float) if is_integral(other) => Some(Double),
        (left, right) if is_integral(left) && is_integral(right) => {
            let wider = if integral_digits(left) >= integral_digits(right) {
                left
            } else {
                right
            };
            Some(wider.clone())
        }
        (Date, Timestamp) | (Timestamp, Date) | (TimestampNtz, Timestamp) | (Timestamp, TimestampNtz) => Some(Timestamp),
        (Date, TimestampNtz) | (TimestampNtz, Date) => Some(TimestampNtz),
        (Array(left), Array(right)) => {
            let element = if left == right {
                (**left).clone()
            } else {
                tightest_value(left, right)?
            };
            Some(Array(Box::new(element)))
        }
        _ => None,
    }
}

/// The type of a string beside another type: numbers win over strings, and so do dates, times, booleans and bytes.
pub(super) fn beside_string(left: &ExprType, right: &ExprType) -> Option<DataType> {
    let other = match (left, right) {
        (ExprType::Value(DataType::String), ExprType::Value(other)) | (ExprType::Value(other), ExprType::Value(DataType::String)) => other,
        _ => return None,
    };
    match other {
        DataType::String => None,
        integral if is_integral(integral) => Some(DataType::BigInt),
        numeric if is_numeric(numeric) => Some(DataType::Double),
        atomic if is_atomic(atomic) => Some(atomic.clone()),
        _ => None,
    }
}

/// One type of several results or members of a list, taken one after another as Spark does.
pub(super) fn common<'a>(types: impl IntoIterator<Item = &'a ExprType>) -> Option<ExprType> {
    let mut so_far = ExprType::Null;
    for ty in types {
        so_far = wider(&so_far, ty)?;
    }
    Some(so_far)
}

/// One type of two results.
fn wider(left: &ExprType, right: &ExprType) -> Option<ExprType> {
    if let Some(same) = tightest(left, right) {
        return Some(same);
    }
    if let Some(other) = beside_string(left, right) {
        return Some(ExprType::Value(other));
    }
    let (ExprType::Value(left), ExprType::Value(right)) = (left, right) else {
        return None;
    };
    if is_floating(left) && is_numeric(right) || is_floating(right) && is_numeric(left) {
        return Some(ExprType::Value(DataType::Double));
    }
    Some(ExprType::Value(wider_decimal(as_decimal(left)?, as_decimal(right)?)))
}

pub(super) fn is_floating(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float | DataType::Double)
}

/// A DECIMAL that holds both, as far as 38 digits go: digits before the point are kept first.
pub(super) fn wider_decimal(left: (u8, u8), right: (u8, u8)) -> DataType {
    let scale = left.1.max(right.1);
    let precision = left.0.saturating_sub(left.1).max(right.0.saturating_sub(right.1)) + scale;
    let beyond = precision.saturating_sub(PRECISION_MAX);
    DataType::Decimal {
        precision: precision.min(PRECISION_MAX),
        scale: scale.saturating_sub(beyond),
    }
}

/// The DECIMAL of a result that needs so many digits: beyond 38, digits after the point go first, down to six.
pub(super) fn adjusted(precision: u16, scale: u16) -> DataType {
    let most = u16::from(PRECISION_MAX);
    let (precision, scale) = if precision <= most {
        (precision, scale)
    } else {
        let before_point = precision.saturating_sub(scale);
        let kept = scale.min(u16::from(SCALE_KEPT_MIN));
        (most, most.saturating_sub(before_point).max(kept))
    };
    DataType::Decimal {
        precision: u8::try_from(precision).unwrap_or(PRECISION_MAX),
        scale: u8::try_from(scale).unwrap_or(PRECISION_MAX),
    }
}

/// The DECIMAL that an expression is beside a DECIMAL: a whole literal has just the digits it needs, anything else those of its
/// type. `None` for what is no DECIMAL or integer.
pub(super) fn decimal_of(expr: &Expr) -> Option<(u8, u8)> {
    let data_type = value_type(expr)?;
    match expr.kind {
        ExprKind::Literal(Literal::Integer(number)) if is_integral(data_type) => Some((digits(i128::from(number)), 0)),
        _ => as_decimal(data_type),
    }
}

/// A function's argument as the type that the function takes: texts become anything, anything becomes a text, numbers and
/// times convert among themselves.
pub(super) fn argument(expr: Expr, expected: &DataType) -> Option<Expr> {
    use DataType::{Date, String, Timestamp, TimestampNtz};
    let fits = match (value_type(&expr), expected) {
        (None, _) => is_null(&expr),
        (Some(given), expected) if given == expected => true,
        (Some(String), expected) | (Some(expected), String) => is_atomic(expected),
        (Some(given), expected) if is_numeric(given) && is_numeric(expected) => true,
        (Some(Date | Timestamp | TimestampNtz), Date | Timestamp | TimestampNtz) => true,
        _ => false,
    };
    fits.then(|| cast_to(expr, expected.clone()))
}
