//! What tests do to service credentials behind Terraform's back.

use featurestore_proto::v1::credential_service_client::CredentialServiceClient;
use featurestore_proto::v1::{
    AwsIamRole, CreateServiceCredentialRequest, ServiceCredential, UpdateServiceCredentialRequest, service_credential,
};
use tonic::Status;

use super::{Api, block_on};

impl Api {
    /// Makes a service credential; as the agent answers it.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn create_credential(&self, name: &str, role_arn: &str, external_id: &str) -> Result<ServiceCredential, Status> {
        let request = CreateServiceCredentialRequest {
            credential: Some(credential(name, role_arn, external_id)),
            request_id: String::new(),
        };
        let mut client = CredentialServiceClient::new(self.channel.clone());
        block_on(client.create_service_credential(request)).map(|answer| answer.into_inner().credential.unwrap())
    }

    /// Changes a service credential; as the agent answers it.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn update_credential(&self, name: &str, role_arn: &str, external_id: &str) -> Result<ServiceCredential, Status> {
        let request = UpdateServiceCredentialRequest {
            credential: Some(credential(name, role_arn, external_id)),
            ..UpdateServiceCredentialRequest::default()
        };
        let mut client = CredentialServiceClient::new(self.channel.clone());
        block_on(client.update_service_credential(request)).map(|answer| answer.into_inner().credential.unwrap())
    }
}

fn credential(name: &str, role_arn: &str, external_id: &str) -> ServiceCredential {
    let role = AwsIamRole {
        role_arn: role_arn.to_owned(),
        external_id: Some(external_id.to_owned()),
    };
    ServiceCredential {
        name: name.to_owned(),
        identity: Some(service_credential::Identity::AwsIamRole(role)),
        ..ServiceCredential::default()
    }
}
