//! Logical types: which there are, and which base each may annotate. One that does not fit its base is none.

use super::tree::{Encoding, Logical};
use crate::schema::json::text::Json;

/// Most digits of a DECIMAL.
pub(super) const DECIMAL_PRECISION_MAX: i128 = 38;

/// The logical type that a schema says, where it fits. An error is a decimal of so many digits that no column holds it.
pub(super) fn of(base: &Encoding, schema: &Json) -> Result<Option<Logical>, i128> {
    let Some(name) = schema.get("logicalType").and_then(Json::as_text) else {
        return Ok(None);
    };
    Ok(match (name, base) {
        ("decimal", Encoding::Bytes | Encoding::Fixed { .. }) => return decimal(base, schema),
        ("date", Encoding::Int) => Some(Logical::Date),
        ("time-millis", Encoding::Int) => Some(Logical::TimeMillis),
        ("time-micros", Encoding::Long) => Some(Logical::TimeMicros),
        ("timestamp-millis", Encoding::Long) => Some(Logical::TimestampMillis),
        ("timestamp-micros", Encoding::Long) => Some(Logical::TimestampMicros),
        ("timestamp-nanos", Encoding::Long) => Some(Logical::TimestampNanos),
        ("local-timestamp-millis", Encoding::Long) => Some(Logical::LocalTimestampMillis),
        ("local-timestamp-micros", Encoding::Long) => Some(Logical::LocalTimestampMicros),
        ("local-timestamp-nanos", Encoding::Long) => Some(Logical::LocalTimestampNanos),
        ("uuid", Encoding::String | Encoding::Fixed { size: 16, .. }) => Some(Logical::Uuid),
        ("duration", Encoding::Fixed { size: 12, .. }) => Some(Logical::Duration),
        ("big-decimal", Encoding::Bytes) => Some(Logical::BigDecimal),
        _ => None,
    })
}

fn decimal(base: &Encoding, schema: &Json) -> Result<Option<Logical>, i128> {
    let precision = match schema.get("precision") {
        Some(Json::Integer(precision)) if (1..=i32::MAX.into()).contains(precision) => *precision,
        _ => return Ok(None),
    };
    let scale = match schema.get("scale") {
        None => 0,
        Some(Json::Integer(scale)) if (0..=precision).contains(scale) => *scale,
        Some(_) => return Ok(None),
    };
    if let Encoding::Fixed { size, .. } = base
        && precision > digits_of_bytes(*size)
    {
        return Ok(None);
    }
    if precision > DECIMAL_PRECISION_MAX {
        return Err(precision);
    }
    match (u8::try_from(precision), u8::try_from(scale)) {
        (Ok(precision), Ok(scale)) => Ok(Some(Logical::Decimal { precision, scale })),
        _ => Ok(None),
    }
}

/// How many decimal digits always fit two's complement numbers of `size` bytes.
fn digits_of_bytes(size: usize) -> i128 {
    // log10(2) to five digits is exact enough far beyond the sizes that matter.
    let bits = i128::try_from(size).unwrap_or(i128::from(i32::MAX)) * 8 - 1;
    bits.max(0) * 30_103 / 100_000
}
