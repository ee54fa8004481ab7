//! What tests do to secrets and grants behind Terraform's back.

use featurestore_proto::v1::grant_service_client::GrantServiceClient;
use featurestore_proto::v1::secret_service_client::SecretServiceClient;
use featurestore_proto::v1::volume_service_client::VolumeServiceClient;
use featurestore_proto::v1::{
    CreateVolumeRequest, DeleteSecretScopeRequest, DeleteVolumeRequest, GetGrantsRequest, Grant, ListSecretsRequest, PutSecretRequest,
    SecretMetadata, SecurableGrants, SecurableType, SetGrantsRequest, Volume,
};
use tonic::Status;

use super::{Api, block_on};

impl Api {
    /// Writes a secret, and brings its new revision.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn put_secret(&self, scope: &str, key: &str, value: &str) -> Result<SecretMetadata, Status> {
        let request = PutSecretRequest {
            scope: scope.to_owned(),
            key: key.to_owned(),
            value: value.as_bytes().to_vec(),
            ..PutSecretRequest::default()
        };
        let mut client = SecretServiceClient::new(self.channel.clone());
        block_on(client.put_secret(request)).map(|answer| answer.into_inner().secret.unwrap())
    }

    /// Deletes a secret scope with everything in it.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn delete_secret_scope(&self, name: &str) -> Result<(), Status> {
        let request = DeleteSecretScopeRequest {
            name: name.to_owned(),
            ..DeleteSecretScopeRequest::default()
        };
        let mut client = SecretServiceClient::new(self.channel.clone());
        block_on(client.delete_secret_scope(request)).map(drop)
    }

    /// Deletes a volume, one that streams use only by force.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn delete_volume(&self, name: &str, force: bool) -> Result<(), Status> {
        let request = DeleteVolumeRequest {
            name: name.to_owned(),
            force,
            ..DeleteVolumeRequest::default()
        };
        let mut client = VolumeServiceClient::new(self.channel.clone());
        block_on(client.delete_volume(request)).map(|_| ())
    }

    /// The secrets of a scope.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn list_secrets(&self, scope: &str) -> Result<Vec<SecretMetadata>, Status> {
        let request = ListSecretsRequest {
            scope: scope.to_owned(),
            ..ListSecretsRequest::default()
        };
        let mut client = SecretServiceClient::new(self.channel.clone());
        block_on(client.list_secrets(request)).map(|answer| answer.into_inner().secrets)
    }

    /// Makes a volume.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn create_volume(&self, name: &str, storage_location: &str) -> Result<Volume, Status> {
        let volume = Volume {
            name: name.to_owned(),
            storage_location: storage_location.to_owned(),
            ..Volume::default()
        };
        let request = CreateVolumeRequest {
            volume: Some(volume),
            request_id: String::new(),
        };
        let mut client = VolumeServiceClient::new(self.channel.clone());
        block_on(client.create_volume(request)).map(|answer| answer.into_inner().volume.unwrap())
    }

    /// What is granted on something: principals with their privileges, in order.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn grants(&self, securable_type: SecurableType, name: &str) -> Result<Vec<(String, Vec<String>)>, Status> {
        let request = GetGrantsRequest {
            securable_type: securable_type.into(),
            securable_name: name.to_owned(),
        };
        let mut client = GrantServiceClient::new(self.channel.clone());
        let grants = block_on(client.get_grants(request))?.into_inner().grants.unwrap().grants;
        let mut held: Vec<_> = grants.into_iter().map(|grant| (grant.principal, grant.privileges)).collect();
        held.iter_mut().for_each(|(_, privileges)| privileges.sort());
        held.sort();
        Ok(held)
    }

    /// Sets what is granted on something, whatever was granted before.
    ///
    /// # Errors
    /// As the agent answers.
    pub fn set_grants(&self, securable_type: SecurableType, name: &str, grants: &[(&str, &[&str])]) -> Result<(), Status> {
        let grants = grants.iter().map(|(principal, privileges)| Grant {
            principal: (*principal).to_owned(),
            privileges: privileges.iter().map(|it| (*it).to_owned()).collect(),
        });
        let grants = SecurableGrants {
            securable_type: securable_type.into(),
            securable_name: name.to_owned(),
            grants: grants.collect(),
            ..SecurableGrants::default()
        };
        let request = SetGrantsRequest {
            grants: Some(grants),
            ..SetGrantsRequest::default()
        };
        let mut client = GrantServiceClient::new(self.channel.clone());
        block_on(client.set_grants(request)).map(|_| ())
    }
}
