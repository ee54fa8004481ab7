//! `SecretService` over gRPC.

use featurestore_proto::v1;
use stream_spec::name::{ScopeName, SecretKey};
use stream_spec::violation::Violation;
use tonic::{Request, Response, Status, async_trait};

use super::{answers, context, requests, serve};
use crate::governance::calls::Call;
use crate::governance::secrets::{PutCondition, SecretValue};
use crate::services::error::ServiceError;
use crate::services::secrets::SecretService;
use crate::store::documents::ScopeRecord;
use crate::store::secrets::{Expected, SecretEntry};

pub(super) struct SecretsOverGrpc(pub(super) SecretService);

fn scope(field: &'static str, text: &str) -> Result<ScopeName, ServiceError> {
    requests::name(field, text, ScopeName::parse)
}

fn key(text: &str) -> Result<SecretKey, ServiceError> {
    requests::name("key", text, SecretKey::parse)
}

fn scope_answer(record: &ScopeRecord) -> v1::SecretScope {
    v1::SecretScope {
        name: record.name.to_string(),
        create_time: Some(answers::timestamp(record.authorship.create_time_ms)),
        uid: record.authorship.uid.clone(),
    }
}

fn secret_answer(entry: &SecretEntry) -> v1::SecretMetadata {
    v1::SecretMetadata {
        key: entry.key.to_string(),
        revision: entry.revision.clone(),
        update_time: Some(answers::timestamp(entry.update_time_ms)),
    }
}

#[async_trait]
impl v1::secret_service_server::SecretService for SecretsOverGrpc {
    async fn create_secret_scope(
        &self,
        request: Request<v1::CreateSecretScopeRequest>,
    ) -> Result<Response<v1::CreateSecretScopeResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::CreateSecretScope, &context, async {
            let name = scope("name", &requests::required("scope", message.scope)?.name)?;
            let record = self.0.create_scope(&context, name, &message.request_id).await?;
            Ok(v1::CreateSecretScopeResponse {
                scope: Some(scope_answer(&record)),
            })
        })
        .await
    }

    async fn list_secret_scopes(
        &self,
        request: Request<v1::ListSecretScopesRequest>,
    ) -> Result<Response<v1::ListSecretScopesResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::ListSecretScopes, &context, async {
            let page = requests::page(message.page_size, message.page_token);
            let page = self.0.list_scopes(&context, &page).await?;
            Ok(v1::ListSecretScopesResponse {
                scopes: page.items.iter().map(scope_answer).collect(),
                next_page_token: page.next_page_token,
            })
        })
        .await
    }

    async fn delete_secret_scope(
        &self,
        request: Request<v1::DeleteSecretScopeRequest>,
    ) -> Result<Response<v1::DeleteSecretScopeResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::DeleteSecretScope, &context, async {
            self.0
                .delete_scope(&context, &scope("name", &message.name)?, message.force, &message.uid)
                .await?;
            Ok(v1::DeleteSecretScopeResponse {})
        })
        .await
    }

    async fn put_secret(&self, request: Request<v1::PutSecretRequest>) -> Result<Response<v1::PutSecretResponse>, Status> {
        let context = context(&request);
        let v1::PutSecretRequest {
            scope: in_scope,
            key: of,
            value,
            expected_revision,
            must_not_exist,
            request_id,
            scope_uid,
        } = request.into_inner();
        // At once, so that it is wiped whatever is wrong with the rest.
        let value = SecretValue::new(value);
        serve(Call::PutSecret, &context, async {
            let expected = match (must_not_exist, expected_revision.is_empty()) {
                (false, true) => Expected::Anything,
                (true, true) => Expected::Nothing,
                (false, false) => Expected::Revision(expected_revision),
                (true, false) => {
                    let problem = "a revision is expected, and that there is none";
                    let violation = Violation::new("expected_revision", &expected_revision, problem, "leave out one of the two");
                    return Err(ServiceError::Invalid(vec![violation]));
                }
            };
            let condition = PutCondition {
                expected,
                scope_uid,
                request_id,
            };
            let (scope, key) = (scope("scope", &in_scope)?, key(&of)?);
            let entry = self.0.put(&context, scope, key, value, condition).await?;
            Ok(v1::PutSecretResponse {
                secret: Some(secret_answer(&entry)),
            })
        })
        .await
    }

    async fn list_secrets(&self, request: Request<v1::ListSecretsRequest>) -> Result<Response<v1::ListSecretsResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::ListSecrets, &context, async {
            let page = requests::page(message.page_size, message.page_token);
            let (page, scope_uid) = self.0.list(&context, &scope("scope", &message.scope)?, &page).await?;
            Ok(v1::ListSecretsResponse {
                secrets: page.items.iter().map(secret_answer).collect(),
                next_page_token: page.next_page_token,
                scope_uid,
            })
        })
        .await
    }

    async fn delete_secret(&self, request: Request<v1::DeleteSecretRequest>) -> Result<Response<v1::DeleteSecretResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::DeleteSecret, &context, async {
            self.0
                .delete(
                    &context,
                    scope("scope", &message.scope)?,
                    key(&message.key)?,
                    message.force,
                    &message.scope_uid,
                )
                .await?;
            Ok(v1::DeleteSecretResponse {})
        })
        .await
    }
}
