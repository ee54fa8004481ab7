//! Conversions between types, by the rules of Spark's ANSI mode; null where those raise.
//!
//! This file pairs the types and does dates, timestamps and elements of arrays; numbers and texts are beside it. The one invariant: the result has
//! exactly the type that was asked for.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, ListArray, PrimitiveArray};
use arrow_schema::{DataType as ArrowType, FieldRef};

use super::calendar::{MICROS_PER_DAY, day_of};
use super::error::FilterError;
use super::logic::exactly;
use super::node::Kernel;
use super::values::{Numbers, Values, lists, numbers};
use super::{cast_number, cast_text};

/// Converts a column.
pub(super) type Cast = Box<dyn Fn(&ArrayRef) -> Result<ArrayRef, FilterError> + Send + Sync>;

/// The kernel that converts its one argument.
pub(super) fn kernel(from: &ArrowType, to: &ArrowType) -> Result<Kernel, FilterError> {
    let cast = between(from, to)?;
    Ok(Box::new(move |operands, _| {
        let [operand] = exactly(operands)?;
        cast(operand.array())
    }))
}

fn between(from: &ArrowType, to: &ArrowType) -> Result<Cast, FilterError> {
    if from.equals_datatype(to) {
        return Ok(Box::new(|array| Ok(array.clone())));
    }
    if let Some(cast) = cast_number::between(from, to) {
        return Ok(cast);
    }
    if let Some(cast) = cast_text::between(from, to) {
        return Ok(cast);
    }
    match (from, to) {
        (ArrowType::Date32, ArrowType::Timestamp(..)) => Ok(each::<Date32Type, TimestampMicrosecondType>(to, |days| {
            i64::from(days).checked_mul(MICROS_PER_DAY)
        })),
        (ArrowType::Timestamp(..), ArrowType::Date32) => Ok(each::<TimestampMicrosecondType, Date32Type>(to, |micros| {
            i32::try_from(day_of(micros)).ok()
        })),
        // The session's zone is UTC, where both are the same microseconds.
        (ArrowType::Timestamp(..), ArrowType::Timestamp(..)) => Ok(each::<TimestampMicrosecondType, TimestampMicrosecondType>(to, Some)),
        (ArrowType::List(from), ArrowType::List(to)) => list(from, to),
        _ => Err(FilterError::mismatch("a conversion that exists", format!("{from} to {to}"))),
    }
}

/// A conversion of one number to another of the type.
pub(super) fn each<F, T>(to: &ArrowType, convert: impl Fn(F::Native) -> Option<T::Native> + Send + Sync + 'static) -> Cast
where
    F: ArrowPrimitiveType,
    T: ArrowPrimitiveType,
{
    let to = to.clone();
    Box::new(move |array| {
        let values = Values::rows(array.clone());
        let values = Numbers::<F>::of(&values)?;
        let converted: PrimitiveArray<T> = numbers(array.len(), |row| convert(values.get(row)?));
        Ok(Arc::new(converted.with_data_type(to.clone())))
    })
}

fn list(from: &FieldRef, to: &FieldRef) -> Result<Cast, FilterError> {
    let cast = between(from.data_type(), to.data_type())?;
    let element = to.clone();
    Ok(Box::new(move |array| {
        let array = lists(array)?;
        let elements = cast(array.values())?;
        let list = ListArray::try_new(element.clone(), array.offsets().clone(), elements, array.nulls().cloned())?;
        Ok(Arc::new(list))
    }))
}
