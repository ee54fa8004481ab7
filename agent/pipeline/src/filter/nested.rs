//! Fields of structs and of arrays of structs.
//!
//! A field of a null struct is null, whatever the array of the field holds there.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, StructArray};
use arrow_schema::Field;

use super::error::FilterError;
use super::logic::exactly;
use super::node::Kernel;
use super::values::structs;

pub(super) fn field(name: &str) -> Kernel {
    let name = name.to_owned();
    Box::new(move |operands, _| {
        let [parent] = exactly(operands)?;
        field_of(parent.array(), &name)
    })
}

/// The field of structs, or of the structs in arrays.
pub(super) fn field_of(parent: &ArrayRef, name: &str) -> Result<ArrayRef, FilterError> {
    let Some(list) = parent.as_list_opt::<i32>() else {
        return field_of_struct(structs(parent)?, name);
    };
    let elements = field_of_struct(structs(list.values())?, name)?;
    let element = Arc::new(Field::new("element", elements.data_type().clone(), true));
    let list = ListArray::try_new(element, list.offsets().clone(), elements, list.nulls().cloned())?;
    Ok(Arc::new(list))
}

fn field_of_struct(parent: &StructArray, name: &str) -> Result<ArrayRef, FilterError> {
    let child = parent
        .column_by_name(name)
        .ok_or_else(|| FilterError::mismatch(format!("a field `{name}`"), parent.data_type()))?;
    match parent.nulls() {
        Some(nulls) if child.nulls().is_none_or(|own| !own.contains(nulls)) => {
            let missing = BooleanArray::new(!nulls.inner(), None);
            Ok(arrow_select::nullif::nullif(child, &missing)?)
        }
        _ => Ok(child.clone()),
    }
}
