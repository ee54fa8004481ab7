//! `GrantService` over gRPC.

use featurestore_proto::v1;
use tonic::{Request, Response, Status, async_trait};

use super::{context, requests, serve};
use crate::governance::calls::Call;
use crate::governance::privilege::SecurableType;
use crate::services::error::ServiceError;
use crate::services::grants::{GrantService, GrantsOn, WantedGrants};

pub(super) struct GrantsOverGrpc(pub(super) GrantService);

/// The type of a securable; `None` where none is given.
fn securable_type(number: i32) -> Result<Option<SecurableType>, ServiceError> {
    match v1::SecurableType::try_from(number) {
        Ok(v1::SecurableType::Unspecified) => Ok(None),
        Ok(v1::SecurableType::Catalog) => Ok(Some(SecurableType::Catalog)),
        Ok(v1::SecurableType::Schema) => Ok(Some(SecurableType::Schema)),
        Ok(v1::SecurableType::Table) => Ok(Some(SecurableType::Table)),
        Ok(v1::SecurableType::Connection) => Ok(Some(SecurableType::Connection)),
        Ok(v1::SecurableType::ServiceCredential) => Ok(Some(SecurableType::ServiceCredential)),
        Ok(v1::SecurableType::SecretScope) => Ok(Some(SecurableType::SecretScope)),
        Ok(v1::SecurableType::Volume) => Ok(Some(SecurableType::Volume)),
        Err(_) => Err(ServiceError::invalid(
            "securable_type",
            &number.to_string(),
            "there is no such type",
            "use one that this agent's interface has",
        )),
    }
}

fn required_type(number: i32) -> Result<SecurableType, ServiceError> {
    requests::required("securable_type", securable_type(number)?)
}

fn answer(GrantsOn { record, securable_uid }: GrantsOn) -> v1::SecurableGrants {
    let securable_type = match record.securable_type {
        SecurableType::Catalog => v1::SecurableType::Catalog,
        SecurableType::Schema => v1::SecurableType::Schema,
        SecurableType::Table => v1::SecurableType::Table,
        SecurableType::Connection => v1::SecurableType::Connection,
        SecurableType::ServiceCredential => v1::SecurableType::ServiceCredential,
        SecurableType::SecretScope => v1::SecurableType::SecretScope,
        SecurableType::Volume => v1::SecurableType::Volume,
    };
    let grant = |(principal, privileges): (String, std::collections::BTreeSet<_>)| v1::Grant {
        principal,
        privileges: privileges.iter().map(ToString::to_string).collect(),
    };
    v1::SecurableGrants {
        securable_type: securable_type.into(),
        securable_name: record.securable_name,
        grants: record.grants.into_iter().map(grant).collect(),
        generation: record.generation,
        securable_uid,
    }
}

#[async_trait]
impl v1::grant_service_server::GrantService for GrantsOverGrpc {
    async fn get_grants(&self, request: Request<v1::GetGrantsRequest>) -> Result<Response<v1::GetGrantsResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::GetGrants, &context, async {
            let securable_type = required_type(message.securable_type)?;
            let record = self.0.get(&context, securable_type, &message.securable_name).await?;
            Ok(v1::GetGrantsResponse {
                grants: Some(answer(record)),
            })
        })
        .await
    }

    async fn list_grants(&self, request: Request<v1::ListGrantsRequest>) -> Result<Response<v1::ListGrantsResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::ListGrants, &context, async {
            let securable_type = securable_type(message.securable_type)?;
            let page = requests::page(message.page_size, message.page_token);
            let page = self.0.list(&context, securable_type, &page).await?;
            Ok(v1::ListGrantsResponse {
                grants: page.items.into_iter().map(answer).collect(),
                next_page_token: page.next_page_token,
            })
        })
        .await
    }

    async fn set_grants(&self, request: Request<v1::SetGrantsRequest>) -> Result<Response<v1::SetGrantsResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::SetGrants, &context, async {
            let grants = requests::required("grants", message.grants)?;
            let wanted = WantedGrants {
                securable_type: required_type(grants.securable_type)?,
                securable_name: grants.securable_name,
                grants: grants.grants.into_iter().map(|grant| (grant.principal, grant.privileges)).collect(),
                generation: message.generation,
                securable_uid: message.securable_uid,
            };
            let record = self.0.set(&context, wanted).await?;
            Ok(v1::SetGrantsResponse {
                grants: Some(answer(record)),
            })
        })
        .await
    }
}
