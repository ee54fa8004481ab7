//! Explicit conversions: which types CAST names, and what converts to what with ANSI mode on.

use sqlparser::ast::{DataType as SqlType, ExactNumberInfo, TimezoneInfo};

use super::coerce::{cast_to, is_null, is_numeric, value_type};
use super::expr::Expr;
use super::problem::Refusal;
use crate::types::DataType;

const TYPES: &str =
    "use BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), STRING, BINARY, DATE, TIMESTAMP or TIMESTAMP_NTZ";

/// `CAST(expr AS target)`.
pub(super) fn explicit(expr: Expr, target: DataType) -> Result<Expr, Refusal> {
    if is_null(&expr) || value_type(&expr).is_some_and(|given| *given == target || converts(given, &target)) {
        return Ok(cast_to(expr, target));
    }
    let remedy = match (value_type(&expr), &target) {
        (Some(given), DataType::Date) if is_numeric(given) => {
            "convert through a TIMESTAMP of seconds, as in CAST(CAST(x AS TIMESTAMP) AS DATE)"
        }
        (Some(DataType::Date), target) if is_numeric(target) => "compare it as a date, or use `unix_timestamp`",
        (Some(DataType::Struct(_) | DataType::Array(_) | DataType::Map(..)), _) => "convert the fields or elements inside",
        (None, _) => "compare intervals with intervals",
        _ => "convert through STRING, or compare with a value of the type that it has",
    };
    Err(Refusal::new(format!("{} cannot be converted to {target}", expr.ty), remedy))
}

fn converts(given: &DataType, target: &DataType) -> bool {
    use DataType::{Array, Binary, Boolean, Date, Map, String, Struct, Timestamp, TimestampNtz};
    match (given, target) {
        (Struct(_) | Array(_) | Map(..), _) | (_, Struct(_) | Array(_) | Map(..)) => false,
        (String, _) | (_, String) => true,
        (Boolean, target) => is_numeric(target),
        (given, Boolean | Timestamp) if is_numeric(given) => true,
        (given, target) if is_numeric(given) => is_numeric(target),
        (Date, Timestamp | TimestampNtz) => true,
        (Timestamp, Date | TimestampNtz) => true,
        (Timestamp, target) => is_numeric(target),
        (TimestampNtz, Date | Timestamp) => true,
        (Binary, _) => false,
        _ => false,
    }
}

/// The type that a CAST names.
pub(super) fn data_type(sql: &SqlType) -> Result<DataType, Refusal> {
    Ok(match sql {
        SqlType::Boolean => DataType::Boolean,
        SqlType::TinyInt(None) => DataType::TinyInt,
        SqlType::SmallInt(None) => DataType::SmallInt,
        SqlType::Int(None) | SqlType::Integer(None) => DataType::Int,
        SqlType::BigInt(None) => DataType::BigInt,
        SqlType::Float(ExactNumberInfo::None) | SqlType::Real => DataType::Float,
        SqlType::Double(ExactNumberInfo::None) => DataType::Double,
        SqlType::Decimal(info) | SqlType::Numeric(info) | SqlType::Dec(info) => decimal(info)?,
        SqlType::String(None) => DataType::String,
        SqlType::Binary(None) => DataType::Binary,
        SqlType::Date => DataType::Date,
        SqlType::Timestamp(None, TimezoneInfo::None) => DataType::Timestamp,
        SqlType::TimestampNtz(None) => DataType::TimestampNtz,
        SqlType::Custom(name, modifiers) if modifiers.is_empty() => {
            let name = name.to_string();
            named(&name).ok_or_else(|| Refusal::new(format!("`{name}` is not a type that a filter converts to"), TYPES))?
        }
        other => return Err(Refusal::new(format!("`{other}` is not a type that a filter converts to"), TYPES)),
    })
}

/// The type of a name without parameters, as functions such as `int(x)` and types such as LONG have it.
pub(super) fn named(name: &str) -> Option<DataType> {
    Some(match name.to_ascii_lowercase().as_str() {
        "boolean" => DataType::Boolean,
        "tinyint" | "byte" => DataType::TinyInt,
        "smallint" | "short" => DataType::SmallInt,
        "int" | "integer" => DataType::Int,
        "bigint" | "long" => DataType::BigInt,
        "float" | "real" => DataType::Float,
        "double" => DataType::Double,
        "decimal" | "dec" | "numeric" => DataType::Decimal { precision: 10, scale: 0 },
        "string" => DataType::String,
        "binary" => DataType::Binary,
        "date" => DataType::Date,
        "timestamp" | "timestamp_ltz" => DataType::Timestamp,
        "timestamp_ntz" => DataType::TimestampNtz,
        _ => return None,
    })
}

fn decimal(info: &ExactNumberInfo) -> Result<DataType, Refusal> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => (10, 0),
        ExactNumberInfo::Precision(precision) => (*precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    match (u8::try_from(precision), u8::try_from(scale)) {
        (Ok(precision @ 1..=38), Ok(scale)) if scale <= precision => Ok(DataType::Decimal { precision, scale }),
        _ => Err(Refusal::new(
            format!("DECIMAL({precision},{scale}) does not exist"),
            "write 1 to 38 digits, and no more of them after the point",
        )),
    }
}

/// True for the names of [`named`] that Spark has as functions.
pub(super) fn is_function(name: &str) -> bool {
    named(name).is_some()
        && !matches!(
            name,
            "byte" | "short" | "long" | "integer" | "real" | "dec" | "numeric" | "timestamp_ltz" | "timestamp_ntz"
        )
}
