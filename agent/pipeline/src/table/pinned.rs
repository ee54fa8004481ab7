//! The registry's versions that are in force, in a property of the table.
//!
//! The commit that puts them in force writes them. Invariant: what cannot be read is an error and never taken for nothing: rows of
//! another version would follow.

use std::collections::BTreeMap;

use crate::registry_versions::RegistryVersions;

/// The name of the property.
const REGISTRY_VERSIONS: &str = "featurestore.registry_versions";

/// Puts versions in force.
pub(super) fn set(properties: &mut BTreeMap<String, String>, versions: &RegistryVersions) {
    // Texts and numbers always have a JSON form.
    properties.insert(REGISTRY_VERSIONS.to_owned(), serde_json::to_string(versions).unwrap_or_default());
}

/// The versions in force, if a registry's are; the error says what is wrong.
pub(super) fn read(properties: &BTreeMap<String, String>) -> Result<Option<RegistryVersions>, String> {
    let Some(text) = properties.get(REGISTRY_VERSIONS) else {
        return Ok(None);
    };
    serde_json::from_str(text)
        .map(Some)
        .map_err(|error| format!("its property `{REGISTRY_VERSIONS}` cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use stream_spec::stream::SchemaText;

    use super::*;
    use crate::registry_versions::RegistryVersion;

    #[test]
    fn versions_come_back_and_a_text_that_says_nothing_is_an_error() {
        let versions = RegistryVersions {
            key: None,
            payload: Some(RegistryVersion {
                subject: "orders-value".to_owned(),
                version: 3,
                id: 17,
                schema: SchemaText::Avro(r#"{"type":"record","name":"R","fields":[]}"#.to_owned()),
            }),
        };
        let mut properties = BTreeMap::new();
        assert_eq!(read(&properties), Ok(None));
        set(&mut properties, &versions);
        assert_eq!(read(&properties), Ok(Some(versions)));
        let text = properties.get(REGISTRY_VERSIONS).map(String::as_str).unwrap_or_default();
        assert!(
            text.starts_with(r#"{"payload":{"subject":"orders-value","version":3,"id":17,"#),
            "{text}"
        );
        properties.insert(REGISTRY_VERSIONS.to_owned(), "x".to_owned());
        assert!(read(&properties).is_err());
    }
}
