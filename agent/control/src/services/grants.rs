//! The calls on grants: the whole set of one securable at a time. Grants are set on what exists; catalogs, schemas and tables
//! need no creation by the agent. The invariant: whoever may set grants on something may manage it, and a set replaces what its
//! caller saw, on the life of the name that it saw.

use std::sync::Arc;

use stream_spec::validate;

use super::Services;
use super::error::{Kind, ServiceError};
use super::filling::Filling;
use super::page::{Page, PageRequest};
use crate::clock;
use crate::governance::privilege::SecurableType;
use crate::governance::{Action, Listed, RequestContext, Securable, SecurableKind};
use crate::limits::WRITE_ATTEMPTS_MAX;
use crate::store::WrittenGrants;
use crate::store::documents::{self, GrantsRecord};

/// Grants as a caller wants them.
#[derive(Clone, Debug)]
pub struct WantedGrants {
    /// What kind of thing they are on.
    pub securable_type: SecurableType,
    /// Its name.
    pub securable_name: String,
    /// Principals with the names of their privileges: the whole set.
    pub grants: Vec<(String, Vec<String>)>,
    /// Generation that the change was planned on; 0: none were ever set, `None`: any.
    pub generation: Option<u64>,
    /// Life of the name that is meant; empty: any.
    pub securable_uid: String,
}

/// The grants on something, and on which life of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantsOn {
    /// What is granted.
    pub record: GrantsRecord,
    /// Uid of what it is granted on; for a table, of its stream. Empty where lives cannot be told apart.
    pub securable_uid: String,
}

/// The calls on grants.
#[derive(Clone)]
pub struct GrantService {
    services: Arc<Services>,
}

impl GrantService {
    /// The service over what services share.
    pub fn new(services: Arc<Services>) -> Self {
        Self { services }
    }

    /// The grants on something. Generation 0: none were ever set.
    pub async fn get(&self, context: &RequestContext, securable_type: SecurableType, name: &str) -> Result<GrantsOn, ServiceError> {
        validate::grants(securable_type, name, []).map_err(ServiceError::Invalid)?;
        let securable = Securable::Grants(securable_type, name);
        let allowed = self.services.authorizer.authorize(context, Action::Read, securable).await?;
        self.find(securable_type, name, &allowed.life("").unwrap_or_default()).await
    }

    /// Grants on everything that the caller may manage, a page at a time.
    pub async fn list(
        &self,
        context: &RequestContext,
        securable_type: Option<SecurableType>,
        page: &PageRequest,
    ) -> Result<Page<GrantsOn>, ServiceError> {
        let (store, authorizer) = (&self.services.store, &self.services.authorizer);
        authorizer.authorize(context, Action::List, Securable::AllGrants).await?;
        let prefix = securable_type
            .map(|securable_type| GrantsRecord::document_name(securable_type, ""))
            .unwrap_or_default();
        let mut filling = Filling::begin(format!("grants {prefix}"), page)?;
        while let Some((after, count)) = filling.next()? {
            let read = documents::list::<GrantsRecord>(store, &prefix, after, count).await?;
            let listed: Vec<_> = read.iter().map(listed).collect();
            let mut visible = authorizer.readable(&context.principal, SecurableKind::Grants, &listed).await?;
            // What was taken back leaves its generation, so that a later set does not count from the start again.
            for (visible, record) in visible.iter_mut().zip(&read) {
                *visible &= !record.grants.is_empty();
            }
            filling.take(read, &visible, documents::Document::name);
        }
        let page = filling.page();
        let mut items = Vec::with_capacity(page.items.len());
        for record in page.items {
            let life = store.life(record.securable_type, &record.securable_name).await?;
            items.push(GrantsOn {
                record,
                securable_uid: life.unwrap_or_default(),
            });
        }
        Ok(Page {
            items,
            next_page_token: page.next_page_token,
        })
    }

    /// Sets the grants on something; none takes all of them back. Pipelines whose run-as identity gains or loses by it hear of it.
    pub async fn set(&self, context: &RequestContext, wanted: WantedGrants) -> Result<GrantsOn, ServiceError> {
        let (securable_type, name) = (wanted.securable_type, wanted.securable_name.as_str());
        let texts = wanted.grants.iter();
        let texts = texts.map(|(principal, privileges)| (principal.as_str(), privileges.iter().map(String::as_str).collect()));
        let grants = validate::grants(securable_type, name, texts).map_err(ServiceError::Invalid)?;
        let securable = Securable::Grants(securable_type, name);
        let allowed = self.services.authorizer.authorize(context, Action::Grant, securable).await?;
        let meant = allowed.life(&wanted.securable_uid);
        let meant = meant.ok_or_else(|| another_life(securable_type, name))?;
        let mut found = 0;
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let now = self.find(securable_type, name, &meant).await?;
            found = now.record.generation;
            // Planned on this generation, or on the one before by a call whose answer was lost.
            let as_planned = |planned: u64| planned == found || planned.checked_add(1) == Some(found);
            if now.record.grants == grants && wanted.generation.is_none_or(as_planned) {
                return Ok(now);
            }
            if wanted.generation.is_some_and(|planned| planned != found) {
                break;
            }
            let record = GrantsRecord {
                grants: grants.clone(),
                update_time_ms: clock::now_ms(),
                updated_by: context.principal.name().to_owned(),
                ..now.record
            };
            match self.services.store.set_grants(Some(found), &meant, &record).await? {
                WrittenGrants::Written(written) => {
                    tracing::info!(%securable_type, securable_name = name, by = context.principal.name(), "set grants");
                    self.services.announce_all();
                    return Ok(GrantsOn {
                        record: *written,
                        securable_uid: now.securable_uid,
                    });
                }
                WrittenGrants::SecurableMissing => return Err(not_found(securable_type, name)),
                WrittenGrants::AnotherLife => return Err(another_life(securable_type, name)),
                WrittenGrants::Conflict { .. } => {}
            }
        }
        Err(ServiceError::Conflict {
            kind: Kind::Grants,
            name: format!("{securable_type} {name}"),
            what: "generation",
            found,
            wanted: wanted.generation.unwrap_or_default(),
        })
    }

    /// The grants on something that exists, if it is the life that is meant (empty: any).
    async fn find(&self, securable_type: SecurableType, name: &str, meant: &str) -> Result<GrantsOn, ServiceError> {
        let store = &self.services.store;
        let found = documents::get::<GrantsRecord>(store, &GrantsRecord::document_name(securable_type, name)).await?;
        // After the grants, which go with it: those of a later life are never taken for those of the one that is meant.
        let life = store.life(securable_type, name).await?;
        let securable_uid = life.ok_or_else(|| not_found(securable_type, name))?;
        if !meant.is_empty() && meant != securable_uid {
            return Err(another_life(securable_type, name));
        }
        let record = found.unwrap_or_else(|| GrantsRecord {
            securable_type,
            securable_name: name.to_owned(),
            generation: 0,
            grants: Default::default(),
            update_time_ms: 0,
            updated_by: String::new(),
        });
        Ok(GrantsOn { record, securable_uid })
    }
}

fn listed(record: &GrantsRecord) -> Listed<'_> {
    Listed {
        securable_type: record.securable_type,
        name: &record.securable_name,
        owner: None,
    }
}

fn another_life(securable_type: SecurableType, name: &str) -> ServiceError {
    ServiceError::AnotherLife {
        kind: Kind::Grants,
        name: format!("{securable_type} {name}"),
    }
}

fn not_found(securable_type: SecurableType, name: &str) -> ServiceError {
    let kind = match securable_type {
        SecurableType::Connection => Kind::Connection,
        SecurableType::ServiceCredential => Kind::Credential,
        SecurableType::SecretScope => Kind::Scope,
        SecurableType::Volume => Kind::Volume,
        SecurableType::Catalog | SecurableType::Schema | SecurableType::Table => Kind::Grants,
    };
    ServiceError::NotFound {
        kind,
        name: name.to_owned(),
    }
}
