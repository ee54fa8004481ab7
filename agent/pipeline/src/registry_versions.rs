//! Which versions of a registry's subjects a stream reads by, as its table records them.
//!
//! A version stays in force until the stream starts again and finds a later one that its table can take. Its schema is kept as one
//! text that stands for itself: a registry that is away keeps no stream from starting whose versions are recorded. Invariant: rows
//! are decoded only by versions that the table records.

use serde::{Deserialize, Serialize};
use stream_spec::stream::{DirectSchemas, SchemaText, Side};

/// The versions of both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistryVersions {
    /// That of the key's subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<RegistryVersion>,
    /// That of the payload's subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<RegistryVersion>,
}

/// One version of a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistryVersion {
    /// The subject.
    pub subject: String,
    /// Its version's number.
    pub version: i32,
    /// The id of the schema, which messages carry.
    pub id: u32,
    /// The schema as one text that needs no other.
    pub schema: SchemaText,
}

impl RegistryVersions {
    /// The version of a side.
    pub fn side(&self, side: Side) -> Option<&RegistryVersion> {
        match side {
            Side::Key => self.key.as_ref(),
            Side::Payload => self.payload.as_ref(),
        }
    }

    /// Sets the version of a side.
    pub(crate) fn set(&mut self, side: Side, version: RegistryVersion) {
        match side {
            Side::Key => self.key = Some(version),
            Side::Payload => self.payload = Some(version),
        }
    }

    /// The schemas of both sides.
    pub fn schemas(&self) -> DirectSchemas {
        let schema = |version: &Option<RegistryVersion>| version.as_ref().map(|version| version.schema.clone());
        DirectSchemas {
            key: schema(&self.key),
            payload: schema(&self.payload),
        }
    }
}
