//! Makes a stream's table: version 0, with the start positions.
//!
//! Invariant: start positions are resolved before version 0 is written and never again (product part K3).

use stream_spec::stream::SourceConfig;

use super::in_force::InForce;
use super::pin;
use super::rows::RowMaker;
use crate::engine::{EngineShared, StreamDefinition};
use crate::error::PipelineError;
use crate::kafka::start;
use crate::table::{NewTable, TableError, TableState};

/// Creates the table, or returns the state of the one that was created before.
pub(crate) async fn provision(shared: &EngineShared, definition: &StreamDefinition) -> Result<TableState, PipelineError> {
    let name = &definition.spec.ingestion.destination;
    match shared.warehouse.read_state(name, &definition.uid).await {
        Ok(state) => return Ok(state),
        Err(TableError::Gone { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let pinned = match pin::direct(definition)? {
        Some(pinned) => pinned,
        None => pin::first(shared, definition, None).await?,
    };
    let InForce { columns, versions, .. } = pinned.in_force.clone();
    // Refused here rather than by the first run: what cannot be decoded makes no table.
    drop(RowMaker::compile(definition, &pinned.in_force)?);
    let source = kafka_source(definition)?;
    let properties = shared.resolver.open(&definition.spec, &definition.run_as).await?;
    let (positions, source) = start::positions(&shared.clients, &properties, source).await?;
    let table = NewTable {
        name: name.clone(),
        stream_uid: definition.uid.clone(),
        generation: definition.generation,
        columns,
        positions,
        source,
        schemas: definition.schemas_in_force(),
        registry: versions,
        history: shared.settings.table_care.history,
    };
    Ok(shared.warehouse.create(table).await?)
}

/// The Kafka source, or the refusal of another kind.
pub(crate) fn kafka_source(definition: &StreamDefinition) -> Result<&stream_spec::stream::KafkaSource, PipelineError> {
    match &definition.spec.source {
        SourceConfig::Kafka(kafka) => Ok(kafka),
        SourceConfig::Kinesis(_) => Err(unsupported("kinesis_stream_config", "kafka_stream_config")),
    }
}

fn unsupported(field: &str, instead: &str) -> PipelineError {
    PipelineError::Definition {
        message: format!("`{field}` is not supported by this agent; use `{instead}`"),
    }
}
