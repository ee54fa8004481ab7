//! A request of each call about each thing that it may ask for. Where it is let through, little comes of it: it is planned on
//! another life than the one that is there, or cannot be made, or is refused because the thing is in use.

use featurestore_proto::convert::{connection_from_spec, stream_from_spec};
use featurestore_proto::v1;
use stream_spec::connection::ConnectionSpec;
use stream_spec::stream::StreamSpec;
use tonic::Status;

use super::port::Door;
use crate::governance::calls::Call;
use crate::governance::{Action, Securable};

/// No uid is that.
const ANOTHER: &str = "another";

/// A service's client, one call of it, and what came of that.
macro_rules! send {
    ($door:ident, $client:ident::$service:ident, $method:ident, $request:expr) => {
        v1::$client::$service::new($door.clone()).$method($request).await.map(drop)
    };
}

/// Makes a call by which that is asked of that securable. `token` is the id of a token of the principal that is asked about.
pub(super) async fn make(door: &Door, call: Call, action: Action, securable: Securable<'_>, token: &str) -> Result<(), Status> {
    match call.service() {
        "StreamService" => about_streams(door, call, action, securable).await,
        "ConnectionService" => about_connections(door, call, action, securable).await,
        "CredentialService" => about_credentials(door, call, securable).await,
        "SecretService" => about_secrets(door, call, securable).await,
        "VolumeService" => about_volumes(door, call, securable).await,
        _ => about_the_rest(door, call, securable, token).await,
    }
}

fn unknown(call: Call, securable: Securable<'_>) -> ! {
    panic!("`{}` may ask for {securable}: write a request here that has it do so", call.name())
}

async fn about_streams(door: &Door, call: Call, action: Action, securable: Securable<'_>) -> Result<(), Status> {
    use v1::stream_service_client::StreamServiceClient;
    let name = securable.name();
    let mut client = StreamServiceClient::new(door.clone());
    match (call, securable) {
        (Call::CreateStream, Securable::NewStream(spec)) => {
            let stream = Some(unsound(spec));
            let request = v1::CreateStreamRequest {
                stream,
                ..Default::default()
            };
            client.create_stream(request).await.map(drop)
        }
        (Call::CheckStream, Securable::NewStream(spec)) => {
            let request = v1::CheckStreamRequest {
                stream: Some(unsound(spec)),
                as_new: action == Action::Create,
                ..Default::default()
            };
            client.check_stream(request).await.map(drop)
        }
        (Call::CheckStream, Securable::Unreadable) => {
            let stream = Some(v1::Stream::default());
            let request = v1::CheckStreamRequest {
                stream,
                ..Default::default()
            };
            client.check_stream(request).await.map(drop)
        }
        (Call::GetStream, Securable::Stream(_)) => client.get_stream(v1::GetStreamRequest { name }).await.map(drop),
        (Call::ListStreams, Securable::Streams(parent)) => {
            let parent = parent.to_string();
            let request = v1::ListStreamsRequest {
                parent,
                ..Default::default()
            };
            client.list_streams(request).await.map(drop)
        }
        (Call::UpdateStream, Securable::Stream(_)) => {
            let stream = v1::Stream {
                name,
                ..Default::default()
            };
            let request = v1::UpdateStreamRequest {
                stream: Some(stream),
                update_mask: mask("excluded_columns"),
                uid: ANOTHER.into(),
                ..Default::default()
            };
            client.update_stream(request).await.map(drop)
        }
        (Call::SetStreamOperations, Securable::Stream(_)) => {
            let request = v1::SetStreamOperationsRequest {
                name,
                operations: Some(v1::StreamOperations::default()),
                uid: ANOTHER.into(),
                ..Default::default()
            };
            client.set_stream_operations(request).await.map(drop)
        }
        (Call::RestartStream, Securable::Stream(_)) => {
            let uid = ANOTHER.into();
            let request = v1::RestartStreamRequest {
                name,
                uid,
                ..Default::default()
            };
            client.restart_stream(request).await.map(drop)
        }
        (Call::DeleteStream, Securable::Stream(_)) => {
            let uid = ANOTHER.into();
            let request = v1::DeleteStreamRequest {
                name,
                uid,
                ..Default::default()
            };
            client.delete_stream(request).await.map(drop)
        }
        _ => unknown(call, securable),
    }
}

/// A definition that is read and is wrong: nothing comes of it for who may create it.
fn unsound(spec: &StreamSpec) -> v1::Stream {
    v1::Stream {
        excluded_columns: vec!["nowhere".into()],
        ..stream_from_spec(spec)
    }
}

async fn about_connections(door: &Door, call: Call, action: Action, securable: Securable<'_>) -> Result<(), Status> {
    use v1::connection_service_client::ConnectionServiceClient;
    use v1::test_connection_request::Target;
    let name = securable.name();
    let mut client = ConnectionServiceClient::new(door.clone());
    match (call, securable) {
        (Call::CreateConnection, Securable::DeclaredConnection(spec)) => {
            let connection = Some(connection_from_spec(spec));
            let request = v1::CreateConnectionRequest {
                connection,
                ..Default::default()
            };
            client.create_connection(request).await.map(drop)
        }
        (Call::GetConnection, Securable::Connection(_)) => client.get_connection(v1::GetConnectionRequest { name }).await.map(drop),
        (Call::ListConnections, Securable::Connections) => client.list_connections(v1::ListConnectionsRequest::default()).await.map(drop),
        (Call::UpdateConnection, Securable::Connection(_)) => {
            let connection = v1::Connection {
                name,
                ..Default::default()
            };
            let request = v1::UpdateConnectionRequest {
                connection: Some(connection),
                update_mask: mask("comment"),
                ..Default::default()
            };
            client.update_connection(request).await.map(drop)
        }
        (Call::UpdateConnection, Securable::DeclaredConnection(spec)) => {
            let request = v1::UpdateConnectionRequest {
                connection: Some(elsewhere(spec)),
                update_mask: mask("kafka"),
                ..Default::default()
            };
            client.update_connection(request).await.map(drop)
        }
        (Call::DeleteConnection, Securable::Connection(_)) => {
            let uid = ANOTHER.into();
            let request = v1::DeleteConnectionRequest { name, uid, force: false };
            client.delete_connection(request).await.map(drop)
        }
        (Call::CheckConnection, Securable::DeclaredConnection(spec)) => {
            let connection = Some(connection_from_spec(spec));
            client.check_connection(v1::CheckConnectionRequest { connection }).await.map(drop)
        }
        (Call::CheckConnection, Securable::Unreadable) => {
            let connection = Some(v1::Connection::default());
            client.check_connection(v1::CheckConnectionRequest { connection }).await.map(drop)
        }
        (Call::TestConnection, Securable::Connection(_)) => {
            let target = Some(Target::Name(name));
            client.test_connection(v1::TestConnectionRequest { target }).await.map(drop)
        }
        (Call::TestConnection, Securable::DeclaredConnection(spec)) => {
            let target = Some(Target::Connection(connection_from_spec(spec)));
            client.test_connection(v1::TestConnectionRequest { target }).await.map(drop)
        }
        (Call::TestConnection, Securable::NewStream(spec)) => {
            let target = Some(Target::Stream(unsound(spec)));
            client.test_connection(v1::TestConnectionRequest { target }).await.map(drop)
        }
        (Call::ExecuteSql, _) => {
            let statement = statement(action, securable);
            client.execute_sql(v1::ExecuteSqlRequest { statement }).await.map(drop)
        }
        _ => unknown(call, securable),
    }
}

/// That connection, with other brokers.
fn elsewhere(spec: &ConnectionSpec) -> v1::Connection {
    let mut connection = connection_from_spec(spec);
    if let Some(v1::connection::Options::Kafka(kafka)) = &mut connection.options {
        kafka.bootstrap_servers = "elsewhere:9092".into();
    }
    connection
}

fn statement(action: Action, securable: Securable<'_>) -> String {
    let name = securable.name();
    match (action, securable) {
        (Action::Create, Securable::DeclaredConnection(_)) => {
            format!("CREATE CONNECTION `{name}` TYPE KAFKA OPTIONS (bootstrap_servers 'b:1')")
        }
        (Action::Update, Securable::Connection(_)) => format!("COMMENT ON CONNECTION `{name}` IS NULL"),
        (Action::Update, Securable::DeclaredConnection(_)) => format!("ALTER CONNECTION `{name}` OPTIONS (bootstrap_servers 'b:1')"),
        (Action::Delete, Securable::Connection(_)) => format!("DROP CONNECTION `{name}`"),
        (Action::List, Securable::Connections) => "SHOW CONNECTIONS".into(),
        (Action::Read, Securable::Connection(_)) => format!("DESCRIBE CONNECTION `{name}`"),
        _ => unknown(Call::ExecuteSql, securable),
    }
}

async fn about_credentials(door: &Door, call: Call, securable: Securable<'_>) -> Result<(), Status> {
    let name = securable.name();
    let credential = || {
        Some(v1::ServiceCredential {
            name: securable.name(),
            identity: Some(v1::service_credential::Identity::Ambient(v1::AmbientIdentity {})),
            ..Default::default()
        })
    };
    match (call, securable) {
        (Call::CreateServiceCredential, Securable::Credential(_)) => {
            let credential = credential();
            let request = v1::CreateServiceCredentialRequest {
                credential,
                ..Default::default()
            };
            send!(
                door,
                credential_service_client::CredentialServiceClient,
                create_service_credential,
                request
            )
        }
        (Call::GetServiceCredential, Securable::Credential(_)) => {
            let request = v1::GetServiceCredentialRequest { name };
            send!(
                door,
                credential_service_client::CredentialServiceClient,
                get_service_credential,
                request
            )
        }
        (Call::ListServiceCredentials, Securable::Credentials) => {
            let request = v1::ListServiceCredentialsRequest::default();
            send!(
                door,
                credential_service_client::CredentialServiceClient,
                list_service_credentials,
                request
            )
        }
        (Call::UpdateServiceCredential, Securable::Credential(_)) => {
            let (credential, uid) = (credential(), ANOTHER.into());
            let request = v1::UpdateServiceCredentialRequest {
                credential,
                uid,
                ..Default::default()
            };
            send!(
                door,
                credential_service_client::CredentialServiceClient,
                update_service_credential,
                request
            )
        }
        (Call::DeleteServiceCredential, Securable::Credential(_)) => {
            let uid = ANOTHER.into();
            let request = v1::DeleteServiceCredentialRequest { name, uid, force: false };
            send!(
                door,
                credential_service_client::CredentialServiceClient,
                delete_service_credential,
                request
            )
        }
        _ => unknown(call, securable),
    }
}

async fn about_secrets(door: &Door, call: Call, securable: Securable<'_>) -> Result<(), Status> {
    let name = securable.name();
    match (call, securable) {
        (Call::CreateSecretScope, Securable::SecretScope(_)) => {
            let scope = Some(v1::SecretScope {
                name,
                ..Default::default()
            });
            let request = v1::CreateSecretScopeRequest {
                scope,
                ..Default::default()
            };
            send!(door, secret_service_client::SecretServiceClient, create_secret_scope, request)
        }
        (Call::ListSecretScopes, Securable::SecretScopes) => {
            let request = v1::ListSecretScopesRequest::default();
            send!(door, secret_service_client::SecretServiceClient, list_secret_scopes, request)
        }
        (Call::DeleteSecretScope, Securable::SecretScope(_)) => {
            let request = v1::DeleteSecretScopeRequest {
                name,
                ..Default::default()
            };
            send!(door, secret_service_client::SecretServiceClient, delete_secret_scope, request)
        }
        (Call::PutSecret, Securable::SecretScope(_)) => {
            let (key, value) = ("fresh".into(), "value".into());
            let request = v1::PutSecretRequest {
                scope: name,
                key,
                value,
                ..Default::default()
            };
            send!(door, secret_service_client::SecretServiceClient, put_secret, request)
        }
        (Call::ListSecrets, Securable::SecretScope(_)) => {
            let request = v1::ListSecretsRequest {
                scope: name,
                ..Default::default()
            };
            send!(door, secret_service_client::SecretServiceClient, list_secrets, request)
        }
        (Call::DeleteSecret, Securable::SecretScope(_)) => {
            let request = v1::DeleteSecretRequest {
                scope: name,
                key: "absent".into(),
                ..Default::default()
            };
            send!(door, secret_service_client::SecretServiceClient, delete_secret, request)
        }
        _ => unknown(call, securable),
    }
}

async fn about_volumes(door: &Door, call: Call, securable: Securable<'_>) -> Result<(), Status> {
    let name = securable.name();
    let volume = || {
        Some(v1::Volume {
            name: securable.name(),
            storage_location: "/srv/other".into(),
            ..Default::default()
        })
    };
    match (call, securable) {
        (Call::CreateVolume, Securable::Volume(_)) => {
            let volume = volume();
            let request = v1::CreateVolumeRequest {
                volume,
                ..Default::default()
            };
            send!(door, volume_service_client::VolumeServiceClient, create_volume, request)
        }
        (Call::GetVolume, Securable::Volume(_)) => {
            let request = v1::GetVolumeRequest { name };
            send!(door, volume_service_client::VolumeServiceClient, get_volume, request)
        }
        (Call::ListVolumes, Securable::Volumes(parent)) => {
            let parent = parent.to_string();
            let request = v1::ListVolumesRequest {
                parent,
                ..Default::default()
            };
            send!(door, volume_service_client::VolumeServiceClient, list_volumes, request)
        }
        (Call::UpdateVolume, Securable::Volume(_)) => {
            let (volume, uid) = (volume(), ANOTHER.into());
            let request = v1::UpdateVolumeRequest {
                volume,
                uid,
                ..Default::default()
            };
            send!(door, volume_service_client::VolumeServiceClient, update_volume, request)
        }
        (Call::DeleteVolume, Securable::Volume(_)) => {
            let uid = ANOTHER.into();
            let request = v1::DeleteVolumeRequest { name, uid, force: false };
            send!(door, volume_service_client::VolumeServiceClient, delete_volume, request)
        }
        _ => unknown(call, securable),
    }
}

async fn about_the_rest(door: &Door, call: Call, securable: Securable<'_>, token: &str) -> Result<(), Status> {
    match (call, securable) {
        (Call::GetGrants, Securable::Grants(_, name)) => {
            let request = v1::GetGrantsRequest {
                securable_type: v1::SecurableType::Table.into(),
                securable_name: name.to_owned(),
            };
            send!(door, grant_service_client::GrantServiceClient, get_grants, request)
        }
        (Call::ListGrants, Securable::AllGrants) => {
            let request = v1::ListGrantsRequest::default();
            send!(door, grant_service_client::GrantServiceClient, list_grants, request)
        }
        (Call::SetGrants, Securable::Grants(_, name)) => {
            let grants = v1::SecurableGrants {
                securable_type: v1::SecurableType::Table.into(),
                securable_name: name.to_owned(),
                ..Default::default()
            };
            // Planned on what never was.
            let request = v1::SetGrantsRequest {
                grants: Some(grants),
                generation: Some(u64::MAX),
                ..Default::default()
            };
            send!(door, grant_service_client::GrantServiceClient, set_grants, request)
        }
        (Call::CreateToken, Securable::Tokens(principal)) => {
            let principal = principal.to_owned();
            let request = v1::CreateTokenRequest {
                principal,
                ..Default::default()
            };
            send!(door, token_service_client::TokenServiceClient, create_token, request)
        }
        (Call::ListTokens, Securable::Tokens(_)) => {
            let request = v1::ListTokensRequest::default();
            send!(door, token_service_client::TokenServiceClient, list_tokens, request)
        }
        (Call::RevokeToken, Securable::Tokens(_)) => {
            let request = v1::RevokeTokenRequest { id: token.to_owned() };
            send!(door, token_service_client::TokenServiceClient, revoke_token, request)
        }
        (Call::GetAgent, Securable::Agent) => {
            send!(door, agent_service_client::AgentServiceClient, get_agent, v1::GetAgentRequest {})
        }
        _ => unknown(call, securable),
    }
}

fn mask(path: &str) -> Option<prost_types::FieldMask> {
    let paths = vec![path.to_owned()];
    Some(prost_types::FieldMask { paths })
}
