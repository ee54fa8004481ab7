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

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, StringArray};
    use arrow_buffer::NullBuffer;
    use arrow_schema::{DataType, Field};

    use super::*;

    /// `struct<id, customer: struct<name, email>>` with a null in the second row.
    fn value() -> ArrayRef {
        let text = |name| Arc::new(Field::new(name, DataType::Utf8, true));
        let customer_fields = Fields::from(vec![text("name"), text("email")]);
        let names: ArrayRef = Arc::new(StringArray::from(vec![Some("Ada"), None]));
        let emails: ArrayRef = Arc::new(StringArray::from(vec![Some("ada@example.org"), None]));
        let customer: ArrayRef = Arc::new(StructArray::new(customer_fields.clone(), vec![names, emails], None));
        let ids: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        let fields = Fields::from(vec![
            Arc::new(Field::new("id", DataType::Int32, true)),
            Arc::new(Field::new("customer", DataType::Struct(customer_fields), true)),
        ]);
        Arc::new(StructArray::new(
            fields,
            vec![ids, customer],
            Some(NullBuffer::from(vec![true, false])),
        ))
    }

    fn check(excluded: &[&str], expected: &str) {
        let excluded = excluded.iter().map(|path| (*path).to_owned()).collect();
        let exclusions = Exclusions::of("value", &excluded).expect("legal paths");
        let projected = exclusions.apply(value()).expect("projects");
        assert_eq!(shape(projected.data_type()), expected, "{excluded:?}");
        assert_eq!(
            (projected.len(), projected.is_null(0), projected.is_null(1)),
            (2, false, true),
            "{excluded:?}"
        );
    }

    fn shape(data_type: &DataType) -> String {
        match data_type {
            DataType::Struct(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|field| format!("{}{}", field.name(), shape(field.data_type())))
                    .collect();
                format!("<{}>", fields.join(","))
            }
            _ => String::new(),
        }
    }

    #[test]
    fn excluded_paths_and_all_below_them_are_dropped() {
        check(&[], "<id,customer<name,email>>");
        check(&["value.customer.email"], "<id,customer<name>>");
        check(&["value.customer"], "<id>");
        check(&["value.customer", "value.customer.email"], "<id>");
        check(&["value.customer.email", "value.customer.name"], "<id,customer<>>");
        check(&["value.id", "value.customer"], "<>");
        check(
            &["key.id", "value.nobody", "value.id.deeper", "value.Customer"],
            "<id,customer<name,email>>",
        );
    }

    #[test]
    fn a_side_that_is_no_struct_stays_as_it_is() {
        let text: ArrayRef = Arc::new(StringArray::from(vec!["plain"]));
        let exclusions = Exclusions::of("value", &BTreeSet::from(["value.id".to_owned()])).expect("legal paths");
        assert_eq!(&exclusions.apply(text.clone()).expect("projects"), &text);
    }
}
