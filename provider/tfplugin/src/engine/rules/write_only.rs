//! Write-only values, which live in the configuration alone. Invariant: no plan and no state holds one.

use crate::schema::Attributes;
use crate::schema::attribute::AttributeType;
use crate::value::Value;

/// Makes every write-only value null.
pub(crate) fn forget(attributes: &Attributes, object: &mut Value) {
    let Value::Object(entries) = object else { return };
    for (name, attribute) in attributes {
        let Some(value) = entries.get_mut(name) else { continue };
        if attribute.write_only {
            *value = Value::Null;
            continue;
        }
        let AttributeType::Nested { attributes, .. } = &attribute.attribute_type else {
            continue;
        };
        match value {
            Value::Object(_) => forget(attributes, value),
            Value::List(elements) | Value::Set(elements) => elements.iter_mut().for_each(|element| forget(attributes, element)),
            Value::Map(elements) => elements.values_mut().for_each(|element| forget(attributes, element)),
            _ => {}
        }
    }
}
