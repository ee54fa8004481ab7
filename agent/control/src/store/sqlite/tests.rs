//! SQLite against the conformance suite, and what only a file can show: versions, locks, a damaged payload.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use stream_spec::name::{ScopeName, SecretKey, StreamName};

use super::SqliteStore;
use super::migrations::VERSION;
use crate::governance::secrets::master::{LocalKey, MasterKeys};
use crate::governance::secrets::{ScopeId, SecretValue, Vault};
use crate::state::{Condition, StreamState};
use crate::store::documents::{Authorship, DocumentKind, ScopeRecord, StoredDocument};
use crate::store::records::{ObservedStream, ObservedTable};
use crate::store::{LiteralSecrets, Store, StoreError, conformance, documents};
use crate::testing::definitions::{connection, declared};

#[tokio::test]
async fn sqlite_is_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    conformance::run_all(
        async || SqliteStore::open(&path).await.unwrap(),
        async |store: SqliteStore| store.close().await,
    )
    .await;
}

fn fixture(version: i64) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/agent-v{version}.db"))
}

/// What the fixtures hold from version 2 on.
const WAREHOUSE_ID: &str = "0b6c8a52-6a0e-4c55-9a1e-3f4d5c6b7a89";

/// Agents that wrote databases up to this version did not write down which generation brought a schema.
const WITHOUT_SCHEMA_GENERATIONS: i64 = 3;

/// What the fixtures hold.
fn observed() -> ObservedStream {
    ObservedStream {
        provisioned: true,
        generation: 1,
        operations_generation: 1,
        restart_generation: 0,
        state: StreamState::Degraded,
        conditions: vec![Condition {
            condition_type: "SourceReachable".into(),
            status: false,
            reason: "BrokerDown".into(),
            message: "127.0.0.1:9092 refused the connection".into(),
            since_ms: 6,
        }],
        table: Some(ObservedTable {
            version: 12,
            rows: 3,
            bytes: 30,
            files: 1,
            created_ms: 4,
            columns: Vec::new(),
        }),
        schema_starts: Default::default(),
    }
}

/// What the fixtures hold from version 3 on.
fn volume() -> StoredDocument {
    StoredDocument {
        name: "main.pay.certificates".into(),
        generation: 1,
        payload: "{}".into(),
    }
}

/// The secret that the fixtures hold from version 3 on, as a vault with the fixtures' master key has it.
async fn secret(store: Arc<dyn Store>, written: bool) -> SecretValue {
    let key = LocalKey::from_bytes(b"a master key of these tests only").unwrap();
    let vault = Vault::new(store.clone(), MasterKeys::new(Arc::new(key), Vec::new(), ""));
    let (scope, key) = (ScopeName::parse("payments").unwrap(), SecretKey::parse("password").unwrap());
    let id = ScopeId::Named(scope.clone());
    if !written {
        let authorship = Authorship {
            uid: "s1".into(),
            create_time_ms: 7,
            created_by: "local-admin".into(),
            update_time_ms: 7,
            updated_by: "local-admin".into(),
            create_request_id: String::new(),
        };
        let record = ScopeRecord {
            name: scope,
            generation: 1,
            authorship,
        };
        assert!(documents::insert(&store, &record).await.unwrap());
        let value = SecretValue::from("a secret of these tests only".to_owned());
        vault.put(&id, &key, &value, "local-admin").await.unwrap();
    }
    vault.read(&id, &key).await.unwrap()
}

/// Writes the fixture of a new version. Run with `UPDATE_EXPECT=1` after a migration was added; those of older versions
/// are never written again, they are what older agents left behind.
async fn write_fixture(path: &Path) {
    let store = Arc::new(SqliteStore::open(path).await.unwrap());
    store.insert_connection(&connection("kafka"), &LiteralSecrets::Stay).await.unwrap();
    store.insert_stream("u1", &declared("main.pay.orders")).await.unwrap();
    store.observe_stream("u1", &observed()).await.unwrap();
    store.remember_warehouse(WAREHOUSE_ID).await.unwrap();
    assert!(store.insert_document(DocumentKind::Volume, &volume()).await.unwrap());
    secret(store.clone(), false).await;
    store.close().await;
    // One file, without the log beside it.
    Connection::open(path)
        .unwrap()
        .pragma_update(None, "journal_mode", "DELETE")
        .unwrap();
}

#[tokio::test]
async fn a_database_of_every_version_is_read() {
    if std::env::var_os("UPDATE_EXPECT").is_some() && !fixture(VERSION).exists() {
        write_fixture(&fixture(VERSION)).await;
    }
    for version in 1..=VERSION {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.db");
        std::fs::copy(fixture(version), &path).unwrap();
        let store = Arc::new(SqliteStore::open(&path).await.unwrap());
        let record = store
            .stream_by_name(&StreamName::parse("main.pay.orders").unwrap())
            .await
            .unwrap()
            .unwrap();
        let mut written = declared("main.pay.orders");
        if version <= WITHOUT_SCHEMA_GENERATIONS {
            written.schema_history[0].generation = 0;
        }
        assert_eq!(record.declared, written, "version {version}");
        assert_eq!(record.observed, observed(), "version {version}");
        assert_eq!(
            store.list_connections(None, 9).await.unwrap(),
            [connection("kafka")],
            "version {version}"
        );
        assert_eq!(
            store.warehouse_id().await.unwrap().as_deref(),
            (version >= 2).then_some(WAREHOUSE_ID),
            "version {version}"
        );
        let documents = store.list_documents(DocumentKind::Volume, "", None, 9).await.unwrap();
        assert_eq!(documents, Vec::from_iter((version >= 3).then(volume)), "version {version}");
        if version >= 3 {
            assert_eq!(secret(store.clone(), true).await.expose(), b"a secret of these tests only");
        }
        store.close().await;
        let found: i64 = Connection::open(&path)
            .unwrap()
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .unwrap();
        assert_eq!(found, VERSION);
    }
}

#[tokio::test]
async fn a_database_of_a_newer_agent_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", VERSION + 1)
        .unwrap();
    match SqliteStore::open(&path).await.unwrap_err() {
        StoreError::TooNew { found, known, .. } => assert_eq!((found, known), (VERSION + 1, VERSION)),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("agent.db")).await.unwrap();
    store.close().await;
    store.close().await;
    assert!(matches!(store.check().await, Err(StoreError::Closed)));
}

#[tokio::test]
async fn a_payload_of_an_unknown_format_is_an_error_that_names_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    write_fixture(&path).await;
    Connection::open(&path)
        .unwrap()
        .execute("UPDATE streams SET declared = '{\"format\":99,\"value\":{}}'", [])
        .unwrap();
    let store = SqliteStore::open(&path).await.unwrap();
    let error = store.stream_by_uid("u1").await.unwrap_err().to_string();
    assert!(error.contains("u1") && error.contains("99"), "{error}");
}

#[tokio::test]
async fn without_room_for_its_event_a_change_is_refused_and_undone() {
    use crate::audit::{AuditEvent, Audited};
    use crate::governance::calls::Call;
    use crate::limits::{AUDIT_EVENTS_HIGH, AUDIT_EVENTS_MAX};
    use crate::store::audit::AuditStore;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    SqliteStore::open(&path).await.unwrap().close().await;
    let insert = "INSERT INTO audit_events (sequence, payload) VALUES (1, '{}'), (?1, '{}')";
    let fill = |events: i64| {
        let connection = Connection::open(&path).unwrap();
        connection.execute("DELETE FROM audit_events", []).unwrap();
        connection.execute(insert, [events]).unwrap();
    };
    fill(AUDIT_EVENTS_MAX);
    let store = SqliteStore::open(&path).await.unwrap();
    let call = Audited::begin(Call::CreateVolume, "ann".into());
    let change = call.scope(store.insert_document(DocumentKind::Volume, &volume())).await;
    assert!(matches!(change, Err(StoreError::AuditFull { .. })), "{change:?}");
    assert_eq!(store.document(DocumentKind::Volume, &volume().name).await.unwrap(), None);
    assert!(!store.append_audit_event(&AuditEvent::default()).await.unwrap());
    // The reconciler's work is nobody's call.
    assert!(store.insert_document(DocumentKind::Volume, &volume()).await.unwrap());
    store.forget_audit_events(1).await.unwrap();
    let deleted = call.scope(store.delete_document(DocumentKind::Volume, 1, &volume().name)).await;
    assert!(matches!(deleted, Ok(crate::store::Replaced::Done)), "{deleted:?}");
    let events = store.audit_events(AUDIT_EVENTS_MAX, 10).await.unwrap();
    assert_eq!(events.len(), 1, "one event, with the change");
    // A second change of one call has no event of its own, and one that changes nothing takes none.
    let nothing = Audited::begin(Call::DeleteVolume, "ann".into());
    drop(nothing.scope(store.delete_document(DocumentKind::Volume, 1, "no-such")).await);
    assert_eq!(store.audit_events(AUDIT_EVENTS_MAX, 10).await.unwrap().len(), 1);
    // What is left when the outbox is nearly full is for changes; the rest is counted, and told when there is room.
    store.close().await;
    fill(AUDIT_EVENTS_HIGH);
    let store = SqliteStore::open(&path).await.unwrap();
    let read = |time_ms| AuditEvent {
        time_ms,
        ..AuditEvent::default()
    };
    for time_ms in [7, 8] {
        assert!(!store.append_audit_event(&read(time_ms)).await.unwrap());
    }
    let call = Audited::begin(Call::CreateVolume, "ann".into());
    assert!(call.scope(store.insert_document(DocumentKind::Volume, &volume())).await.unwrap());
    store.forget_audit_events(AUDIT_EVENTS_HIGH).await.unwrap();
    for time_ms in [9, 10] {
        assert!(store.append_audit_event(&read(time_ms)).await.unwrap());
    }
    let events = store.audit_events(0, 10).await.unwrap().into_iter().map(|stored| stored.event);
    let told: Vec<_> = events.skip(1).map(|event| (event.time_ms, event.outcome, event.detail)).collect();
    let lost = "3 events of reads, denials and refused callers are in the log alone".to_owned();
    let plain = |time_ms| (time_ms, String::new(), String::new());
    assert_eq!(told, [(0, "not_recorded".to_owned(), lost), plain(9), plain(10)]);
}
