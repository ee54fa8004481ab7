//! Brings a value that a provider built by hand into the exact form of its type.
//!
//! Invariant: afterwards every object has every attribute of its type, and a list is a list where the type says so.

use std::collections::BTreeMap;

use crate::path::AttributePath;
use crate::value::Value;
use crate::value::codec_error::{CodecError, CodecProblem};
use crate::value::types::Type;

/// The same value in the form of `value_type`: missing attributes are null, lists and sets, maps and objects are what the
/// type calls them.
///
/// # Errors
/// When it is another kind of value, or has an attribute that the type does not have.
pub fn conform(value: Value, value_type: &Type) -> Result<Value, CodecError> {
    conform_at(value, value_type, &AttributePath::root())
}

fn conform_at(value: Value, value_type: &Type, path: &AttributePath) -> Result<Value, CodecError> {
    match (value, value_type) {
        (value @ (Value::Null | Value::Unknown(_)), _)
        | (value @ Value::Bool(_), Type::Bool)
        | (value @ Value::Number(_), Type::Number)
        | (value @ Value::String(_), Type::String) => Ok(value),
        (Value::List(elements) | Value::Set(elements), Type::List(element_type)) => {
            Ok(Value::List(conform_elements(elements, element_type, path)?))
        }
        (Value::List(elements) | Value::Set(elements), Type::Set(element_type)) => {
            let mut distinct: Vec<Value> = Vec::with_capacity(elements.len());
            for element in conform_elements(elements, element_type, path)? {
                // Two unknowns may turn out different, so both stay.
                if !element.is_wholly_known() || !distinct.contains(&element) {
                    distinct.push(element);
                }
            }
            Ok(Value::Set(distinct))
        }
        (Value::Map(entries) | Value::Object(entries), Type::Map(element_type)) => {
            let mut conformed = BTreeMap::new();
            for (key, value) in entries {
                let below = path.clone().key(key.clone());
                conformed.insert(key, conform_at(value, element_type, &below)?);
            }
            Ok(Value::Map(conformed))
        }
        (Value::Map(mut entries) | Value::Object(mut entries), Type::Object(attributes)) => {
            let mut conformed = BTreeMap::new();
            for (name, attribute_type) in attributes {
                let value = entries.remove(name).unwrap_or_default();
                conformed.insert(
                    name.clone(),
                    conform_at(value, attribute_type, &path.clone().attribute(name.clone()))?,
                );
            }
            match entries.into_keys().next() {
                Some(stranger) => Err(CodecProblem::UnknownAttribute.at(&path.clone().attribute(stranger))),
                None => Ok(Value::Object(conformed)),
            }
        }
        (value, _) => Err(CodecProblem::Kind {
            wanted: value_type.kind(),
            found: value.kind(),
        }
        .at(path)),
    }
}

fn conform_elements(elements: Vec<Value>, element_type: &Type, path: &AttributePath) -> Result<Vec<Value>, CodecError> {
    let numbered = elements.into_iter().enumerate();
    numbered
        .map(|(index, element)| conform_at(element, element_type, &path.clone().index(index)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(attributes: &[(&str, Type)]) -> Type {
        Type::Object(attributes.iter().map(|(name, inner)| ((*name).to_owned(), inner.clone())).collect())
    }

    #[test]
    fn missing_attributes_become_null_and_collections_take_the_kind_of_the_type() {
        let wanted = object(&[
            ("name", Type::String),
            ("tags", Type::set(Type::String)),
            ("options", Type::map(Type::String)),
        ]);
        let built = Value::object([
            ("tags", Value::List(vec!["b".into(), "a".into(), "b".into()])),
            ("options", Value::object([("k", Value::from("v"))])),
        ]);
        let expected = Value::object([
            ("name", Value::Null),
            ("tags", Value::string_set(["a", "b"])),
            ("options", Value::map([("k", Value::from("v"))])),
        ]);
        assert_eq!(conform(built, &wanted), Ok(expected));
    }

    #[test]
    fn what_does_not_fit_is_named_by_its_path_and_kind() {
        let wanted = object(&[("list", Type::list(Type::Bool))]);
        let cases = [
            (
                Value::object([("list", Value::List(vec![true.into(), "x".into()]))]),
                "`list[1]`: wanted a bool, found a string",
            ),
            (
                Value::object([("other", Value::Null)]),
                "`other`: there is no such attribute in the schema",
            ),
            (Value::from("x"), "``: wanted an object, found a string"),
        ];
        for (built, expected) in cases {
            assert_eq!(conform(built, &wanted).unwrap_err().to_string(), expected);
        }
    }
}
