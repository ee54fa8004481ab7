//! Brings rows with BIGINT columns into files that still have INT there, while these are being widened.
//!
//! Invariant: a value that comes out is the value that went in; one that does not fit is named and nothing comes out.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Fields, SchemaRef};

/// Why rows do not come into the files as they are.
#[derive(Debug, thiserror::Error)]
pub(super) enum NarrowError {
    /// Values of these rows need BIGINT.
    #[error("column `{path}` holds values that need BIGINT in the rows {rows:?}")]
    TooLarge { path: String, rows: Vec<usize> },
    /// Another type, or parts that do not fit together.
    #[error("column `{path}` cannot be put together")]
    Arrow {
        path: String,
        #[source]
        source: ArrowError,
    },
}

/// The batch in the files' schema, which differs from its own in that some BIGINT are INT.
pub(super) fn narrow_batch(batch: &RecordBatch, stored: &SchemaRef) -> Result<RecordBatch, NarrowError> {
    let columns = narrow_fields("", batch.columns(), stored.fields()).map_err(|error| match error {
        NarrowError::TooLarge { path, .. } => NarrowError::TooLarge {
            path,
            rows: rows_that_do_not_fit(batch, stored),
        },
        other => other,
    })?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(stored), columns, &options).map_err(|source| NarrowError::Arrow {
        path: String::new(),
        source,
    })
}

fn narrow_fields(parent: &str, columns: &[ArrayRef], stored: &Fields) -> Result<Vec<ArrayRef>, NarrowError> {
    let pairs = columns.iter().zip(stored);
    pairs
        .map(|(column, field)| {
            let path = if parent.is_empty() {
                field.name().clone()
            } else {
                format!("{parent}.{}", field.name())
            };
            narrow(&path, column, field.data_type())
        })
        .collect()
}

fn narrow(path: &str, array: &ArrayRef, stored: &DataType) -> Result<ArrayRef, NarrowError> {
    if array.data_type() == stored {
        return Ok(Arc::clone(array));
    }
    let arrow = |source| NarrowError::Arrow {
        path: path.to_owned(),
        source,
    };
    match (array.data_type(), stored) {
        (DataType::Int64, DataType::Int32) => {
            let mut values = array.as_primitive::<Int64Type>().iter().flatten();
            if values.any(is_too_large) {
                return Err(NarrowError::TooLarge {
                    path: path.to_owned(),
                    rows: Vec::new(),
                });
            }
            let options = CastOptions {
                safe: false,
                ..CastOptions::default()
            };
            cast_with_options(array, stored, &options).map_err(arrow)
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let rows = array.as_struct();
            let columns = narrow_fields(path, rows.columns(), fields)?;
            let narrowed = StructArray::try_new_with_length(fields.clone(), columns, rows.nulls().cloned(), rows.len());
            Ok(Arc::new(narrowed.map_err(arrow)?))
        }
        (DataType::List(_), DataType::List(element)) => {
            let lists = array.as_list::<i32>();
            let values = narrow(&format!("{path}.element"), lists.values(), element.data_type())?;
            let narrowed = ListArray::try_new(Arc::clone(element), lists.offsets().clone(), values, lists.nulls().cloned());
            Ok(Arc::new(narrowed.map_err(arrow)?))
        }
        (DataType::Map(_, _), DataType::Map(entry, sorted)) => {
            let maps = array.as_map();
            let DataType::Struct(fields) = entry.data_type() else {
                return Err(arrow(ArrowError::SchemaError("a map's entries are no struct".into())));
            };
            let columns = narrow_fields(path, maps.entries().columns(), fields)?;
            let entries = StructArray::try_new(fields.clone(), columns, None).map_err(arrow)?;
            let narrowed = MapArray::try_new(Arc::clone(entry), maps.offsets().clone(), entries, maps.nulls().cloned(), *sorted);
            Ok(Arc::new(narrowed.map_err(arrow)?))
        }
        (found, _) => Err(arrow(ArrowError::SchemaError(format!("{found} is no {stored}")))),
    }
}

fn is_too_large(value: i64) -> bool {
    i32::try_from(value).is_err()
}

/// The rows in which a value of any column needs BIGINT.
fn rows_that_do_not_fit(batch: &RecordBatch, stored: &SchemaRef) -> Vec<usize> {
    let mut too_large = vec![false; batch.num_rows()];
    for (column, field) in batch.columns().iter().zip(stored.fields()) {
        merge(&mut too_large, slots_that_do_not_fit(column, field.data_type()));
    }
    let rows = too_large.iter().enumerate().filter(|(_, is_too_large)| **is_too_large);
    rows.map(|(row, _)| row).collect()
}

/// For each slot of an array, whether a value in it needs BIGINT; nothing where none can.
fn slots_that_do_not_fit(array: &ArrayRef, stored: &DataType) -> Option<Vec<bool>> {
    if array.data_type() == stored {
        return None;
    }
    match (array.data_type(), stored) {
        (DataType::Int64, DataType::Int32) => {
            let values = array.as_primitive::<Int64Type>().iter();
            Some(values.map(|value| value.is_some_and(is_too_large)).collect())
        }
        (DataType::Struct(_), DataType::Struct(fields)) => Some(structs_that_do_not_fit(array.as_struct(), fields)),
        (DataType::List(_), DataType::List(element)) => {
            let lists = array.as_list::<i32>();
            let values = slots_that_do_not_fit(lists.values(), element.data_type())?;
            Some(any_of_each(lists.value_offsets(), &values))
        }
        (DataType::Map(_, _), DataType::Map(entry, _)) => {
            let maps = array.as_map();
            let DataType::Struct(fields) = entry.data_type() else { return None };
            let entries = structs_that_do_not_fit(maps.entries(), fields);
            Some(any_of_each(maps.value_offsets(), &entries))
        }
        _ => None,
    }
}

fn structs_that_do_not_fit(structs: &StructArray, stored: &Fields) -> Vec<bool> {
    let mut too_large = vec![false; structs.len()];
    for (column, field) in structs.columns().iter().zip(stored) {
        merge(&mut too_large, slots_that_do_not_fit(column, field.data_type()));
    }
    too_large
}

fn any_of_each(offsets: &[i32], values: &[bool]) -> Vec<bool> {
    let place = |offset: i32| usize::try_from(offset).unwrap_or_default();
    let pairs = offsets.iter().zip(offsets.iter().skip(1));
    pairs
        .map(|(from, to)| values.get(place(*from)..place(*to)).unwrap_or_default().contains(&true))
        .collect()
}

fn merge(all: &mut [bool], more: Option<Vec<bool>>) {
    for (all, more) in all.iter_mut().zip(more.unwrap_or_default()) {
        *all |= more;
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::{Int64Builder, ListBuilder, MapBuilder, StringBuilder};
    use arrow_array::types::Int32Type;
    use arrow_array::{Int64Array, cast::AsArray};
    use stream_spec::types::{DataType as Type, Field};

    use super::*;
    use crate::table::conform::{Surplus, conform_batch};
    use crate::table::schema::arrow_schema;

    fn columns(int: &Type) -> Vec<Field> {
        vec![
            Field::new("s", Type::Struct(vec![Field::new("n", int.clone())])),
            Field::new("l", Type::Array(Box::new(int.clone()))),
            Field::new("m", Type::Map(Box::new(Type::String), Box::new(int.clone()))),
        ]
    }

    /// Two rows; the first with these values, the second null.
    fn batch(in_struct: i64, in_list: i64, in_map: i64) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(in_struct), None]));
        let fields = Fields::from(vec![arrow_schema::Field::new("n", DataType::Int64, true)]);
        let structs = StructArray::new(fields, vec![numbers], Some(vec![true, false].into()));
        let mut lists = ListBuilder::new(Int64Builder::new());
        lists.values().append_value(in_list);
        lists.append(true);
        lists.append(false);
        let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
        maps.keys().append_value("k");
        maps.values().append_value(in_map);
        maps.append(true).unwrap();
        maps.append(false).unwrap();
        let batch = RecordBatch::try_from_iter([
            ("s", Arc::new(structs) as ArrayRef),
            ("l", Arc::new(lists.finish())),
            ("m", Arc::new(maps.finish())),
        ]);
        conform_batch(&batch.unwrap(), &arrow_schema(&columns(&Type::BigInt)), Surplus::Refused).unwrap()
    }

    fn check(batch: &RecordBatch, expected: &str) {
        let narrowed = narrow_batch(batch, &arrow_schema(&columns(&Type::Int)));
        let shown = match narrowed {
            Ok(narrowed) => {
                let list = narrowed.column(1).as_list::<i32>().values().as_primitive::<Int32Type>().value(0);
                let maps = narrowed.column(2).as_map();
                let map = maps.values().as_primitive::<Int32Type>().value(0);
                let structs = narrowed.column(0).as_struct();
                assert!(structs.is_null(1) && narrowed.column(1).is_null(1) && maps.is_null(1));
                format!("{} {list} {map}", structs.column(0).as_primitive::<Int32Type>().value(0))
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn values_that_fit_become_int_at_any_depth_and_others_are_named() {
        let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
        check(&batch(least, most, 0), "-2147483648 2147483647 0");
        check(&batch(most + 1, 0, 0), "column `s.n` holds values that need BIGINT in the rows [0]");
        check(
            &batch(0, least - 1, 0),
            "column `l.element` holds values that need BIGINT in the rows [0]",
        );
        check(
            &batch(0, 0, i64::MAX),
            "column `m.value` holds values that need BIGINT in the rows [0]",
        );
    }
}
