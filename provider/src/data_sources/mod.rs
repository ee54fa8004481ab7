//! The data sources, one file each.

pub(crate) mod agent;
pub(crate) mod connection;
pub(crate) mod stream;
mod stream_status;
pub(crate) mod table_columns;

use tfplugin::schema::Attributes;
use tfplugin::schema::attribute::{Attribute, AttributeType};

use crate::resources::COST_SEPARATOR;

/// A resource's attribute, read only. What a change costs is left out: nothing can be changed here. So are write-only values.
fn as_computed(attribute: Attribute) -> Attribute {
    let what = attribute.description.split(COST_SEPARATOR).next().unwrap_or_default().to_owned();
    let attribute_type = match attribute.attribute_type {
        AttributeType::Nested { nesting, attributes } => {
            let readable = attributes.into_iter().filter(|(_, inner)| !inner.write_only);
            let attributes: Attributes = readable.map(|(name, inner)| (name, as_computed(inner))).collect();
            AttributeType::Nested { nesting, attributes }
        }
        plain => plain,
    };
    Attribute::computed(attribute_type, what)
}
