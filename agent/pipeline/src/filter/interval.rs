//! Dates and timestamps with intervals, differences of them, and sums of intervals.
//!
//! Intervals are whole numbers here, months or microseconds: which of the two an operand is follows from the expression's type, so the
//! kernels are told. Null beyond the range of a date or timestamp, where Spark raises.

use std::sync::Arc;

use arrow_array::types::{Date32Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_schema::DataType as ArrowType;
use stream_spec::filter::expr::ArithmeticOp;

use super::calendar::{Date, MICROS_PER_DAY, day_of};
use super::error::FilterError;
use super::logic::exactly;
use super::node::Kernel;
use super::values::{Numbers, numbers};

/// What is added to a date or timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Months,
    Micros,
}

/// Days with a number of days, and differences.
pub(super) fn kernel(op: ArithmeticOp, left: &ArrowType, right: &ArrowType, result: &ArrowType) -> Result<Kernel, FilterError> {
    use ArithmeticOp::{Add, Subtract};
    Ok(match (op, left, right) {
        (Add | Subtract, ArrowType::Date32, ArrowType::Int32) => days(op),
        (Subtract, ArrowType::Date32, ArrowType::Date32) => difference_of_dates(result)?,
        (Subtract, ArrowType::Timestamp(..), ArrowType::Timestamp(..)) => difference_of_timestamps(),
        _ => {
            let found = format!("{left} {op:?} {right} as {result}");
            return Err(FilterError::mismatch("arithmetic of two numbers or moments", found));
        }
    })
}

/// A date or timestamp and an interval.
pub(super) fn shift(op: ArithmeticOp, unit: Unit, moment: &ArrowType, result: &ArrowType) -> Result<Kernel, FilterError> {
    let sign = match op {
        ArithmeticOp::Add => 1,
        ArithmeticOp::Subtract => -1,
        _ => return Err(FilterError::mismatch("an interval to be added or taken away", format!("{op:?}"))),
    };
    match (moment, result) {
        (ArrowType::Date32, ArrowType::Date32) => Ok(Box::new(move |operands, rows| {
            let [moment, interval] = exactly(operands)?;
            let (dates, intervals) = (Numbers::<Date32Type>::of(moment)?, Numbers::<Int64Type>::of(interval)?);
            let shifted = numbers::<Date32Type>(rows, |row| {
                let days = i64::from(dates.get(row)?);
                let amount = intervals.get(row)?.checked_mul(sign)?;
                let shifted = match unit {
                    Unit::Months => Date::of_days(days).plus_months(amount)?.days()?,
                    Unit::Micros => days.checked_add(amount.div_euclid(MICROS_PER_DAY))?,
                };
                i32::try_from(shifted).ok()
            });
            Ok(Arc::new(shifted))
        })),
        (ArrowType::Timestamp(..), ArrowType::Timestamp(..)) => {
            let ty = result.clone();
            Ok(Box::new(move |operands, rows| {
                let [moment, interval] = exactly(operands)?;
                let (moments, intervals) = (
                    Numbers::<TimestampMicrosecondType>::of(moment)?,
                    Numbers::<Int64Type>::of(interval)?,
                );
                let shifted: PrimitiveArray<TimestampMicrosecondType> = numbers(rows, |row| {
                    let micros = moments.get(row)?;
                    let amount = intervals.get(row)?.checked_mul(sign)?;
                    match unit {
                        Unit::Micros => micros.checked_add(amount),
                        Unit::Months => {
                            let date = Date::of_days(day_of(micros)).plus_months(amount)?;
                            date.days()?
                                .checked_mul(MICROS_PER_DAY)?
                                .checked_add(micros.rem_euclid(MICROS_PER_DAY))
                        }
                    }
                });
                Ok(Arc::new(shifted.with_data_type(ty.clone())))
            }))
        }
        _ => Err(FilterError::mismatch(
            "a date or timestamp of its own kind",
            format!("{moment} to {result}"),
        )),
    }
}

fn days(op: ArithmeticOp) -> Kernel {
    Box::new(move |operands, rows| {
        let [date, count] = exactly(operands)?;
        let (dates, counts) = (Numbers::<Date32Type>::of(date)?, Numbers::<Int32Type>::of(count)?);
        let shifted = numbers::<Date32Type>(rows, |row| match op {
            ArithmeticOp::Add => dates.get(row)?.checked_add(counts.get(row)?),
            _ => dates.get(row)?.checked_sub(counts.get(row)?),
        });
        Ok(Arc::new(shifted))
    })
}

fn difference_of_dates(result: &ArrowType) -> Result<Kernel, FilterError> {
    match result {
        ArrowType::Int64 => {}
        _ => return Err(FilterError::mismatch("an interval", result)),
    }
    Ok(Box::new(|operands, rows| {
        let [left, right] = exactly(operands)?;
        let (left, right) = (Numbers::<Date32Type>::of(left)?, Numbers::<Date32Type>::of(right)?);
        let between = numbers::<Int64Type>(rows, |row| {
            (i64::from(left.get(row)?) - i64::from(right.get(row)?)).checked_mul(MICROS_PER_DAY)
        });
        Ok(Arc::new(between) as ArrayRef)
    }))
}

fn difference_of_timestamps() -> Kernel {
    Box::new(|operands, rows| {
        let [left, right] = exactly(operands)?;
        let (left, right) = (
            Numbers::<TimestampMicrosecondType>::of(left)?,
            Numbers::<TimestampMicrosecondType>::of(right)?,
        );
        let between = numbers::<Int64Type>(rows, |row| left.get(row)?.checked_sub(right.get(row)?));
        Ok(Arc::new(between) as ArrayRef)
    })
}
