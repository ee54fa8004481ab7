//! The calls on service credentials. What is written is tried at once, and the answer says why AWS does not let the agent be it.
//! That refuses nothing: a role and its trust policy are often made in the same apply, and come into force some seconds later.

use std::sync::Arc;

use stream_spec::name::CredentialName;
use stream_spec::validate;

use super::Services;
use super::error::ServiceError;
use super::governed::{self, Planned};
use super::page::{Page, PageRequest};
use super::users::{self, Used};
use crate::clock;
use crate::governance::credentials::SessionName;
use crate::governance::{Action, RequestContext, Securable};
use crate::limits::CREDENTIAL_TRIAL_WAIT;
use crate::store::documents::{Authorship, CredentialIdentity, CredentialRecord};
use crate::store::users::{DeletedIfUnused, UsedThing};

/// The calls on service credentials.
#[derive(Clone)]
pub struct CredentialService {
    services: Arc<Services>,
}

/// A credential as a caller declares it.
#[derive(Clone, Debug)]
pub struct DeclaredCredential {
    /// Its name.
    pub name: CredentialName,
    /// Who it is to AWS.
    pub identity: CredentialIdentity,
}

/// A credential that was written.
#[derive(Clone, Debug)]
pub struct WrittenCredential {
    /// As it is now.
    pub record: CredentialRecord,
    /// Why AWS does not let the agent be it.
    pub problem: Option<String>,
}

impl CredentialService {
    /// The service over what services share.
    pub fn new(services: Arc<Services>) -> Self {
        Self { services }
    }

    /// Creates a credential. A repeat under the same request id is answered as the first was.
    pub async fn create(
        &self,
        context: &RequestContext,
        declared: DeclaredCredential,
        request_id: &str,
    ) -> Result<WrittenCredential, ServiceError> {
        let DeclaredCredential { name, identity } = declared;
        self.services
            .authorizer
            .authorize(context, Action::Create, Securable::Credential(&name))
            .await?;
        check(&identity)?;
        let record = CredentialRecord {
            name,
            generation: 1,
            authorship: Authorship::new(context.principal.name(), clock::now_ms(), request_id),
            identity,
        };
        let record = governed::create(&self.services, record).await?;
        Ok(self.tried(record).await)
    }

    /// One credential.
    pub async fn get(&self, context: &RequestContext, name: &CredentialName) -> Result<CredentialRecord, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::Read, Securable::Credential(name))
            .await?;
        governed::get(&self.services, name.as_str()).await
    }

    /// The credentials that the caller may read, a page at a time.
    pub async fn list(&self, context: &RequestContext, page: &PageRequest) -> Result<Page<CredentialRecord>, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::List, Securable::Credentials)
            .await?;
        governed::list(&self.services, context, "", page).await
    }

    /// Changes who a credential is to AWS, if it still is at `generation` (0: any) and of that life (empty: any). Pipelines
    /// that connect with it reconnect at their exact positions.
    pub async fn update(
        &self,
        context: &RequestContext,
        declared: DeclaredCredential,
        generation: u64,
        uid: &str,
    ) -> Result<WrittenCredential, ServiceError> {
        let DeclaredCredential { name, identity } = declared;
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Update, Securable::Credential(&name))
            .await?;
        let uid = &allowed
            .life(uid)
            .ok_or_else(|| governed::another_life::<CredentialRecord>(name.as_str()))?;
        check(&identity)?;
        let planned = Planned {
            name: name.as_str(),
            generation,
            uid,
        };
        let changed = governed::update(&self.services, context, planned, |now: &CredentialRecord| {
            (now.identity != identity).then(|| CredentialRecord {
                identity: identity.clone(),
                ..now.clone()
            })
        })
        .await?;
        self.services.announce(&UsedThing::Credential(name)).await;
        Ok(self.tried(changed).await)
    }

    /// Tries to be it, as its users will.
    async fn tried(&self, record: CredentialRecord) -> WrittenCredential {
        let session = SessionName::of(record.name.as_str());
        let trial = self.services.aws.assume(&record, &session);
        let problem = match tokio::time::timeout(CREDENTIAL_TRIAL_WAIT, trial).await {
            Ok(outcome) => outcome.err().map(|error| error.to_string()),
            Err(_) => Some(format!(
                "AWS did not answer within {CREDENTIAL_TRIAL_WAIT:?}, so it is not known whether the agent may be `{}`; see that AWS can \
                 be reached",
                record.name
            )),
        };
        if let Some(problem) = &problem {
            tracing::warn!(credential = %record.name, problem, "the service credential cannot be used now");
        }
        WrittenCredential { record, problem }
    }

    /// Deletes a credential, one that connections use only if the caller says so. Another life of the name than `uid` (empty:
    /// any) is missing.
    pub async fn delete(&self, context: &RequestContext, name: &CredentialName, even_if_used: bool, uid: &str) -> Result<(), ServiceError> {
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Delete, Securable::Credential(name))
            .await?;
        let uid = &allowed
            .life(uid)
            .ok_or_else(|| governed::not_found::<CredentialRecord>(name.as_str()))?;
        let what = UsedThing::Credential(name.clone());
        match self.services.store.delete_if_unused(&what, uid, even_if_used).await? {
            DeletedIfUnused::Deleted => {
                tracing::info!(credential = %name, by = context.principal.name(), "deleted service credential");
                self.services.announce(&what).await;
                Ok(())
            }
            DeletedIfUnused::Missing => Err(governed::not_found::<CredentialRecord>(name.as_str())),
            DeletedIfUnused::InUse(users) => {
                let used = Used {
                    field: "name",
                    value: name.as_str(),
                    what: "the credential",
                };
                Err(users::in_use(&self.services, &context.principal, used, &users).await)
            }
        }
    }
}

fn check(identity: &CredentialIdentity) -> Result<(), ServiceError> {
    let violations = match identity {
        CredentialIdentity::Ambient => Vec::new(),
        CredentialIdentity::AwsIamRole { role_arn, external_id } => validate::aws_iam_role(role_arn, external_id.as_deref()),
    };
    match violations.is_empty() {
        true => Ok(()),
        false => Err(ServiceError::Invalid(violations)),
    }
}
