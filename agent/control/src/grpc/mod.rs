//! The services as gRPC: messages in, service calls, messages out. Nothing is decided here.

mod agent;
mod answers;
mod audited;
mod body;
mod connections;
mod credentials;
mod grants;
mod requests;
mod secrets;
mod status;
mod streams;
mod tokens;
mod volumes;

use std::sync::Arc;

use axum::{Router, middleware};
use featurestore_proto::v1;
use tonic::Request;
use tonic::service::Routes;
use uuid::Uuid;

use crate::audit;
use crate::governance::calls::Call;
use crate::governance::{Principal, RequestContext};
use crate::limits::{MESSAGE_BYTES_IN_MAX, MESSAGE_BYTES_OUT_MAX, REQUEST_ID_CHARS_MAX, STREAM_MESSAGE_BYTES_IN_MAX};
use crate::services::Services;
use crate::services::agent::AgentService;
use crate::services::connections::ConnectionService;
use crate::services::credentials::CredentialService;
use crate::services::error::ServiceError;
use crate::services::grants::GrantService;
use crate::services::secrets::SecretService;
use crate::services::streams::StreamService;
use crate::services::tokens::TokenService;
use crate::services::volumes::VolumeService;

pub(crate) use status::{advised, put_off};

/// The header in which a caller may name its request.
const REQUEST_ID_HEADER: &str = "x-request-id";

/// All gRPC services over `services`, with every call audited.
pub(crate) fn routes(services: &Arc<Services>) -> Router {
    macro_rules! served {
        ($server:ident :: $type:ident, $service:expr) => {
            served!($server::$type, $service, MESSAGE_BYTES_IN_MAX)
        };
        ($server:ident :: $type:ident, $service:expr, $bytes_in:expr) => {
            v1::$server::$type::new($service)
                .max_decoding_message_size($bytes_in)
                .max_encoding_message_size(MESSAGE_BYTES_OUT_MAX)
        };
    }
    let streams = streams::StreamsOverGrpc(StreamService::new(services.clone()));
    let connections = connections::ConnectionsOverGrpc(ConnectionService::new(services.clone()));
    let credentials = credentials::CredentialsOverGrpc(CredentialService::new(services.clone()));
    let secrets = secrets::SecretsOverGrpc(SecretService::new(services.clone()));
    let volumes = volumes::VolumesOverGrpc(VolumeService::new(services.clone()));
    let agent = agent::AgentOverGrpc(AgentService::new(services.clone()));
    let tokens = tokens::TokensOverGrpc(TokenService::new(services.clone()));
    let grants = grants::GrantsOverGrpc(GrantService::new(services.clone()));
    Routes::new(served!(
        stream_service_server::StreamServiceServer,
        streams,
        STREAM_MESSAGE_BYTES_IN_MAX
    ))
    .add_service(served!(connection_service_server::ConnectionServiceServer, connections))
    .add_service(served!(agent_service_server::AgentServiceServer, agent))
    .add_service(served!(credential_service_server::CredentialServiceServer, credentials))
    .add_service(served!(secret_service_server::SecretServiceServer, secrets))
    .add_service(served!(volume_service_server::VolumeServiceServer, volumes))
    .add_service(served!(grant_service_server::GrantServiceServer, grants))
    .add_service(served!(token_service_server::TokenServiceServer, tokens))
    .into_axum_router()
    .layer(middleware::from_fn_with_state(services.clone(), audited::every_call))
}

/// Who calls, as the door found out (`http/door.rs`). A request that came by no door is nobody's.
fn context<T>(request: &Request<T>) -> RequestContext {
    let named = request.metadata().get(REQUEST_ID_HEADER).and_then(|value| value.to_str().ok());
    let request_id = match named {
        Some(name) if !name.is_empty() => name.chars().take(REQUEST_ID_CHARS_MAX).collect(),
        _ => Uuid::new_v4().to_string(),
    };
    RequestContext {
        principal: request.extensions().get::<Principal>().cloned().unwrap_or_else(Principal::nobody),
        request_id,
    }
}

/// Runs a call in a span that names it, holds it to what it must ask for, and turns its error into a status.
async fn serve<T>(
    call: Call,
    context: &RequestContext,
    work: impl Future<Output = Result<T, ServiceError>>,
) -> Result<tonic::Response<T>, tonic::Status> {
    use tracing::Instrument;
    audit::called_by(context);
    let span = tracing::info_span!(
        "call",
        call = call.name(),
        request_id = context.request_id,
        principal = context.principal.name()
    );
    async {
        let done = work.await;
        // Whatever a service forgets, nothing leaves that nobody asked about.
        let kept = call.keeps_to_its_row(&audit::all_asked(), done.is_ok());
        match kept.map_err(ServiceError::from).and(done) {
            Ok(answer) => {
                audit::ended(audit::OK);
                Ok(tonic::Response::new(answer))
            }
            Err(error) => {
                let status = status::of(&error);
                audit::ended(status::outcome(status.code()));
                Err(status)
            }
        }
    }
    .instrument(span)
    .await
}
