//! Statements on grants, and on what is left of streams that are gone. Each function is the work of one transaction or a
//! part of it. The invariant: grants go with what they were granted on, so that another life of the name begins without any.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, Transaction, params};
use stream_spec::name::StreamName;

use super::{WorkError, connections, documents};
use crate::clock;
use crate::governance::privilege::{Privilege, SecurableType};
use crate::limits::FORMER_STREAMS_MAX;
use crate::store::documents::{
    CredentialRecord, Document, DocumentKind, FormerStreamRecord, GrantsRecord, ScopeRecord, StoredDocument, VolumeRecord,
};
use crate::store::records::StreamRecord;
use crate::store::{WrittenGrants, payload};

const KIND: DocumentKind = DocumentKind::Grants;

/// Writes the grants on the life that is meant of something (empty: on any), if they are still at `planned` (0: none were ever
/// set; `None`: whatever they are at).
pub(super) fn set(
    transaction: &Transaction<'_>,
    planned: Option<u64>,
    meant: &str,
    record: &GrantsRecord,
) -> Result<WrittenGrants, WorkError> {
    match life(transaction, record.securable_type, &record.securable_name)? {
        None => return Ok(WrittenGrants::SecurableMissing),
        Some(life) if !meant.is_empty() && meant != life => return Ok(WrittenGrants::AnotherLife),
        Some(_) => {}
    }
    let found = documents::by_name(transaction, KIND, &record.name())?.map_or(0, |found| found.generation);
    if planned.is_some_and(|planned| planned != found) {
        return Ok(WrittenGrants::Conflict { found });
    }
    let written = GrantsRecord {
        generation: found + 1,
        ..record.clone()
    };
    let document = stored(&written)?;
    let _: bool = documents::insert(transaction, KIND, &document)?;
    documents::replace(transaction, KIND, found, &document)?;
    Ok(WrittenGrants::Written(Box::new(written)))
}

/// Removes all grants on something.
pub(super) fn forget(transaction: &Transaction<'_>, securable_type: SecurableType, name: &str) -> Result<(), WorkError> {
    remove(transaction, KIND, &GrantsRecord::document_name(securable_type, name))
}

/// Notes who may be told that a stream is gone, and removes the grants on its table.
pub(super) fn leave_former_stream(transaction: &Transaction<'_>, record: &StreamRecord) -> Result<(), WorkError> {
    let spec = &record.declared.spec;
    let table = spec.ingestion.destination.as_str();
    let mut readers = BTreeSet::from([record.declared.created_by.clone()]);
    let granted = documents::by_name(transaction, KIND, &GrantsRecord::document_name(SecurableType::Table, table))?;
    if let Some(granted) = granted {
        let granted: GrantsRecord = payload::decode(KIND.name(), &granted.name, &granted.payload)?;
        let reads = |privileges: &BTreeSet<Privilege>| privileges.contains(&Privilege::Select) || privileges.contains(&Privilege::Manage);
        readers.extend(
            granted
                .grants
                .into_iter()
                .filter(|(_, held)| reads(held))
                .map(|(grantee, _)| grantee),
        );
    }
    let former = FormerStreamRecord {
        name: spec.name.clone(),
        generation: 1,
        readers,
        delete_time_ms: clock::now_ms(),
    };
    let kind = DocumentKind::FormerStream;
    remove(transaction, kind, spec.name.as_str())?;
    documents::insert(transaction, kind, &stored(&former)?)?;
    let bound = i64::try_from(FORMER_STREAMS_MAX).unwrap_or(i64::MAX);
    transaction.execute(
        "DELETE FROM documents WHERE kind = ?1 AND name IN (SELECT name FROM documents WHERE kind = ?1
         ORDER BY json_extract(payload, '$.value.delete_time_ms') DESC, name LIMIT -1 OFFSET ?2)",
        params![kind.name(), bound],
    )?;
    forget(transaction, SecurableType::Table, table)
}

/// Another stream has the name now.
pub(super) fn forget_former_stream(transaction: &Transaction<'_>, name: &StreamName) -> Result<(), WorkError> {
    remove(transaction, DocumentKind::FormerStream, name.as_str())
}

/// The life that has a name; empty where lives cannot be told apart. Catalogs, schemas and tables need no creation by the agent:
/// a table may be another writer's.
pub(super) fn life(transaction: &Transaction<'_>, securable_type: SecurableType, name: &str) -> Result<Option<String>, WorkError> {
    match securable_type {
        SecurableType::Catalog | SecurableType::Schema => Ok(Some(String::new())),
        SecurableType::Table => {
            let found = transaction
                .prepare("SELECT uid FROM streams WHERE table_name = ?1")?
                .query_row([name], |row| row.get(0))
                .optional()?;
            Ok(Some(found.unwrap_or_default()))
        }
        SecurableType::Connection => Ok(connections::by_name(transaction, name)?.map(|record| record.uid)),
        SecurableType::ServiceCredential => documents::life::<CredentialRecord>(transaction, name),
        SecurableType::SecretScope => documents::life::<ScopeRecord>(transaction, name),
        SecurableType::Volume => documents::life::<VolumeRecord>(transaction, name),
    }
}

fn remove(transaction: &Transaction<'_>, kind: DocumentKind, name: &str) -> Result<(), WorkError> {
    transaction.execute("DELETE FROM documents WHERE kind = ?1 AND name = ?2", params![kind.name(), name])?;
    Ok(())
}

fn stored<T: Document>(record: &T) -> Result<StoredDocument, WorkError> {
    let name = record.name();
    Ok(StoredDocument {
        payload: payload::encode(T::KIND.name(), &name, record)?,
        generation: record.generation(),
        name,
    })
}
