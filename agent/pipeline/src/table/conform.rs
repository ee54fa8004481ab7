//! Brings batches into a wanted schema: fields by name at every depth, missing ones null, leaf types equal or widened without loss.
//!
//! Lossy casts do not exist here. Invariant: a value that comes out is the value that went in, or null where there was none.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, StructArray, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, Fields, SchemaRef, TimeUnit};

/// What happens to a field that the wanted schema does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surplus {
    /// It is an error: its values would be lost.
    Refused,
    /// It is left out: the reader does not want it.
    LeftOut,
}

/// Why a batch cannot be brought into a schema.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConformError {
    /// Another type, and no lossless way to the wanted one.
    #[error("column `{path}` is {found}, which does not become {wanted} without loss")]
    Type { path: String, found: DataType, wanted: DataType },
    /// A field that the wanted schema lacks.
    #[error("column `{path}` is not one of the table's")]
    Surplus { path: String },
    /// Arrow refused the parts.
    #[error("column `{path}` cannot be put together")]
    Arrow {
        path: String,
        #[source]
        source: ArrowError,
    },
}

/// The batch in the wanted schema.
pub(super) fn conform_batch(batch: &RecordBatch, wanted: &SchemaRef, surplus: Surplus) -> Result<RecordBatch, ConformError> {
    if batch.schema_ref() == wanted {
        return Ok(batch.clone());
    }
    let source = batch.schema();
    let columns = conform_fields("", source.fields(), batch.columns(), wanted.fields(), batch.num_rows(), surplus)?;
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(wanted), columns, &options).map_err(|source| ConformError::Arrow {
        path: String::new(),
        source,
    })
}

fn conform_fields(
    parent: &str,
    found: &Fields,
    columns: &[ArrayRef],
    wanted: &Fields,
    rows: usize,
    surplus: Surplus,
) -> Result<Vec<ArrayRef>, ConformError> {
    if surplus == Surplus::Refused
        && let Some(field) = found.iter().find(|field| wanted.find(field.name()).is_none())
    {
        return Err(ConformError::Surplus {
            path: joined(parent, field.name()),
        });
    }
    let mut conformed = Vec::with_capacity(wanted.len());
    for field in wanted {
        let column = found.find(field.name()).and_then(|(index, _)| columns.get(index));
        conformed.push(match column {
            Some(column) => conform(&joined(parent, field.name()), column, field.data_type(), surplus)?,
            None => new_null_array(field.data_type(), rows),
        });
    }
    Ok(conformed)
}

fn conform(path: &str, array: &ArrayRef, wanted: &DataType, surplus: Surplus) -> Result<ArrayRef, ConformError> {
    if array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    let arrow = |source| ConformError::Arrow {
        path: path.to_owned(),
        source,
    };
    match (array.data_type(), wanted) {
        (DataType::Null, _) => Ok(new_null_array(wanted, array.len())),
        (DataType::Struct(found), DataType::Struct(fields)) => {
            let rows = array.as_struct();
            let columns = conform_fields(path, found, rows.columns(), fields, rows.len(), surplus)?;
            let nulls = rows.nulls().cloned();
            Ok(Arc::new(StructArray::try_new(fields.clone(), columns, nulls).map_err(arrow)?))
        }
        (DataType::List(_), DataType::List(element)) => {
            let lists = array.as_list::<i32>();
            let values = conform(&joined(path, "element"), lists.values(), element.data_type(), surplus)?;
            let lists = ListArray::try_new(Arc::clone(element), lists.offsets().clone(), values, lists.nulls().cloned());
            Ok(Arc::new(lists.map_err(arrow)?))
        }
        (DataType::Map(_, _), DataType::Map(entry, sorted)) => conform_map(path, array.as_map(), entry, *sorted, surplus),
        (found, wanted) if is_lossless(found, wanted) => {
            let options = CastOptions {
                safe: false,
                ..CastOptions::default()
            };
            cast_with_options(array, wanted, &options).map_err(arrow)
        }
        (found, wanted) => Err(ConformError::Type {
            path: path.to_owned(),
            found: found.clone(),
            wanted: wanted.clone(),
        }),
    }
}

/// Maps are compared by position: the names of their key and value differ between writers and mean nothing.
fn conform_map(path: &str, maps: &MapArray, entry: &Arc<Field>, sorted: bool, surplus: Surplus) -> Result<ArrayRef, ConformError> {
    let arrow = |source| ConformError::Arrow {
        path: path.to_owned(),
        source,
    };
    let DataType::Struct(fields) = entry.data_type() else {
        return Err(arrow(ArrowError::SchemaError("a map's entries are no struct".into())));
    };
    let [key, value] = &**fields else {
        return Err(arrow(ArrowError::SchemaError("a map's entries are not a key and a value".into())));
    };
    let keys = conform(&joined(path, "key"), maps.keys(), key.data_type(), surplus)?;
    let values = conform(&joined(path, "value"), maps.values(), value.data_type(), surplus)?;
    let entries = StructArray::try_new(fields.clone(), vec![keys, values], None).map_err(arrow)?;
    let maps = MapArray::try_new(Arc::clone(entry), maps.offsets().clone(), entries, maps.nulls().cloned(), sorted).map_err(arrow)?;
    Ok(Arc::new(maps))
}

/// Whether every value of one type is a value of the other, bit for bit or by widening.
fn is_lossless(found: &DataType, wanted: &DataType) -> bool {
    use DataType::{Binary, Int8, Int16, Int32, Int64, LargeBinary, LargeUtf8, Timestamp, Utf8, Utf8View};
    match (found, wanted) {
        (Int8, Int16 | Int32 | Int64) | (Int16, Int32 | Int64) | (Int32, Int64) => true,
        (LargeUtf8 | Utf8View, Utf8) | (LargeBinary | DataType::BinaryView, Binary) => true,
        // Zones of display only: the value is microseconds since 1970 in UTC either way.
        (Timestamp(TimeUnit::Microsecond, Some(_)), Timestamp(TimeUnit::Microsecond, Some(_))) => true,
        _ => false,
    }
}

fn joined(parent: &str, name: &str) -> String {
    if parent.is_empty() {
        name.to_owned()
    } else {
        format!("{parent}.{name}")
    }
}
