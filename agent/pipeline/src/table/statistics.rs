//! Statistics of a data file for the log: rows, and minimum, maximum and null count of its columns and of the first fields in
//! them, from what Parquet's writer gathered.
//!
//! Readers skip files by them, so the invariant is: every value lies between minimum and maximum, or there is none given.

use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType as Arrow;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use stream_spec::types::{DataType, Field};

use super::limits::{STATISTICS_COLUMNS, STATISTICS_TEXT_BYTES_MAX};

/// Whether a file holds a floating-point NaN. Parquet's minimum and maximum pass over it, and engines sort it differently, so
/// one of them anywhere takes the bounds of all floating-point columns away.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NotANumber(bool);

impl NotANumber {
    /// Takes in what is known of another part of the file.
    pub(super) fn merge(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Takes in a batch of the file.
    pub(super) fn look_at(&mut self, batch: &RecordBatch) {
        self.0 = self.0 || batch.columns().iter().any(|column| holds_nan(column));
    }
}

fn holds_nan(array: &dyn Array) -> bool {
    match array.data_type() {
        Arrow::Float64 => array.as_primitive::<Float64Type>().values().iter().any(|value| value.is_nan()),
        Arrow::Float32 => array.as_primitive::<Float32Type>().values().iter().any(|value| value.is_nan()),
        Arrow::Struct(_) => array.as_struct().columns().iter().any(|column| holds_nan(column)),
        _ => false,
    }
}

/// The statistics' JSON text.
pub(super) fn statistics_text(columns: &[Field], groups: &[RowGroupMetaData], rows: usize, not_a_number: &NotANumber) -> String {
    let mut walk = Walk {
        groups,
        not_a_number: not_a_number.0,
        leaf: 0,
        indexed: 0,
    };
    let members = walk.fields(columns, Depth::Top);
    format!(
        "{{\"numRecords\":{rows},\"minValues\":{{{}}},\"maxValues\":{{{}}},\"nullCount\":{{{}}}}}",
        members.minimum, members.maximum, members.nulls
    )
}

/// Where fields stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// They are the table's columns: few, and by them people look for rows (time, partition, offset).
    Top,
    /// They are within a column, where there can be hundreds.
    Nested,
}

/// The members of three JSON objects of one shape.
#[derive(Default)]
struct Members {
    minimum: String,
    maximum: String,
    nulls: String,
}

struct Walk<'a> {
    groups: &'a [RowGroupMetaData],
    not_a_number: bool,
    /// The next leaf in the order of Parquet's schema.
    leaf: usize,
    /// Columns that have had their turn.
    indexed: usize,
}

impl Walk<'_> {
    fn fields(&mut self, fields: &[Field], depth: Depth) -> Members {
        let mut members = Members::default();
        for field in fields {
            match &field.data_type {
                DataType::Struct(inner) => {
                    let inner = self.fields(inner, Depth::Nested);
                    push_object(&mut members.minimum, &field.name, &inner.minimum);
                    push_object(&mut members.maximum, &field.name, &inner.maximum);
                    push_object(&mut members.nulls, &field.name, &inner.nulls);
                }
                data_type => {
                    let leaf = self.leaf;
                    self.leaf += leaves(data_type);
                    self.indexed += 1;
                    let wanted = depth == Depth::Top || self.indexed <= STATISTICS_COLUMNS;
                    if wanted && !matches!(data_type, DataType::Array(_) | DataType::Map(_, _)) {
                        self.leaf_members(leaf, field, &mut members);
                    }
                }
            }
        }
        members
    }

    fn leaf_members(&self, leaf: usize, field: &Field, members: &mut Members) {
        let Some(chunks) = self
            .groups
            .iter()
            .map(|group| group.columns().get(leaf)?.statistics())
            .collect::<Option<Vec<_>>>()
        else {
            return;
        };
        if let Some(nulls) = chunks.iter().map(|chunk| chunk.null_count_opt()).sum::<Option<u64>>() {
            push_member(&mut members.nulls, &field.name, &nulls.to_string());
        }
        let floating = matches!(field.data_type, DataType::Float | DataType::Double);
        if floating && self.not_a_number {
            return;
        }
        // A chunk of nulls only has no bounds and takes none away.
        let filled: Vec<&Statistics> = chunks.into_iter().filter(|chunk| chunk.min_bytes_opt().is_some()).collect();
        let bounds_of = |bound: fn(&Statistics, &DataType) -> Option<Bound>| {
            let of_chunk = |chunk: &&Statistics| bound(chunk, &field.data_type);
            filled.iter().map(of_chunk).collect::<Option<Vec<Bound>>>().unwrap_or_default()
        };
        let minimum = bounds_of(Bound::minimum).into_iter().reduce(|a, b| if b.less(&a) { b } else { a });
        let maximum = bounds_of(Bound::maximum).into_iter().reduce(|a, b| if a.less(&b) { b } else { a });
        let (Some(minimum), Some(maximum)) = (minimum, maximum) else {
            return;
        };
        let minimum = minimum.json(&field.data_type, Side::Minimum);
        let maximum = maximum.json(&field.data_type, Side::Maximum);
        if let (Some(minimum), Some(maximum)) = (minimum, maximum) {
            push_member(&mut members.minimum, &field.name, &minimum);
            push_member(&mut members.maximum, &field.name, &maximum);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Minimum,
    Maximum,
}

/// A bound of a chunk, comparable within its column.
enum Bound {
    Whole(i128),
    Floating(f64),
    Bytes(Vec<u8>),
}

impl Bound {
    fn minimum(chunk: &Statistics, data_type: &DataType) -> Option<Self> {
        match chunk {
            Statistics::Int32(values) => values.min_opt().map(|value| Self::Whole(i128::from(*value))),
            Statistics::Int64(values) => values.min_opt().map(|value| Self::Whole(i128::from(*value))),
            Statistics::Float(values) => values.min_opt().map(|value| Self::Floating(f64::from(*value))),
            Statistics::Double(values) => values.min_opt().map(|value| Self::Floating(*value)),
            _ => Self::of_bytes(chunk.min_bytes_opt()?, data_type),
        }
    }

    fn maximum(chunk: &Statistics, data_type: &DataType) -> Option<Self> {
        match chunk {
            Statistics::Int32(values) => values.max_opt().map(|value| Self::Whole(i128::from(*value))),
            Statistics::Int64(values) => values.max_opt().map(|value| Self::Whole(i128::from(*value))),
            Statistics::Float(values) => values.max_opt().map(|value| Self::Floating(f64::from(*value))),
            Statistics::Double(values) => values.max_opt().map(|value| Self::Floating(*value)),
            _ => Self::of_bytes(chunk.max_bytes_opt()?, data_type),
        }
    }

    /// Decimals are compared as numbers: their bytes have a sign, and those of other types have none.
    fn of_bytes(bytes: &[u8], data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Decimal { .. } => whole_of(bytes).map(Self::Whole),
            _ => Some(Self::Bytes(bytes.to_vec())),
        }
    }

    fn less(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => a < b,
            (Self::Floating(a), Self::Floating(b)) => a < b,
            (Self::Bytes(a), Self::Bytes(b)) => a < b,
            _ => false,
        }
    }

    /// The bound as the log spells it; nothing for types without an order there, and for values without a spelling.
    fn json(&self, data_type: &DataType, side: Side) -> Option<String> {
        match (self, data_type) {
            (Self::Whole(value), DataType::TinyInt | DataType::SmallInt | DataType::Int | DataType::BigInt) => Some(value.to_string()),
            (Self::Whole(value), DataType::Decimal { scale, .. }) => Some(decimal_text(*value, *scale)),
            (Self::Whole(days), DataType::Date) => Some(format!("\"{}\"", date_text(*days)?)),
            (Self::Whole(micros), DataType::Timestamp) => Some(format!("\"{}Z\"", timestamp_text(*micros, side)?)),
            (Self::Whole(micros), DataType::TimestampNtz) => Some(format!("\"{}\"", timestamp_text(*micros, side)?)),
            (Self::Floating(value), DataType::Float | DataType::Double) if value.is_finite() => serde_json::to_string(value).ok(),
            (Self::Bytes(bytes), DataType::String) if bytes.len() <= STATISTICS_TEXT_BYTES_MAX => {
                serde_json::to_string(std::str::from_utf8(bytes).ok()?).ok()
            }
            _ => None,
        }
    }
}

/// Parquet leaves of a type.
fn leaves(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| leaves(&field.data_type)).sum(),
        DataType::Array(element) => leaves(element),
        DataType::Map(key, value) => leaves(key) + leaves(value),
        _ => 1,
    }
}

fn push_member(members: &mut String, name: &str, value: &str) {
    if !members.is_empty() {
        members.push(',');
    }
    // Writing into a text cannot fail, and a name always has a JSON form.
    let name = serde_json::to_string(name).unwrap_or_default();
    let _infallible = write!(members, "{name}:{value}");
}

fn push_object(members: &mut String, name: &str, inner: &str) {
    if !inner.is_empty() {
        push_member(members, name, &format!("{{{inner}}}"));
    }
}

/// A big-endian two's complement number of at most 16 bytes.
fn whole_of(bytes: &[u8]) -> Option<i128> {
    let start = 16_usize.checked_sub(bytes.len())?;
    let fill = if bytes.first().is_some_and(|first| first & 0x80 != 0) {
        0xff
    } else {
        0
    };
    let mut wide = [fill; 16];
    wide.get_mut(start..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}

fn decimal_text(unscaled: i128, scale: u8) -> String {
    if scale == 0 {
        return unscaled.to_string();
    }
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", unscaled.unsigned_abs().to_string(), width = usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    format!("{sign}{whole}.{fraction}")
}

/// Microseconds since 1970 as a date and time with milliseconds, which is all that readers of statistics agree on; rounded so
/// that the bound still holds.
fn timestamp_text(micros: i128, side: Side) -> Option<String> {
    let millis = match side {
        Side::Minimum => micros.div_euclid(1000),
        Side::Maximum => -(-micros).div_euclid(1000),
    };
    let date = date_text(millis.div_euclid(86_400_000))?;
    let of_day = millis.rem_euclid(86_400_000);
    let (hour, minute, second) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60);
    Some(format!("{date}T{hour:02}:{minute:02}:{second:02}.{:03}", of_day % 1000))
}

/// Days since 1970 as `year-month-day`; nothing outside the years 1 to 9999, which readers spell differently.
/// Counts in eras of 400 years from the first of March of year 0, so that leap days come last.
fn date_text(days: i128) -> Option<String> {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i128::from(month <= 2);
    (1..=9999).contains(&year).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_spelled_and_rounded_outward() {
        let cases = [
            (0, Side::Minimum, Some("1970-01-01T00:00:00.000")),
            (1, Side::Minimum, Some("1970-01-01T00:00:00.000")),
            (1, Side::Maximum, Some("1970-01-01T00:00:00.001")),
            (-1, Side::Minimum, Some("1969-12-31T23:59:59.999")),
            (-1, Side::Maximum, Some("1970-01-01T00:00:00.000")),
            (1_709_210_096_123_456, Side::Minimum, Some("2024-02-29T12:34:56.123")),
            (253_402_300_799_999_999, Side::Minimum, Some("9999-12-31T23:59:59.999")),
            (253_402_300_799_999_999, Side::Maximum, None),
            (i128::from(i64::MIN), Side::Minimum, None),
        ];
        for (micros, side, expected) in cases {
            assert_eq!(timestamp_text(micros, side).as_deref(), expected, "{micros}");
        }
    }

    #[test]
    fn bounds_of_long_decimals_hold_over_row_groups_of_both_signs() {
        let columns = [Field::new("c", DataType::Decimal { precision: 20, scale: 2 })];
        let batch = |values: Vec<i128>| {
            let array = arrow_array::Decimal128Array::from(values).with_precision_and_scale(20, 2).unwrap();
            let array: arrow_array::ArrayRef = std::sync::Arc::new(array);
            RecordBatch::try_from_iter([("c", array)]).unwrap()
        };
        let mut writer = parquet::arrow::ArrowWriter::try_new(Vec::new(), batch(vec![]).schema(), None).unwrap();
        for group in [vec![-500, -100], vec![300, 400]] {
            writer.write(&batch(group)).unwrap();
            writer.flush().unwrap();
        }
        let text = statistics_text(&columns, writer.flushed_row_groups(), 4, &NotANumber::default());
        assert_eq!(
            text,
            r#"{"numRecords":4,"minValues":{"c":-5.00},"maxValues":{"c":4.00},"nullCount":{"c":0}}"#
        );
    }

    #[test]
    fn decimals_are_spelled_exactly() {
        let cases = [(12_345, 2, "123.45"), (-5, 2, "-0.05"), (7, 0, "7"), (0, 3, "0.000")];
        for (unscaled, scale, expected) in cases {
            assert_eq!(decimal_text(unscaled, scale), expected);
        }
        assert_eq!(whole_of(&[0xff, 0xfe]), Some(-2));
        assert_eq!(whole_of(&[0x01, 0x00]), Some(256));
        assert_eq!(whole_of(&[0; 17]), None);
    }
}
