//! Decoded values as JSON text, fields in the schema's order. Invariant: no two different values of a type have the same text.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use base64::Engine;

/// One row of a column: structs and maps as objects (a map with a key twice has it twice), decimals as texts, times in ISO 8601,
/// binaries in base64, floats that JSON has no number for as `"NaN"`, `"Infinity"` and `"-Infinity"`.
pub(super) fn value(array: &ArrayRef, row: usize) -> anyhow::Result<String> {
    let mut text = String::new();
    write(array, row, &mut text)?;
    Ok(text)
}

/// The values of one row, field by field where the column is a struct that is not null, each with its name below `column`.
pub(super) fn cells(column: &str, array: &ArrayRef, row: usize) -> anyhow::Result<Vec<(String, String)>> {
    let DataType::Struct(fields) = array.data_type() else {
        return Ok(vec![(column.to_owned(), value(array, row)?)]);
    };
    let columns = array.as_struct();
    let cells = fields.iter().zip(columns.columns()).map(|(field, below)| {
        let cell = if array.is_null(row) {
            "null".to_owned()
        } else {
            value(below, row)?
        };
        Ok((format!("{column}.{}", field.name()), cell))
    });
    cells.collect()
}

/// A text as JSON has it.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn write(array: &ArrayRef, row: usize, text: &mut String) -> anyhow::Result<()> {
    if array.is_null(row) {
        text.push_str("null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Boolean | DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => text.push_str(&shown(array, row)?),
        // By its own shortest text: widened to a double it would have more digits than it was written with.
        DataType::Float32 => {
            let single = array.as_primitive::<Float32Type>().value(row);
            text.push_str(&finite(f64::from(single)).map_or_else(quoted, |_| single.to_string()));
        }
        DataType::Float64 => {
            let double = array.as_primitive::<Float64Type>().value(row);
            text.push_str(&finite(double).map_or_else(quoted, |double| serde_json::Value::from(double).to_string()));
        }
        DataType::Utf8 => text.push_str(&quoted(array.as_string::<i32>().value(row))),
        DataType::Binary => {
            let encoded = base64::engine::general_purpose::STANDARD.encode(array.as_binary::<i32>().value(row));
            text.push_str(&quoted(&encoded));
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct();
            let members = fields.iter().map(|field| quoted(field.name())).zip(columns.columns());
            write_object(members.map(|(name, column)| (name, column, row)), text)?;
        }
        DataType::List(_) => write_list(&array.as_list::<i32>().value(row), text)?,
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let names = (0..entries.len()).map(|entry| match keys.data_type() {
                DataType::Utf8 => Ok(quoted(keys.as_string::<i32>().value(entry))),
                _ => Ok(quoted(&shown(keys, entry)?)),
            });
            let names = names.collect::<anyhow::Result<Vec<String>>>()?;
            write_object(names.into_iter().enumerate().map(|(entry, name)| (name, values, entry)), text)?;
        }
        DataType::Timestamp(_, Some(_)) => {
            // They are all in UTC. Arrow asks for a database of zones to show a zone by its name, and the product has none of that.
            let local = array
                .as_primitive::<TimestampMicrosecondType>()
                .slice(row, 1)
                .with_timezone_opt(None::<Arc<str>>);
            let local: ArrayRef = Arc::new(local);
            text.push_str(&quoted(&format!("{}Z", shown(&local, 0)?)));
        }
        _ => text.push_str(&quoted(&shown(array, row)?)),
    }
    Ok(())
}

fn write_object<'a>(members: impl Iterator<Item = (String, &'a ArrayRef, usize)>, text: &mut String) -> anyhow::Result<()> {
    text.push('{');
    for (index, (name, column, row)) in members.enumerate() {
        text.push_str(if index > 0 { "," } else { "" });
        text.push_str(&name);
        text.push(':');
        write(column, row, text)?;
    }
    text.push('}');
    Ok(())
}

fn write_list(elements: &ArrayRef, text: &mut String) -> anyhow::Result<()> {
    text.push('[');
    for index in 0..elements.len() {
        text.push_str(if index > 0 { "," } else { "" });
        write(elements, index, text)?;
    }
    text.push(']');
    Ok(())
}

/// The number, or the name of what is none.
fn finite(number: f64) -> Result<f64, &'static str> {
    match number {
        _ if number.is_nan() => Err("NaN"),
        f64::INFINITY => Err("Infinity"),
        f64::NEG_INFINITY => Err("-Infinity"),
        finite => Ok(finite),
    }
}

fn shown(array: &ArrayRef, row: usize) -> anyhow::Result<String> {
    Ok(ArrayFormatter::try_new(array.as_ref(), &FormatOptions::default())?
        .value(row)
        .try_to_string()?)
}

#[cfg(test)]
mod tests {
    use arrow_array::{Decimal128Array, Float32Array, Float64Array, Int64Array, StringArray, StructArray, TimestampMicrosecondArray};
    use arrow_schema::Field;

    use super::*;

    fn check(array: ArrayRef, expected: &str) {
        assert_eq!(value(&array, 0).unwrap(), expected);
    }

    #[test]
    fn every_type_has_its_text() {
        check(Arc::new(Float32Array::from(vec![0.1])), "0.1");
        check(Arc::new(Float64Array::from(vec![f64::NEG_INFINITY])), "\"-Infinity\"");
        check(Arc::new(Float64Array::from(vec![1e300])), "1e+300");
        check(
            Arc::new(Decimal128Array::from(vec![-5]).with_precision_and_scale(4, 2).unwrap()),
            "\"-0.05\"",
        );
        check(
            Arc::new(TimestampMicrosecondArray::from(vec![1_500_000]).with_timezone("UTC")),
            "\"1970-01-01T00:00:01.500Z\"",
        );
        check(Arc::new(StringArray::from(vec!["a\"\n"])), r#""a\"\n""#);
    }

    #[test]
    fn fields_keep_the_order_of_the_schema() {
        let field = |name: &str, array: ArrayRef| (Arc::new(Field::new(name, array.data_type().clone(), true)), array);
        let row: ArrayRef = Arc::new(StructArray::from(vec![
            field("z", Arc::new(Int64Array::from(vec![1]))),
            field("a", Arc::new(Int64Array::from(vec![None]))),
        ]));
        check(row.clone(), r#"{"z":1,"a":null}"#);
        let cells = cells("value", &row, 0).unwrap();
        let shown: Vec<(&str, &str)> = cells.iter().map(|(name, cell)| (name.as_str(), cell.as_str())).collect();
        assert_eq!(shown, [("value.z", "1"), ("value.a", "null")]);
    }
}
