//! The calls on secret scopes and secrets. No call returns a value. The invariant: whoever connects with a secret is told
//! of its change after it was kept, never before.

use std::sync::Arc;

use stream_spec::name::{ScopeName, SecretKey};
use stream_spec::validate;

use super::Services;
use super::error::{Kind, ServiceError};
use super::governed;
use super::page::{self, Page, PageRequest};
use super::users::{self, Used};
use crate::clock;
use crate::governance::secrets::{PutCondition, ScopeId, SecretValue};
use crate::governance::{Action, RequestContext, Securable};
use crate::store::documents::{Authorship, ScopeRecord};
use crate::store::secrets::SecretEntry;
use crate::store::users::{DeletedIfUnused, UsedThing};

/// The calls on secret scopes and secrets.
#[derive(Clone)]
pub struct SecretService {
    services: Arc<Services>,
}

impl SecretService {
    /// The service over what services share.
    pub fn new(services: Arc<Services>) -> Self {
        Self { services }
    }

    /// Creates a scope. A repeat under the same request id is answered as the first was.
    pub async fn create_scope(&self, context: &RequestContext, name: ScopeName, request_id: &str) -> Result<ScopeRecord, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::Create, Securable::SecretScope(&name))
            .await?;
        let record = ScopeRecord {
            name,
            generation: 1,
            authorship: Authorship::new(context.principal.name(), clock::now_ms(), request_id),
        };
        governed::create(&self.services, record).await
    }

    /// The scopes that the caller may read, a page at a time.
    pub async fn list_scopes(&self, context: &RequestContext, page: &PageRequest) -> Result<Page<ScopeRecord>, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::List, Securable::SecretScopes)
            .await?;
        governed::list(&self.services, context, "", page).await
    }

    /// Deletes a scope with all its secrets, one that others use only if the caller says so. Another life of the name than `uid`
    /// (empty: any) is missing.
    pub async fn delete_scope(
        &self,
        context: &RequestContext,
        name: &ScopeName,
        even_if_used: bool,
        uid: &str,
    ) -> Result<(), ServiceError> {
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Delete, Securable::SecretScope(name))
            .await?;
        let uid = allowed.life(uid).ok_or_else(|| governed::not_found::<ScopeRecord>(name.as_str()))?;
        let what = UsedThing::Scope(name.clone());
        match self.services.store.delete_if_unused(&what, &uid, even_if_used).await? {
            DeletedIfUnused::Deleted => {
                tracing::info!(scope = %name, by = context.principal.name(), "deleted secret scope");
                self.services.announce(&what).await;
                Ok(())
            }
            DeletedIfUnused::Missing => Err(governed::not_found::<ScopeRecord>(name.as_str())),
            DeletedIfUnused::InUse(users) => {
                let used = Used {
                    field: "name",
                    value: name.as_str(),
                    what: "secrets of the scope",
                };
                Err(users::in_use(&self.services, &context.principal, used, &users).await)
            }
        }
    }

    /// Keeps a value, in place of the one under that key if that is as expected. Pipelines that connect with it reconnect at their
    /// exact positions.
    pub async fn put(
        &self,
        context: &RequestContext,
        scope: ScopeName,
        key: SecretKey,
        value: SecretValue,
        condition: PutCondition,
    ) -> Result<SecretEntry, ServiceError> {
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Update, Securable::SecretScope(&scope))
            .await?;
        let scope_uid = allowed.life(&condition.scope_uid);
        let condition = PutCondition {
            scope_uid: scope_uid.ok_or_else(|| governed::another_life::<ScopeRecord>(scope.as_str()))?,
            ..condition
        };
        if let Some(violation) = validate::secret_value_bytes("value", value.expose().len()) {
            return Err(ServiceError::Invalid(vec![violation]));
        }
        let by = context.principal.name();
        let entry = self
            .services
            .vault
            .put_if(&ScopeId::Named(scope.clone()), &key, &value, by, &condition)
            .await?;
        tracing::info!(%scope, %key, revision = entry.revision, by, "put secret");
        self.services.announce(&UsedThing::Secret(scope, key)).await;
        Ok(entry)
    }

    /// Keys and revisions of a scope, a page at a time, and the scope's uid.
    pub async fn list(
        &self,
        context: &RequestContext,
        scope: &ScopeName,
        page: &PageRequest,
    ) -> Result<(Page<SecretEntry>, String), ServiceError> {
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Read, Securable::SecretScope(scope))
            .await?;
        let of = format!("secrets {scope}");
        let (limit, after) = (page.limit()?, page.after(&of)?);
        let id = ScopeId::Named(scope.clone());
        let mut items = self.services.vault.list(&id, after.as_deref(), limit + 1).await?;
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next_page_token = match items.last() {
            Some(last) if has_more => page::token(&of, last.key.as_str()),
            _ => String::new(),
        };
        // Looked at last: if it is the one that was judged, it was so all the time.
        let record: ScopeRecord = governed::get(&self.services, scope.as_str()).await?;
        let uid = allowed.life(&record.authorship.uid);
        let uid = uid.ok_or_else(|| governed::not_found::<ScopeRecord>(scope.as_str()))?;
        Ok((Page { items, next_page_token }, uid))
    }

    /// Deletes a secret, one that others use only if the caller says so. One in another life of the scope than `scope_uid` (empty:
    /// any) is missing.
    pub async fn delete(
        &self,
        context: &RequestContext,
        scope: ScopeName,
        key: SecretKey,
        even_if_used: bool,
        scope_uid: &str,
    ) -> Result<(), ServiceError> {
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Update, Securable::SecretScope(&scope))
            .await?;
        let name = format!("{scope}/{key}");
        let Some(scope_uid) = allowed.life(scope_uid) else {
            return Err(ServiceError::NotFound { kind: Kind::Secret, name });
        };
        let what = UsedThing::Secret(scope, key);
        match self.services.store.delete_if_unused(&what, &scope_uid, even_if_used).await? {
            DeletedIfUnused::Deleted => {
                tracing::info!(secret = name, by = context.principal.name(), "deleted secret");
                self.services.announce(&what).await;
                Ok(())
            }
            DeletedIfUnused::Missing => Err(ServiceError::NotFound { kind: Kind::Secret, name }),
            DeletedIfUnused::InUse(users) => {
                let used = Used {
                    field: "key",
                    value: &name,
                    what: "the secret",
                };
                Err(users::in_use(&self.services, &context.principal, used, &users).await)
            }
        }
    }
}
