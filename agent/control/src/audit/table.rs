//! The table of audit events: its columns, and events as rows of it.
//!
//! Only names of things get here. Invariant: columns and values are in the same order.

use stream_pipeline::table::{SystemTable, SystemValues};
use stream_spec::name::TableName;
use stream_spec::types::Field;

use crate::store::audit::StoredAuditEvent;

/// Whose the table is, in the app ids of its transactions.
const UID: &str = "audit";

/// The table `system.audit.events`.
pub(super) fn events_table() -> SystemTable {
    SystemTable {
        name: TableName::system("audit", "events"),
        uid: UID,
        columns: columns("", &[])
            .into_iter()
            .map(|(name, values)| Field::new(name, values.data_type()))
            .collect(),
    }
}

/// Events as rows.
pub(super) fn rows(outbox: &str, events: &[StoredAuditEvent]) -> Vec<SystemValues> {
    columns(outbox, events).into_iter().map(|(_, values)| values).collect()
}

fn columns(outbox: &str, events: &[StoredAuditEvent]) -> [(&'static str, SystemValues); 11] {
    let text = |read: fn(&StoredAuditEvent) -> &str| {
        // What an event does not have is null: a call that was refused before it was read is about nothing.
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        SystemValues::Text(events.iter().map(|stored| known(read(stored))).collect())
    };
    let id = |stored: &StoredAuditEvent| Some(format!("{outbox}/{}", stored.sequence));
    [
        (
            "event_time",
            SystemValues::Time(events.iter().map(|stored| stored.event.time_ms).collect()),
        ),
        ("event_id", SystemValues::Text(events.iter().map(id).collect())),
        (
            "sequence",
            SystemValues::Number(events.iter().map(|stored| stored.sequence).collect()),
        ),
        ("request_id", text(|stored| &stored.event.request_id)),
        ("principal", text(|stored| &stored.event.principal)),
        ("call", text(|stored| &stored.event.call)),
        ("action", text(|stored| &stored.event.action)),
        ("securable_type", text(|stored| &stored.event.securable_type)),
        ("securable_name", text(|stored| &stored.event.securable_name)),
        ("outcome", text(|stored| &stored.event.outcome)),
        ("detail", text(|stored| &stored.event.detail)),
    ]
}
