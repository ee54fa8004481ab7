//! Comparisons as Spark orders values: NaN equals NaN and is the greatest, -0.0 equals 0.0, texts by bytes.
//!
//! Doubles and floats are compared by whole numbers in the same order, so that every kernel is one of Arrow's. Values with parts are not
//! compared; the parser refuses that.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, BooleanArray};
use arrow_ord::cmp;
use stream_spec::filter::expr::CompareOp;

use super::error::FilterError;
use super::logic::exactly;
use super::node::Kernel;
use super::values::Values;

pub(super) fn kernel(op: CompareOp) -> Kernel {
    Box::new(move |operands, _| {
        let [left, right] = exactly(operands)?;
        Ok(Arc::new(compare(op, left, right)?))
    })
}

pub(super) fn equal(left: &Values, right: &Values) -> Result<BooleanArray, FilterError> {
    compare(CompareOp::Equal, left, right)
}

fn compare(op: CompareOp, left: &Values, right: &Values) -> Result<BooleanArray, FilterError> {
    let (left, right) = (&ordered(left), &ordered(right));
    Ok(match op {
        CompareOp::Equal => cmp::eq(left, right)?,
        CompareOp::NullSafeEqual => cmp::not_distinct(left, right)?,
        CompareOp::Less => cmp::lt(left, right)?,
        CompareOp::LessOrEqual => cmp::lt_eq(left, right)?,
        CompareOp::Greater => cmp::gt(left, right)?,
        CompareOp::GreaterOrEqual => cmp::gt_eq(left, right)?,
    })
}

/// The same values; doubles and floats as whole numbers in Spark's order.
fn ordered(values: &Values) -> Values {
    let array = values.array();
    let ranks: ArrayRef = if let Some(doubles) = array.as_primitive_opt::<Float64Type>() {
        Arc::new(doubles.unary::<_, Int64Type>(double_rank))
    } else if let Some(floats) = array.as_primitive_opt::<Float32Type>() {
        Arc::new(floats.unary::<_, Int32Type>(float_rank))
    } else {
        return values.clone();
    };
    match values.is_constant() {
        true => Values::constant(ranks),
        false => Values::rows(ranks),
    }
}

/// Bits of a positive double are in its order as they are, those of a negative one upside down.
fn double_rank(value: f64) -> i64 {
    if value.is_nan() {
        return i64::MAX;
    }
    let bits = if value == 0.0 { 0 } else { value.to_bits().cast_signed() };
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

fn float_rank(value: f32) -> i32 {
    if value.is_nan() {
        return i32::MAX;
    }
    let bits = if value == 0.0 { 0 } else { value.to_bits().cast_signed() };
    bits ^ ((bits >> 31).cast_unsigned() >> 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::{double_rank, float_rank};

    #[test]
    fn ranks_are_in_the_order_of_spark() {
        let ordered = [
            f64::NEG_INFINITY,
            -1e300,
            -1.0,
            -5e-324,
            0.0,
            5e-324,
            1.0,
            1e300,
            f64::INFINITY,
            f64::NAN,
        ];
        assert!(ordered.windows(2).all(|pair| double_rank(pair[0]) < double_rank(pair[1])));
        assert_eq!(double_rank(-0.0), double_rank(0.0));
        assert_eq!(double_rank(-f64::NAN), double_rank(f64::NAN));
        let ordered = [f32::NEG_INFINITY, -1.5, 0.0, 1e-45, 2.0, f32::INFINITY, f32::NAN];
        assert!(ordered.windows(2).all(|pair| float_rank(pair[0]) < float_rank(pair[1])));
        assert_eq!(float_rank(-0.0), float_rank(0.0));
    }
}
