//! Who uses something, as far as a caller may know it. The invariant: a name is told to who may read what has it, and to others
//! that there is one more.

use std::fmt::Display;

use stream_spec::name::{ConnectionName, StreamName};

use super::Services;
use super::error::ServiceError;
use crate::governance::privilege::SecurableType;
use crate::governance::{Listed, Principal, SecurableKind};
use crate::limits::{NAMES_IN_A_MESSAGE_MAX, USERS_LOOKED_AT_MAX};
use crate::store::users::Users;

/// The users of one kind that were looked at.
#[derive(Debug, Default)]
pub(super) struct Known<T> {
    /// Those that the caller may read.
    pub(super) readable: Vec<T>,
    /// How many others there are.
    pub(super) others: usize,
}

/// Something that cannot be deleted, in the words of its refusal.
pub(super) struct Used<'a> {
    /// Where the request names it.
    pub(super) field: &'static str,
    /// Its name.
    pub(super) value: &'a str,
    /// As in "streams use …".
    pub(super) what: &'static str,
}

/// The refusal to delete something that others use.
pub(super) async fn in_use(services: &Services, caller: &Principal, used: Used<'_>, users: &Users) -> ServiceError {
    let known = async {
        Ok((
            connections(services, caller, &users.connections).await?,
            streams(services, caller, &users.streams).await?,
        ))
    };
    let (connections, streams) = match known.await {
        Ok(known) => known,
        Err(error) => return error,
    };
    let told = [told("connections", &connections, used.what), told("streams", &streams, used.what)];
    let problem = told.into_iter().flatten().collect::<Vec<_>>().join("; ");
    ServiceError::precondition(
        used.field,
        used.value,
        problem,
        "change or delete them first, or force the deletion",
    )
}

/// Which of these streams a caller may read.
pub(super) async fn streams(services: &Services, caller: &Principal, names: &[StreamName]) -> Result<Known<StreamName>, ServiceError> {
    let mut records = Vec::new();
    for name in names.iter().take(USERS_LOOKED_AT_MAX) {
        // One that has gone meanwhile uses nothing.
        records.extend(services.store.stream_by_name(name).await?);
    }
    let listed: Vec<Listed<'_>> = records
        .iter()
        .map(|record| Listed {
            securable_type: SecurableType::Table,
            name: record.declared.spec.ingestion.destination.as_str(),
            owner: Some(&record.declared.created_by),
        })
        .collect();
    let readable = services.authorizer.readable(caller, SecurableKind::Stream, &listed).await?;
    let names = records.iter().map(|record| record.declared.spec.name.clone());
    Ok(known(names, &readable))
}

async fn connections(services: &Services, caller: &Principal, names: &[ConnectionName]) -> Result<Known<ConnectionName>, ServiceError> {
    let names = names.get(..USERS_LOOKED_AT_MAX).unwrap_or(names);
    let listed: Vec<Listed<'_>> = names
        .iter()
        .map(|name| Listed {
            securable_type: SecurableType::Connection,
            name: name.as_str(),
            owner: None,
        })
        .collect();
    let readable = services.authorizer.readable(caller, SecurableKind::Connection, &listed).await?;
    Ok(known(names.iter().cloned(), &readable))
}

fn known<T>(names: impl Iterator<Item = T>, readable: &[bool]) -> Known<T> {
    let mut known = Known {
        readable: Vec::new(),
        others: 0,
    };
    for (name, is_readable) in names.zip(readable) {
        match is_readable {
            true => known.readable.push(name),
            false => known.others += 1,
        }
    }
    known
}

fn told(kind: &str, known: &Known<impl Display>, what: &str) -> Option<String> {
    let names = known.readable.iter().take(NAMES_IN_A_MESSAGE_MAX).map(|name| format!("`{name}`"));
    let names = names.collect::<Vec<_>>().join(", ");
    match (known.readable.is_empty(), known.others) {
        (true, 0) => None,
        (true, others) => Some(format!("{kind} that you may not see use {what}: {others}")),
        (false, 0) => Some(format!("{kind} use {what}, among them {names}")),
        (false, others) => Some(format!(
            "{kind} use {what}, among them {names}, and {others} more that you may not see"
        )),
    }
}
