//! Three-valued logic, null tests, choices and literals.

use std::sync::Arc;

use arrow_arith::boolean;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, PrimitiveArray, StringArray, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType as ArrowType;
use stream_spec::filter::expr::Literal;

use super::compare;
use super::error::FilterError;
use super::node::Kernel;
use super::values::{Values, booleans, choose};

/// One element of the type.
pub(super) fn literal(literal: &Literal, ty: &ArrowType) -> Result<ArrayRef, FilterError> {
    let unfit = || FilterError::mismatch(ty.to_string(), format!("{literal:?}"));
    Ok(match (literal, ty) {
        (Literal::Null, ty) => new_null_array(ty, 1),
        (Literal::Boolean(value), ArrowType::Boolean) => Arc::new(BooleanArray::from(vec![*value])),
        (Literal::Integer(value), ArrowType::Int8) => one::<Int8Type>(i8::try_from(*value).map_err(|_| unfit())?, ty),
        (Literal::Integer(value), ArrowType::Int16) => one::<Int16Type>(i16::try_from(*value).map_err(|_| unfit())?, ty),
        (Literal::Integer(value), ArrowType::Int32) => one::<Int32Type>(i32::try_from(*value).map_err(|_| unfit())?, ty),
        (Literal::Integer(value), ArrowType::Int64) => one::<Int64Type>(*value, ty),
        (Literal::Integer(value), ArrowType::Date32) => one::<Date32Type>(i32::try_from(*value).map_err(|_| unfit())?, ty),
        (Literal::Integer(value), ArrowType::Timestamp(..)) => one::<TimestampMicrosecondType>(*value, ty),
        #[allow(clippy::cast_possible_truncation, reason = "the literal of a FLOAT is a float, widened exactly")]
        (Literal::Double(value), ArrowType::Float32) => one::<Float32Type>(*value as f32, ty),
        (Literal::Double(value), ArrowType::Float64) => one::<Float64Type>(*value, ty),
        (Literal::Decimal(value), ArrowType::Decimal128(..)) => one::<Decimal128Type>(*value, ty),
        (Literal::String(value), ArrowType::Utf8) => Arc::new(StringArray::from_iter_values([value])),
        (Literal::Binary(value), ArrowType::Binary) => Arc::new(BinaryArray::from_iter_values([value])),
        _ => return Err(unfit()),
    })
}

fn one<T: ArrowPrimitiveType>(value: T::Native, ty: &ArrowType) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_value(value, 1).with_data_type(ty.clone()))
}

pub(super) fn not() -> Kernel {
    Box::new(|operands, _| {
        let [operand] = exactly(operands)?;
        Ok(Arc::new(boolean::not(booleans(operand.array())?)?))
    })
}

pub(super) fn is_null() -> Kernel {
    Box::new(|operands, _| {
        let [operand] = exactly(operands)?;
        let nulls = operand.array().logical_nulls();
        let nulls = nulls.map_or_else(|| BooleanBuffer::new_unset(operand.array().len()), |nulls| !nulls.inner());
        Ok(Arc::new(BooleanArray::new(nulls, None)))
    })
}

pub(super) fn is_truth(wanted: bool) -> Kernel {
    Box::new(move |operands, _| {
        let [operand] = exactly(operands)?;
        let operand = booleans(operand.array())?;
        let values = if wanted { operand.values().clone() } else { !operand.values() };
        let certain = match operand.nulls() {
            Some(nulls) => &values & nulls.inner(),
            None => values,
        };
        Ok(Arc::new(BooleanArray::new(certain, None)))
    })
}

/// Conditions and results by turns, and a last result for where no condition is true.
pub(super) fn case() -> Kernel {
    Box::new(|operands, rows| {
        let Some((otherwise, branches)) = operands.split_last() else {
            return Err(FilterError::mismatch("branches of CASE", "none"));
        };
        let mut chosen = otherwise.clone();
        for branch in branches.rchunks(2) {
            let [condition, result] = exactly(branch)?;
            let condition = condition.per_row(rows)?;
            chosen = Values::rows(choose(booleans(&condition)?, result, &chosen)?);
        }
        chosen.per_row(rows)
    })
}

pub(super) fn coalesce() -> Kernel {
    Box::new(|operands, rows| {
        let Some((last, others)) = operands.split_last() else {
            return Err(FilterError::mismatch("arguments of coalesce", "none"));
        };
        let mut chosen = last.clone();
        for operand in others.iter().rev() {
            if operand.array().logical_null_count() == 0 {
                chosen = operand.clone();
            } else if !operand.is_constant() {
                let present = boolean::is_not_null(operand.array())?;
                chosen = Values::rows(choose(&present, operand, &chosen)?);
            }
        }
        chosen.per_row(rows)
    })
}

pub(super) fn null_if() -> Kernel {
    Box::new(|operands, rows| {
        let [value, unwanted] = exactly(operands)?;
        let equal = compare::equal(value, unwanted)?;
        let equal = Values::rows(Arc::new(equal));
        // Two constants compare to one answer, which is for the one row that there is then.
        let equal = equal.per_row(rows)?;
        let null = Values::constant(new_null_array(value.array().data_type(), 1));
        choose(booleans(&equal)?, &null, value)
    })
}

/// The arguments, as many as the kernel takes.
pub(super) fn exactly<const N: usize>(arguments: &[Values]) -> Result<&[Values; N], FilterError> {
    arguments
        .try_into()
        .map_err(|_| FilterError::mismatch(format!("{N} arguments"), arguments.len()))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;

    #[test]
    fn a_long_literal_is_written_only_where_it_is_chosen() {
        // 4 GiB, were it written once a row.
        let rows = 131_072;
        let literal = Values::constant(Arc::new(StringArray::from_iter_values(["x".repeat(32 * 1024)])));
        let notes: StringArray = (0..rows).map(|row| (row % 65_536 != 0).then_some("a")).collect();
        let is_noted: BooleanArray = (0..rows).map(|row| Some(row % 65_536 != 0)).collect();
        let notes = Values::rows(Arc::new(notes));
        let operands = [notes.clone(), literal.clone()];
        let branches = [Values::rows(Arc::new(is_noted)), notes, literal.clone()];
        for chosen in [coalesce()(&operands, rows), case()(&branches, rows)] {
            let chosen = chosen.expect("chosen");
            let chosen = chosen.as_string::<i32>();
            assert_eq!((chosen.len(), chosen.null_count()), (rows, 0));
            assert_eq!((chosen.value(0).len(), chosen.value(1)), (32 * 1024, "a"));
        }
        // Where it is chosen for every row, what goes beyond the bound is null.
        let chosen = coalesce()(&[literal], rows).expect("chosen");
        assert!(chosen.is_valid(0) && chosen.is_null(rows - 1));
    }
}
