//! Operators on checked operands: which types they take, where Spark converts, and the type of the result.

use super::coerce::{
    adjusted, beside_string, cast, cast_to, decimal_of, is, is_atomic, is_floating, is_integral, is_null, is_numeric, is_string, tightest,
    value_type, wider_decimal,
};
use super::expr::{ArithmeticOp, CompareOp, Expr, ExprKind, ExprType, Literal};
use super::literal::{constant, null};
use super::moment::MICROS_OF_DAY;
use super::problem::Refusal;
use crate::types::DataType;

const BOOLEAN: ExprType = ExprType::Value(DataType::Boolean);

fn boolean(kind: ExprKind) -> Expr {
    Expr { ty: BOOLEAN, kind }
}

/// An operand of AND, OR, NOT and IS TRUE: a BOOLEAN, or a text that says `true` or `false`.
pub(super) fn condition(expr: Expr) -> Result<Expr, Refusal> {
    if is(&expr, &DataType::Boolean) || is_null(&expr) || is_string(&expr) {
        return Ok(cast_to(expr, DataType::Boolean));
    }
    Err(Refusal::new(
        format!("a BOOLEAN is needed, and this is {}", expr.ty),
        "compare it with something, as in `value.amount > 0`",
    ))
}

/// Two or more conditions joined by AND; those that are such themselves are taken apart.
pub(super) fn and(operands: Vec<Expr>) -> Expr {
    let mut flat = Vec::with_capacity(operands.len());
    for operand in operands {
        match operand.kind {
            ExprKind::And(inner) => flat.extend(inner),
            _ => flat.push(operand),
        }
    }
    boolean(ExprKind::And(flat))
}

/// [`and`] for OR.
pub(super) fn or(operands: Vec<Expr>) -> Expr {
    let mut flat = Vec::with_capacity(operands.len());
    for operand in operands {
        match operand.kind {
            ExprKind::Or(inner) => flat.extend(inner),
            _ => flat.push(operand),
        }
    }
    boolean(ExprKind::Or(flat))
}

pub(super) fn not(operand: Expr) -> Expr {
    boolean(ExprKind::Not(Box::new(operand)))
}

pub(super) fn is_null_test(operand: Expr) -> Expr {
    boolean(ExprKind::IsNull(Box::new(operand)))
}

/// `IS TRUE` and `IS FALSE`.
pub(super) fn is_truth(operand: Expr, truth: bool) -> Result<Expr, Refusal> {
    Ok(boolean(ExprKind::IsTruth(Box::new(condition(operand)?), truth)))
}

/// A comparison of two operands.
pub(super) fn compare(op: CompareOp, left: Expr, right: Expr) -> Result<Expr, Refusal> {
    if is_null(&left) && is_null(&right) {
        let same = op == CompareOp::NullSafeEqual;
        return Ok(if same {
            constant(DataType::Boolean, Literal::Boolean(true))
        } else {
            null(BOOLEAN)
        });
    }
    for side in [&left, &right] {
        comparable(side)?;
    }
    let problem = format!("{} and {} cannot be compared", left.ty, right.ty);
    let (left, right) = aligned(left, right).ok_or_else(|| Refusal::new(problem, "convert one of the two with CAST"))?;
    Ok(boolean(ExprKind::Compare(op, Box::new(left), Box::new(right))))
}

/// Values with parts are not compared here: a filter compares what is inside them.
fn comparable(expr: &Expr) -> Result<(), Refusal> {
    match value_type(expr) {
        Some(data_type) if !is_atomic(data_type) => Err(Refusal::new(
            format!("{} values are not compared", crate::path::kind(data_type)),
            "compare the fields or elements inside, as in `value.customer.id = 5`",
        )),
        _ => Ok(()),
    }
}

/// Both operands of a comparison in one type, if there is one.
fn aligned(left: Expr, right: Expr) -> Option<(Expr, Expr)> {
    if let Some(other) = beside_string(&left.ty, &right.ty) {
        return Some((cast_to(left, other.clone()), cast_to(right, other)));
    }
    let (left, right) = doubles_aligned(left, right);
    if let Some((one, other)) = decimals_of(&left, &right) {
        let wide = wider_decimal(one, other);
        return Some((cast_to(left, wide.clone()), cast_to(right, wide)));
    }
    let ty = tightest(&left.ty, &right.ty)?;
    Some((cast(left, ty.clone()), cast(right, ty)))
}

fn is_decimal(expr: &Expr) -> bool {
    matches!(value_type(expr), Some(DataType::Decimal { .. }))
}

/// A DECIMAL beside a FLOAT or DOUBLE becomes a DOUBLE.
fn doubles_aligned(left: Expr, right: Expr) -> (Expr, Expr) {
    let floating = |expr: &Expr| value_type(expr).is_some_and(is_floating);
    if (is_decimal(&left) && floating(&right)) || (is_decimal(&right) && floating(&left)) {
        return (cast_to(left, DataType::Double), cast_to(right, DataType::Double));
    }
    (left, right)
}

/// Both operands' DECIMALs, where one is a DECIMAL and the other is that or an integer.
fn decimals_of(left: &Expr, right: &Expr) -> Option<((u8, u8), (u8, u8))> {
    if is_decimal(left) || is_decimal(right) {
        decimal_of(left).zip(decimal_of(right))
    } else {
        None
    }
}

fn decimal((precision, scale): (u8, u8)) -> DataType {
    DataType::Decimal { precision, scale }
}

/// `x IN (…)`.
pub(super) fn within(operand: Expr, list: Vec<Expr>) -> Result<Expr, Refusal> {
    for member in std::iter::once(&operand).chain(&list) {
        comparable(member)?;
    }
    let types = std::iter::once(&operand.ty).chain(list.iter().map(|member| &member.ty));
    let Some(ty) = super::coerce::common(types) else {
        let mut kinds: Vec<String> = list.iter().map(|member| member.ty.to_string()).collect();
        kinds.dedup();
        let problem = format!("{} and a list of {} have no type in common", operand.ty, kinds.join(", "));
        return Err(Refusal::new(problem, "write values of the column's type, or convert with CAST"));
    };
    if ty == ExprType::Null {
        return Ok(null(BOOLEAN));
    }
    let list = list.into_iter().map(|member| cast(member, ty.clone())).collect();
    Ok(boolean(ExprKind::In(Box::new(cast(operand, ty)), list)))
}

/// `-x`.
pub(super) fn negate(operand: Expr) -> Result<Expr, Refusal> {
    let operand = if is_string(&operand) || is_null(&operand) {
        cast_to(operand, DataType::Double)
    } else {
        operand
    };
    let negatable = value_type(&operand).is_none_or(is_numeric);
    if !negatable {
        return Err(Refusal::new(
            format!("{} has no negative", operand.ty),
            "negate numbers and intervals",
        ));
    }
    Ok(Expr {
        ty: operand.ty.clone(),
        kind: ExprKind::Negate(Box::new(operand)),
    })
}

fn symbol(op: ArithmeticOp) -> &'static str {
    match op {
        ArithmeticOp::Add => "+",
        ArithmeticOp::Subtract => "-",
        ArithmeticOp::Multiply => "*",
        ArithmeticOp::Divide => "/",
        ArithmeticOp::IntegralDivide => "DIV",
        ArithmeticOp::Remainder => "%",
    }
}

fn mismatch(op: ArithmeticOp, left: &Expr, right: &Expr) -> Refusal {
    let problem = format!("`{}` does not take {} and {}", symbol(op), left.ty, right.ty);
    let remedy = match op {
        ArithmeticOp::Add | ArithmeticOp::Subtract => "use numbers, or a date or time and an INTERVAL; texts are joined by `||`",
        _ => "use numbers, or convert with CAST",
    };
    Refusal::new(problem, remedy)
}

/// An arithmetic operator. `whole_days` says of an interval on either side whether its units are days or longer,
/// where that is known.
pub(super) fn arithmetic(op: ArithmeticOp, left: Expr, right: Expr, whole_days: Option<bool>) -> Result<Expr, Refusal> {
    if is_of_time(&left) || is_of_time(&right) {
        return of_times(op, left, right, whole_days);
    }
    if is_null(&left) && is_null(&right) {
        let ty = if op == ArithmeticOp::IntegralDivide {
            DataType::BigInt
        } else {
            DataType::Double
        };
        return Ok(null(ExprType::Value(ty)));
    }
    let (left, right) = match beside_string(&left.ty, &right.ty) {
        Some(number) if is_numeric(&number) => (cast_to(left, number.clone()), cast_to(right, number)),
        _ => (left, right),
    };
    let numeric = |expr: &Expr| is_null(expr) || value_type(expr).is_some_and(is_numeric);
    if !numeric(&left) || !numeric(&right) {
        return Err(mismatch(op, &left, &right));
    }
    let (left, right) = doubles_aligned(left, right);
    if let Some((one, other)) = decimals_of(&left, &right) {
        let (left, right) = (cast_to(left, decimal(one)), cast_to(right, decimal(other)));
        return Ok(of(op, left, right, decimal_result(op, one, other)));
    }
    let Some(common) = tightest(&left.ty, &right.ty) else {
        return Err(mismatch(op, &left, &right));
    };
    // One side is NULL. As a dividend it is a DOUBLE beside anything.
    let null_divided = op == ArithmeticOp::Divide && is_null(&left);
    if let ExprType::Value(decimal @ DataType::Decimal { precision, scale }) = &common
        && !null_divided
    {
        let parts = (*precision, *scale);
        let (left, right) = (cast_to(left, decimal.clone()), cast_to(right, decimal.clone()));
        return Ok(of(op, left, right, decimal_result(op, parts, parts)));
    }
    let operands = match op {
        ArithmeticOp::Divide => ExprType::Value(DataType::Double),
        ArithmeticOp::IntegralDivide if matches!(&common, ExprType::Value(common) if is_integral(common)) => {
            ExprType::Value(DataType::BigInt)
        }
        ArithmeticOp::IntegralDivide => return Err(mismatch(op, &left, &right)),
        _ => common,
    };
    Ok(Expr {
        kind: ExprKind::Arithmetic(op, Box::new(cast(left, operands.clone())), Box::new(cast(right, operands.clone()))),
        ty: operands,
    })
}

fn of(op: ArithmeticOp, left: Expr, right: Expr, ty: DataType) -> Expr {
    Expr {
        ty: ExprType::Value(ty),
        kind: ExprKind::Arithmetic(op, Box::new(left), Box::new(right)),
    }
}

/// The result of an operator on two DECIMALs.
fn decimal_result(op: ArithmeticOp, left: (u8, u8), right: (u8, u8)) -> DataType {
    let (precision1, scale1) = (u16::from(left.0), u16::from(left.1));
    let (precision2, scale2) = (u16::from(right.0), u16::from(right.1));
    let (whole1, whole2) = (precision1.saturating_sub(scale1), precision2.saturating_sub(scale2));
    match op {
        ArithmeticOp::Add | ArithmeticOp::Subtract => {
            let scale = scale1.max(scale2);
            adjusted(whole1.max(whole2) + scale + 1, scale)
        }
        ArithmeticOp::Multiply => adjusted(precision1 + precision2 + 1, scale1 + scale2),
        ArithmeticOp::Divide => {
            let scale = (scale1 + precision2 + 1).max(6);
            adjusted(whole1 + scale2 + scale, scale)
        }
        ArithmeticOp::Remainder => {
            let scale = scale1.max(scale2);
            adjusted(whole1.min(whole2) + scale, scale)
        }
        ArithmeticOp::IntegralDivide => DataType::BigInt,
    }
}

fn is_of_time(expr: &Expr) -> bool {
    matches!(
        expr.ty,
        ExprType::DayTimeInterval
            | ExprType::YearMonthInterval
            | ExprType::Value(DataType::Date | DataType::Timestamp | DataType::TimestampNtz)
    )
}

/// Sums and differences of dates, times and intervals.
fn of_times(op: ArithmeticOp, left: Expr, right: Expr, whole_days: Option<bool>) -> Result<Expr, Refusal> {
    use DataType::{Date, Timestamp, TimestampNtz};
    let (left, right) = match (op, is_interval(&left)) {
        // The interval stands on the right.
        (ArithmeticOp::Add, true) if !is_interval(&right) => (right, left),
        (ArithmeticOp::Add, false) if is_number(&left) => (right, left),
        _ => (left, right),
    };
    if !matches!(op, ArithmeticOp::Add | ArithmeticOp::Subtract) {
        return Err(mismatch(op, &left, &right));
    }
    if is_interval(&right) {
        let left = match (&left.ty, &right.ty) {
            (ExprType::Value(Date), ExprType::DayTimeInterval) => match whole_days {
                Some(true) => left,
                Some(false) => cast_to(left, Timestamp),
                None => {
                    return Err(Refusal::new(
                        "the sum of a DATE and a computed interval is a DATE or a TIMESTAMP by the interval's units",
                        "write the interval out, as in `value.day + INTERVAL 3 DAYS`, or convert the date with CAST(… AS TIMESTAMP)",
                    ));
                }
            },
            (ExprType::Value(Date | Timestamp | TimestampNtz), _) => left,
            (one, other) if one == other => left,
            _ => return Err(mismatch(op, &left, &right)),
        };
        let ty = left.ty.clone();
        return Ok(Expr {
            ty,
            kind: ExprKind::Arithmetic(op, Box::new(left), Box::new(right)),
        });
    }
    if let (ExprType::Value(Date), true) = (&left.ty, is_number(&right)) {
        let days = days_literal(&right).ok_or_else(|| {
            Refusal::new(
                format!("{} cannot be added to a DATE here", right.ty),
                "add a whole number or an interval, as in `value.day + INTERVAL 3 DAYS`",
            )
        })?;
        return of_times(op, left, days, Some(true));
    }
    if op == ArithmeticOp::Add {
        return Err(mismatch(op, &left, &right));
    }
    let (left, right) = match beside_string(&left.ty, &right.ty) {
        Some(time) => (cast_to(left, time.clone()), cast_to(right, time)),
        None => (left, right),
    };
    // A difference with a TIMESTAMP_NTZ in it is one of local times.
    let ty = match (value_type(&left), value_type(&right)) {
        (Some(Date), Some(Date)) => Date,
        (Some(TimestampNtz), Some(Timestamp | TimestampNtz | Date)) | (Some(Timestamp | Date), Some(TimestampNtz)) => TimestampNtz,
        (Some(Timestamp), Some(Timestamp | Date)) | (Some(Date), Some(Timestamp)) => Timestamp,
        _ => return Err(mismatch(op, &left, &right)),
    };
    let (left, right) = (cast_to(left, ty.clone()), cast_to(right, ty));
    Ok(Expr {
        ty: ExprType::DayTimeInterval,
        kind: ExprKind::Arithmetic(op, Box::new(left), Box::new(right)),
    })
}

fn is_interval(expr: &Expr) -> bool {
    matches!(expr.ty, ExprType::DayTimeInterval | ExprType::YearMonthInterval)
}

fn is_number(expr: &Expr) -> bool {
    value_type(expr).is_some_and(is_integral)
}

/// A literal number of days as an interval; Spark adds an INT or smaller to a DATE.
fn days_literal(expr: &Expr) -> Option<Expr> {
    match expr.kind {
        ExprKind::Literal(Literal::Integer(days)) if !is(expr, &DataType::BigInt) => Some(Expr {
            ty: ExprType::DayTimeInterval,
            kind: ExprKind::Literal(Literal::Integer(days.checked_mul(MICROS_OF_DAY)?)),
        }),
        _ => None,
    }
}
