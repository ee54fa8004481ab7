//! The fake's StreamService. Updates are decided by `stream_spec::verdict`, as the real agent decides them.

use featurestore_proto::v1::stream_service_server::StreamService;
use featurestore_proto::{convert, v1};
use stream_spec::stream::{DirectSchemas, SchemaConfig, StreamSpec};
use stream_spec::verdict::{UpdateQuestion, Verdict, verdict};
use tonic::{Code, Request, Response, Status};

use super::{Kept, Services, World, answer, shuffle};

fn moment(seconds: u64) -> Option<prost_types::Timestamp> {
    Some(prost_types::Timestamp {
        seconds: 1_796_000_000 + i64::try_from(seconds).unwrap_or_default(),
        nanos: 0,
    })
}

fn not_found(name: &str) -> Status {
    Status::not_found(format!("there is no stream `{name}`"))
}

fn direct(spec: &StreamSpec) -> Option<&DirectSchemas> {
    match &spec.schemas {
        SchemaConfig::Direct(direct) => Some(direct),
        SchemaConfig::Registry(_) => None,
    }
}

/// The verdict on the update of a kept stream.
fn judge(kept: &Kept, stream: &v1::Stream) -> Option<Verdict> {
    let prior = convert::stream_to_spec(kept.record.stream.as_ref()?).ok()?;
    let planned = convert::stream_to_spec(stream).ok()?;
    let history: Vec<DirectSchemas> = kept
        .history
        .iter()
        .map(|direct| convert::direct_schemas_to_spec(direct, "").expect("a sound history"))
        .collect();
    Some(verdict(&UpdateQuestion {
        history: &history,
        table_columns: None,
        deduplication_columns: &prior.ingestion.deduplication_columns,
        record_type_filter: prior.record_type_filter.as_deref(),
        excluded: &prior.excluded_columns,
        new_schemas: direct(&planned)?,
        new_excluded: &planned.excluded_columns,
    }))
}

fn history_of(stream: &v1::Stream) -> Vec<v1::DirectSchemas> {
    match stream.schema_config.as_ref().and_then(|config| config.config.as_ref()) {
        Some(v1::schema_config::Config::DirectSchemas(direct)) => vec![direct.clone()],
        _ => Vec::new(),
    }
}

impl World {
    /// Keeps a stream as if it had been created.
    pub(crate) fn create(&mut self, mut stream: v1::Stream, operations: v1::StreamOperations, request_id: &str) -> v1::StreamRecord {
        let number = self.next();
        stream.create_time = moment(number);
        stream.update_time = moment(number);
        stream.created_by = "admin".to_owned();
        stream.updated_by = "admin".to_owned();
        if let Some(ingestion) = &mut stream.ingestion_config {
            ingestion.ingestion_pipeline_id = format!("pipeline-{number}");
            ingestion.ingestion_job_id = i64::try_from(number).unwrap_or_default() * 1_000_000_007;
        }
        let defaults = v1::StreamOperations {
            paused: Some(operations.paused.unwrap_or(false)),
            flush_interval: operations.flush_interval.or(Some(prost_types::Duration { seconds: 1, nanos: 0 })),
            on_data_loss: operations.on_data_loss.max(1),
        };
        let ingestion = stream.ingestion_config.as_ref();
        let destination = ingestion.and_then(|ingestion| ingestion.ingestion_destination.clone());
        let table = v1::TableStatus {
            delta_table_name: destination.map(|table| table.delta_table_name).unwrap_or_default(),
            rows: 1234,
            files: 3,
            bytes: 45_678,
            version: Some(9),
            create_time: moment(number),
            trash_retention: Some(prost_types::Duration {
                seconds: 7 * 86_400,
                nanos: 0,
            }),
            ..Default::default()
        };
        let looks = self.looks_until_ready;
        let state = self.first_state.unwrap_or(if looks > 0 {
            v1::StreamState::Provisioning
        } else {
            v1::StreamState::Active
        });
        let source_position = v1::SourcePosition {
            topic: "cards".to_owned(),
            partition: 2,
            offset: 77,
            epoch: 1,
        };
        let status = v1::StreamStatus {
            uid: format!("uid-{number}"),
            generation: 1,
            observed_generation: u64::from(state != v1::StreamState::Provisioning),
            operations_generation: 1,
            state: state.into(),
            table: Some(table),
            conditions: vec![v1::Condition {
                r#type: "StartPositions".to_owned(),
                status: v1::ConditionStatus::False.into(),
                reason: "BrokerUnreachable".to_owned(),
                message: "broker:9092 refuses connections".to_owned(),
                ..Default::default()
            }],
            misfits: vec![v1::Misfits {
                side: "value".to_owned(),
                reason: "malformed".to_owned(),
                count: 12,
                positions: vec![source_position.clone()],
            }],
            records_filtered: 34,
            schema_versions: vec![v1::SchemaVersion {
                number: 1,
                first_positions: vec![source_position],
                ..Default::default()
            }],
            ..Default::default()
        };
        let history = history_of(&stream);
        let name = stream.name.clone();
        let record = v1::StreamRecord {
            stream: Some(stream),
            operations: Some(defaults),
            status: Some(status),
        };
        let kept = Kept {
            record: record.clone(),
            request_id: request_id.to_owned(),
            history,
            looks_until_ready: looks,
            becomes: None,
        };
        self.streams.insert(name, kept);
        record
    }

    /// A stream on its way out is gone after so many looks.
    fn wait_for_deletion(&mut self, name: &str) {
        let leaving = self.streams.get(name).and_then(|kept| kept.record.status.as_ref());
        if leaving.is_none_or(|status| status.state() != v1::StreamState::Deleting) {
            return;
        }
        match &mut self.looks_until_gone {
            Some(0) => {
                self.streams.remove(name);
            }
            Some(looks) => *looks -= 1,
            None => {}
        }
    }

    /// Which life of a name there is; empty if there is none.
    fn uid_of(&self, name: &str) -> String {
        let status = self.streams.get(name).and_then(|kept| kept.record.status.as_ref());
        status.map(|status| status.uid.clone()).unwrap_or_default()
    }

    /// A look at a stream: what waits for looks comes nearer.
    fn look(&mut self, name: &str) -> Result<v1::StreamRecord, Status> {
        let turn = self.next();
        self.wait_for_deletion(name);
        let kept = self.streams.get_mut(name).ok_or_else(|| not_found(name))?;
        if kept.looks_until_ready > 0 {
            kept.looks_until_ready -= 1;
            if kept.looks_until_ready == 0 {
                let status = kept.record.status.as_mut().expect("a status");
                if status.state() == v1::StreamState::Provisioning {
                    status.state = v1::StreamState::Active.into();
                }
                status.observed_generation = status.generation;
            }
        }
        if let Some((looks, outcome)) = &mut kept.becomes {
            *looks = looks.saturating_sub(1);
            if *looks == 0 {
                kept.record.status.as_mut().expect("a status").state = (*outcome).into();
                kept.becomes = None;
            }
        }
        let mut record = kept.record.clone();
        shuffle::record(&mut record, turn);
        Ok(record)
    }
}

#[tonic::async_trait]
impl StreamService for Services {
    async fn create_stream(&self, request: Request<v1::CreateStreamRequest>) -> Result<Response<v1::CreateStreamResponse>, Status> {
        self.hang_if_told("CreateStream").await;
        let mut world = self.world();
        let fault = world.arrive("CreateStream", &request)?;
        let request = request.into_inner();
        let stream = request.stream.ok_or_else(|| Status::invalid_argument("no stream"))?;
        if let Some(kept) = world.streams.get(&stream.name) {
            if kept.request_id == request.request_id {
                let record = Some(kept.record.clone());
                return answer(fault, v1::CreateStreamResponse { record });
            }
            return Err(Status::already_exists(format!("the stream `{}` exists", stream.name)));
        }
        let record = world.create(stream, request.operations.unwrap_or_default(), &request.request_id);
        answer(fault, v1::CreateStreamResponse { record: Some(record) })
    }

    async fn get_stream(&self, request: Request<v1::GetStreamRequest>) -> Result<Response<v1::GetStreamResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("GetStream", &request)?;
        let record = world.look(&request.into_inner().name)?;
        answer(fault, v1::GetStreamResponse { record: Some(record) })
    }

    async fn list_streams(&self, _: Request<v1::ListStreamsRequest>) -> Result<Response<v1::ListStreamsResponse>, Status> {
        Err(Status::unimplemented("the provider does not list"))
    }

    async fn update_stream(&self, request: Request<v1::UpdateStreamRequest>) -> Result<Response<v1::UpdateStreamResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("UpdateStream", &request)?;
        let request = request.into_inner();
        let wanted = request.stream.unwrap_or_default();
        let mask = request.update_mask.unwrap_or_default().paths;
        world.masks.push(mask.clone());
        let looks = world.looks_until_ready;
        let number = world.next();
        world.same_life(&request.uid, &world.uid_of(&wanted.name))?;
        let kept = world.streams.get_mut(&wanted.name).ok_or_else(|| not_found(&wanted.name))?;
        if kept.request_id == request.request_id {
            return answer(
                fault,
                v1::UpdateStreamResponse {
                    record: Some(kept.record.clone()),
                },
            );
        }
        let generation = kept.record.status.as_ref().map(|status| status.generation).unwrap_or_default();
        if request.generation != 0 && request.generation != generation {
            return Err(Status::aborted(format!(
                "generation {generation} is in force, not {}",
                request.generation
            )));
        }
        if let Some(Verdict::Refused { reasons }) = judge(kept, &wanted) {
            let detail = v1::ErrorDetail {
                verdict: Some(convert::verdict_from_spec(&Verdict::Refused { reasons })),
                ..Default::default()
            };
            return Err(convert::status_with_detail(
                Code::FailedPrecondition,
                "the schema is not compatible",
                &detail,
            ));
        }
        let stream = kept.record.stream.as_mut().expect("a stream");
        for path in &mask {
            match path.as_str() {
                "excluded_columns" => stream.excluded_columns = wanted.excluded_columns.clone(),
                _ => stream.schema_config = wanted.schema_config.clone(),
            }
        }
        stream.update_time = moment(number);
        kept.history.extend(history_of(&wanted));
        kept.request_id = request.request_id;
        kept.looks_until_ready = looks;
        let status = kept.record.status.as_mut().expect("a status");
        status.generation += 1;
        if looks == 0 {
            status.observed_generation = status.generation;
        }
        answer(
            fault,
            v1::UpdateStreamResponse {
                record: Some(kept.record.clone()),
            },
        )
    }

    async fn set_stream_operations(
        &self,
        request: Request<v1::SetStreamOperationsRequest>,
    ) -> Result<Response<v1::SetStreamOperationsResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("SetStreamOperations", &request)?;
        let request = request.into_inner();
        world.same_life(&request.uid, &world.uid_of(&request.name))?;
        world.waits.push(request.wait.map_or(30, |wait| wait.seconds));
        let slowly = world.operates_slowly;
        let kept = world.streams.get_mut(&request.name).ok_or_else(|| not_found(&request.name))?;
        let status = kept.record.status.as_mut().expect("a status");
        if request.operations_generation != 0 && request.operations_generation != status.operations_generation {
            return Err(Status::aborted("other operations are in force"));
        }
        status.operations_generation += 1;
        let operations = request.operations.unwrap_or_default();
        let paused = operations.paused.unwrap_or(false);
        if slowly {
            kept.becomes = Some((2, if paused { v1::StreamState::Paused } else { v1::StreamState::Active }));
        } else {
            status.state = if paused { v1::StreamState::Paused } else { v1::StreamState::Active }.into();
        }
        kept.record.operations = Some(operations);
        answer(
            fault,
            v1::SetStreamOperationsResponse {
                record: Some(kept.record.clone()),
            },
        )
    }

    async fn restart_stream(&self, request: Request<v1::RestartStreamRequest>) -> Result<Response<v1::RestartStreamResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("RestartStream", &request)?;
        let request = request.into_inner();
        world.same_life(&request.uid, &world.uid_of(&request.name))?;
        let restarts_as = world.restarts_as;
        let kept = world.streams.get_mut(&request.name).ok_or_else(|| not_found(&request.name))?;
        let status = kept.record.status.as_mut().expect("a status");
        if request.generation != 0 && request.generation != status.generation {
            return Err(Status::aborted("another generation is in force"));
        }
        status.state = v1::StreamState::Active.into();
        if let Some((outcome, looks)) = restarts_as {
            status.state = v1::StreamState::Provisioning.into();
            kept.becomes = Some((looks, outcome));
        }
        answer(
            fault,
            v1::RestartStreamResponse {
                record: Some(kept.record.clone()),
            },
        )
    }

    async fn delete_stream(&self, request: Request<v1::DeleteStreamRequest>) -> Result<Response<v1::DeleteStreamResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("DeleteStream", &request)?;
        let request = request.into_inner();
        let kept = world.streams.get(&request.name).ok_or_else(|| not_found(&request.name))?;
        let uid = kept.record.status.as_ref().map(|status| status.uid.clone()).unwrap_or_default();
        if !request.uid.is_empty() && request.uid != uid {
            return Err(not_found(&request.name));
        }
        world.retained.push(request.retain_table);
        let done = world.looks_until_gone.is_none();
        if done {
            world.streams.remove(&request.name);
        } else {
            world.set_state(&request.name, v1::StreamState::Deleting);
        }
        answer(fault, v1::DeleteStreamResponse { done })
    }

    async fn check_stream(&self, request: Request<v1::CheckStreamRequest>) -> Result<Response<v1::CheckStreamResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("CheckStream", &request)?;
        let request = request.into_inner();
        let stream = request.stream.unwrap_or_default();
        world.replaced.push(request.replaces);
        let violations = match convert::stream_to_spec(&stream) {
            Ok(spec) => stream_spec::validate::stream(&spec),
            Err(violations) => violations,
        };
        let existing = if request.as_new { None } else { world.streams.get(&stream.name) };
        let verdict = existing
            .and_then(|kept| judge(kept, &stream))
            .map(|verdict| convert::verdict_from_spec(&verdict));
        let response = v1::CheckStreamResponse {
            violations: violations.iter().map(convert::violation_from_spec).collect(),
            missing_capabilities: world.missing_capabilities.clone(),
            verdict: world.scripted_verdict.clone().or(verdict),
            existing: existing.map(|kept| kept.record.clone()),
            columns: world.scripted_columns.clone(),
            warnings: world.scripted_warnings.clone(),
            registry_subjects: world.scripted_subjects.clone(),
        };
        answer(fault, response)
    }
}
