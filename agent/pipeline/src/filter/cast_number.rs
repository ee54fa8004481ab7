//! Conversions between numbers, booleans and timestamps.
//!
//! Digits behind the point are cut; what has no room in the type is null.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, BooleanArray};
use arrow_schema::DataType as ArrowType;
use stream_decode::text::decimal;
use stream_decode::text::double::append_java_double;

use super::calendar::MICROS_PER_SECOND;
use super::cast::{Cast, each};
use super::decimal::{Decimal, to_double, to_float};
use super::values::{Numbers, Values, booleans, numbers};

/// The first whole number that is no BIGINT.
const BIG_INT_END: i128 = 1 << 63;

/// A number on its way from one type to another.
#[derive(Clone, Copy)]
enum Number {
    Whole(i64),
    Float(f32),
    Double(f64),
    Decimal(i128, i8),
    /// Microseconds; as a number they are seconds.
    Moment(i64),
}

/// The conversion, if it is one of numbers.
pub(super) fn between(from: &ArrowType, to: &ArrowType) -> Option<Cast> {
    Some(match from {
        ArrowType::Boolean => from_boolean(to)?,
        ArrowType::Int8 => from_number::<Int8Type>(to, |value| Number::Whole(value.into()))?,
        ArrowType::Int16 => from_number::<Int16Type>(to, |value| Number::Whole(value.into()))?,
        ArrowType::Int32 => from_number::<Int32Type>(to, |value| Number::Whole(value.into()))?,
        ArrowType::Int64 => from_number::<Int64Type>(to, Number::Whole)?,
        ArrowType::Float32 => from_number::<Float32Type>(to, Number::Float)?,
        ArrowType::Float64 => from_number::<Float64Type>(to, Number::Double)?,
        ArrowType::Decimal128(_, scale) => {
            let scale = *scale;
            from_number::<Decimal128Type>(to, move |value| Number::Decimal(value, scale))?
        }
        ArrowType::Timestamp(..) if to.is_numeric() => from_number::<TimestampMicrosecondType>(to, Number::Moment)?,
        _ => return None,
    })
}

fn from_number<F>(to: &ArrowType, read: impl Fn(F::Native) -> Number + Send + Sync + 'static) -> Option<Cast>
where
    F: ArrowPrimitiveType,
{
    Some(match to {
        ArrowType::Boolean => to_boolean::<F>(read),
        ArrowType::Int8 => each::<F, Int8Type>(to, move |value| read(value).whole()?.try_into().ok()),
        ArrowType::Int16 => each::<F, Int16Type>(to, move |value| read(value).whole()?.try_into().ok()),
        ArrowType::Int32 => each::<F, Int32Type>(to, move |value| read(value).whole()?.try_into().ok()),
        ArrowType::Int64 => each::<F, Int64Type>(to, move |value| read(value).big_int()),
        ArrowType::Float32 => each::<F, Float32Type>(to, move |value| Some(read(value).float())),
        ArrowType::Float64 => each::<F, Float64Type>(to, move |value| Some(read(value).double())),
        ArrowType::Decimal128(precision, scale) => {
            let (precision, scale) = (*precision, *scale);
            each::<F, Decimal128Type>(to, move |value| read(value).decimal(precision, scale))
        }
        ArrowType::Timestamp(..) => each::<F, TimestampMicrosecondType>(to, move |value| read(value).moment()),
        _ => return None,
    })
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "what SQL's casts to FLOAT and DOUBLE do, and casts of doubles whose range was checked"
)]
impl Number {
    fn whole(self) -> Option<i128> {
        match self {
            Self::Whole(value) => Some(value.into()),
            Self::Float(value) => whole_of(value.into()),
            Self::Double(value) => whole_of(value),
            Self::Decimal(unscaled, scale) => Decimal::new(unscaled, scale.into()).whole(),
            Self::Moment(micros) => Some(micros.div_euclid(MICROS_PER_SECOND).into()),
        }
    }

    fn big_int(self) -> Option<i64> {
        match (self, self.whole()?) {
            // Spark compares with the largest BIGINT as a double, which is one more.
            (Self::Float(_) | Self::Double(_), BIG_INT_END) => Some(i64::MAX),
            (_, whole) => whole.try_into().ok(),
        }
    }

    fn float(self) -> f32 {
        match self {
            Self::Whole(value) => value as f32,
            Self::Float(value) => value,
            Self::Double(value) => value as f32,
            Self::Decimal(unscaled, scale) => to_float(unscaled, scale),
            Self::Moment(_) => self.double() as f32,
        }
    }

    fn double(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Float(value) => value.into(),
            Self::Double(value) => value,
            Self::Decimal(unscaled, scale) => to_double(unscaled, scale),
            Self::Moment(micros) => micros as f64 / MICROS_PER_SECOND as f64,
        }
    }

    fn decimal(self, precision: u8, scale: i8) -> Option<i128> {
        match self {
            Self::Whole(value) => Decimal::new(value.into(), 0).fit(precision, scale),
            Self::Decimal(unscaled, from) => Decimal::new(unscaled, from.into()).fit(precision, scale),
            // Spark takes the shortest text of the double.
            Self::Float(_) | Self::Double(_) | Self::Moment(_) => {
                let value = self.double();
                if !value.is_finite() {
                    return None;
                }
                let mut text = Vec::new();
                append_java_double(value, &mut text);
                decimal::parse(std::str::from_utf8(&text).ok()?, precision, scale.unsigned_abs()).ok()
            }
        }
    }

    /// Seconds as microseconds.
    fn moment(self) -> Option<i64> {
        match self {
            // The one cast of Spark's that stops at the ends of the range.
            Self::Whole(value) => Some(value.saturating_mul(MICROS_PER_SECOND)),
            Self::Float(_) | Self::Double(_) => Self::Double(self.double() * MICROS_PER_SECOND as f64).big_int(),
            Self::Decimal(unscaled, scale) => {
                let micros = Decimal::new(unscaled, scale.into()).multiply(Decimal::new(MICROS_PER_SECOND.into(), 0))?;
                micros.whole()?.try_into().ok()
            }
            Self::Moment(micros) => Some(micros),
        }
    }

    fn is_zero(self) -> bool {
        match self {
            Self::Whole(value) | Self::Moment(value) => value == 0,
            Self::Float(value) => value == 0.0,
            Self::Double(value) => value == 0.0,
            Self::Decimal(unscaled, _) => unscaled == 0,
        }
    }
}

/// The number without its fraction, if it is one that any whole type could hold.
#[allow(clippy::cast_possible_truncation, reason = "the range is checked")]
fn whole_of(value: f64) -> Option<i128> {
    // From 2^63 on no BIGINT has room; 2^64 leaves the exact test to the type.
    const BEYOND_ANY: f64 = 18_446_744_073_709_551_616.0;
    (value.abs() < BEYOND_ANY).then(|| value.trunc() as i128)
}

fn to_boolean<F>(read: impl Fn(F::Native) -> Number + Send + Sync + 'static) -> Cast
where
    F: ArrowPrimitiveType,
{
    Box::new(move |array| {
        let values = Values::rows(array.clone());
        let values = Numbers::<F>::of(&values)?;
        let truths: BooleanArray = (0..array.len())
            .map(|row| values.get(row).map(|value| !read(value).is_zero()))
            .collect();
        Ok(Arc::new(truths))
    })
}

fn from_boolean(to: &ArrowType) -> Option<Cast> {
    fn convert<T: ArrowPrimitiveType>(to: &ArrowType, one: T::Native) -> Cast {
        let to = to.clone();
        Box::new(move |array| {
            let truths = booleans(array)?;
            let truth = |row: usize| truths.nulls().is_none_or(|nulls| nulls.is_valid(row)).then(|| truths.value(row));
            let converted = numbers::<T>(truths.values().len(), |row| {
                truth(row).map(|truth| if truth { one } else { T::Native::default() })
            });
            Ok(Arc::new(converted.with_data_type(to.clone())))
        })
    }
    Some(match to {
        ArrowType::Int8 => convert::<Int8Type>(to, 1),
        ArrowType::Int16 => convert::<Int16Type>(to, 1),
        ArrowType::Int32 => convert::<Int32Type>(to, 1),
        ArrowType::Int64 => convert::<Int64Type>(to, 1),
        ArrowType::Float32 => convert::<Float32Type>(to, 1.0),
        ArrowType::Float64 => convert::<Float64Type>(to, 1.0),
        ArrowType::Decimal128(precision, scale) => {
            let one = Decimal::new(1, 0).fit(*precision, *scale);
            // One may have no room: DECIMAL(2,2).
            let (to, one) = (to.clone(), one);
            Box::new(move |array| {
                let truths = booleans(array)?;
                let converted = truths.iter().map(|truth| match truth? {
                    true => one,
                    false => Some(0),
                });
                let converted: arrow_array::Decimal128Array = converted.collect();
                Ok(Arc::new(converted.with_data_type(to.clone())))
            })
        }
        _ => return None,
    })
}
