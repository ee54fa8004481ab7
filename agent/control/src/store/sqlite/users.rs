//! Statements on who uses what. Each function is the work of one transaction.

use async_trait::async_trait;
use rusqlite::Transaction;
use stream_spec::volume::folder_of;

use super::{DOCUMENT_POINTS, SqliteStore, WorkError, documents, secrets};
use crate::governance::named;
use crate::governance::secrets::ScopeId;
use crate::store::documents::{CredentialRecord, DocumentKind, Owned, ScopeRecord, VolumeRecord};
use crate::store::records::{ConnectionRecord, DeclaredStream, Presence};
use crate::store::users::{DeletedIfUnused, UsedThing, UserStore, Users};
use crate::store::{StoreError, payload};

#[async_trait]
impl UserStore for SqliteStore {
    async fn users(&self, of: &UsedThing) -> Result<Users, StoreError> {
        let of = of.clone();
        self.run("list users", move |transaction| users(transaction, &of)).await
    }

    async fn delete_if_unused(&self, what: &UsedThing, uid: &str, even_if_used: bool) -> Result<DeletedIfUnused, StoreError> {
        let (what, uid) = (what.clone(), uid.to_owned());
        self.change("delete what may be used", DOCUMENT_POINTS, move |transaction| {
            delete(transaction, &what, &uid, even_if_used)
        })
        .await
    }
}

fn users(transaction: &Transaction<'_>, of: &UsedThing) -> Result<Users, WorkError> {
    let mut users = Users::default();
    // A payload that names it holds its name: the others need not be read.
    let name = match of {
        UsedThing::Scope(scope) | UsedThing::Secret(scope, _) => scope.to_string(),
        UsedThing::Credential(name) => name.to_string(),
        UsedThing::Volume(name) => folder_of(name),
    };
    let rows = |statement: &str| -> Result<Vec<(String, String)>, WorkError> {
        let mut prepared = transaction.prepare(statement)?;
        let rows = prepared.query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    };
    for (name, text) in rows("SELECT name, payload FROM connections WHERE instr(payload, ?1) > 0 ORDER BY name")? {
        let record: ConnectionRecord = payload::decode("connection", &name, &text)?;
        let is_user = match of {
            UsedThing::Credential(wanted) => named::credential(&record.spec).as_deref() == Some(wanted.as_str()),
            UsedThing::Scope(_) | UsedThing::Secret(..) => {
                named::connection_secrets(&record.spec).iter().any(|secret| of.has_secret(secret))
            }
            UsedThing::Volume(_) => false,
        };
        if is_user {
            users.connections.push(record.spec.name);
        }
    }
    for (name, text) in rows("SELECT name, declared FROM streams WHERE instr(declared, ?1) > 0 ORDER BY name")? {
        let declared: DeclaredStream = payload::decode("stream", &name, &text)?;
        let has_secret = named::stream_secrets(&declared.spec)
            .into_iter()
            .any(|secret| of.has_secret(secret));
        let is_user = has_secret || named::volumes(&declared.spec).iter().any(|volume| of.is_volume(volume));
        if is_user && declared.presence == Presence::Present {
            users.streams.push(declared.spec.name);
        }
    }
    Ok(users)
}

fn delete(transaction: &Transaction<'_>, what: &UsedThing, uid: &str, even_if_used: bool) -> Result<DeletedIfUnused, WorkError> {
    let is_there = match what {
        UsedThing::Scope(name) => lives::<ScopeRecord>(transaction, name.as_str(), uid)?,
        UsedThing::Credential(name) => lives::<CredentialRecord>(transaction, name.as_str(), uid)?,
        UsedThing::Volume(name) => lives::<VolumeRecord>(transaction, name.as_str(), uid)?,
        UsedThing::Secret(scope, key) => {
            lives::<ScopeRecord>(transaction, scope.as_str(), uid)? && secrets::exists(transaction, &ScopeId::Named(scope.clone()), key)?
        }
    };
    if !is_there {
        return Ok(DeletedIfUnused::Missing);
    }
    if !even_if_used {
        let users = users(transaction, what)?;
        if !users.is_empty() {
            return Ok(DeletedIfUnused::InUse(users));
        }
    }
    match what {
        UsedThing::Scope(name) => {
            secrets::forget(transaction, &ScopeId::Named(name.clone()))?;
            documents::remove(transaction, DocumentKind::Scope, name.as_str())?;
        }
        UsedThing::Credential(name) => documents::remove(transaction, DocumentKind::Credential, name.as_str())?,
        UsedThing::Volume(name) => documents::remove(transaction, DocumentKind::Volume, name.as_str())?,
        UsedThing::Secret(scope, key) => {
            secrets::delete(transaction, &ScopeId::Named(scope.clone()), key)?;
        }
    }
    Ok(DeletedIfUnused::Deleted)
}

/// Whether that life of the name is there; empty: any.
fn lives<T: Owned>(transaction: &Transaction<'_>, name: &str, uid: &str) -> Result<bool, WorkError> {
    let life = documents::life::<T>(transaction, name)?;
    Ok(life.is_some_and(|life| uid.is_empty() || life == uid))
}
