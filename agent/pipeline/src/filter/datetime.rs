//! Functions of dates and timestamps. The zone is UTC.

use std::sync::Arc;

use arrow_array::types::{Date32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_schema::DataType as ArrowType;
use stream_spec::filter::datetime_pattern::DatetimePattern;

use super::calendar::{Date, MICROS_PER_DAY, MICROS_PER_SECOND, day_of};
use super::cast;
use super::datetime_text;
use super::error::FilterError;
use super::logic::exactly;
use super::node::Kernel;
use super::values::{Numbers, Texts, Values, ints, numbers};

/// How `unix_timestamp` reads texts unless told otherwise.
const UNIX_TIMESTAMP_PATTERN: &str = "yyyy-MM-dd HH:mm:ss";

/// A part of a DATE.
pub(super) fn date_part(part: fn(Date) -> i64) -> Kernel {
    Box::new(move |operands, rows| {
        let [date] = exactly(operands)?;
        let days = Days::of(date)?;
        Ok(ints(rows, |row| i32::try_from(part(Date::of_days(days.get(row)?))).ok()))
    })
}

/// The parser makes dates of timestamps; either is taken here.
enum Days<'a> {
    Date(Numbers<'a, Date32Type>),
    Timestamp(Numbers<'a, TimestampMicrosecondType>),
}

impl<'a> Days<'a> {
    fn of(values: &'a Values) -> Result<Self, FilterError> {
        Ok(match values.array().data_type() {
            ArrowType::Timestamp(..) => Self::Timestamp(Numbers::of(values)?),
            _ => Self::Date(Numbers::of(values)?),
        })
    }

    fn get(&self, row: usize) -> Option<i64> {
        match self {
            Self::Date(days) => days.get(row).map(i64::from),
            Self::Timestamp(micros) => micros.get(row).map(day_of),
        }
    }
}

/// A part of a timestamp's time of day: units of so many seconds, of which the next larger one has so many.
pub(super) fn time_part(unit_seconds: i64, count: i64) -> Kernel {
    Box::new(move |operands, rows| {
        let [moment] = exactly(operands)?;
        let moments = Numbers::<TimestampMicrosecondType>::of(moment)?;
        Ok(ints(rows, |row| {
            let seconds = moments.get(row)?.div_euclid(MICROS_PER_SECOND);
            i32::try_from(seconds.div_euclid(unit_seconds).rem_euclid(count)).ok()
        }))
    })
}

/// The unit first, then the timestamp.
pub(super) fn date_trunc() -> Kernel {
    Box::new(|operands, rows| {
        let [unit, moment] = exactly(operands)?;
        let (units, moments) = (Texts::of(unit)?, Numbers::<TimestampMicrosecondType>::of(moment)?);
        let constant = match unit.is_constant() {
            true => units.get(0).and_then(Unit::read),
            false => None,
        };
        let truncated: PrimitiveArray<TimestampMicrosecondType> = numbers(rows, |row| {
            let unit = match unit.is_constant() {
                true => constant?,
                false => Unit::read(units.get(row)?)?,
            };
            unit.truncate(moments.get(row)?)
        });
        Ok(Arc::new(truncated.with_data_type(moment.array().data_type().clone())))
    })
}

/// What a timestamp is cut to.
#[derive(Clone, Copy)]
enum Unit {
    Micros(i64),
    Week,
    Months(i64),
}

impl Unit {
    fn read(text: &str) -> Option<Self> {
        Some(match text.to_ascii_uppercase().as_str() {
            "MICROSECOND" => Self::Micros(1),
            "MILLISECOND" => Self::Micros(1000),
            "SECOND" => Self::Micros(MICROS_PER_SECOND),
            "MINUTE" => Self::Micros(60 * MICROS_PER_SECOND),
            "HOUR" => Self::Micros(3600 * MICROS_PER_SECOND),
            "DAY" | "DD" => Self::Micros(MICROS_PER_DAY),
            "WEEK" => Self::Week,
            "MON" | "MONTH" | "MM" => Self::Months(1),
            "QUARTER" => Self::Months(3),
            "YEAR" | "YYYY" | "YY" => Self::Months(12),
            _ => return None,
        })
    }

    fn truncate(self, micros: i64) -> Option<i64> {
        match self {
            Self::Micros(unit) => micros.checked_sub(micros.rem_euclid(unit)),
            Self::Week => {
                let days = day_of(micros);
                // 1970-01-01 was a Thursday; weeks begin on Monday.
                (days - (days + 3).rem_euclid(7)).checked_mul(MICROS_PER_DAY)
            }
            Self::Months(count) => {
                let Date { year, month, .. } = Date::of_days(day_of(micros));
                let month = (month - 1) / count * count + 1;
                Date { year, month, day: 1 }.days()?.checked_mul(MICROS_PER_DAY)
            }
        }
    }
}

/// `to_date`: a cast, or by a pattern.
pub(super) fn to_date(from: Option<&ArrowType>, pattern: Option<&str>) -> Result<Kernel, FilterError> {
    match (from, pattern) {
        (Some(ArrowType::Utf8), Some(pattern)) => {
            let pattern = read_pattern(pattern)?;
            Ok(Box::new(move |operands, rows| {
                let texts = first_texts(operands)?;
                let days = numbers::<Date32Type>(rows, |row| {
                    i32::try_from(day_of(datetime_text::read(&pattern, texts.get(row)?)?)).ok()
                });
                Ok(Arc::new(days))
            }))
        }
        (from, _) => cast_first(from, &ArrowType::Date32),
    }
}

/// `to_timestamp`: a cast, or by a pattern.
pub(super) fn to_timestamp(from: Option<&ArrowType>, to: &ArrowType, pattern: Option<&str>) -> Result<Kernel, FilterError> {
    match (from, pattern) {
        (Some(ArrowType::Utf8), Some(pattern)) => {
            let (pattern, to) = (read_pattern(pattern)?, to.clone());
            Ok(Box::new(move |operands, rows| {
                let texts = first_texts(operands)?;
                let micros: PrimitiveArray<TimestampMicrosecondType> = numbers(rows, |row| datetime_text::read(&pattern, texts.get(row)?));
                Ok(Arc::new(micros.with_data_type(to.clone())))
            }))
        }
        (from, _) => cast_first(from, to),
    }
}

/// `unix_timestamp`: whole seconds since 1970, cut towards it.
pub(super) fn unix_timestamp(from: Option<&ArrowType>, pattern: Option<&str>) -> Result<Kernel, FilterError> {
    let from = from.ok_or_else(|| FilterError::mismatch("a date, a timestamp or a text", "none"))?;
    if *from == ArrowType::Utf8 {
        let pattern = read_pattern(pattern.unwrap_or(UNIX_TIMESTAMP_PATTERN))?;
        return Ok(Box::new(move |operands, rows| {
            let texts = first_texts(operands)?;
            let seconds = numbers::<Int64Type>(rows, |row| {
                Some(datetime_text::read(&pattern, texts.get(row)?)? / MICROS_PER_SECOND)
            });
            Ok(Arc::new(seconds) as ArrayRef)
        }));
    }
    Ok(Box::new(move |operands, rows| {
        let Some(moment) = operands.first() else {
            return Err(FilterError::mismatch("a date or timestamp", "none"));
        };
        let days = Days::of(moment)?;
        let seconds = numbers::<Int64Type>(rows, |row| match &days {
            Days::Date(days) => Some(i64::from(days.get(row)?) * (MICROS_PER_DAY / MICROS_PER_SECOND)),
            Days::Timestamp(micros) => Some(micros.get(row)? / MICROS_PER_SECOND),
        });
        Ok(Arc::new(seconds) as ArrayRef)
    }))
}

fn first_texts(operands: &[Values]) -> Result<Texts<'_>, FilterError> {
    match operands.first() {
        Some(texts) => Texts::of(texts),
        None => Err(FilterError::mismatch("a text", "none")),
    }
}

fn cast_first(from: Option<&ArrowType>, to: &ArrowType) -> Result<Kernel, FilterError> {
    let from = from.ok_or_else(|| FilterError::mismatch("a date, a timestamp or a text", "none"))?;
    let cast = cast::kernel(from, to)?;
    Ok(Box::new(move |operands, rows| cast(operands.get(..1).unwrap_or_default(), rows)))
}

fn read_pattern(text: &str) -> Result<DatetimePattern, FilterError> {
    DatetimePattern::parse(text).map_err(|error| FilterError::mismatch("a pattern of dates and times", error))
}
