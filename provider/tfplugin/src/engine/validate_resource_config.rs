//! Is a resource's configuration right? Invariant: unknown values are no mistake.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::path::AttributePath;
use crate::schema::Attributes;
use crate::schema::attribute::AttributeType;
use crate::value::Value;

use super::{Engine, ResourceType, guarded};

impl Engine {
    /// `write_only_allowed`: does this Terraform know write-only attributes?
    pub(crate) async fn validate_resource_config(&self, found: &ResourceType, config: &Value, write_only_allowed: bool) -> Diagnostics {
        let mut diagnostics = Diagnostics::none();
        if !write_only_allowed {
            refuse_write_only(&found.shape.schema.attributes, &AttributePath::root(), config, &mut diagnostics);
        }
        let context = self.context();
        let call = format!("the validation of `{}`", found.resource.type_name());
        diagnostics.extend(
            guarded(&call, found.resource.validate(config, &context))
                .await
                .unwrap_or_else(|bug| bug),
        );
        diagnostics
    }
}

/// A Terraform that does not know write-only attributes would store their values.
fn refuse_write_only(attributes: &Attributes, path: &AttributePath, config: &Value, diagnostics: &mut Diagnostics) {
    for (name, attribute) in attributes {
        let value = config.get(name);
        let path = path.clone().attribute(name);
        if attribute.write_only && !value.is_null() {
            let detail = format!("{path} is never stored. Terraform 1.11 is the first version that can pass it on without storing it.");
            diagnostics.push(Diagnostic::error("Write-Only Attribute Not Supported", detail).at(path));
        } else if let AttributeType::Nested { attributes, .. } = &attribute.attribute_type {
            for (index, element) in value.elements().iter().enumerate() {
                refuse_write_only(attributes, &path.clone().index(index), element, diagnostics);
            }
            match value {
                Value::Object(_) => refuse_write_only(attributes, &path, value, diagnostics),
                Value::Map(entries) => {
                    for (key, element) in entries {
                        refuse_write_only(attributes, &path.clone().key(key), element, diagnostics);
                    }
                }
                _ => {}
            }
        }
    }
}
