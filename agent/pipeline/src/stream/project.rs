//! Takes excluded fields out of decoded columns.
//!
//! Decoding converts every field, excluded or not, because skipping one changes the others of a damaged record; only then
//! is it dropped. Invariant: no value of an excluded field is in what leaves this file.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{FieldRef, Fields};
use stream_spec::path::ColumnPath;

use crate::error::PipelineError;

/// The excluded fields inside one column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exclusions {
    /// Paths inside the column, outermost name first; none of them empty.
    paths: Vec<Vec<String>>,
}

impl Exclusions {
    /// Those of the excluded paths that lie inside `column`.
    pub(crate) fn of(column: &str, excluded: &BTreeSet<String>) -> Result<Self, PipelineError> {
        let mut paths = Vec::new();
        for text in excluded {
            let path = ColumnPath::parse_excluded(text).map_err(|error| PipelineError::Definition {
                message: format!("`excluded_columns`: {text:?}: {error}"),
            })?;
            if path.column() == column {
                paths.push(path.fields().to_vec());
            }
        }
        Ok(Self { paths })
    }

    /// The column without the excluded fields. A path that the column does not have excludes nothing.
    pub(crate) fn apply(&self, column: ArrayRef) -> Result<ArrayRef, PipelineError> {
        let paths: Vec<&[String]> = self.paths.iter().map(Vec::as_slice).collect();
        without(column, &paths)
    }
}

fn without(column: ArrayRef, paths: &[&[String]]) -> Result<ArrayRef, PipelineError> {
    let Some(structs) = column.as_any().downcast_ref::<StructArray>().filter(|_| !paths.is_empty()) else {
        return Ok(column);
    };
    let mut fields: Vec<FieldRef> = Vec::with_capacity(structs.num_columns());
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(structs.num_columns());
    for (field, array) in structs.fields().iter().zip(structs.columns()) {
        let inside: Vec<&[String]> = paths
            .iter()
            .filter_map(|path| path.split_first())
            .filter(|(name, _)| *name == field.name())
            .map(|(_, rest)| rest)
            .collect();
        if inside.iter().any(|rest| rest.is_empty()) {
            continue;
        }
        let array = without(array.clone(), &inside)?;
        fields.push(Arc::new(field.as_ref().clone().with_data_type(array.data_type().clone())));
        arrays.push(array);
    }
    let projected =
        StructArray::try_new_with_length(Fields::from(fields), arrays, structs.nulls().cloned(), structs.len()).map_err(|error| {
            PipelineError::Internal {
                message: format!("excluded fields leave columns that do not fit: {error}"),
            }
        })?;
    Ok(Arc::new(projected))
}
