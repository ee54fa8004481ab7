//! Every call leaves its event: changes in their own transaction, everything else when it ends.

use super::*;
use crate::audit::AuditEvent;

async fn events(town: &Town) -> Vec<AuditEvent> {
    let stored = town.store.audit_events(0, 1_000).await.unwrap();
    assert!(stored.is_sorted_by_key(|stored| stored.sequence));
    stored.into_iter().map(|stored| stored.event).collect()
}

fn short(event: &AuditEvent) -> (&str, &str, &str, &str, &str, &str) {
    (
        &event.principal,
        &event.call,
        &event.action,
        &event.securable_type,
        &event.securable_name,
        &event.outcome,
    )
}

#[tokio::test]
async fn each_call_leaves_one_event_whatever_becomes_of_it() {
    let town = Town::start().await;
    town.let_create("ann").await;
    town.create("ann", NAME).await.unwrap();
    let get = |name: &str| v1::GetStreamRequest { name: name.into() };
    town.streams("ann").get_stream(get(NAME)).await.unwrap();
    assert!(town.streams("eve").get_stream(get(NAME)).await.is_err());
    assert!(town.create("ann", NAME).await.is_err());
    assert!(town.streams("ann").get_stream(get("no name")).await.is_err());
    let found = events(&town).await;
    let expected = [
        ("ann", "CreateStream", "create", "stream", NAME, "ok"),
        ("ann", "GetStream", "read", "stream", NAME, "ok"),
        ("eve", "GetStream", "read", "stream", NAME, "permission_denied"),
        ("ann", "CreateStream", "create", "stream", NAME, "already_exists"),
        ("ann", "GetStream", "", "", "", "invalid_argument"),
    ];
    assert_eq!(found.iter().map(short).collect::<Vec<_>>(), expected);
    assert!(found.iter().all(|event| !event.request_id.is_empty() && event.time_ms > 0));
}

#[tokio::test]
async fn events_are_forgotten_from_the_front_and_never_numbered_again() {
    let town = Town::start().await;
    let get = async || drop(town.streams("eve").get_stream(v1::GetStreamRequest { name: NAME.into() }).await);
    get().await;
    get().await;
    let before = town.store.audit_events(0, 10).await.unwrap();
    town.store.forget_audit_events(before[1].sequence).await.unwrap();
    assert!(events(&town).await.is_empty());
    get().await;
    let after = town.store.audit_events(0, 10).await.unwrap();
    assert_eq!(after.len(), 1);
    assert!(after[0].sequence > before[1].sequence);
    assert!(town.store.audit_events(after[0].sequence, 10).await.unwrap().is_empty());
}
