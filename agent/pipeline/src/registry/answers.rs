//! What a registry answers with, as far as it is used. Members that a registry of another make or age has besides are not looked at.

use serde::{Deserialize, Serialize};
use stream_spec::schema::SchemaFormat;

use super::error::RegistryError;

/// A schema, by its id or as a version of a subject.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct SchemaAnswer {
    /// Absent in answers about an id, in most registries.
    pub(super) id: Option<u32>,
    pub(super) version: Option<i32>,
    /// Absent for Avro.
    #[serde(rename = "schemaType")]
    schema_type: Option<String>,
    pub(super) schema: String,
    #[serde(default)]
    references: Option<Vec<ReferenceAnswer>>,
}

/// Another schema that one refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReferenceAnswer {
    pub(super) name: String,
    pub(super) subject: String,
    pub(super) version: i32,
}

/// A subject that has a schema as one of its versions.
#[derive(Debug, Deserialize)]
pub(super) struct SubjectVersion {
    pub(super) subject: String,
}

/// What says whether a subject has a schema.
#[derive(Serialize)]
pub(super) struct Lookup<'s> {
    pub(super) schema: &'s str,
    #[serde(rename = "schemaType")]
    pub(super) schema_type: &'static str,
    pub(super) references: &'s [ReferenceAnswer],
}

/// What errors carry beside their status.
#[derive(Deserialize)]
pub(super) struct ErrorAnswer {
    pub(super) error_code: Option<u32>,
}

impl SchemaAnswer {
    pub(super) fn references(&self) -> &[ReferenceAnswer] {
        self.references.as_deref().unwrap_or_default()
    }

    /// The language, if it is one that streams take from a registry.
    pub(super) fn format(&self, what: &str) -> Result<SchemaFormat, RegistryError> {
        let reason = match self.schema_type.as_deref() {
            None | Some("AVRO") => return Ok(SchemaFormat::Avro),
            Some("PROTOBUF") => return Ok(SchemaFormat::Protobuf),
            Some("JSON") => "it is a JSON Schema, which is not taken from a registry: declare the schema in the stream itself, in \
                             `direct_schemas`"
                .to_owned(),
            Some(other) => format!("its type is `{}`: register it as AVRO or PROTOBUF", shortened(other)),
        };
        Err(RegistryError::Unusable {
            what: what.to_owned(),
            reason,
        })
    }
}

/// The word for a language in requests.
pub(super) fn type_word(format: SchemaFormat) -> &'static str {
    match format {
        SchemaFormat::Json => "JSON",
        SchemaFormat::Avro => "AVRO",
        SchemaFormat::Protobuf => "PROTOBUF",
    }
}

/// A few characters of what a registry says, on one line.
fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}
