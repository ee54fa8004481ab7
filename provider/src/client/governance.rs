//! The agent's calls on service credentials, secrets, volumes and grants, one method each, in the manner of `calls`.

use featurestore_proto::v1;
use featurestore_proto::v1::credential_service_client::CredentialServiceClient;
use featurestore_proto::v1::grant_service_client::GrantServiceClient;
use featurestore_proto::v1::secret_service_client::SecretServiceClient;
use featurestore_proto::v1::volume_service_client::VolumeServiceClient;
use tfplugin::call::StopSignal;

use super::AgentClient;
use super::calls::{action, question, whole};
use super::error::AgentError;
use crate::limits::{ANSWER_BYTES_MAX, LIST_PAGE_SIZE, LIST_PAGES_MAX};

/// Sends one request by a method of a service's client.
macro_rules! send {
    ($agent:expr, $call:expr, $request:expr, $stop:expr, $service:ident.$method:ident) => {
        $agent
            .call($call, $request, $stop, |channel, request| async move {
                $service::new(channel)
                    .max_decoding_message_size(ANSWER_BYTES_MAX)
                    .$method(request)
                    .await
            })
            .await
    };
}

/// Brings all pages of a list.
macro_rules! all_pages {
    ($agent:expr, $name:literal, $request:expr, $stop:expr, $service:ident.$method:ident, |$page:ident| $items:expr) => {{
        let call = question($name);
        let mut request = $request;
        let mut found = Vec::new();
        for _ in 0..LIST_PAGES_MAX {
            let mut $page = send!($agent, call, request.clone(), $stop, $service.$method)?;
            let next_page_token = std::mem::take(&mut $page.next_page_token);
            found.extend($items);
            if next_page_token.is_empty() {
                return Ok(found);
            }
            request.page_token = next_page_token;
        }
        Err(AgentError::Incomplete {
            call: call.name,
            part: "last page",
        })
    }};
}

/// A secret as a list tells of it.
#[derive(Clone, Debug)]
pub(crate) struct ListedSecret {
    /// The uid of the scope that it is in.
    pub(crate) scope_uid: String,
    /// Its key and revision.
    pub(crate) metadata: v1::SecretMetadata,
}

impl AgentClient {
    /// The service credential of that name.
    pub(crate) async fn get_credential(&self, name: &str, stop: &StopSignal) -> Result<v1::ServiceCredential, AgentError> {
        let call = question("GetServiceCredential");
        let request = v1::GetServiceCredentialRequest { name: name.to_owned() };
        let reply = send!(self, call, request, stop, CredentialServiceClient.get_service_credential)?;
        whole(call.name, "credential", reply.credential)
    }

    /// Creates a service credential; repeats are told apart by the request's id.
    pub(crate) async fn create_credential(
        &self,
        request: v1::CreateServiceCredentialRequest,
        stop: &StopSignal,
    ) -> Result<v1::ServiceCredential, AgentError> {
        let call = action("CreateServiceCredential", true);
        let reply = send!(self, call, request, stop, CredentialServiceClient.create_service_credential)?;
        whole(call.name, "credential", reply.credential)
    }

    /// Changes a service credential.
    pub(crate) async fn update_credential(
        &self,
        request: v1::UpdateServiceCredentialRequest,
        stop: &StopSignal,
    ) -> Result<v1::ServiceCredential, AgentError> {
        let call = action("UpdateServiceCredential", false);
        let reply = send!(self, call, request, stop, CredentialServiceClient.update_service_credential)?;
        whole(call.name, "credential", reply.credential)
    }

    /// Deletes a service credential that nothing uses; another one that has taken its name is not found.
    pub(crate) async fn delete_credential(&self, name: &str, uid: &str, stop: &StopSignal) -> Result<(), AgentError> {
        let request = v1::DeleteServiceCredentialRequest {
            name: name.to_owned(),
            force: false,
            uid: uid.to_owned(),
        };
        let call = action("DeleteServiceCredential", true);
        send!(self, call, request, stop, CredentialServiceClient.delete_service_credential)?;
        Ok(())
    }

    /// Creates a secret scope; repeats are told apart by the request's id.
    pub(crate) async fn create_scope(
        &self,
        request: v1::CreateSecretScopeRequest,
        stop: &StopSignal,
    ) -> Result<v1::SecretScope, AgentError> {
        let call = action("CreateSecretScope", true);
        let reply = send!(self, call, request, stop, SecretServiceClient.create_secret_scope)?;
        whole(call.name, "scope", reply.scope)
    }

    /// The uid of a scope that is there; the agent has no call that brings a scope itself.
    pub(crate) async fn scope_uid(&self, name: &str, stop: &StopSignal) -> Result<String, AgentError> {
        let request = v1::ListSecretsRequest {
            scope: name.to_owned(),
            page_size: 1,
            page_token: String::new(),
        };
        let reply = send!(self, question("ListSecrets"), request, stop, SecretServiceClient.list_secrets)?;
        Ok(reply.scope_uid)
    }

    /// Deletes a secret scope that nothing uses; another one that has taken its name is not found.
    pub(crate) async fn delete_scope(&self, name: &str, uid: &str, stop: &StopSignal) -> Result<(), AgentError> {
        let request = v1::DeleteSecretScopeRequest {
            name: name.to_owned(),
            force: false,
            uid: uid.to_owned(),
        };
        let call = action("DeleteSecretScope", true);
        send!(self, call, request, stop, SecretServiceClient.delete_secret_scope)?;
        Ok(())
    }

    /// The secrets of a scope: names and revisions.
    pub(crate) async fn list_secrets(&self, scope: &str, stop: &StopSignal) -> Result<Vec<ListedSecret>, AgentError> {
        let request = v1::ListSecretsRequest {
            scope: scope.to_owned(),
            page_size: LIST_PAGE_SIZE,
            page_token: String::new(),
        };
        all_pages!(self, "ListSecrets", request, stop, SecretServiceClient.list_secrets, |page| {
            let scope_uid = page.scope_uid;
            page.secrets.into_iter().map(move |metadata| ListedSecret {
                scope_uid: scope_uid.clone(),
                metadata,
            })
        })
    }

    /// Writes the value of a secret; repeats are told apart by the request's id. ABORTED is that someone else wrote it.
    pub(crate) async fn put_secret(&self, request: v1::PutSecretRequest, stop: &StopSignal) -> Result<v1::SecretMetadata, AgentError> {
        let call = action("PutSecret", false);
        let reply = send!(self, call, request, stop, SecretServiceClient.put_secret)?;
        whole(call.name, "secret", reply.secret)
    }

    /// Deletes a secret that nothing uses; one in another scope of the name than that of the uid is not found.
    pub(crate) async fn delete_secret(&self, scope: &str, scope_uid: &str, key: &str, stop: &StopSignal) -> Result<(), AgentError> {
        let request = v1::DeleteSecretRequest {
            scope: scope.to_owned(),
            key: key.to_owned(),
            force: false,
            scope_uid: scope_uid.to_owned(),
        };
        let call = action("DeleteSecret", true);
        send!(self, call, request, stop, SecretServiceClient.delete_secret)?;
        Ok(())
    }

    /// The volume of that name.
    pub(crate) async fn get_volume(&self, name: &str, stop: &StopSignal) -> Result<v1::Volume, AgentError> {
        let call = question("GetVolume");
        let request = v1::GetVolumeRequest { name: name.to_owned() };
        let reply = send!(self, call, request, stop, VolumeServiceClient.get_volume)?;
        whole(call.name, "volume", reply.volume)
    }

    /// Creates a volume; repeats are told apart by the request's id.
    pub(crate) async fn create_volume(&self, request: v1::CreateVolumeRequest, stop: &StopSignal) -> Result<v1::Volume, AgentError> {
        let call = action("CreateVolume", true);
        let reply = send!(self, call, request, stop, VolumeServiceClient.create_volume)?;
        whole(call.name, "volume", reply.volume)
    }

    /// Changes a volume.
    pub(crate) async fn update_volume(&self, request: v1::UpdateVolumeRequest, stop: &StopSignal) -> Result<v1::Volume, AgentError> {
        let call = action("UpdateVolume", false);
        let reply = send!(self, call, request, stop, VolumeServiceClient.update_volume)?;
        whole(call.name, "volume", reply.volume)
    }

    /// Deletes a volume; another one that has taken its name is not found.
    pub(crate) async fn delete_volume(&self, name: &str, uid: &str, stop: &StopSignal) -> Result<(), AgentError> {
        let request = v1::DeleteVolumeRequest {
            name: name.to_owned(),
            uid: uid.to_owned(),
            force: false,
        };
        let call = action("DeleteVolume", true);
        send!(self, call, request, stop, VolumeServiceClient.delete_volume)?;
        Ok(())
    }

    /// What is granted on one securable.
    pub(crate) async fn get_grants(
        &self,
        securable_type: v1::SecurableType,
        securable_name: &str,
        stop: &StopSignal,
    ) -> Result<v1::SecurableGrants, AgentError> {
        let call = question("GetGrants");
        let request = v1::GetGrantsRequest {
            securable_type: securable_type.into(),
            securable_name: securable_name.to_owned(),
        };
        let reply = send!(self, call, request, stop, GrantServiceClient.get_grants)?;
        whole(call.name, "grants", reply.grants)
    }

    /// What is granted on each securable of a type that the caller may see.
    pub(crate) async fn list_grants(
        &self,
        securable_type: v1::SecurableType,
        stop: &StopSignal,
    ) -> Result<Vec<v1::SecurableGrants>, AgentError> {
        let request = v1::ListGrantsRequest {
            securable_type: securable_type.into(),
            page_size: LIST_PAGE_SIZE,
            page_token: String::new(),
        };
        all_pages!(self, "ListGrants", request, stop, GrantServiceClient.list_grants, |page| page
            .grants)
    }

    /// Sets all that is granted on one securable.
    pub(crate) async fn set_grants(&self, request: v1::SetGrantsRequest, stop: &StopSignal) -> Result<v1::SecurableGrants, AgentError> {
        let call = action("SetGrants", false);
        let reply = send!(self, call, request, stop, GrantServiceClient.set_grants)?;
        whole(call.name, "grants", reply.grants)
    }
}
