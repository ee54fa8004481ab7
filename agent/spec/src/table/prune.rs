//! Taking a path out of columns.

use crate::path::{self, ColumnPath, PathError};
use crate::types::{DataType, Field};

/// Removes the field at `path`, which must exist. A struct must not lose its last field: no column has a type without one.
pub(super) fn remove(columns: &mut [Field], path: &ColumnPath) -> Result<(), PathError> {
    path::resolve(path, columns)?;
    let Some((last, parents)) = path.fields().split_last() else {
        return Ok(());
    };
    let Some(mut here) = columns.iter_mut().find(|column| column.name == path.column()) else {
        return Ok(());
    };
    let mut walked = path.column().to_owned();
    for name in parents {
        let DataType::Struct(fields) = &mut here.data_type else {
            return Ok(());
        };
        let Some(next) = fields.iter_mut().find(|field| field.name == *name) else {
            return Ok(());
        };
        here = next;
        walked = format!("{walked}.{name}");
    }
    let DataType::Struct(fields) = &mut here.data_type else {
        return Ok(());
    };
    if fields.len() == 1 {
        let remedy = if parents.is_empty() {
            format!("keep at least one field of `{walked}`")
        } else {
            format!("exclude `{walked}` itself, or keep one of its fields")
        };
        return Err(PathError {
            problem: format!("nothing is left of `{walked}`"),
            remedy,
        });
    }
    fields.retain(|field| field.name != *last);
    Ok(())
}
