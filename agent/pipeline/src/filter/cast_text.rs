//! Conversions of texts to other types, and of other types to texts.
//!
//! White space around a number, a truth, a date or a time counts for nothing. What cannot be read is null.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, PrimitiveArray};
use arrow_schema::DataType as ArrowType;
use stream_decode::text::datetime::{cast_date, cast_timestamp, cast_timestamp_ntz};
use stream_decode::text::decimal;
use stream_decode::text::double::{append_java_double, append_java_float};

use super::calendar::{Date, MICROS_PER_DAY, MICROS_PER_SECOND, day_of};
use super::cast::Cast;
use super::decimal::push_plain;
use super::error::FilterError;
use super::values::{binaries, booleans, primitive, strings};

/// The conversion, if a text is on one side of it.
pub(super) fn between(from: &ArrowType, to: &ArrowType) -> Option<Cast> {
    match (from, to) {
        (ArrowType::Utf8, _) => from_text(to),
        (_, ArrowType::Utf8) => to_text(from),
        _ => None,
    }
}

fn from_text(to: &ArrowType) -> Option<Cast> {
    Some(match to {
        ArrowType::Boolean => Box::new(|array| {
            let truths: BooleanArray = strings(array)?.iter().map(|text| truth(text?)).collect();
            Ok(Arc::new(truths))
        }),
        ArrowType::Binary => Box::new(|array| {
            let bytes: BinaryArray = strings(array)?.iter().map(|text| text.map(str::as_bytes)).collect();
            Ok(Arc::new(bytes))
        }),
        ArrowType::Int8 => each::<Int8Type>(to, |text| whole(text)?.try_into().ok()),
        ArrowType::Int16 => each::<Int16Type>(to, |text| whole(text)?.try_into().ok()),
        ArrowType::Int32 => each::<Int32Type>(to, |text| whole(text)?.try_into().ok()),
        ArrowType::Int64 => each::<Int64Type>(to, whole),
        ArrowType::Float32 => each::<Float32Type>(to, real),
        ArrowType::Float64 => each::<Float64Type>(to, real),
        ArrowType::Decimal128(precision, scale) => {
            let (precision, scale) = (*precision, scale.unsigned_abs());
            each::<Decimal128Type>(to, move |text| decimal_of(text, precision, scale))
        }
        ArrowType::Date32 => each::<Date32Type>(to, cast_date),
        ArrowType::Timestamp(_, Some(_)) => each::<TimestampMicrosecondType>(to, cast_timestamp),
        ArrowType::Timestamp(_, None) => each::<TimestampMicrosecondType>(to, cast_timestamp_ntz),
        _ => return None,
    })
}

fn each<T: ArrowPrimitiveType>(to: &ArrowType, read: impl Fn(&str) -> Option<T::Native> + Send + Sync + 'static) -> Cast {
    let to = to.clone();
    Box::new(move |array| {
        let read: PrimitiveArray<T> = strings(array)?.iter().map(|text| read(text?)).collect();
        Ok(Arc::new(read.with_data_type(to.clone())))
    })
}

/// Without the controls and spaces at its ends.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|character| character <= ' ' || character == '\u{7F}')
}

fn truth(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| trimmed(text).eq_ignore_ascii_case(word));
    if is(&["t", "true", "y", "yes", "1"]) {
        Some(true)
    } else if is(&["f", "false", "n", "no", "0"]) {
        Some(false)
    } else {
        None
    }
}

/// A sign and digits.
fn whole(text: &str) -> Option<i64> {
    let text = trimmed(text);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// Java's syntax but for numbers in base 16, and the words that Spark adds.
fn real<T: std::str::FromStr>(text: &str) -> Option<T> {
    let text = text.trim_matches(|character| character <= ' ');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        let number = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
        return number.parse().ok();
    }
    let word = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if word(&["inf", "+inf", "infinity", "+infinity"]) {
        "inf".parse().ok()
    } else if word(&["-inf", "-infinity"]) {
        "-inf".parse().ok()
    } else if word(&["nan"]) || unsigned == "NaN" {
        "nan".parse().ok()
    } else {
        None
    }
}

fn decimal_of(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let text = text.trim_matches(|character| character <= ' ');
    // The decoder's reader allows them, a cast does not.
    if text.contains(',') {
        return None;
    }
    decimal::parse(text, precision, scale).ok()
}

/// Writes the element at a place, which is not null.
type Write = Box<dyn Fn(&dyn Array, usize, &mut String) -> Result<(), FilterError> + Send + Sync>;

fn to_text(from: &ArrowType) -> Option<Cast> {
    if *from == ArrowType::Binary {
        return Some(Box::new(bytes_as_text));
    }
    let write = writer(from)?;
    Some(Box::new(move |array| {
        let mut out = StringBuilder::new();
        let mut text = String::new();
        for place in 0..array.len() {
            if array.is_null(place) {
                out.append_null();
                continue;
            }
            text.clear();
            write(array, place, &mut text)?;
            out.append_value(&text);
        }
        Ok(Arc::new(out.finish()))
    }))
}

fn bytes_as_text(array: &ArrayRef) -> Result<ArrayRef, FilterError> {
    let mut out = StringBuilder::new();
    for bytes in binaries(array)? {
        out.append_option(bytes.map(String::from_utf8_lossy));
    }
    Ok(Arc::new(out.finish()))
}

fn writer(from: &ArrowType) -> Option<Write> {
    Some(match from {
        ArrowType::Boolean => Box::new(|array, place, out| {
            out.push_str(if booleans(array)?.value(place) { "true" } else { "false" });
            Ok(())
        }),
        ArrowType::Int8 => displayed::<Int8Type>(),
        ArrowType::Int16 => displayed::<Int16Type>(),
        ArrowType::Int32 => displayed::<Int32Type>(),
        ArrowType::Int64 => displayed::<Int64Type>(),
        ArrowType::Float32 => number::<Float32Type>(|value, out| push_real(value.into(), out, |text| append_java_float(value, text))),
        ArrowType::Float64 => number::<Float64Type>(|value, out| push_real(value, out, |text| append_java_double(value, text))),
        ArrowType::Decimal128(_, scale) => {
            let scale = *scale;
            number::<Decimal128Type>(move |value, out| push_plain(value, scale, out))
        }
        ArrowType::Date32 => number::<Date32Type>(|days, out| push_date(days.into(), out)),
        ArrowType::Timestamp(..) => number::<TimestampMicrosecondType>(push_timestamp),
        _ => return None,
    })
}

fn displayed<T: ArrowPrimitiveType<Native: std::fmt::Display>>() -> Write {
    number::<T>(|value, out| {
        let written = write!(out, "{value}");
        debug_assert!(written.is_ok(), "a text takes every number");
    })
}

fn number<T: ArrowPrimitiveType>(push: impl Fn(T::Native, &mut String) + Send + Sync + 'static) -> Write {
    Box::new(move |array, place, out| {
        push(primitive::<T>(array)?.value(place), out);
        Ok(())
    })
}

fn push_real(value: f64, out: &mut String, finite: impl FnOnce(&mut Vec<u8>)) {
    if value.is_finite() {
        let mut text = Vec::new();
        finite(&mut text);
        out.push_str(&String::from_utf8_lossy(&text));
    } else if value.is_nan() {
        out.push_str("NaN");
    } else {
        out.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
    }
}

fn push_date(days: i64, out: &mut String) {
    let Date { year, month, day } = Date::of_days(days);
    // Years of more than four digits have a sign, as in Java.
    let sign = match year {
        ..=-1 => "-",
        10_000.. => "+",
        _ => "",
    };
    let written = write!(out, "{sign}{:04}-{month:02}-{day:02}", year.abs());
    debug_assert!(written.is_ok(), "a text takes every date");
}

fn push_timestamp(micros: i64, out: &mut String) {
    push_date(day_of(micros), out);
    let of_day = micros.rem_euclid(MICROS_PER_DAY);
    let (seconds, fraction) = (of_day / MICROS_PER_SECOND, of_day % MICROS_PER_SECOND);
    let written = write!(out, " {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    debug_assert!(written.is_ok(), "a text takes every time");
    if fraction > 0 {
        let digits = format!(".{fraction:06}");
        out.push_str(digits.trim_end_matches('0'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_in_spark() {
        for (text, expected) in [
            (" 7 ", Some(7)),
            ("+1", Some(1)),
            ("\t-3\u{7F}", Some(-3)),
            ("1.5", None),
            ("1.", None),
            ("", None),
            ("+", None),
            ("9223372036854775808", None),
        ] {
            assert_eq!(whole(text), expected, "{text}");
        }
        for (text, expected) in [
            ("1.5d", Some(1.5)),
            ("1f", Some(1.0)),
            (".5", Some(0.5)),
            ("1.e2", Some(100.0)),
            (" -Infinity ", Some(f64::NEG_INFINITY)),
            ("INF", Some(f64::INFINITY)),
            ("e5", None),
            (".", None),
            ("d", None),
            ("1 2", None),
            ("infinit", None),
        ] {
            assert_eq!(real::<f64>(text), expected, "{text}");
        }
        assert!(real::<f64>("nAn").is_some_and(f64::is_nan) && real::<f64>("+nan").is_none());
        assert_eq!(decimal_of(" 1e2 ", 10, 2), Some(10_000));
        assert_eq!(decimal_of("1,000", 10, 2), None);
    }

    #[test]
    fn moments_are_written_as_in_spark() {
        let mut out = String::new();
        push_timestamp(-500_000, &mut out);
        push_date(2_932_897, &mut out);
        push_date(-719_893, &mut out);
        assert_eq!(out, "1969-12-31 23:59:59.5+10000-01-01-0001-01-01");
    }
}
