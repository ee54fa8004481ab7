//! What is known of a stream or a connection, as messages.

use std::collections::BTreeMap;
use std::time::Duration;

use featurestore_proto::convert::{
    columns_from_spec, connection_from_spec, direct_schemas_from_spec, operations_from_spec, stream_from_spec,
};
use featurestore_proto::v1;
use prost::Message;
use stream_pipeline::misfits::Misfits;
use stream_pipeline::position::SourcePlace;
use stream_pipeline::status::SubjectProgress;

use crate::limits::SCHEMA_TEXTS_BYTES_MAX;
use crate::services::connections::ConnectionView;
use crate::services::streams::StreamView;
use crate::state::{Condition, StreamState};
use crate::store::records::AcceptedSchemas;

/// A stream with what goes beside it.
pub(super) fn stream(view: &StreamView, trash_retention: Duration) -> v1::StreamRecord {
    let declared = &view.record.declared;
    let mut stream = stream_from_spec(&declared.spec);
    stream.create_time = Some(timestamp(declared.create_time_ms));
    stream.created_by.clone_from(&declared.created_by);
    stream.update_time = Some(timestamp(declared.update_time_ms));
    stream.updated_by.clone_from(&declared.updated_by);
    if let Some(ingestion) = &mut stream.ingestion_config {
        ingestion.ingestion_pipeline_id.clone_from(&declared.ingestion_pipeline_id);
        ingestion.ingestion_job_id = declared.ingestion_job_id;
    }
    v1::StreamRecord {
        stream: Some(stream),
        operations: Some(operations_from_spec(&declared.operations)),
        status: Some(status(view, trash_retention)),
    }
}

/// Takes the schema texts out of a record; which kind of schemas it has stays.
pub(super) fn leave_out_schemas(record: &mut v1::StreamRecord) {
    if let Some(config) = record.stream.as_mut().and_then(|stream| stream.schema_config.as_mut())
        && let Some(v1::schema_config::Config::DirectSchemas(direct)) = &mut config.config
    {
        *direct = v1::DirectSchemas::default();
    }
    if let Some(status) = &mut record.status {
        status.schema_versions.clear();
    }
}

/// A connection. It holds no secret.
pub(super) fn connection(view: &ConnectionView) -> v1::Connection {
    let record = &view.record;
    v1::Connection {
        secrets_revision: view.secrets_revision.clone(),
        uid: record.uid.clone(),
        generation: record.generation,
        create_time: Some(timestamp(record.create_time_ms)),
        created_by: record.created_by.clone(),
        update_time: Some(timestamp(record.update_time_ms)),
        updated_by: record.updated_by.clone(),
        ..connection_from_spec(&record.spec)
    }
}

fn status(view: &StreamView, trash_retention: Duration) -> v1::StreamStatus {
    let (declared, observed) = (&view.record.declared, &view.record.observed);
    v1::StreamStatus {
        uid: view.record.uid.clone(),
        generation: declared.generation,
        observed_generation: observed.generation,
        operations_generation: declared.operations_generation,
        state: state(view.state()).into(),
        conditions: observed.conditions.iter().map(condition).collect(),
        table: Some(table(view, trash_retention)),
        partitions: partitions(view),
        schema_versions: schema_versions(&declared.schema_history, &observed.schema_starts),
        backfill: None,
        misfits: view
            .pipeline
            .as_ref()
            .map(|pipeline| misfits(&pipeline.misfits))
            .unwrap_or_default(),
        records_filtered: view.pipeline.as_ref().map_or(0, |pipeline| pipeline.records_filtered),
        registry_subjects: view
            .pipeline
            .as_ref()
            .map(|pipeline| pipeline.subjects.iter().map(registry_subject).collect())
            .unwrap_or_default(),
    }
}

fn table(view: &StreamView, trash_retention: Duration) -> v1::TableStatus {
    let seen = view.table.as_ref();
    v1::TableStatus {
        delta_table_name: view.record.declared.spec.ingestion.destination.to_string(),
        location: view.location.clone(),
        version: seen.map(|table| table.version),
        rows: seen.map_or(0, |table| table.rows),
        bytes: seen.map_or(0, |table| table.bytes),
        files: seen.map_or(0, |table| table.files),
        create_time: seen.map(|table| timestamp(table.created_ms)),
        columns: seen.map(|table| columns_from_spec(&table.columns)).unwrap_or_default(),
        trash_retention: prost_types::Duration::try_from(trash_retention).ok(),
    }
}

fn partitions(view: &StreamView) -> Vec<v1::PartitionStatus> {
    let Some(pipeline) = &view.pipeline else { return Vec::new() };
    let partition = |(id, progress): (&stream_pipeline::position::PartitionId, &stream_pipeline::status::PartitionProgress)| {
        let position = progress.position.next_offset;
        v1::PartitionStatus {
            topic: id.topic.clone(),
            partition: id.partition,
            shard_id: String::new(),
            position: Some(position),
            end: progress.end_offset,
            // The end may have been seen before the last commit: a position past it means no lag, not a negative one.
            lag: progress.end_offset.map(|end| end.saturating_sub(position).max(0)),
            held: progress.held.clone().unwrap_or_default(),
            last_loss: progress.last_loss.as_ref().map(|loss| v1::PartitionLoss {
                cause: loss.cause.to_string(),
                from: loss.from,
                to: loss.to,
                epoch: loss.epoch,
            }),
        }
    };
    pipeline.partitions.iter().map(partition).collect()
}

/// Every version, and the texts of the newest ones as far as the budget goes: a long history must not make its stream
/// unreadable. The texts in force are in the definition in any case.
fn schema_versions(history: &[AcceptedSchemas], starts: &BTreeMap<u64, Vec<SourcePlace>>) -> Vec<v1::SchemaVersion> {
    let mut budget = SCHEMA_TEXTS_BYTES_MAX;
    let mut versions: Vec<v1::SchemaVersion> = Vec::with_capacity(history.len());
    for accepted in history.iter().rev() {
        let mut version = schema_version(accepted);
        budget = budget.saturating_sub(version.encoded_len());
        if budget == 0 {
            version.schemas = None;
        }
        let first = starts.get(&accepted.number).map(Vec::as_slice).unwrap_or_default();
        version.first_positions = first.iter().map(source_position).collect();
        versions.push(version);
    }
    versions.reverse();
    versions
}

fn schema_version(accepted: &AcceptedSchemas) -> v1::SchemaVersion {
    v1::SchemaVersion {
        number: accepted.number,
        schemas: Some(direct_schemas_from_spec(&accepted.schemas)),
        accept_time: Some(timestamp(accepted.accept_time_ms)),
        accepted_by: accepted.accepted_by.clone(),
        digest: accepted.digest.clone(),
        first_positions: Vec::new(),
    }
}

fn misfits(misfits: &Misfits) -> Vec<v1::Misfits> {
    misfits
        .counts()
        .map(|(side, reason, count)| v1::Misfits {
            side: side.column().to_owned(),
            reason: reason.name().to_owned(),
            count: count.messages,
            positions: count.latest.iter().map(source_position).collect(),
        })
        .collect()
}

pub(super) fn registry_subject(subject: &SubjectProgress) -> v1::RegistrySubject {
    v1::RegistrySubject {
        side: subject.side.column().to_owned(),
        subject: subject.subject.clone(),
        version: subject.in_force.map(|(version, _)| version),
        schema_id: subject.in_force.map(|(_, id)| id),
        latest_version: subject.latest.map(|(version, _)| version),
        latest_schema_id: subject.latest.map(|(_, id)| id),
    }
}

fn source_position(place: &SourcePlace) -> v1::SourcePosition {
    v1::SourcePosition {
        topic: place.partition.topic.clone(),
        partition: place.partition.partition,
        offset: place.offset,
        epoch: place.epoch,
    }
}

fn condition(condition: &Condition) -> v1::Condition {
    let status = if condition.status {
        v1::ConditionStatus::True
    } else {
        v1::ConditionStatus::False
    };
    v1::Condition {
        r#type: condition.condition_type.clone(),
        status: status.into(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        since: Some(timestamp(condition.since_ms)),
    }
}

fn state(state: StreamState) -> v1::StreamState {
    match state {
        StreamState::Provisioning => v1::StreamState::Provisioning,
        StreamState::Active => v1::StreamState::Active,
        StreamState::Degraded => v1::StreamState::Degraded,
        StreamState::Failed => v1::StreamState::Failed,
        StreamState::TableAltered => v1::StreamState::TableAltered,
        StreamState::TableGone => v1::StreamState::TableGone,
        StreamState::Paused => v1::StreamState::Paused,
        StreamState::Deleting => v1::StreamState::Deleting,
    }
}

pub(super) fn timestamp(ms: i64) -> prost_types::Timestamp {
    // Always below a second, so it fits.
    let nanos = i32::try_from(ms.rem_euclid(1_000) * 1_000_000).unwrap_or_default();
    prost_types::Timestamp {
        seconds: ms.div_euclid(1_000),
        nanos,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stream_pipeline::position::PartitionId;
    use stream_spec::stream::{DirectSchemas, SchemaText};

    #[test]
    fn a_long_history_names_every_version_and_shows_the_newest_texts() {
        let history: Vec<AcceptedSchemas> = (1..=1000)
            .map(|number| AcceptedSchemas {
                number,
                generation: number,
                schemas: DirectSchemas {
                    key: None,
                    payload: Some(SchemaText::Json("x".repeat(SCHEMA_TEXTS_BYTES_MAX / 10))),
                },
                accept_time_ms: 5,
                accepted_by: "admin".into(),
                digest: "0".repeat(64),
            })
            .collect();
        let place = SourcePlace {
            partition: PartitionId {
                topic: "orders".into(),
                partition: 1,
            },
            offset: 7,
            epoch: 0,
        };
        let versions = schema_versions(&history, &BTreeMap::from([(1, vec![place.clone()])]));
        assert_eq!(versions[0].first_positions, [source_position(&place)]);
        assert!(versions[1..].iter().all(|version| version.first_positions.is_empty()));
        assert!(versions.iter().map(|version| version.number).eq(1..=1000));
        assert!(versions.iter().all(|version| version.digest.len() == 64));
        let with_texts: Vec<u64> = versions.iter().filter(|it| it.schemas.is_some()).map(|it| it.number).collect();
        assert_eq!(with_texts, (992..=1000).collect::<Vec<_>>());
        let bytes: usize = versions.iter().map(Message::encoded_len).sum();
        assert!(bytes < SCHEMA_TEXTS_BYTES_MAX * 5 / 4, "{bytes}");
    }
}
