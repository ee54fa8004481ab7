//! Functions on dates and times. The session's zone is UTC, so that a TIMESTAMP_NTZ and a TIMESTAMP have the same fields.

use super::coerce::{argument, cast_to, is_null, is_numeric, is_string, value_type};
use super::datetime_pattern::DatetimePattern;
use super::expr::{ArithmeticOp, Expr, ExprKind, ExprType, Function, Literal};
use super::operators;
use super::problem::Refusal;
use crate::types::DataType;

const UNITS: &[&str] = &[
    "year",
    "yyyy",
    "yy",
    "quarter",
    "month",
    "mon",
    "mm",
    "week",
    "day",
    "dd",
    "hour",
    "minute",
    "second",
    "millisecond",
    "microsecond",
];

/// True for the names that [`call`] knows.
pub(super) fn is_function(name: &str) -> bool {
    matches!(
        name,
        "to_date"
            | "to_timestamp"
            | "date_trunc"
            | "date_add"
            | "date_sub"
            | "year"
            | "month"
            | "day"
            | "dayofmonth"
            | "hour"
            | "minute"
            | "second"
            | "unix_timestamp"
    )
}

/// A call by its name.
pub(super) fn call(name: &str, arguments: Vec<Expr>) -> Result<Expr, Refusal> {
    let count = arguments.len();
    let mut arguments = arguments.into_iter();
    match (name, arguments.next(), arguments.next(), arguments.next()) {
        ("to_date", Some(text), format, None) => parsed(name, text, format, Function::ToDate, DataType::Date),
        ("to_timestamp", Some(text), format, None) => parsed(name, text, format, Function::ToTimestamp, DataType::Timestamp),
        ("unix_timestamp", Some(time), format, None) => unix_timestamp(time, format),
        ("unix_timestamp", None, ..) => {
            let remedy = "a record is kept or not whenever it is read: give `unix_timestamp` a time";
            Err(Refusal::new("the present time is not supported", remedy))
        }
        ("date_trunc", Some(unit), Some(time), None) => date_trunc(&unit, time),
        ("date_add", Some(day), Some(days), None) => moved(name, ArithmeticOp::Add, day, days),
        ("date_sub", Some(day), Some(days), None) => moved(name, ArithmeticOp::Subtract, day, days),
        ("year", Some(time), None, None) => field(name, time, Function::Year, DataType::Date),
        ("month", Some(time), None, None) => field(name, time, Function::Month, DataType::Date),
        ("day" | "dayofmonth", Some(time), None, None) => field(name, time, Function::Day, DataType::Date),
        ("hour", Some(time), None, None) => field(name, time, Function::Hour, DataType::Timestamp),
        ("minute", Some(time), None, None) => field(name, time, Function::Minute, DataType::Timestamp),
        ("second", Some(time), None, None) => field(name, time, Function::Second, DataType::Timestamp),
        _ => Err(Refusal::new(
            format!("`{name}` does not take {count} arguments"),
            "give the arguments that it takes",
        )),
    }
}

fn of(ty: DataType, function: Function, arguments: Vec<Expr>) -> Expr {
    Expr {
        ty: ExprType::Value(ty),
        kind: ExprKind::Call(function, arguments),
    }
}

fn unfit(name: &str, given: &ExprType, wanted: &str) -> Refusal {
    Refusal::new(
        format!("`{name}` takes {wanted}, and this is {given}"),
        "give such a value, or convert with CAST",
    )
}

fn is_of_time(expr: &Expr) -> bool {
    matches!(
        value_type(expr),
        Some(DataType::Date | DataType::Timestamp | DataType::TimestampNtz)
    )
}

fn field(name: &str, time: Expr, function: Function, of_type: DataType) -> Result<Expr, Refusal> {
    let ty = time.ty.clone();
    let time = argument(time, &of_type)
        .filter(|_| !is_given_number(&ty))
        .ok_or_else(|| unfit(name, &ty, "a date or time"))?;
    Ok(of(DataType::Int, function, vec![time]))
}

fn is_given_number(ty: &ExprType) -> bool {
    matches!(ty, ExprType::Value(data_type) if is_numeric(data_type))
}

/// A text by a format; what is a date or time already is converted, whatever the format.
fn parsed(name: &str, text: Expr, format: Option<Expr>, function: Function, result: DataType) -> Result<Expr, Refusal> {
    let format = format.map(|format| checked_format(name, format)).transpose()?;
    let seconds = result == DataType::Timestamp && format.is_none() && value_type(&text).is_some_and(is_numeric);
    if is_of_time(&text) || seconds {
        return Ok(cast_to(text, result));
    }
    if !is_string(&text) && !is_null(&text) {
        return Err(unfit(name, &text.ty, "a text, date or time"));
    }
    let text = cast_to(text, DataType::String);
    Ok(of(result, function, std::iter::once(text).chain(format).collect()))
}

/// A format that reads texts; it stays the text that it is.
fn checked_format(name: &str, format: Expr) -> Result<Expr, Refusal> {
    let ExprKind::Literal(Literal::String(text)) = &format.kind else {
        return Err(Refusal::new(
            format!("the format of `{name}` is not a literal"),
            "write it in quotes, as in 'yyyy-MM-dd'",
        ));
    };
    match DatetimePattern::parse(text) {
        Ok(_) => Ok(format),
        Err(error) => Err(Refusal::new(error.problem, error.remedy)),
    }
}

fn unix_timestamp(time: Expr, format: Option<Expr>) -> Result<Expr, Refusal> {
    let format = format.map(|format| checked_format("unix_timestamp", format)).transpose()?;
    let (time, format) = match value_type(&time) {
        Some(DataType::Timestamp | DataType::Date) => (time, None),
        Some(DataType::TimestampNtz) => (cast_to(time, DataType::Timestamp), None),
        Some(DataType::String) => (time, format),
        None if is_null(&time) => (cast_to(time, DataType::String), format),
        _ => return Err(unfit("unix_timestamp", &time.ty, "a text, date or time")),
    };
    Ok(of(
        DataType::BigInt,
        Function::UnixTimestamp,
        std::iter::once(time).chain(format).collect(),
    ))
}

fn date_trunc(unit: &Expr, time: Expr) -> Result<Expr, Refusal> {
    let known = match &unit.kind {
        ExprKind::Literal(Literal::String(text)) => UNITS.contains(&text.to_lowercase().as_str()),
        _ => false,
    };
    if !known {
        let remedy = format!("write one of {} in quotes", UNITS.join(", "));
        return Err(Refusal::new("the unit of `date_trunc` is not a literal that it knows", remedy));
    }
    let ty = time.ty.clone();
    let time = argument(time, &DataType::Timestamp)
        .filter(|_| !is_given_number(&ty))
        .ok_or_else(|| unfit("date_trunc", &ty, "a date or time"))?;
    Ok(of(DataType::Timestamp, Function::DateTrunc, vec![unit.clone(), time]))
}

/// `date_add(day, 7)` is `day + 7`.
fn moved(name: &str, op: ArithmeticOp, day: Expr, days: Expr) -> Result<Expr, Refusal> {
    let ty = day.ty.clone();
    let day = argument(day, &DataType::Date)
        .filter(|_| !is_given_number(&ty))
        .ok_or_else(|| unfit(name, &ty, "a date"))?;
    operators::arithmetic(op, day, days, Some(true))
}
