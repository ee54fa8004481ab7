//! `CredentialService` over gRPC.

use featurestore_proto::v1;
use stream_spec::name::CredentialName;
use tonic::{Request, Response, Status, async_trait};

use super::{context, requests, serve};
use crate::governance::calls::Call;
use crate::services::credentials::{CredentialService, DeclaredCredential, WrittenCredential};
use crate::services::error::ServiceError;
use crate::store::documents::{CredentialIdentity, CredentialRecord};

pub(super) struct CredentialsOverGrpc(pub(super) CredentialService);

fn name(text: &str) -> Result<CredentialName, ServiceError> {
    requests::name("name", text, CredentialName::parse)
}

fn declared(credential: Option<v1::ServiceCredential>) -> Result<DeclaredCredential, ServiceError> {
    use v1::service_credential::Identity;
    let credential = requests::required("credential", credential)?;
    let identity = match requests::required("aws_iam_role", credential.identity)? {
        Identity::AwsIamRole(v1::AwsIamRole { role_arn, external_id }) => CredentialIdentity::AwsIamRole { role_arn, external_id },
        Identity::Ambient(_) => CredentialIdentity::Ambient,
    };
    Ok(DeclaredCredential {
        name: name(&credential.name)?,
        identity,
    })
}

fn answer(record: &CredentialRecord) -> v1::ServiceCredential {
    use v1::service_credential::Identity;
    let identity = match &record.identity {
        CredentialIdentity::Ambient => Identity::Ambient(v1::AmbientIdentity {}),
        CredentialIdentity::AwsIamRole { role_arn, external_id } => Identity::AwsIamRole(v1::AwsIamRole {
            role_arn: role_arn.clone(),
            external_id: external_id.clone(),
        }),
    };
    v1::ServiceCredential {
        name: record.name.to_string(),
        identity: Some(identity),
        uid: record.authorship.uid.clone(),
        generation: record.generation,
        problem: String::new(),
    }
}

fn answer_to_write(written: WrittenCredential) -> v1::ServiceCredential {
    v1::ServiceCredential {
        problem: written.problem.unwrap_or_default(),
        ..answer(&written.record)
    }
}

#[async_trait]
impl v1::credential_service_server::CredentialService for CredentialsOverGrpc {
    async fn create_service_credential(
        &self,
        request: Request<v1::CreateServiceCredentialRequest>,
    ) -> Result<Response<v1::CreateServiceCredentialResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::CreateServiceCredential, &context, async {
            let written = self.0.create(&context, declared(message.credential)?, &message.request_id).await?;
            Ok(v1::CreateServiceCredentialResponse {
                credential: Some(answer_to_write(written)),
            })
        })
        .await
    }

    async fn get_service_credential(
        &self,
        request: Request<v1::GetServiceCredentialRequest>,
    ) -> Result<Response<v1::GetServiceCredentialResponse>, Status> {
        let context = context(&request);
        serve(Call::GetServiceCredential, &context, async {
            let record = self.0.get(&context, &name(&request.get_ref().name)?).await?;
            Ok(v1::GetServiceCredentialResponse {
                credential: Some(answer(&record)),
            })
        })
        .await
    }

    async fn list_service_credentials(
        &self,
        request: Request<v1::ListServiceCredentialsRequest>,
    ) -> Result<Response<v1::ListServiceCredentialsResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::ListServiceCredentials, &context, async {
            let page = requests::page(message.page_size, message.page_token);
            let page = self.0.list(&context, &page).await?;
            Ok(v1::ListServiceCredentialsResponse {
                credentials: page.items.iter().map(answer).collect(),
                next_page_token: page.next_page_token,
            })
        })
        .await
    }

    async fn update_service_credential(
        &self,
        request: Request<v1::UpdateServiceCredentialRequest>,
    ) -> Result<Response<v1::UpdateServiceCredentialResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::UpdateServiceCredential, &context, async {
            let written = self
                .0
                .update(&context, declared(message.credential)?, message.generation, &message.uid)
                .await?;
            Ok(v1::UpdateServiceCredentialResponse {
                credential: Some(answer_to_write(written)),
            })
        })
        .await
    }

    async fn delete_service_credential(
        &self,
        request: Request<v1::DeleteServiceCredentialRequest>,
    ) -> Result<Response<v1::DeleteServiceCredentialResponse>, Status> {
        let context = context(&request);
        let message = request.into_inner();
        serve(Call::DeleteServiceCredential, &context, async {
            self.0.delete(&context, &name(&message.name)?, message.force, &message.uid).await?;
            Ok(v1::DeleteServiceCredentialResponse {})
        })
        .await
    }
}
