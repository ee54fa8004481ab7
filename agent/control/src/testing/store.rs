//! A store whose writes by the reconciler are effects that can be made to fail. Everything else goes through.

use std::sync::Arc;

use async_trait::async_trait;
use stream_spec::name::{ConnectionName, SecretKey, StreamName, TableName};

use super::effects::{Effects, MadeToFail};
use crate::audit::AuditEvent;
use crate::governance::privilege::SecurableType;
use crate::governance::secrets::ScopeId;
use crate::store::audit::{AuditOutbox, AuditStore, StoredAuditEvent};
use crate::store::documents::{DocumentKind, GrantsRecord, StoredDocument};
use crate::store::records::{ConnectionRecord, DeclaredStream, ObservedStream, StreamRecord};
use crate::store::secrets::{ScopeKey, SealedSecret, SecretEntry, SecretStore, SecretsWrite, SecretsWritten};
use crate::store::sqlite::SqliteStore;
use crate::store::tokens::{InsertedToken, TokenRecord, TokenStore};
use crate::store::users::{DeletedIfUnused, UsedThing, UserStore, Users};
use crate::store::{DeletedConnection, InsertedStream, LiteralSecrets, Parent, Replaced, Store, StoreError, WrittenGrants};

pub(crate) struct FaultyStore {
    pub(crate) inner: SqliteStore,
    pub(crate) effects: Arc<Effects>,
}

impl FaultyStore {
    /// The effect is the decision to write: a process that ends after it ends before the write, which is the same to the
    /// world as one that ends before the next effect.
    fn gate(&self) -> Result<(), StoreError> {
        self.effects.make(|| ()).map_err(|MadeToFail| StoreError::Database {
            action: "an effect",
            source: "made to fail".into(),
        })
    }
}

#[async_trait]
impl SecretStore for FaultyStore {
    async fn scope_key(&self, scope: &ScopeId) -> Result<Option<ScopeKey>, StoreError> {
        self.inner.scope_key(scope).await
    }
    async fn secret(&self, scope: &ScopeId, key: &SecretKey) -> Result<Option<(ScopeKey, SealedSecret)>, StoreError> {
        self.inner.secret(scope, key).await
    }
    async fn list_secrets(&self, scope: &ScopeId, after: Option<&str>, limit: usize) -> Result<Vec<SecretEntry>, StoreError> {
        self.inner.list_secrets(scope, after, limit).await
    }
    async fn write_secrets(&self, write: &SecretsWrite) -> Result<SecretsWritten, StoreError> {
        self.inner.write_secrets(write).await
    }
    async fn delete_secret(&self, scope: &ScopeId, key: &SecretKey) -> Result<bool, StoreError> {
        self.inner.delete_secret(scope, key).await
    }
    async fn scope_keys(&self, after: Option<&ScopeId>, limit: usize) -> Result<Vec<(ScopeId, ScopeKey)>, StoreError> {
        self.inner.scope_keys(after, limit).await
    }
    async fn sealed_secrets(&self, scope: &ScopeId) -> Result<Option<(ScopeKey, Vec<SealedSecret>)>, StoreError> {
        self.inner.sealed_secrets(scope).await
    }
    async fn replace_scope_key(
        &self,
        scope: &ScopeId,
        old: &ScopeKey,
        new: &ScopeKey,
        secrets: &[SealedSecret],
    ) -> Result<Replaced, StoreError> {
        self.inner.replace_scope_key(scope, old, new, secrets).await
    }
}

#[async_trait]
impl UserStore for FaultyStore {
    async fn users(&self, of: &UsedThing) -> Result<Users, StoreError> {
        self.inner.users(of).await
    }
    async fn delete_if_unused(&self, what: &UsedThing, uid: &str, even_if_used: bool) -> Result<DeletedIfUnused, StoreError> {
        self.inner.delete_if_unused(what, uid, even_if_used).await
    }
}

#[async_trait]
impl AuditStore for FaultyStore {
    async fn append_audit_event(&self, event: &AuditEvent) -> Result<bool, StoreError> {
        self.inner.append_audit_event(event).await
    }
    async fn audit_outbox(&self) -> Result<AuditOutbox, StoreError> {
        self.inner.audit_outbox().await
    }
    async fn renew_audit_outbox(&self) -> Result<(), StoreError> {
        self.inner.renew_audit_outbox().await
    }
    async fn audit_events(&self, after: i64, limit: usize) -> Result<Vec<StoredAuditEvent>, StoreError> {
        self.inner.audit_events(after, limit).await
    }
    async fn forget_audit_events(&self, up_to: i64) -> Result<(), StoreError> {
        self.inner.forget_audit_events(up_to).await
    }
}

#[async_trait]
impl Store for FaultyStore {
    async fn insert_stream(&self, uid: &str, declared: &DeclaredStream) -> Result<InsertedStream, StoreError> {
        self.inner.insert_stream(uid, declared).await
    }
    async fn stream_by_name(&self, name: &StreamName) -> Result<Option<StreamRecord>, StoreError> {
        self.inner.stream_by_name(name).await
    }
    async fn stream_by_uid(&self, uid: &str) -> Result<Option<StreamRecord>, StoreError> {
        self.inner.stream_by_uid(uid).await
    }
    async fn stream_of_table(&self, table: &TableName) -> Result<Option<StreamName>, StoreError> {
        self.inner.stream_of_table(table).await
    }
    async fn list_streams(&self, parent: &Parent, after: Option<&str>, limit: usize) -> Result<Vec<StreamRecord>, StoreError> {
        self.inner.list_streams(parent, after, limit).await
    }
    async fn stream_uids(&self) -> Result<Vec<String>, StoreError> {
        self.inner.stream_uids().await
    }
    async fn declare_stream(&self, uid: &str, revision: u64, declared: &DeclaredStream) -> Result<Replaced, StoreError> {
        self.inner.declare_stream(uid, revision, declared).await
    }
    async fn observe_stream(&self, uid: &str, observed: &ObservedStream) -> Result<(), StoreError> {
        self.gate()?;
        self.inner.observe_stream(uid, observed).await
    }
    async fn forget_stream(&self, uid: &str) -> Result<(), StoreError> {
        self.gate()?;
        self.inner.forget_stream(uid).await
    }
    async fn insert_connection(&self, record: &ConnectionRecord, secrets: &LiteralSecrets) -> Result<bool, StoreError> {
        self.inner.insert_connection(record, secrets).await
    }
    async fn connection(&self, name: &ConnectionName) -> Result<Option<ConnectionRecord>, StoreError> {
        self.inner.connection(name).await
    }
    async fn list_connections(&self, after: Option<&str>, limit: usize) -> Result<Vec<ConnectionRecord>, StoreError> {
        self.inner.list_connections(after, limit).await
    }
    async fn replace_connection(
        &self,
        generation: u64,
        record: &ConnectionRecord,
        secrets: &LiteralSecrets,
    ) -> Result<Replaced, StoreError> {
        self.inner.replace_connection(generation, record, secrets).await
    }
    async fn delete_connection(&self, name: &ConnectionName, uid: &str, even_if_used: bool) -> Result<DeletedConnection, StoreError> {
        self.inner.delete_connection(name, uid, even_if_used).await
    }
    async fn streams_on_connection(&self, name: &ConnectionName, limit: usize) -> Result<Vec<StreamName>, StoreError> {
        self.inner.streams_on_connection(name, limit).await
    }
    async fn insert_document(&self, kind: DocumentKind, document: &StoredDocument) -> Result<bool, StoreError> {
        self.inner.insert_document(kind, document).await
    }
    async fn document(&self, kind: DocumentKind, name: &str) -> Result<Option<StoredDocument>, StoreError> {
        self.inner.document(kind, name).await
    }
    async fn documents_named(&self, kind: DocumentKind, names: &[String]) -> Result<Vec<StoredDocument>, StoreError> {
        self.inner.documents_named(kind, names).await
    }
    async fn list_documents(
        &self,
        kind: DocumentKind,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        self.inner.list_documents(kind, prefix, after, limit).await
    }
    async fn replace_document(&self, kind: DocumentKind, generation: u64, document: &StoredDocument) -> Result<Replaced, StoreError> {
        self.inner.replace_document(kind, generation, document).await
    }
    async fn delete_document(&self, kind: DocumentKind, generation: u64, name: &str) -> Result<Replaced, StoreError> {
        self.inner.delete_document(kind, generation, name).await
    }
    async fn life(&self, securable_type: SecurableType, name: &str) -> Result<Option<String>, StoreError> {
        self.inner.life(securable_type, name).await
    }
    async fn set_grants(&self, planned: Option<u64>, life: &str, record: &GrantsRecord) -> Result<WrittenGrants, StoreError> {
        self.inner.set_grants(planned, life, record).await
    }
    async fn warehouse_id(&self) -> Result<Option<String>, StoreError> {
        self.inner.warehouse_id().await
    }
    async fn remember_warehouse(&self, id: &str) -> Result<(), StoreError> {
        self.inner.remember_warehouse(id).await
    }
    async fn check(&self) -> Result<(), StoreError> {
        self.inner.check().await
    }
}

#[async_trait]
impl TokenStore for FaultyStore {
    async fn insert_token(&self, token: &TokenRecord, now_ms: i64) -> Result<InsertedToken, StoreError> {
        self.inner.insert_token(token, now_ms).await
    }
    async fn token(&self, id: &str) -> Result<Option<TokenRecord>, StoreError> {
        self.inner.token(id).await
    }
    async fn list_tokens(&self, principal: Option<&str>, after: Option<&str>, limit: usize) -> Result<Vec<TokenRecord>, StoreError> {
        self.inner.list_tokens(principal, after, limit).await
    }
    async fn use_token(&self, id: &str, now_ms: i64) -> Result<(), StoreError> {
        self.inner.use_token(id, now_ms).await
    }
    async fn delete_token(&self, id: &str) -> Result<bool, StoreError> {
        self.inner.delete_token(id).await
    }
}
