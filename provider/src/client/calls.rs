//! The agent's calls that the provider makes, one method each: what is sent, how long the agent may hold it, whether a
//! conflict is final. Answers are checked to be whole here, so that callers meet no `Option` of the wire.

use std::time::Duration;

use featurestore_proto::v1;
use featurestore_proto::v1::agent_service_client::AgentServiceClient;
use featurestore_proto::v1::connection_service_client::ConnectionServiceClient;
use featurestore_proto::v1::stream_service_client::StreamServiceClient;
use tfplugin::call::StopSignal;
use tonic::transport::Channel;

use super::error::AgentError;
use super::{AgentClient, Call};
use crate::limits::{AGENT_WAIT, ANSWER_BYTES_MAX};

/// A stream as every answer about one brings it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StreamRecord {
    /// The definition.
    pub(crate) stream: v1::Stream,
    /// How it runs.
    pub(crate) operations: v1::StreamOperations,
    /// What it does.
    pub(crate) status: v1::StreamStatus,
}

impl StreamRecord {
    fn of(call: &'static str, record: Option<v1::StreamRecord>) -> Result<Self, AgentError> {
        let missing = |part| AgentError::Incomplete { call, part };
        let record = record.ok_or(missing("record"))?;
        Ok(Self {
            stream: record.stream.ok_or(missing("stream"))?,
            operations: record.operations.unwrap_or_default(),
            status: record.status.ok_or(missing("status"))?,
        })
    }
}

/// A call that only asks.
pub(super) const fn question(name: &'static str) -> Call {
    Call {
        name,
        wait: Duration::ZERO,
        acts: false,
        aborted_is_transient: true,
    }
}

/// A call that changes something and is answered at once.
pub(super) const fn action(name: &'static str, aborted_is_transient: bool) -> Call {
    Call {
        name,
        wait: Duration::ZERO,
        acts: true,
        aborted_is_transient,
    }
}

fn streams(channel: Channel) -> StreamServiceClient<Channel> {
    StreamServiceClient::new(channel).max_decoding_message_size(ANSWER_BYTES_MAX)
}

fn connections(channel: Channel) -> ConnectionServiceClient<Channel> {
    ConnectionServiceClient::new(channel).max_decoding_message_size(ANSWER_BYTES_MAX)
}

impl AgentClient {
    /// The stream of that name.
    pub(crate) async fn get_stream(&self, name: &str, stop: &StopSignal) -> Result<StreamRecord, AgentError> {
        let call = question("GetStream");
        let request = v1::GetStreamRequest { name: name.to_owned() };
        let reply = self.call(call, request, stop, |channel, request| async move {
            streams(channel).get_stream(request).await
        });
        StreamRecord::of(call.name, reply.await?.record)
    }

    /// What the agent would say to a definition.
    pub(crate) async fn check_stream(
        &self,
        request: v1::CheckStreamRequest,
        stop: &StopSignal,
    ) -> Result<v1::CheckStreamResponse, AgentError> {
        let call = question("CheckStream");
        self.call(call, request, stop, |channel, request| async move {
            streams(channel).check_stream(request).await
        })
        .await
    }

    /// Creates a stream; repeats are told apart by the request's id.
    pub(crate) async fn create_stream(&self, mut request: v1::CreateStreamRequest, stop: &StopSignal) -> Result<StreamRecord, AgentError> {
        let call = Call {
            wait: AGENT_WAIT,
            ..action("CreateStream", true)
        };
        request.wait = prost_types::Duration::try_from(AGENT_WAIT).ok();
        let reply = self.call(call, request, stop, |channel, request| async move {
            streams(channel).create_stream(request).await
        });
        StreamRecord::of(call.name, reply.await?.record)
    }

    /// Changes a definition; repeats are told apart by the request's id.
    pub(crate) async fn update_stream(&self, mut request: v1::UpdateStreamRequest, stop: &StopSignal) -> Result<StreamRecord, AgentError> {
        let call = Call {
            wait: AGENT_WAIT,
            ..action("UpdateStream", false)
        };
        request.wait = prost_types::Duration::try_from(AGENT_WAIT).ok();
        let reply = self.call(call, request, stop, |channel, request| async move {
            streams(channel).update_stream(request).await
        });
        StreamRecord::of(call.name, reply.await?.record)
    }

    /// Changes how a stream runs.
    pub(crate) async fn set_stream_operations(
        &self,
        mut request: v1::SetStreamOperationsRequest,
        stop: &StopSignal,
    ) -> Result<StreamRecord, AgentError> {
        let call = Call {
            wait: AGENT_WAIT,
            ..action("SetStreamOperations", false)
        };
        request.wait = prost_types::Duration::try_from(AGENT_WAIT).ok();
        let reply = self.call(call, request, stop, |channel, request| async move {
            streams(channel).set_stream_operations(request).await
        });
        StreamRecord::of(call.name, reply.await?.record)
    }

    /// Repairs a stream.
    pub(crate) async fn restart_stream(
        &self,
        mut request: v1::RestartStreamRequest,
        stop: &StopSignal,
    ) -> Result<StreamRecord, AgentError> {
        let call = Call {
            wait: AGENT_WAIT,
            ..action("RestartStream", false)
        };
        request.wait = prost_types::Duration::try_from(AGENT_WAIT).ok();
        let reply = self.call(call, request, stop, |channel, request| async move {
            streams(channel).restart_stream(request).await
        });
        StreamRecord::of(call.name, reply.await?.record)
    }

    /// Deletes a stream; true when it is gone, false when the deletion goes on.
    pub(crate) async fn delete_stream(&self, mut request: v1::DeleteStreamRequest, stop: &StopSignal) -> Result<bool, AgentError> {
        let call = Call {
            wait: AGENT_WAIT,
            ..action("DeleteStream", true)
        };
        request.wait = prost_types::Duration::try_from(AGENT_WAIT).ok();
        let reply = self.call(call, request, stop, |channel, request| async move {
            streams(channel).delete_stream(request).await
        });
        Ok(reply.await?.done)
    }

    /// The connection of that name.
    pub(crate) async fn get_connection(&self, name: &str, stop: &StopSignal) -> Result<v1::Connection, AgentError> {
        let call = question("GetConnection");
        let request = v1::GetConnectionRequest { name: name.to_owned() };
        let reply = self.call(call, request, stop, |channel, request| async move {
            connections(channel).get_connection(request).await
        });
        whole(call.name, "connection", reply.await?.connection)
    }

    /// What the agent would say to a connection.
    pub(crate) async fn check_connection(
        &self,
        connection: v1::Connection,
        stop: &StopSignal,
    ) -> Result<v1::CheckConnectionResponse, AgentError> {
        let call = question("CheckConnection");
        let request = v1::CheckConnectionRequest {
            connection: Some(connection),
        };
        self.call(call, request, stop, |channel, request| async move {
            connections(channel).check_connection(request).await
        })
        .await
    }

    /// Creates a connection; repeats are told apart by the request's id.
    pub(crate) async fn create_connection(
        &self,
        request: v1::CreateConnectionRequest,
        stop: &StopSignal,
    ) -> Result<v1::Connection, AgentError> {
        let call = action("CreateConnection", true);
        let reply = self.call(call, request, stop, |channel, request| async move {
            connections(channel).create_connection(request).await
        });
        whole(call.name, "connection", reply.await?.connection)
    }

    /// Changes a connection's options.
    pub(crate) async fn update_connection(
        &self,
        request: v1::UpdateConnectionRequest,
        stop: &StopSignal,
    ) -> Result<v1::Connection, AgentError> {
        let call = action("UpdateConnection", false);
        let reply = self.call(call, request, stop, |channel, request| async move {
            connections(channel).update_connection(request).await
        });
        whole(call.name, "connection", reply.await?.connection)
    }

    /// Deletes a connection that no stream uses; another one that has taken its name is not found.
    pub(crate) async fn delete_connection(&self, name: &str, uid: &str, stop: &StopSignal) -> Result<(), AgentError> {
        let request = v1::DeleteConnectionRequest {
            name: name.to_owned(),
            force: false,
            uid: uid.to_owned(),
        };
        self.call(action("DeleteConnection", true), request, stop, |channel, request| async move {
            connections(channel).delete_connection(request).await
        })
        .await?;
        Ok(())
    }

    /// The agent's version and capabilities.
    pub(crate) async fn get_agent(&self, stop: &StopSignal) -> Result<v1::GetAgentResponse, AgentError> {
        self.call(question("GetAgent"), v1::GetAgentRequest {}, stop, |channel, request| async move {
            AgentServiceClient::new(channel)
                .max_decoding_message_size(ANSWER_BYTES_MAX)
                .get_agent(request)
                .await
        })
        .await
    }
}

/// A part that every answer of that call has.
pub(super) fn whole<T>(call: &'static str, part: &'static str, found: Option<T>) -> Result<T, AgentError> {
    found.ok_or(AgentError::Incomplete { call, part })
}
