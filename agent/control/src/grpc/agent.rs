//! `AgentService` over gRPC.

use featurestore_proto::v1;
use tonic::{Request, Response, Status, async_trait};

use super::{context, serve};
use crate::governance::calls::Call;
use crate::services::agent::AgentService;
use stream_pipeline::usage::Usage;

pub(super) struct AgentOverGrpc(pub(super) AgentService);

#[async_trait]
impl v1::agent_service_server::AgentService for AgentOverGrpc {
    async fn get_agent(&self, request: Request<v1::GetAgentRequest>) -> Result<Response<v1::GetAgentResponse>, Status> {
        let context = context(&request);
        serve(Call::GetAgent, &context, async {
            let agent = self.0.get(&context).await?;
            Ok(v1::GetAgentResponse {
                version: agent.version.to_owned(),
                capabilities: agent.capabilities.into_iter().map(str::to_owned).collect(),
                trash_retention: prost_types::Duration::try_from(agent.trash_retention).ok(),
                principal: agent.principal,
                usage: Some(usage(&agent.usage)),
            })
        })
        .await
    }
}

fn usage(usage: &Usage) -> v1::AgentUsage {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    v1::AgentUsage {
        kafka_clients: count(usage.kafka_clients),
        kafka_clients_max: count(usage.kafka_clients_max),
        kafka_metadata_requests: usage.kafka_metadata_requests,
        kafka_offset_requests: usage.kafka_offset_requests,
        threads: u32::try_from(usage.threads).unwrap_or(u32::MAX),
        memory_bytes: usage.memory_bytes,
    }
}
