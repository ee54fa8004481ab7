//! Terraform's own merge of configuration and prior state, which it hands to a provider as the proposed new state.

use crate::schema::Attributes;
use crate::schema::attribute::{Attribute, AttributeType, Mode, Nesting};
use crate::value::Value;

/// The merge of two objects; `prior` may be null.
pub(super) fn proposed(attributes: &Attributes, prior: &Value, config: &Value) -> Value {
    let merged = attributes
        .iter()
        .map(|(name, attribute)| (name.clone(), proposed_attribute(attribute, prior.get(name), config.get(name))));
    Value::Object(merged.collect())
}

fn proposed_attribute(attribute: &Attribute, prior: &Value, config: &Value) -> Value {
    if attribute.mode == Mode::Computed || (config.is_null() && attribute.is_computed()) {
        return prior.clone();
    }
    let AttributeType::Nested { nesting, attributes } = &attribute.attribute_type else {
        return config.clone();
    };
    match (nesting, config) {
        (Nesting::Single, Value::Object(_)) => proposed(attributes, prior, config),
        (Nesting::List, Value::List(elements)) => {
            let numbered = elements.iter().enumerate();
            let earlier = |index| prior.elements().get(index).unwrap_or(&Value::Null);
            Value::List(
                numbered
                    .map(|(index, element)| proposed(attributes, earlier(index), element))
                    .collect(),
            )
        }
        (Nesting::Set, Value::Set(elements)) => {
            Value::Set(elements.iter().map(|element| proposed(attributes, &Value::Null, element)).collect())
        }
        (Nesting::Map, Value::Map(elements)) => Value::map(
            elements
                .iter()
                .map(|(key, element)| (key.clone(), proposed(attributes, prior.get(key), element))),
        ),
        _ => config.clone(),
    }
}
