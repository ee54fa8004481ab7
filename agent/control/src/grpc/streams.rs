//! `StreamService` over gRPC.

use featurestore_proto::convert::{columns_from_spec, operations_to_spec, stream_to_spec, verdict_from_spec, violation_from_spec};
use featurestore_proto::v1;
use prost::Message;
use stream_spec::name::StreamName;
use stream_spec::stream::StreamOperations;
use tonic::{Request, Response, Status, async_trait};

use super::{answers, context, requests, serve};
use crate::governance::calls::Call;
use crate::limits::PAGE_BYTES_MAX;
use crate::services::error::ServiceError;
use crate::services::streams::{NewStream, OperationsChange, StreamChange, StreamService, StreamToCheck, StreamToDelete, StreamToRestart};

pub(super) struct StreamsOverGrpc(pub(super) StreamService);

/// Operations of a new stream: defaults where nothing is said.
fn initial_operations(operations: Option<&v1::StreamOperations>) -> Result<StreamOperations, ServiceError> {
    let defaults = StreamOperations::default();
    match operations {
        Some(operations) => operations_to_spec(operations, &defaults).map_err(ServiceError::Invalid),
        None => Ok(defaults),
    }
}

#[async_trait]
impl v1::stream_service_server::StreamService for StreamsOverGrpc {
    async fn create_stream(&self, request: Request<v1::CreateStreamRequest>) -> Result<Response<v1::CreateStreamResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::CreateStream, &context, async {
            let new = NewStream {
                spec: stream_to_spec(&requests::required("stream", message.stream)?).map_err(ServiceError::Invalid)?,
                operations: initial_operations(message.operations.as_ref())?,
                request_id: message.request_id,
                wait: requests::wait(message.wait)?,
            };
            let view = self.0.create(&context, new).await?;
            Ok(v1::CreateStreamResponse {
                record: Some(answers::stream(&view, self.0.trash_retention())),
            })
        })
        .await
    }

    async fn get_stream(&self, request: Request<v1::GetStreamRequest>) -> Result<Response<v1::GetStreamResponse>, Status> {
        let context = context(&request);
        serve(Call::GetStream, &context, async {
            let view = self.0.get(&context, &requests::stream_name(&request.get_ref().name)?).await?;
            Ok(v1::GetStreamResponse {
                record: Some(answers::stream(&view, self.0.trash_retention())),
            })
        })
        .await
    }

    async fn list_streams(&self, request: Request<v1::ListStreamsRequest>) -> Result<Response<v1::ListStreamsResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::ListStreams, &context, async {
            let parent = requests::parent(&message.parent)?;
            let page = self
                .0
                .list(&context, &parent, &requests::page(message.page_size, message.page_token))
                .await?;
            let mut answer = v1::ListStreamsResponse {
                records: Vec::new(),
                next_page_token: page.next_page_token,
            };
            let mut bytes = 0;
            for view in &page.items {
                let mut record = answers::stream(view, self.0.trash_retention());
                if !message.include_schemas {
                    answers::leave_out_schemas(&mut record);
                }
                bytes += record.encoded_len();
                if bytes > PAGE_BYTES_MAX
                    && let Some(last) = answer.records.last()
                {
                    let last = last.stream.as_ref().map(|stream| stream.name.as_str()).unwrap_or_default();
                    answer.next_page_token = StreamService::token_after(&parent, last);
                    break;
                }
                answer.records.push(record);
            }
            Ok(answer)
        })
        .await
    }

    async fn update_stream(&self, request: Request<v1::UpdateStreamRequest>) -> Result<Response<v1::UpdateStreamResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::UpdateStream, &context, async {
            let stream = requests::required("stream", message.stream)?;
            let masked = requests::masked_stream(&stream, message.update_mask.as_ref())?;
            let change = StreamChange {
                name: requests::stream_name(&stream.name)?,
                key: masked.key,
                payload: masked.payload,
                excluded_columns: masked.excluded_columns,
                generation: message.generation,
                uid: message.uid,
                request_id: message.request_id,
                wait: requests::wait(message.wait)?,
            };
            let view = self.0.update(&context, change).await?;
            Ok(v1::UpdateStreamResponse {
                record: Some(answers::stream(&view, self.0.trash_retention())),
            })
        })
        .await
    }

    async fn set_stream_operations(
        &self,
        request: Request<v1::SetStreamOperationsRequest>,
    ) -> Result<Response<v1::SetStreamOperationsResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::SetStreamOperations, &context, async {
            let operations = requests::required("operations", message.operations)?;
            let change = OperationsChange {
                name: requests::stream_name(&message.name)?,
                change: &|now| operations_to_spec(&operations, now),
                operations_generation: message.operations_generation,
                uid: message.uid,
                wait: requests::wait(message.wait)?,
            };
            let view = self.0.set_operations(&context, change).await?;
            Ok(v1::SetStreamOperationsResponse {
                record: Some(answers::stream(&view, self.0.trash_retention())),
            })
        })
        .await
    }

    async fn restart_stream(&self, request: Request<v1::RestartStreamRequest>) -> Result<Response<v1::RestartStreamResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::RestartStream, &context, async {
            let request = StreamToRestart {
                name: requests::stream_name(&message.name)?,
                generation: message.generation,
                uid: message.uid,
                wait: requests::wait(message.wait)?,
            };
            let view = self.0.restart(&context, request).await?;
            Ok(v1::RestartStreamResponse {
                record: Some(answers::stream(&view, self.0.trash_retention())),
            })
        })
        .await
    }

    async fn delete_stream(&self, request: Request<v1::DeleteStreamRequest>) -> Result<Response<v1::DeleteStreamResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::DeleteStream, &context, async {
            let request = StreamToDelete {
                name: requests::stream_name(&message.name)?,
                retain_table: message.retain_table,
                uid: message.uid,
                wait: requests::wait(message.wait)?,
            };
            Ok(v1::DeleteStreamResponse {
                done: self.0.delete(&context, request).await?,
            })
        })
        .await
    }

    async fn check_stream(&self, request: Request<v1::CheckStreamRequest>) -> Result<Response<v1::CheckStreamResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::CheckStream, &context, async {
            let spec = stream_to_spec(&requests::required("stream", message.stream)?);
            let operations = initial_operations(message.operations.as_ref());
            let replaces = match message.replaces.as_str() {
                "" => None,
                name => Some(requests::name("replaces", name, StreamName::parse)?),
            };
            let checked = match (spec, operations) {
                (Ok(spec), Ok(operations)) => {
                    let request = StreamToCheck {
                        spec,
                        operations,
                        as_new: message.as_new,
                        replaces,
                    };
                    self.0.check(&context, request).await?
                }
                (spec, operations) => {
                    // What is wrong with a definition is what this call is asked for: an answer, not an error.
                    let mut violations = spec.err().unwrap_or_default();
                    if let Err(ServiceError::Invalid(more)) = operations {
                        violations.extend(more);
                    }
                    self.0.check_unreadable(&context, violations).await?
                }
            };
            Ok(v1::CheckStreamResponse {
                violations: checked.violations.iter().map(violation_from_spec).collect(),
                warnings: checked.warnings.iter().map(violation_from_spec).collect(),
                missing_capabilities: checked.missing_capabilities.iter().map(violation_from_spec).collect(),
                verdict: checked.verdict.as_ref().map(verdict_from_spec),
                existing: checked
                    .existing
                    .as_ref()
                    .map(|view| answers::stream(view, self.0.trash_retention())),
                columns: columns_from_spec(&checked.columns),
                registry_subjects: checked.subjects.iter().map(answers::registry_subject).collect(),
            })
        })
        .await
    }
}
