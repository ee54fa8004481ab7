//! The fake's services of credentials, secrets, volumes and grants. Grants and privileges come in another order each time.

use std::collections::BTreeMap;

use featurestore_proto::v1;
use featurestore_proto::v1::credential_service_server::CredentialService;
use featurestore_proto::v1::grant_service_server::GrantService;
use featurestore_proto::v1::secret_service_server::SecretService;
use featurestore_proto::v1::volume_service_server::VolumeService;
use tonic::{Request, Response, Status};

use super::{Services, World, answer};

/// What the fake keeps of governance.
#[derive(Debug, Default)]
pub(crate) struct Governance {
    pub(crate) credentials: BTreeMap<String, v1::ServiceCredential>,
    /// What the agent says of each credential that is written.
    pub(crate) credential_problem: String,
    pub(crate) scopes: BTreeMap<String, BTreeMap<String, KeptSecret>>,
    /// Of scopes that were created by a call.
    pub(crate) scope_uids: BTreeMap<String, String>,
    pub(crate) volumes: BTreeMap<String, v1::Volume>,
    pub(crate) grants: BTreeMap<(i32, String), v1::SecurableGrants>,
    /// Of securables that have lives.
    pub(crate) lives: BTreeMap<String, String>,
    /// Items of a page; 0: as many as are asked for.
    pub(crate) page_size: usize,
}

/// A secret as the fake keeps it.
#[derive(Clone, Debug)]
pub(crate) struct KeptSecret {
    pub(crate) value: String,
    pub(crate) revision: String,
    /// Of the call that wrote it.
    pub(crate) request_id: String,
}

impl World {
    /// Writes a secret, as somebody does.
    pub(crate) fn put_secret(&mut self, scope: &str, key: &str, value: &str) {
        let revision = format!("revision-{}", self.next());
        let value = value.to_owned();
        let secrets = self.governance.scopes.entry(scope.to_owned()).or_default();
        let request_id = String::new();
        secrets.insert(
            key.to_owned(),
            KeptSecret {
                value,
                revision,
                request_id,
            },
        );
    }

    /// Sets what is granted, as somebody does.
    pub(crate) fn grant(&mut self, kind: v1::SecurableType, name: &str, grants: &[(&str, &[&str])]) {
        let id = (kind.into(), name.to_owned());
        let generation = self.governance.grants.get(&id).map_or(0, |kept| kept.generation) + 1;
        let grants = grants.iter().map(|(principal, privileges)| v1::Grant {
            principal: (*principal).to_owned(),
            privileges: privileges.iter().map(|it| (*it).to_owned()).collect(),
        });
        let kept = v1::SecurableGrants {
            securable_type: kind.into(),
            securable_name: name.to_owned(),
            grants: grants.collect(),
            generation,
            securable_uid: self.governance.lives.get(name).cloned().unwrap_or_default(),
        };
        self.governance.grants.insert(id, kept);
    }

    /// Another securable takes the name, and nothing is granted on it.
    pub(crate) fn begin_another_life_of(&mut self, kind: v1::SecurableType, name: &str) {
        let life = format!("life-{}", self.next());
        self.governance.lives.insert(name.to_owned(), life);
        self.governance.grants.remove(&(kind.into(), name.to_owned()));
    }

    fn shuffled(&mut self, mut grants: v1::SecurableGrants) -> v1::SecurableGrants {
        if self.next().is_multiple_of(2) {
            grants.grants.reverse();
            grants.grants.iter_mut().for_each(|grant| grant.privileges.reverse());
        }
        grants
    }

    /// One page of a list, and the token of the next one.
    fn page<T>(&self, items: Vec<T>, asked: i32, token: &str) -> (Vec<T>, String) {
        let size = match (self.governance.page_size, asked) {
            (0, 0) => 100,
            (0, asked) => usize::try_from(asked).expect("a size"),
            (size, _) => size,
        };
        let first: usize = if token.is_empty() {
            0
        } else {
            token.parse().expect("a token of ours")
        };
        let next = if first + size < items.len() {
            (first + size).to_string()
        } else {
            String::new()
        };
        (items.into_iter().skip(first).take(size).collect(), next)
    }
}

fn not_found(kind: &str, name: &str) -> Status {
    Status::not_found(format!("there is no {kind} `{name}`"))
}

fn exists() -> Status {
    Status::already_exists("exists")
}

fn planned_on(generation: u64, kept: u64) -> Result<(), Status> {
    if generation == 0 || generation == kept {
        return Ok(());
    }
    Err(Status::aborted("another generation is in force"))
}

#[tonic::async_trait]
impl CredentialService for Services {
    async fn create_service_credential(
        &self,
        request: Request<v1::CreateServiceCredentialRequest>,
    ) -> Result<Response<v1::CreateServiceCredentialResponse>, Status> {
        self.hang_if_told("CreateServiceCredential").await;
        let mut world = self.world();
        let fault = world.arrive("CreateServiceCredential", &request)?;
        let request = request.into_inner();
        let mut credential = request.credential.unwrap_or_default();
        let name = credential.name.clone();
        if let Some(kept) = world.governance.credentials.get(&name) {
            if world.request_ids.get(&name) != Some(&request.request_id) {
                return Err(exists());
            }
            let credential = Some(kept.clone());
            return answer(fault, v1::CreateServiceCredentialResponse { credential });
        }
        credential.uid = format!("uid-{}", world.next());
        credential.generation = 1;
        world.request_ids.insert(name.clone(), request.request_id);
        world.governance.credentials.insert(name, credential.clone());
        credential.problem.clone_from(&world.governance.credential_problem);
        let credential = Some(credential);
        answer(fault, v1::CreateServiceCredentialResponse { credential })
    }

    async fn get_service_credential(
        &self,
        request: Request<v1::GetServiceCredentialRequest>,
    ) -> Result<Response<v1::GetServiceCredentialResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("GetServiceCredential", &request)?;
        let name = request.into_inner().name;
        let credential = world.governance.credentials.get(&name).cloned();
        let credential = Some(credential.ok_or_else(|| not_found("service credential", &name))?);
        answer(fault, v1::GetServiceCredentialResponse { credential })
    }

    async fn list_service_credentials(
        &self,
        _: Request<v1::ListServiceCredentialsRequest>,
    ) -> Result<Response<v1::ListServiceCredentialsResponse>, Status> {
        Err(Status::unimplemented("the provider does not list"))
    }

    async fn update_service_credential(
        &self,
        request: Request<v1::UpdateServiceCredentialRequest>,
    ) -> Result<Response<v1::UpdateServiceCredentialResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("UpdateServiceCredential", &request)?;
        let request = request.into_inner();
        let wanted = request.credential.unwrap_or_default();
        let kept = world.governance.credentials.get(&wanted.name).cloned();
        let mut kept = kept.ok_or_else(|| not_found("service credential", &wanted.name))?;
        world.same_life(&request.uid, &kept.uid)?;
        planned_on(request.generation, kept.generation)?;
        kept.identity = wanted.identity;
        kept.generation += 1;
        world.governance.credentials.insert(wanted.name, kept.clone());
        kept.problem.clone_from(&world.governance.credential_problem);
        let credential = Some(kept);
        answer(fault, v1::UpdateServiceCredentialResponse { credential })
    }

    async fn delete_service_credential(
        &self,
        request: Request<v1::DeleteServiceCredentialRequest>,
    ) -> Result<Response<v1::DeleteServiceCredentialResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("DeleteServiceCredential", &request)?;
        let v1::DeleteServiceCredentialRequest { name, uid, .. } = request.into_inner();
        match world.governance.credentials.get(&name) {
            Some(kept) if uid.is_empty() || uid == kept.uid => {}
            _ => return Err(not_found("service credential", &name)),
        }
        world.governance.credentials.remove(&name);
        answer(fault, v1::DeleteServiceCredentialResponse {})
    }
}

#[tonic::async_trait]
impl SecretService for Services {
    async fn create_secret_scope(
        &self,
        request: Request<v1::CreateSecretScopeRequest>,
    ) -> Result<Response<v1::CreateSecretScopeResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("CreateSecretScope", &request)?;
        let request = request.into_inner();
        let scope = request.scope.unwrap_or_default();
        if !world.governance.scopes.contains_key(&scope.name) {
            world.governance.scopes.insert(scope.name.clone(), BTreeMap::new());
            let uid = format!("scope-{}", world.next());
            world.governance.scope_uids.insert(scope.name.clone(), uid);
            world.request_ids.insert(scope.name.clone(), request.request_id);
        } else if world.request_ids.get(&scope.name) != Some(&request.request_id) {
            return Err(exists());
        }
        let uid = world.governance.scope_uids.get(&scope.name).cloned().unwrap_or_default();
        let scope = Some(v1::SecretScope { uid, ..scope });
        answer(fault, v1::CreateSecretScopeResponse { scope })
    }

    async fn list_secret_scopes(&self, _: Request<v1::ListSecretScopesRequest>) -> Result<Response<v1::ListSecretScopesResponse>, Status> {
        Err(Status::unimplemented("the provider does not list"))
    }

    async fn delete_secret_scope(
        &self,
        request: Request<v1::DeleteSecretScopeRequest>,
    ) -> Result<Response<v1::DeleteSecretScopeResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("DeleteSecretScope", &request)?;
        let v1::DeleteSecretScopeRequest { name, uid, .. } = request.into_inner();
        let lives = world.governance.scope_uids.get(&name).is_some_and(|now| *now == uid);
        if !uid.is_empty() && !lives {
            return Err(not_found("secret scope", &name));
        }
        world
            .governance
            .scopes
            .remove(&name)
            .ok_or_else(|| not_found("secret scope", &name))?;
        answer(fault, v1::DeleteSecretScopeResponse {})
    }

    async fn put_secret(&self, request: Request<v1::PutSecretRequest>) -> Result<Response<v1::PutSecretResponse>, Status> {
        self.hang_if_told("PutSecret").await;
        let mut world = self.world();
        let fault = world.arrive("PutSecret", &request)?;
        let v1::PutSecretRequest {
            scope,
            key,
            value,
            expected_revision,
            must_not_exist,
            request_id,
            scope_uid,
        } = request.into_inner();
        let now = world.governance.scope_uids.get(&scope).cloned().unwrap_or_default();
        world.same_life(&scope_uid, &now)?;
        if !world.governance.scopes.contains_key(&scope) {
            return Err(not_found("secret scope", &scope));
        }
        let kept = world.governance.scopes[&scope].get(&key);
        let is_repeat = kept.is_some_and(|kept| kept.request_id == request_id);
        if !is_repeat {
            if must_not_exist && kept.is_some() {
                return Err(exists());
            }
            if !expected_revision.is_empty() && kept.is_none_or(|kept| kept.revision != expected_revision) {
                return Err(Status::aborted("someone else has written the secret"));
            }
            world.put_secret(&scope, &key, &String::from_utf8(value).expect("a text"));
            if let Some(kept) = world.governance.scopes.get_mut(&scope).and_then(|secrets| secrets.get_mut(&key)) {
                kept.request_id = request_id;
            }
        }
        let revision = world.governance.scopes[&scope][&key].revision.clone();
        let secret = v1::SecretMetadata {
            key,
            revision,
            update_time: None,
        };
        answer(fault, v1::PutSecretResponse { secret: Some(secret) })
    }

    async fn list_secrets(&self, request: Request<v1::ListSecretsRequest>) -> Result<Response<v1::ListSecretsResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("ListSecrets", &request)?;
        let request = request.into_inner();
        let kept = world.governance.scopes.get(&request.scope);
        let kept = kept.ok_or_else(|| not_found("secret scope", &request.scope))?;
        let secrets = kept.iter().map(|(key, secret)| v1::SecretMetadata {
            key: key.clone(),
            revision: secret.revision.clone(),
            update_time: None,
        });
        let (secrets, next_page_token) = world.page(secrets.collect(), request.page_size, &request.page_token);
        let scope_uid = world.governance.scope_uids.get(&request.scope).cloned().unwrap_or_default();
        answer(
            fault,
            v1::ListSecretsResponse {
                secrets,
                next_page_token,
                scope_uid,
            },
        )
    }

    async fn delete_secret(&self, request: Request<v1::DeleteSecretRequest>) -> Result<Response<v1::DeleteSecretResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("DeleteSecret", &request)?;
        let v1::DeleteSecretRequest { scope, key, scope_uid, .. } = request.into_inner();
        let lives = world.governance.scope_uids.get(&scope).is_none_or(|now| *now == scope_uid);
        if !scope_uid.is_empty() && !lives {
            return Err(not_found("secret", &key));
        }
        let kept = world.governance.scopes.get_mut(&scope).and_then(|secrets| secrets.remove(&key));
        kept.ok_or_else(|| not_found("secret", &key))?;
        answer(fault, v1::DeleteSecretResponse {})
    }
}

#[tonic::async_trait]
impl VolumeService for Services {
    async fn create_volume(&self, request: Request<v1::CreateVolumeRequest>) -> Result<Response<v1::CreateVolumeResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("CreateVolume", &request)?;
        let request = request.into_inner();
        let mut volume = request.volume.unwrap_or_default();
        if let Some(kept) = world.governance.volumes.get(&volume.name) {
            if world.request_ids.get(&volume.name) != Some(&request.request_id) {
                return Err(exists());
            }
            let volume = Some(kept.clone());
            return answer(fault, v1::CreateVolumeResponse { volume });
        }
        volume.uid = format!("uid-{}", world.next());
        volume.generation = 1;
        world.request_ids.insert(volume.name.clone(), request.request_id);
        world.governance.volumes.insert(volume.name.clone(), volume.clone());
        answer(fault, v1::CreateVolumeResponse { volume: Some(volume) })
    }

    async fn get_volume(&self, request: Request<v1::GetVolumeRequest>) -> Result<Response<v1::GetVolumeResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("GetVolume", &request)?;
        let name = request.into_inner().name;
        let volume = world.governance.volumes.get(&name).cloned();
        let volume = Some(volume.ok_or_else(|| not_found("volume", &name))?);
        answer(fault, v1::GetVolumeResponse { volume })
    }

    async fn list_volumes(&self, _: Request<v1::ListVolumesRequest>) -> Result<Response<v1::ListVolumesResponse>, Status> {
        Err(Status::unimplemented("the provider does not list"))
    }

    async fn update_volume(&self, request: Request<v1::UpdateVolumeRequest>) -> Result<Response<v1::UpdateVolumeResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("UpdateVolume", &request)?;
        let request = request.into_inner();
        let wanted = request.volume.unwrap_or_default();
        let kept = world.governance.volumes.get(&wanted.name).cloned();
        let mut kept = kept.ok_or_else(|| not_found("volume", &wanted.name))?;
        world.same_life(&request.uid, &kept.uid)?;
        planned_on(request.generation, kept.generation)?;
        kept.storage_location = wanted.storage_location;
        kept.generation += 1;
        world.governance.volumes.insert(wanted.name, kept.clone());
        answer(fault, v1::UpdateVolumeResponse { volume: Some(kept) })
    }

    async fn delete_volume(&self, request: Request<v1::DeleteVolumeRequest>) -> Result<Response<v1::DeleteVolumeResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("DeleteVolume", &request)?;
        let v1::DeleteVolumeRequest { name, uid, .. } = request.into_inner();
        match world.governance.volumes.get(&name) {
            Some(kept) if uid.is_empty() || uid == kept.uid => {}
            _ => return Err(not_found("volume", &name)),
        }
        world.governance.volumes.remove(&name);
        answer(fault, v1::DeleteVolumeResponse {})
    }
}

#[tonic::async_trait]
impl GrantService for Services {
    async fn get_grants(&self, request: Request<v1::GetGrantsRequest>) -> Result<Response<v1::GetGrantsResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("GetGrants", &request)?;
        let v1::GetGrantsRequest {
            securable_type,
            securable_name,
        } = request.into_inner();
        let kept = world.governance.grants.get(&(securable_type, securable_name.clone())).cloned();
        let securable_uid = world.governance.lives.get(&securable_name).cloned().unwrap_or_default();
        let kept = kept.unwrap_or(v1::SecurableGrants {
            securable_type,
            securable_name,
            securable_uid,
            ..Default::default()
        });
        let grants = Some(world.shuffled(kept));
        answer(fault, v1::GetGrantsResponse { grants })
    }

    async fn list_grants(&self, request: Request<v1::ListGrantsRequest>) -> Result<Response<v1::ListGrantsResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("ListGrants", &request)?;
        let request = request.into_inner();
        let of_type =
            |grants: &&v1::SecurableGrants| [0, grants.securable_type].contains(&request.securable_type) && !grants.grants.is_empty();
        let kept: Vec<v1::SecurableGrants> = world.governance.grants.values().filter(of_type).cloned().collect();
        let kept = kept.into_iter().map(|grants| world.shuffled(grants)).collect();
        let (grants, next_page_token) = world.page(kept, request.page_size, &request.page_token);
        answer(fault, v1::ListGrantsResponse { grants, next_page_token })
    }

    async fn set_grants(&self, request: Request<v1::SetGrantsRequest>) -> Result<Response<v1::SetGrantsResponse>, Status> {
        let mut world = self.world();
        let fault = world.arrive("SetGrants", &request)?;
        let request = request.into_inner();
        let wanted = request.grants.unwrap_or_default();
        let id = (wanted.securable_type, wanted.securable_name.clone());
        let generation = world.governance.grants.get(&id).map_or(0, |kept| kept.generation);
        let securable_uid = world.governance.lives.get(&wanted.securable_name).cloned().unwrap_or_default();
        world.same_life(&request.securable_uid, &securable_uid)?;
        let kept = world.governance.grants.get(&id).cloned().unwrap_or_default();
        if request.generation.is_some_and(|planned| planned + 1 == generation) && kept.grants == wanted.grants {
            let grants = Some(world.shuffled(kept));
            return answer(fault, v1::SetGrantsResponse { grants });
        }
        if request.generation.is_some_and(|planned| planned != generation) {
            return Err(Status::aborted("another generation is in force"));
        }
        let set = v1::SecurableGrants {
            generation: generation + 1,
            securable_uid,
            ..wanted
        };
        world.governance.grants.insert(id, set.clone());
        let grants = Some(world.shuffled(set));
        answer(fault, v1::SetGrantsResponse { grants })
    }
}
