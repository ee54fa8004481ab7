//! What the services of scopes, credentials and volumes share: creating, listing and changing documents that have an owner.
//! Callers have authorized. The invariant: a list tells of nothing that the caller may not read, and a page is full unless
//! it is the last one.

use super::Services;
use super::error::{Kind, ServiceError};
use super::filling::Filling;
use super::page::{Page, PageRequest};
use crate::clock;
use crate::governance::privilege::SecurableType;
use crate::governance::{Listed, RequestContext, SecurableKind};
use crate::limits::WRITE_ATTEMPTS_MAX;
use crate::store::Replaced;
use crate::store::documents::{self, CredentialRecord, Owned, ScopeRecord, VolumeRecord};

/// A kind of document in the words of the services.
pub(super) trait Governed: Owned {
    const NAMED: Kind;
    const SECURABLE: SecurableType;
    const LISTED: SecurableKind;
}

macro_rules! governed {
    ($($record:ident: $kind:ident, $securable:ident, $listed:ident;)*) => {
        $(impl Governed for $record {
            const NAMED: Kind = Kind::$kind;
            const SECURABLE: SecurableType = SecurableType::$securable;
            const LISTED: SecurableKind = SecurableKind::$listed;
        })*
    };
}

governed! {
    ScopeRecord: Scope, SecretScope, SecretScope;
    CredentialRecord: Credential, ServiceCredential, Credential;
    VolumeRecord: Volume, Volume, Volume;
}

/// A change that was planned on something.
pub(super) struct Planned<'a> {
    pub(super) name: &'a str,
    /// 0: any.
    pub(super) generation: u64,
    /// Empty: any.
    pub(super) uid: &'a str,
}

/// Keeps a new record. A repeat under the same request id is answered as the first was.
pub(super) async fn create<T: Governed>(services: &Services, record: T) -> Result<T, ServiceError> {
    let (name, request_id) = (record.name(), &record.authorship().create_request_id);
    if documents::insert(&services.store, &record).await? {
        tracing::info!(kind = %T::NAMED, name, by = record.authorship().created_by, "created");
        return Ok(record);
    }
    match documents::get::<T>(&services.store, &name).await? {
        Some(existing) if !request_id.is_empty() && existing.authorship().create_request_id == *request_id => Ok(existing),
        _ => Err(ServiceError::AlreadyExists {
            kind: T::NAMED,
            name,
            hint: "; choose another name, or import the one that is there",
        }),
    }
}

/// The record of that name.
pub(super) async fn get<T: Governed>(services: &Services, name: &str) -> Result<T, ServiceError> {
    documents::get(&services.store, name).await?.ok_or_else(|| not_found::<T>(name))
}

/// A page of the records whose names begin with `prefix` and which the caller may read.
pub(super) async fn list<T: Governed>(
    services: &Services,
    context: &RequestContext,
    prefix: &str,
    request: &PageRequest,
) -> Result<Page<T>, ServiceError> {
    let of = format!("{} {prefix}", T::KIND.name());
    let mut filling = Filling::begin(of, request)?;
    while let Some((after, limit)) = filling.next()? {
        let found: Vec<T> = documents::list(&services.store, prefix, after, limit).await?;
        let names: Vec<String> = found.iter().map(T::name).collect();
        let listed: Vec<Listed<'_>> = found
            .iter()
            .zip(&names)
            .map(|(record, name)| Listed {
                securable_type: T::SECURABLE,
                name,
                owner: Some(&record.authorship().created_by),
            })
            .collect();
        let readable = services.authorizer.readable(&context.principal, T::LISTED, &listed).await?;
        filling.take(found, &readable, T::name);
    }
    Ok(filling.page())
}

/// Changes a record by `change`, which gives nothing if there is nothing to change.
pub(super) async fn update<T: Governed>(
    services: &Services,
    context: &RequestContext,
    planned: Planned<'_>,
    change: impl Fn(&T) -> Option<T>,
) -> Result<T, ServiceError> {
    let mut found = 0;
    for _ in 0..WRITE_ATTEMPTS_MAX {
        let record: T = get(services, planned.name).await?;
        found = record.generation();
        if !planned.uid.is_empty() && planned.uid != record.authorship().uid {
            return Err(another_life::<T>(planned.name));
        }
        if planned.generation != 0 && planned.generation != found {
            break;
        }
        let Some(changed) = change(&record) else { return Ok(record) };
        let by = context.principal.name();
        let changed = changed.changed(by, clock::now_ms());
        match documents::replace(&services.store, found, &changed).await? {
            Replaced::Done => {
                tracing::info!(kind = %T::NAMED, name = planned.name, generation = changed.generation(), by, "changed");
                return Ok(changed);
            }
            Replaced::Missing => return Err(not_found::<T>(planned.name)),
            Replaced::Conflict => {}
        }
    }
    Err(ServiceError::Conflict {
        kind: T::NAMED,
        name: planned.name.to_owned(),
        what: "generation",
        found,
        wanted: planned.generation,
    })
}

pub(super) fn another_life<T: Governed>(name: &str) -> ServiceError {
    ServiceError::AnotherLife {
        kind: T::NAMED,
        name: name.to_owned(),
    }
}

pub(super) fn not_found<T: Governed>(name: &str) -> ServiceError {
    ServiceError::NotFound {
        kind: T::NAMED,
        name: name.to_owned(),
    }
}
