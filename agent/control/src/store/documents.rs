//! Governance's records: each is one document under its kind and name, with a generation that guards writes against one another.
//!
//! The store keeps them without knowing what they say; the types are here. What must be found by something else than its
//! name (secrets, tokens, audit events) has tables of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stream_spec::name::{CredentialName, ScopeName, StreamName, VolumeName};
use uuid::Uuid;

use super::{Replaced, Store, StoreError, payload};
use crate::governance::privilege::{Privilege, SecurableType};

/// Kinds of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// A secret scope.
    Scope,
    /// A service credential.
    Credential,
    /// A volume.
    Volume,
    /// The grants on one securable.
    Grants,
    /// What was last seen of a principal.
    Principal,
    /// What is left of a stream that is gone.
    FormerStream,
}

impl DocumentKind {
    /// As it is stored and shown in errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scope => "secret scope",
            Self::Credential => "service credential",
            Self::Volume => "volume",
            Self::Grants => "grants",
            Self::Principal => "principal",
            Self::FormerStream => "former stream",
        }
    }
}

impl DocumentKind {
    /// What privileges on such a thing are granted on. Its grants go with it.
    pub fn securable_type(self) -> Option<SecurableType> {
        match self {
            Self::Scope => Some(SecurableType::SecretScope),
            Self::Credential => Some(SecurableType::ServiceCredential),
            Self::Volume => Some(SecurableType::Volume),
            Self::Grants | Self::Principal | Self::FormerStream => None,
        }
    }
}

/// A document as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDocument {
    /// Its name within its kind.
    pub name: String,
    /// Counts changes, from 1.
    pub generation: u64,
    /// `payload::encode` of the record.
    pub payload: String,
}

/// A record that is kept as a document.
pub trait Document: Serialize + DeserializeOwned + Send + Sync {
    /// Its kind.
    const KIND: DocumentKind;
    /// Its name within its kind.
    fn name(&self) -> String;
    /// Counts changes, from 1.
    fn generation(&self) -> u64;
}

/// A document that has an owner and a life of its own.
pub trait Owned: Document + Clone {
    /// Its life and authorship.
    fn authorship(&self) -> &Authorship;
    /// The same, changed by somebody.
    fn changed(self, by: &str, now_ms: i64) -> Self;
}

/// Life and authorship of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authorship {
    /// Names one life of the name.
    pub uid: String,
    /// Milliseconds since 1970.
    pub create_time_ms: i64,
    /// Who created it, and owns it.
    pub created_by: String,
    /// Milliseconds since 1970.
    pub update_time_ms: i64,
    /// Who changed it last.
    pub updated_by: String,
    /// Request id of the create; a repeat under the same id is answered as the first was.
    pub create_request_id: String,
}

/// A secret scope. Its secrets, and the key that they are sealed under, are not documents (`store::secrets`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeRecord {
    /// Letters, digits, `_`, `-`, `.`, `@`.
    pub name: ScopeName,
    /// Counts changes, from 1.
    pub generation: u64,
    /// Life and authorship.
    pub authorship: Authorship,
}

/// A service credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialRecord {
    /// Letters, digits, `_`, `-`.
    pub name: CredentialName,
    /// Counts changes, from 1.
    pub generation: u64,
    /// Life and authorship.
    pub authorship: Authorship,
    /// Who it is to AWS.
    pub identity: CredentialIdentity,
}

/// Who a service credential is to AWS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialIdentity {
    /// A role to assume.
    AwsIamRole {
        /// `arn:aws:iam::<account>:role/<name>`.
        role_arn: String,
        /// What the role's trust policy asks for.
        external_id: Option<String>,
    },
    /// The AWS credentials of the agent's own environment.
    Ambient,
}

/// A volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeRecord {
    /// `catalog.schema.volume`.
    pub name: VolumeName,
    /// Counts changes, from 1.
    pub generation: u64,
    /// Life and authorship.
    pub authorship: Authorship,
    /// Folder or object store URL.
    pub storage_location: String,
}

/// Everything that is granted on one securable. None of it says whether the securable exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantsRecord {
    /// What kind of thing.
    pub securable_type: SecurableType,
    /// Its name.
    pub securable_name: String,
    /// Counts changes, from 1.
    pub generation: u64,
    /// Who may do what.
    pub grants: BTreeMap<String, BTreeSet<Privilege>>,
    /// Milliseconds since 1970.
    pub update_time_ms: i64,
    /// Who changed it last.
    pub updated_by: String,
}

/// What was last seen of a principal: the groups that a stream's run-as identity is in while nobody is logged in as it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrincipalRecord {
    /// The principal.
    pub name: String,
    /// Counts changes, from 1.
    pub generation: u64,
    /// Groups that its newest token of an identity provider named.
    pub groups: BTreeSet<String>,
    /// The issuer of that token.
    #[serde(default)]
    pub issuer: String,
    /// When that token was issued, in milliseconds since 1970.
    #[serde(default)]
    pub issue_time_ms: i64,
    /// Milliseconds since 1970.
    pub update_time_ms: i64,
}

/// What is left of a stream that is gone, until another one takes its name: who may be told that it is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerStreamRecord {
    /// Its name.
    pub name: StreamName,
    /// Always 1: it is written once.
    pub generation: u64,
    /// Its owner, and whoever could read or manage its table by a grant on the table itself.
    pub readers: BTreeSet<String>,
    /// Milliseconds since 1970.
    pub delete_time_ms: i64,
}

impl GrantsRecord {
    /// The document's name of the grants on something: type and name, in order of types.
    pub fn document_name(securable_type: SecurableType, securable_name: &str) -> String {
        format!("{securable_type}/{securable_name}")
    }
}

macro_rules! documents {
    ($($record:ident: $kind:ident, $name:expr;)*) => {
        $(impl Document for $record {
            const KIND: DocumentKind = DocumentKind::$kind;
            fn name(&self) -> String {
                let name: fn(&Self) -> String = $name;
                name(self)
            }
            fn generation(&self) -> u64 {
                self.generation
            }
        })*
    };
}

documents! {
    ScopeRecord: Scope, |record| record.name.to_string();
    CredentialRecord: Credential, |record| record.name.to_string();
    VolumeRecord: Volume, |record| record.name.to_string();
    GrantsRecord: Grants, |record| Self::document_name(record.securable_type, &record.securable_name);
    PrincipalRecord: Principal, |record| record.name.clone();
    FormerStreamRecord: FormerStream, |record| record.name.to_string();
}

macro_rules! owned {
    ($($record:ident),*) => {
        $(impl Owned for $record {
            fn authorship(&self) -> &Authorship {
                &self.authorship
            }
            fn changed(self, by: &str, now_ms: i64) -> Self {
                let authorship = Authorship {
                    update_time_ms: now_ms,
                    updated_by: by.to_owned(),
                    ..self.authorship
                };
                Self { generation: self.generation + 1, authorship, ..self }
            }
        })*
    };
}

owned!(ScopeRecord, CredentialRecord, VolumeRecord);

impl Authorship {
    /// Of a record that is made now.
    pub fn new(by: &str, now_ms: i64, request_id: &str) -> Self {
        Self {
            uid: Uuid::now_v7().to_string(),
            create_time_ms: now_ms,
            created_by: by.to_owned(),
            update_time_ms: now_ms,
            updated_by: by.to_owned(),
            create_request_id: request_id.to_owned(),
        }
    }
}

/// Inserts a record; false if its name is taken.
pub async fn insert<T: Document>(store: &Arc<dyn Store>, record: &T) -> Result<bool, StoreError> {
    store.insert_document(T::KIND, &stored(record)?).await
}

/// The record of that name.
pub async fn get<T: Document>(store: &Arc<dyn Store>, name: &str) -> Result<Option<T>, StoreError> {
    let found = store.document(T::KIND, name).await?;
    found.map(|found| read(&found)).transpose()
}

/// The records of these names that there are, in order of their names.
pub async fn named<T: Document>(store: &Arc<dyn Store>, names: &[String]) -> Result<Vec<T>, StoreError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let found = store.documents_named(T::KIND, names).await?;
    found.iter().map(read).collect()
}

/// Records whose names begin with `prefix`, in order of their names, those after `after` first, at most `limit`.
pub async fn list<T: Document>(store: &Arc<dyn Store>, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<T>, StoreError> {
    let found = store.list_documents(T::KIND, prefix, after, limit).await?;
    found.iter().map(read).collect()
}

/// Replaces a record if it is still at `generation`.
pub async fn replace<T: Document>(store: &Arc<dyn Store>, generation: u64, record: &T) -> Result<Replaced, StoreError> {
    store.replace_document(T::KIND, generation, &stored(record)?).await
}

/// Deletes a record if it is still at `generation`.
pub async fn delete<T: Document>(store: &Arc<dyn Store>, generation: u64, name: &str) -> Result<Replaced, StoreError> {
    store.delete_document(T::KIND, generation, name).await
}

fn stored<T: Document>(record: &T) -> Result<StoredDocument, StoreError> {
    let name = record.name();
    Ok(StoredDocument {
        payload: payload::encode(T::KIND.name(), &name, record)?,
        generation: record.generation(),
        name,
    })
}

fn read<T: Document>(found: &StoredDocument) -> Result<T, StoreError> {
    payload::decode(T::KIND.name(), &found.name, &found.payload)
}
