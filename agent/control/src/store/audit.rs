//! Audit events that wait in the database until they are in their table.

use async_trait::async_trait;

use super::StoreError;
use crate::audit::AuditEvent;

/// An event as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAuditEvent {
    /// Rises from event to event, also over restarts; never used twice.
    pub sequence: i64,
    /// What happened.
    pub event: AuditEvent,
}

/// The outbox of audit events. Events of changes get in with the change.
#[async_trait]
pub trait AuditStore: Send + Sync + 'static {
    /// Appends an event of a call that changed nothing; false if there is no room.
    async fn append_audit_event(&self, event: &AuditEvent) -> Result<bool, StoreError>;

    /// Events after a sequence number (0: all), in order, at most `limit`.
    async fn audit_events(&self, after: i64, limit: usize) -> Result<Vec<StoredAuditEvent>, StoreError>;

    /// Forgets events up to a sequence number: they are in their table.
    async fn forget_audit_events(&self, up_to: i64) -> Result<(), StoreError>;
}
