//! The schemas that a stream decodes by, from wherever they come, and the columns that its table has for them.
//!
//! Invariant: whatever is in here can be decoded, filtered and stored; what cannot is refused when it is made.

use stream_spec::stream::{DirectSchemas, SchemaConfig};
use stream_spec::table;
use stream_spec::types::Field;
use stream_spec::violation::Violation;

use crate::engine::StreamDefinition;
use crate::error::PipelineError;
use crate::registry_versions::RegistryVersions;
use crate::table::expect_storable;

/// What a stream decodes by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InForce {
    /// The schema of each side.
    pub(crate) schemas: DirectSchemas,
    /// The table's columns once it is in force.
    pub(crate) columns: Vec<Field>,
    /// The registry's versions that the schemas are; none without a registry.
    pub(crate) versions: Option<RegistryVersions>,
}

impl InForce {
    /// By the schemas of the definition itself; none if they come from a registry.
    pub(crate) fn direct(definition: &StreamDefinition) -> Result<Option<Self>, PipelineError> {
        let SchemaConfig::Direct(schemas) = &definition.spec.schemas else {
            return Ok(None);
        };
        let columns = table::columns_of_history(
            &definition.spec.source,
            &definition.schema_history,
            &definition.excluded_at_creation,
        );
        Ok(Some(Self {
            schemas: schemas.clone(),
            columns: columns.map_err(refused)?,
            versions: None,
        }))
    }

    /// By versions of a registry, in a table that has those columns already.
    pub(crate) fn by_versions(
        definition: &StreamDefinition,
        versions: RegistryVersions,
        table_columns: Option<&[Field]>,
    ) -> Result<Self, PipelineError> {
        let schemas = versions.schemas();
        let columns = table::columns_of_versions(&definition.spec.source, &schemas, &definition.excluded_at_creation);
        let mut columns = columns.map_err(refused)?;
        if let Some(before) = table_columns {
            columns = table::grown(before, &columns).map_err(refused)?;
        }
        expect_storable(&columns).map_err(|message| PipelineError::Definition { message })?;
        Ok(Self {
            schemas,
            columns,
            versions: Some(versions),
        })
    }
}

fn refused(violations: Vec<Violation>) -> PipelineError {
    let violations: Vec<String> = violations.iter().map(ToString::to_string).collect();
    PipelineError::Definition {
        message: violations.join("; "),
    }
}
