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

/// Which outbox it is. Numbers of events are an outbox's own: a new database begins again with 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditOutbox {
    /// Random.
    pub id: String,
    /// The last number that was given; 0 if none was.
    pub last_sequence: i64,
}

/// The outbox of audit events. Events of changes get in with the change.
#[async_trait]
pub trait AuditStore: Send + Sync + 'static {
    /// Appends an event of what changed nothing; false if there is no room. Where the outbox is nearly full that is kept for changes:
    /// others are counted, and the count is an event once there is room again.
    async fn append_audit_event(&self, event: &AuditEvent) -> Result<bool, StoreError>;

    /// The outbox. The first call gives it its id.
    async fn audit_outbox(&self) -> Result<AuditOutbox, StoreError>;

    /// Gives the outbox a new id: under the former one, numbers that are yet to be given are taken.
    async fn renew_audit_outbox(&self) -> Result<(), StoreError>;

    /// Events after a sequence number (0: all), in order, at most `limit`.
    async fn audit_events(&self, after: i64, limit: usize) -> Result<Vec<StoredAuditEvent>, StoreError>;

    /// Forgets events up to a sequence number: they are in their table.
    async fn forget_audit_events(&self, up_to: i64) -> Result<(), StoreError>;
}
