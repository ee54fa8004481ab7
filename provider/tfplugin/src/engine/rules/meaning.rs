//! When two values mean the same, and which one is kept: the one that was there.
//!
//! Invariant: keeping is only about form. A value that means something else always wins over the one that was there.

use std::collections::BTreeMap;

use crate::schema::Attributes;
use crate::schema::attribute::{Attribute, AttributeType, Nesting};
use crate::value::Value;

/// Do two values of this attribute mean the same?
pub(crate) fn same(attribute: &Attribute, left: &Value, right: &Value) -> bool {
    if left == right || (attribute.null_is_empty && is_empty(left) && is_empty(right)) {
        return true;
    }
    if !left.is_present() || !right.is_present() {
        return false;
    }
    if let Some(equal_by) = &attribute.equal_by
        && left.is_wholly_known()
        && right.is_wholly_known()
    {
        return equal_by(left, right);
    }
    match &attribute.attribute_type {
        AttributeType::Plain(_) => false,
        AttributeType::Nested { nesting, attributes } => same_nested(*nesting, attributes, left, right),
    }
}

fn same_nested(nesting: Nesting, attributes: &Attributes, left: &Value, right: &Value) -> bool {
    match nesting {
        Nesting::Single => same_objects(attributes, left, right),
        Nesting::List => {
            let (left, right) = (left.elements(), right.elements());
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same_objects(attributes, left, right))
        }
        Nesting::Set => {
            let (left, right) = (left.elements(), right.elements());
            let mut open: Vec<&Value> = right.iter().collect();
            left.len() == right.len()
                && left.iter().all(
                    |element| match open.iter().position(|twin| same_objects(attributes, element, twin)) {
                        Some(index) => {
                            open.remove(index);
                            true
                        }
                        None => false,
                    },
                )
        }
        Nesting::Map => match (left.entries(), right.entries()) {
            (Some(left), Some(right)) => {
                left.len() == right.len()
                    && left
                        .iter()
                        .all(|(key, element)| right.get(key).is_some_and(|twin| same_objects(attributes, element, twin)))
            }
            _ => false,
        },
    }
}

/// Do two objects mean the same, attribute by attribute?
pub(crate) fn same_objects(attributes: &Attributes, left: &Value, right: &Value) -> bool {
    left == right
        || (left.is_present()
            && right.is_present()
            && attributes
                .iter()
                .all(|(name, attribute)| same(attribute, left.get(name), right.get(name))))
}

/// The new object, with every part that only differs in form as it was before.
pub(crate) fn keep_form(attributes: &Attributes, before: &Value, new: Value) -> Value {
    let Value::Object(mut entries) = new else { return new };
    for (name, attribute) in attributes {
        if let Some(entry) = entries.get_mut(name) {
            *entry = keep_attribute_form(attribute, before.get(name), std::mem::take(entry));
        }
    }
    Value::Object(entries)
}

fn keep_attribute_form(attribute: &Attribute, before: &Value, new: Value) -> Value {
    if before.is_wholly_known() && same(attribute, before, &new) {
        return before.clone();
    }
    let AttributeType::Nested { nesting, attributes } = &attribute.attribute_type else {
        return new;
    };
    match (nesting, new) {
        (Nesting::Single, new @ Value::Object(_)) => keep_form(attributes, before, new),
        (Nesting::List, Value::List(elements)) => {
            let mut earlier = before.elements().iter();
            let kept = elements.into_iter().map(|element| match earlier.next() {
                Some(before) => keep_form(attributes, before, element),
                None => element,
            });
            Value::List(kept.collect())
        }
        (Nesting::Set, Value::Set(elements)) => {
            let kept = elements.into_iter().map(|element| {
                let twin = before
                    .elements()
                    .iter()
                    .find(|twin| twin.is_wholly_known() && same_objects(attributes, twin, &element));
                twin.cloned().unwrap_or(element)
            });
            Value::Set(kept.collect())
        }
        (Nesting::Map, Value::Map(entries)) => {
            let kept: BTreeMap<String, Value> = entries
                .into_iter()
                .map(|(key, element)| {
                    let element = keep_form(attributes, before.get(&key), element);
                    (key, element)
                })
                .collect();
            Value::Map(kept)
        }
        (_, new) => new,
    }
}

/// Null, or a collection without elements.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::List(elements) | Value::Set(elements) => elements.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        _ => false,
    }
}
