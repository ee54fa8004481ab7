//! Areas of the API that this agent does not have yet: every call on them says so, in the form of any other refusal.

use featurestore_proto::v1;
use tonic::{Request, Response, Status, async_trait};

use super::status;
use crate::audit;
use crate::services::error::ServiceError;

/// Answers for every area that is not there.
pub(super) struct Missing;

/// The refusal of a whole area.
pub(super) fn area(work: &'static str, capability: &'static str) -> Status {
    let status = status::of(&ServiceError::MissingArea { work, capability });
    audit::ended(status::outcome(status.code()));
    status
}

macro_rules! missing_service {
    ($server:ident :: $service:ident, $work:literal, $capability:literal, $($method:ident: $request:ident => $response:ident;)*) => {
        #[async_trait]
        impl v1::$server::$service for Missing {
            $(
                async fn $method(&self, _request: Request<v1::$request>) -> Result<Response<v1::$response>, Status> {
                    Err(area($work, $capability))
                }
            )*
        }
    };
}

missing_service! {
    credential_service_server::CredentialService, "keep service credentials", "credentials",
    create_service_credential: CreateServiceCredentialRequest => CreateServiceCredentialResponse;
    get_service_credential: GetServiceCredentialRequest => GetServiceCredentialResponse;
    list_service_credentials: ListServiceCredentialsRequest => ListServiceCredentialsResponse;
    update_service_credential: UpdateServiceCredentialRequest => UpdateServiceCredentialResponse;
    delete_service_credential: DeleteServiceCredentialRequest => DeleteServiceCredentialResponse;
}

missing_service! {
    secret_service_server::SecretService, "keep secrets", "secrets",
    create_secret_scope: CreateSecretScopeRequest => CreateSecretScopeResponse;
    list_secret_scopes: ListSecretScopesRequest => ListSecretScopesResponse;
    delete_secret_scope: DeleteSecretScopeRequest => DeleteSecretScopeResponse;
    put_secret: PutSecretRequest => PutSecretResponse;
    list_secrets: ListSecretsRequest => ListSecretsResponse;
    delete_secret: DeleteSecretRequest => DeleteSecretResponse;
}

missing_service! {
    volume_service_server::VolumeService, "keep volumes", "volumes",
    create_volume: CreateVolumeRequest => CreateVolumeResponse;
    get_volume: GetVolumeRequest => GetVolumeResponse;
    list_volumes: ListVolumesRequest => ListVolumesResponse;
    update_volume: UpdateVolumeRequest => UpdateVolumeResponse;
    delete_volume: DeleteVolumeRequest => DeleteVolumeResponse;
}
