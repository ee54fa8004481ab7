//! One type that holds the values of two versions of a schema.

use std::collections::HashMap;

use crate::path::kind;
use crate::types::{DataType, Field};
use crate::violation::Violation;

/// Earlier fields first, in their order, then new ones; INT and BIGINT are BIGINT. Anything else must be equal.
pub(super) fn union(old: &DataType, new: &DataType, at: &str) -> Result<DataType, Violation> {
    match (old, new) {
        (DataType::Struct(old_fields), DataType::Struct(new_fields)) => {
            let mut fields = old_fields.clone();
            let places: HashMap<&str, usize> = old_fields
                .iter()
                .enumerate()
                .map(|(index, field)| (field.name.as_str(), index))
                .collect();
            for new_field in new_fields {
                match places.get(new_field.name.as_str()).and_then(|index| fields.get_mut(*index)) {
                    Some(field) => {
                        let inner = format!("{at}.{}", field.name);
                        field.data_type = union(&field.data_type, &new_field.data_type, &inner)?;
                    }
                    None => fields.push(Field::new(new_field.name.clone(), new_field.data_type.clone())),
                }
            }
            Ok(DataType::Struct(fields))
        }
        (DataType::Array(old), DataType::Array(new)) => Ok(DataType::Array(Box::new(union(old, new, &format!("{at}[]"))?))),
        (DataType::Map(old_key, old), DataType::Map(new_key, new)) if old_key == new_key => {
            Ok(DataType::Map(old_key.clone(), Box::new(union(old, new, &format!("{at}{{}}"))?)))
        }
        (DataType::Int, DataType::BigInt) | (DataType::BigInt, DataType::Int) => Ok(DataType::BigInt),
        (old, new) if old == new => Ok(old.clone()),
        (old, new) => {
            let problem = format!("`{at}` was {} in an earlier schema and is {} in a later one", kind(old), kind(new));
            Err(Violation::new(
                "schema_config.direct_schemas",
                at,
                problem,
                "give the new field another name",
            ))
        }
    }
}

/// Adds the paths below `at` that are INT in `before` and BIGINT in `after`.
pub(super) fn collect_widened(before: &DataType, after: &DataType, at: &str, paths: &mut Vec<String>) {
    match (before, after) {
        (DataType::Int, DataType::BigInt) => paths.push(at.to_owned()),
        (DataType::Struct(old_fields), DataType::Struct(new_fields)) => {
            for new in new_fields {
                if let Some(old) = old_fields.iter().find(|old| old.name == new.name) {
                    collect_widened(&old.data_type, &new.data_type, &format!("{at}.{}", new.name), paths);
                }
            }
        }
        (DataType::Array(old), DataType::Array(new)) => collect_widened(old, new, &format!("{at}[]"), paths),
        (DataType::Map(_, old), DataType::Map(_, new)) => collect_widened(old, new, &format!("{at}{{}}"), paths),
        _ => {}
    }
}
