//! `+ - * / DIV %`, negation, `abs` and `round` of numbers. Null where Spark raises: overflow, and division by zero.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_schema::DataType as ArrowType;
use stream_spec::filter::expr::ArithmeticOp;

use super::decimal::Decimal;
use super::error::FilterError;
use super::interval;
use super::logic::exactly;
use super::node::Kernel;
use super::values::{Numbers, Values, numbers};

/// The kernel of an operator for operands and a result of those types.
pub(super) fn kernel(op: ArithmeticOp, left: &ArrowType, right: &ArrowType, result: &ArrowType) -> Result<Kernel, FilterError> {
    use ArithmeticOp::IntegralDivide;
    match (left, right, result) {
        (ArrowType::Decimal128(_, left), ArrowType::Decimal128(_, right), result) => decimals(op, *left, *right, result),
        (ArrowType::Int8, ArrowType::Int8, ArrowType::Int8) => Ok(integers::<Int8Type>(op)),
        (ArrowType::Int16, ArrowType::Int16, ArrowType::Int16) => Ok(integers::<Int16Type>(op)),
        (ArrowType::Int32, ArrowType::Int32, ArrowType::Int32) => Ok(integers::<Int32Type>(op)),
        (ArrowType::Int64, ArrowType::Int64, ArrowType::Int64) => Ok(integers::<Int64Type>(op)),
        (ArrowType::Int8, ArrowType::Int8, ArrowType::Int64) if op == IntegralDivide => Ok(integral_divide::<Int8Type>()),
        (ArrowType::Int16, ArrowType::Int16, ArrowType::Int64) if op == IntegralDivide => Ok(integral_divide::<Int16Type>()),
        (ArrowType::Int32, ArrowType::Int32, ArrowType::Int64) if op == IntegralDivide => Ok(integral_divide::<Int32Type>()),
        (ArrowType::Float32, ArrowType::Float32, ArrowType::Float32) => Ok(floats(op)),
        (ArrowType::Float64, ArrowType::Float64, ArrowType::Float64) => Ok(doubles(op)),
        _ => interval::kernel(op, left, right, result),
    }
}

/// Computes each row from two numbers of a type.
fn binary<T, O>(operate: impl Fn(T::Native, T::Native) -> Option<O::Native> + Send + Sync + 'static) -> Kernel
where
    T: ArrowPrimitiveType,
    O: ArrowPrimitiveType,
{
    Box::new(move |operands, rows| {
        let [left, right] = exactly(operands)?;
        let (left, right) = (Numbers::<T>::of(left)?, Numbers::<T>::of(right)?);
        let answers = numbers::<O>(rows, |row| operate(left.get(row)?, right.get(row)?));
        Ok(Arc::new(answers))
    })
}

/// Whole numbers that know their checked operations.
trait Whole: Copy + Into<i64> + TryFrom<i64> + Send + Sync {
    fn operate(op: ArithmeticOp, left: Self, right: Self) -> Option<Self>;
}

macro_rules! whole {
    ($($native:ty),*) => {$(
        impl Whole for $native {
            #[inline]
            fn operate(op: ArithmeticOp, left: Self, right: Self) -> Option<Self> {
                match op {
                    ArithmeticOp::Add => left.checked_add(right),
                    ArithmeticOp::Subtract => left.checked_sub(right),
                    ArithmeticOp::Multiply => left.checked_mul(right),
                    ArithmeticOp::Divide | ArithmeticOp::IntegralDivide => left.checked_div(right),
                    // The remainder by -1 is 0, also where the quotient has no room.
                    ArithmeticOp::Remainder if right == -1 => Some(0),
                    ArithmeticOp::Remainder => left.checked_rem(right),
                }
            }
        }
    )*};
}

whole!(i8, i16, i32, i64);

fn integers<T>(op: ArithmeticOp) -> Kernel
where
    T: ArrowPrimitiveType<Native: Whole>,
{
    binary::<T, T>(move |left, right| T::Native::operate(op, left, right))
}

fn integral_divide<T>() -> Kernel
where
    T: ArrowPrimitiveType<Native: Whole>,
{
    binary::<T, Int64Type>(|left, right| {
        let (left, right): (i64, i64) = (left.into(), right.into());
        left.checked_div(right)
    })
}

fn doubles(op: ArithmeticOp) -> Kernel {
    binary::<Float64Type, Float64Type>(move |left, right| match op {
        ArithmeticOp::Add => Some(left + right),
        ArithmeticOp::Subtract => Some(left - right),
        ArithmeticOp::Multiply => Some(left * right),
        ArithmeticOp::Divide => (right != 0.0).then_some(left / right),
        ArithmeticOp::Remainder => (right != 0.0).then_some(left % right),
        ArithmeticOp::IntegralDivide => None,
    })
}

fn floats(op: ArithmeticOp) -> Kernel {
    binary::<Float32Type, Float32Type>(move |left, right| match op {
        ArithmeticOp::Add => Some(left + right),
        ArithmeticOp::Subtract => Some(left - right),
        ArithmeticOp::Multiply => Some(left * right),
        ArithmeticOp::Divide => (right != 0.0).then_some(left / right),
        ArithmeticOp::Remainder => (right != 0.0).then_some(left % right),
        ArithmeticOp::IntegralDivide => None,
    })
}

fn decimals(op: ArithmeticOp, left: i8, right: i8, result: &ArrowType) -> Result<Kernel, FilterError> {
    let (left, right) = (i32::from(left), i32::from(right));
    if op == ArithmeticOp::IntegralDivide {
        return Ok(binary::<Decimal128Type, Int64Type>(move |a, b| {
            Decimal::new(a, left).divide_whole(Decimal::new(b, right))
        }));
    }
    let ArrowType::Decimal128(precision, scale) = *result else {
        return Err(FilterError::mismatch("a DECIMAL of DECIMALs", result));
    };
    let kernel = binary::<Decimal128Type, Decimal128Type>(move |a, b| {
        let (a, b) = (Decimal::new(a, left), Decimal::new(b, right));
        let exact = match op {
            ArithmeticOp::Add => a.add(b),
            ArithmeticOp::Subtract => a.subtract(b),
            ArithmeticOp::Multiply => a.multiply(b),
            ArithmeticOp::Divide => a.divide(b),
            ArithmeticOp::Remainder => a.remainder(b),
            ArithmeticOp::IntegralDivide => None,
        };
        exact?.fit(precision, scale)
    });
    Ok(typed::<Decimal128Type>(kernel, result.clone()))
}

/// Gives the numbers of a kernel their exact type: a decimal's precision and scale.
fn typed<T: ArrowPrimitiveType>(kernel: Kernel, ty: ArrowType) -> Kernel {
    Box::new(move |operands, rows| {
        let array = kernel(operands, rows)?;
        Ok(Arc::new(super::values::primitive::<T>(&array)?.clone().with_data_type(ty.clone())))
    })
}

pub(super) fn negate(ty: ArrowType) -> Kernel {
    signed(ty, Sign::Other)
}

pub(super) fn abs(ty: ArrowType) -> Kernel {
    signed(ty, Sign::None)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    None,
    Other,
}

fn signed(ty: ArrowType, sign: Sign) -> Kernel {
    let abs = sign == Sign::None;
    Box::new(move |operands, rows| {
        let [operand] = exactly(operands)?;
        Ok(match ty {
            ArrowType::Int8 => unary::<Int8Type>(operand, rows, |v| if abs { v.checked_abs() } else { v.checked_neg() })?,
            ArrowType::Int16 => unary::<Int16Type>(operand, rows, |v| if abs { v.checked_abs() } else { v.checked_neg() })?,
            ArrowType::Int32 => unary::<Int32Type>(operand, rows, |v| if abs { v.checked_abs() } else { v.checked_neg() })?,
            ArrowType::Int64 => unary::<Int64Type>(operand, rows, |v| if abs { v.checked_abs() } else { v.checked_neg() })?,
            ArrowType::Float32 => unary::<Float32Type>(operand, rows, |v| Some(if abs { v.abs() } else { -v }))?,
            ArrowType::Float64 => unary::<Float64Type>(operand, rows, |v| Some(if abs { v.abs() } else { -v }))?,
            ArrowType::Decimal128(..) => unary::<Decimal128Type>(operand, rows, |v| Some(if abs { v.abs() } else { -v }))?,
            _ => return Err(FilterError::mismatch("a number", &ty)),
        })
    })
}

fn unary<T: ArrowPrimitiveType>(
    operand: &Values,
    rows: usize,
    operate: impl Fn(T::Native) -> Option<T::Native>,
) -> Result<ArrayRef, FilterError> {
    let values = Numbers::<T>::of(operand)?;
    let answers: PrimitiveArray<T> = numbers(rows, |row| operate(values.get(row)?));
    Ok(Arc::new(answers.with_data_type(operand.array().data_type().clone())))
}

/// Rounds to so many digits behind the point, half up; negative: before it.
pub(super) fn round(digits: i32, operand: &ArrowType, result: &ArrowType) -> Result<Kernel, FilterError> {
    let whole = move |value: i64| Decimal::new(value.into(), 0).rounded(digits)?.whole();
    Ok(match (operand, result) {
        (ArrowType::Int8, ArrowType::Int8) => {
            rounding(move |v: &Values, rows| unary::<Int8Type>(v, rows, |v| whole(v.into())?.try_into().ok()))
        }
        (ArrowType::Int16, ArrowType::Int16) => {
            rounding(move |v: &Values, rows| unary::<Int16Type>(v, rows, |v| whole(v.into())?.try_into().ok()))
        }
        (ArrowType::Int32, ArrowType::Int32) => {
            rounding(move |v: &Values, rows| unary::<Int32Type>(v, rows, |v| whole(v.into())?.try_into().ok()))
        }
        (ArrowType::Int64, ArrowType::Int64) => {
            rounding(move |v: &Values, rows| unary::<Int64Type>(v, rows, |v| whole(v)?.try_into().ok()))
        }
        (ArrowType::Float32, ArrowType::Float32) => {
            rounding(move |v: &Values, rows| unary::<Float32Type>(v, rows, |v| Some(round_float(v, digits))))
        }
        (ArrowType::Float64, ArrowType::Float64) => {
            rounding(move |v: &Values, rows| unary::<Float64Type>(v, rows, |v| Some(round_real(v, digits))))
        }
        (ArrowType::Decimal128(_, from), ArrowType::Decimal128(precision, scale)) => {
            let (from, precision, scale) = (i32::from(*from), *precision, *scale);
            let ty = result.clone();
            rounding(move |v: &Values, rows| {
                let rounded = unary::<Decimal128Type>(v, rows, |v| Decimal::new(v, from).rounded(digits)?.fit(precision, scale))?;
                let rounded = super::values::primitive::<Decimal128Type>(&rounded)?.clone();
                Ok(Arc::new(rounded.with_data_type(ty.clone())))
            })
        }
        _ => {
            return Err(FilterError::mismatch(
                "round to keep a number's type",
                format!("{operand} to {result}"),
            ));
        }
    })
}

fn rounding(compute: impl Fn(&Values, usize) -> Result<ArrayRef, FilterError> + Send + Sync + 'static) -> Kernel {
    Box::new(move |operands, rows| {
        let Some(operand) = operands.first() else {
            return Err(FilterError::mismatch("a number to round", "nothing"));
        };
        compute(operand, rows)
    })
}

/// Rounds a number by its shortest text, which is what Spark rounds: 1.005 becomes 1.01. NaN and the infinities stay.
fn round_real(value: f64, digits: i32) -> f64 {
    round_text(&value.to_string(), digits)
        .and_then(|rounded| rounded.parse().ok())
        .unwrap_or(value)
}

/// Rounds a float as the double that it is: 1.005 as a FLOAT is a little less, and becomes 1.0.
#[allow(clippy::cast_possible_truncation, reason = "a FLOAT stays one")]
fn round_float(value: f32, digits: i32) -> f32 {
    round_real(f64::from(value), digits) as f32
}

/// The rounded text of a number without an exponent; nothing if it stays as it is.
fn round_text(text: &str, digits: i32) -> Option<String> {
    let unsigned = text.trim_start_matches('-');
    if !unsigned.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let kept = i32::try_from(whole.len()).unwrap_or(i32::MAX).saturating_add(digits);
    let Ok(kept) = usize::try_from(kept) else {
        return Some("0".to_owned());
    };
    let mut carry = *all.get(kept)? >= b'5';
    for digit in all.iter_mut().skip(kept) {
        *digit = b'0';
    }
    for digit in all.iter_mut().take(kept).rev() {
        if !carry {
            break;
        }
        carry = *digit == b'9';
        *digit = if carry { b'0' } else { *digit + 1 };
    }
    // Java's BigDecimal has no negative zero.
    if !carry && all.iter().all(|digit| *digit == b'0') {
        return Some("0".to_owned());
    }
    let digits: String = all.iter().map(|digit| char::from(*digit)).collect();
    let (whole, fraction) = digits.split_at_checked(whole.len())?;
    let sign = if text.starts_with('-') { "-" } else { "" };
    let first = if carry { "1" } else { "" };
    Some(format!("{sign}{first}{whole}.{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::{round_float, round_real as round};

    #[test]
    fn doubles_are_rounded_by_their_shortest_text() {
        for (value, digits, expected) in [
            (2.5, 0, 3.0),
            (-2.5, 0, -3.0),
            (1.005, 2, 1.01),
            (9.99, 1, 10.0),
            (99.9, -1, 100.0),
            (149.0, -2, 100.0),
            (150.0, -2, 200.0),
            (49.0, -3, 0.0),
            (500.0, -3, 1000.0),
            (0.4, 0, 0.0),
            (1e300, 2, 1e300),
            (1e-300, 2, 0.0),
            (2.345, 5, 2.345),
        ] {
            assert_eq!(round(value, digits), expected, "{value} {digits}");
        }
        assert!(round(f64::NAN, 1).is_nan() && round(f64::INFINITY, 1) == f64::INFINITY);
        assert!(round(-0.4_f64, 0).is_sign_positive());
    }

    #[test]
    fn floats_are_rounded_as_the_doubles_they_are() {
        for (value, digits, expected) in [
            (1.005, 2, 1.0),
            (0.285, 2, 0.28),
            (2.675, 2, 2.67),
            (1.15, 1, 1.1),
            (2.5, 0, 3.0),
            (f32::MAX, 2, f32::MAX),
        ] {
            assert_eq!(round_float(value, digits), expected, "{value} {digits}");
        }
        assert!(round_float(f32::NAN, 1).is_nan() && round_float(f32::NEG_INFINITY, 1) == f32::NEG_INFINITY);
    }
}
