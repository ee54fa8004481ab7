//! Constants as Spark reads them: numbers with their suffixes, strings with their escapes, bytes.

use zeroize::Zeroizing;

use super::coerce;
use super::expr::{Expr, ExprKind, ExprType, Literal};
use super::moment;
use super::problem::Refusal;
use crate::types::DataType;

/// A constant of a type.
pub(super) fn constant(data_type: DataType, literal: Literal) -> Expr {
    Expr {
        ty: ExprType::Value(data_type),
        kind: ExprKind::Literal(literal),
    }
}

/// NULL of any type.
pub(super) fn null(ty: ExprType) -> Expr {
    Expr {
        ty,
        kind: ExprKind::Literal(Literal::Null),
    }
}

/// A number as it is written, with its sign: `5`, `5L`, `1.50`, `1e3`, `1.5BD`.
pub(super) fn number(text: &str, negative: bool) -> Result<Expr, Refusal> {
    let upper = text.to_ascii_uppercase();
    let sign = if negative { "-" } else { "" };
    let signed = |digits: &str| format!("{sign}{digits}");
    if let Some(digits) = upper.strip_suffix("BD") {
        return decimal(digits, negative);
    }
    if let Some(digits) = upper.strip_suffix('L') {
        return integer(&signed(digits), DataType::BigInt, i64::MIN, i64::MAX);
    }
    if let Some(digits) = upper.strip_suffix('S') {
        return integer(&signed(digits), DataType::SmallInt, i16::MIN.into(), i16::MAX.into());
    }
    if let Some(digits) = upper.strip_suffix('Y') {
        return integer(&signed(digits), DataType::TinyInt, i8::MIN.into(), i8::MAX.into());
    }
    if let Some(digits) = upper.strip_suffix('F') {
        let narrow: Option<f32> = signed(digits).parse().ok().filter(|value: &f32| value.is_finite());
        return floating(narrow.map(f64::from), DataType::Float);
    }
    if let Some(digits) = upper.strip_suffix('D') {
        return floating(signed(digits).parse().ok(), DataType::Double);
    }
    if upper.contains('E') {
        return floating(signed(&upper).parse().ok(), DataType::Double);
    }
    if upper.contains('.') {
        return decimal(&upper, negative);
    }
    match signed(&upper).parse::<i64>() {
        Ok(value) if i32::try_from(value).is_ok() => Ok(constant(DataType::Int, Literal::Integer(value))),
        Ok(value) => Ok(constant(DataType::BigInt, Literal::Integer(value))),
        Err(_) => decimal(&upper, negative),
    }
}

fn integer(text: &str, data_type: DataType, min: i64, max: i64) -> Result<Expr, Refusal> {
    match text.parse::<i64>() {
        Ok(value) if (min..=max).contains(&value) => Ok(constant(data_type, Literal::Integer(value))),
        _ => Err(Refusal::new(
            format!("the number is not a {data_type}"),
            "write whole numbers within the suffix's range, or leave the suffix out",
        )),
    }
}

fn floating(value: Option<f64>, data_type: DataType) -> Result<Expr, Refusal> {
    match value {
        Some(value) if value.is_finite() => Ok(constant(data_type, Literal::Double(value))),
        _ => Err(Refusal::new(format!("the number is not a {data_type}"), "write a smaller number")),
    }
}

/// `12.50` is DECIMAL(4,2); `1.5e3` is DECIMAL(4,0).
fn decimal(text: &str, negative: bool) -> Result<Expr, Refusal> {
    let too_long = || Refusal::new("the number has more than 38 digits", "write it with an exponent, as a DOUBLE");
    let (digits, exponent) = text.split_once('E').unwrap_or((text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent: i32 = exponent.parse().map_err(|_| too_long())?;
    let fraction_digits = i32::try_from(fraction.len()).map_err(|_| too_long())?;
    let joined = format!("{whole}{fraction}");
    let significant = joined.trim_start_matches('0');
    let mut unscaled: i128 = if significant.is_empty() {
        0
    } else {
        significant.parse().map_err(|_| too_long())?
    };
    let mut scale = fraction_digits.checked_sub(exponent).ok_or_else(too_long)?;
    while scale < 0 {
        unscaled = unscaled.checked_mul(10).ok_or_else(too_long)?;
        scale = if unscaled == 0 { 0 } else { scale + 1 };
    }
    let scale = u8::try_from(scale).map_err(|_| too_long())?;
    let precision = coerce::digits(unscaled).max(scale);
    if precision > coerce::PRECISION_MAX {
        return Err(too_long());
    }
    let unscaled = if negative { -unscaled } else { unscaled };
    Ok(constant(DataType::Decimal { precision, scale }, Literal::Decimal(unscaled)))
}

/// A string literal's content between `quote`s, without its escapes. Errors: an escape that is no character.
pub(super) fn string(raw: &str, quote: char) -> Result<String, Refusal> {
    // Statements about connections have their texts read here, too: what may be a secret is neither copied by growing, nor left
    // behind by an error.
    let mut text = Zeroizing::new(String::with_capacity(raw.len()));
    let mut rest = raw.chars();
    while let Some(next) = rest.next() {
        if next == quote {
            // A quote inside is a doubled one.
            rest.next();
            text.push(quote);
        } else if next == '\\' {
            escape(&mut rest, &mut text)?;
        } else {
            text.push(next);
        }
    }
    Ok(std::mem::take(&mut *text))
}

fn escape(rest: &mut std::str::Chars<'_>, text: &mut String) -> Result<(), Refusal> {
    if let Some((code, after)) = coded(rest.as_str()) {
        let (code, after) = with_low_surrogate(code, after).unwrap_or((code, after));
        let escaped = char::from_u32(code).ok_or_else(|| {
            Refusal::new(
                format!("the escape of {code:X} in the text is no character"),
                "write the character itself, both halves as in '\\ud83d\\ude00', or up to '\\U0010FFFF'",
            )
        })?;
        text.push(escaped);
        *rest = after.chars();
        return Ok(());
    }
    match rest.next() {
        Some('0') => text.push('\0'),
        Some('b') => text.push('\u{8}'),
        Some('n') => text.push('\n'),
        Some('r') => text.push('\r'),
        Some('t') => text.push('\t'),
        Some('Z') => text.push('\u{1a}'),
        // LIKE's own escapes stay.
        Some(wildcard @ ('%' | '_')) => text.extend(['\\', wildcard]),
        Some(other) => text.push(other),
        None => text.push('\\'),
    }
    Ok(())
}

/// The character of the first half of a surrogate pair and of the second, which follows as an escape too.
fn with_low_surrogate(high: u32, rest: &str) -> Option<(u32, &str)> {
    let (low, after) = coded(rest.strip_prefix('\\')?)?;
    let pair = (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low);
    pair.then(|| (0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00), after))
}

/// The code behind `\u0041`, `\U0001F600` or the octal `\101`, and what follows.
fn coded(rest: &str) -> Option<(u32, &str)> {
    let (digits, radix, length) = match rest.as_bytes() {
        [b'u', ..] => (rest.get(1..5)?, 16, 5),
        [b'U', ..] => (rest.get(1..9)?, 16, 9),
        [b'0' | b'1', ..] => (rest.get(..3)?, 8, 3),
        _ => return None,
    };
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let code = u32::from_str_radix(digits, radix).ok()?;
    Some((code, rest.get(length..)?))
}

/// The bytes of `X'1F'`; an odd number of digits has a zero before it.
pub(super) fn bytes(digits: &str) -> Result<Expr, Refusal> {
    let even = if digits.len() % 2 == 1 {
        format!("0{digits}")
    } else {
        digits.to_owned()
    };
    let pairs = (0..even.len()).step_by(2).map(|start| even.get(start..start + 2));
    let bytes: Option<Vec<u8>> = pairs.map(|pair| pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())).collect();
    match bytes {
        Some(bytes) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => Ok(constant(DataType::Binary, Literal::Binary(bytes))),
        _ => Err(Refusal::new(
            "the bytes are not hexadecimal",
            "write two digits a byte, as in X'1F'",
        )),
    }
}

/// DATE, TIMESTAMP and TIMESTAMP_NTZ with their text.
pub(super) fn moment(text: &str, data_type: &DataType) -> Result<Expr, Refusal> {
    let (read, form) = match data_type {
        DataType::Date => (moment::date(text), "DATE '2026-01-31'"),
        DataType::Timestamp => (
            moment::timestamp(text).map(|read| read.micros),
            "TIMESTAMP '2026-01-31 10:20:30+01:00'",
        ),
        DataType::TimestampNtz => {
            let local = moment::timestamp(text).filter(|read| !read.zoned);
            (local.map(|read| read.micros), "TIMESTAMP_NTZ '2026-01-31 10:20:30'")
        }
        other => {
            return Err(Refusal::new(
                format!("there are no {other} literals with a text"),
                format!("write CAST('{text}' AS {other})"),
            ));
        }
    };
    match read {
        Some(number) => Ok(constant(data_type.clone(), Literal::Integer(number))),
        None => Err(Refusal::new(
            format!("the text is no {data_type}"),
            format!("write it as in {form}; zones are UTC or an offset"),
        )),
    }
}
