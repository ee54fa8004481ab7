//! What every store must do with audit events.

use crate::audit::AuditEvent;
use crate::store::Store;

pub(super) async fn events_wait_in_order_in_an_outbox_with_an_id<S: Store>(store: &S) {
    let first = store.audit_outbox().await.unwrap();
    assert_eq!(first.last_sequence, 0);
    let event = |call: &str| AuditEvent {
        call: call.into(),
        ..AuditEvent::default()
    };
    for call in ["a", "b", "c"] {
        assert!(store.append_audit_event(&event(call)).await.unwrap());
    }
    let calls = async |after, limit| -> Vec<(i64, String)> {
        let found = store.audit_events(after, limit).await.unwrap();
        found.into_iter().map(|found| (found.sequence, found.event.call)).collect()
    };
    assert_eq!(calls(0, 2).await, [(1, "a".into()), (2, "b".into())]);
    assert_eq!(calls(2, 9).await, [(3, "c".into())]);
    store.forget_audit_events(2).await.unwrap();
    assert_eq!(calls(0, 9).await, [(3, "c".into())]);
    let second = store.audit_outbox().await.unwrap();
    assert_eq!((&second.id, second.last_sequence), (&first.id, 3));
    store.renew_audit_outbox().await.unwrap();
    let third = store.audit_outbox().await.unwrap();
    assert_ne!(third.id, first.id);
    assert_eq!(third.last_sequence, 3, "numbers are never given twice");
}
