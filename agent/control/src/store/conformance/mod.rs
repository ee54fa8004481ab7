//! What every store must do. An implementation calls `run_all` with a way to open it anew on what was written before.

mod audit;
mod governance;
mod tokens;

use std::collections::BTreeSet;

use stream_pipeline::position::{PartitionId, SourcePlace};
use stream_spec::name::{ConnectionName, StreamName};

use governance::{granted, select_for};

use super::documents::{DocumentKind, FormerStreamRecord};
use super::records::{ObservedStream, Presence};
use super::{DeletedConnection, InsertedStream, LiteralSecrets, Parent, Replaced, Store, payload};
use crate::governance::privilege::{Privilege, SecurableType};
use crate::governance::secrets::ScopeId;
use crate::state::StreamState;
use crate::testing::definitions::{connection, declared};

/// Runs the suite; `open` is called after the store it gave before was closed by `close`.
pub(crate) async fn run_all<S: Store>(open: impl AsyncFn() -> S, close: impl AsyncFn(S)) {
    let store = open().await;
    streams_need_their_connection_and_free_names(&store).await;
    a_write_replaces_only_what_was_read(&store).await;
    what_is_observed_does_not_touch_what_is_declared(&store).await;
    lists_are_ordered_and_bounded(&store).await;
    a_connection_in_use_stays(&store).await;
    the_first_warehouse_is_the_one(&store).await;
    governance::documents_are_kept_by_kind_and_name(&store).await;
    governance::grants_are_on_what_exists_and_go_with_it(&store).await;
    governance::secrets_and_the_key_of_their_scope_are_written_together(&store).await;
    governance::a_connection_and_its_literal_secrets_are_written_together(&store).await;
    tokens::are_bounded_and_expire(&store).await;
    governance::what_is_used_stays_unless_forced(&store).await;
    audit::events_wait_in_order_in_an_outbox_with_an_id(&store).await;
    let before = everything(&store).await;
    close(store).await;
    let store = open().await;
    assert_eq!(everything(&store).await, before, "what was written is there after a restart");
    forgetting_frees_name_and_table(&store).await;
    close(store).await;
}

async fn everything<S: Store>(store: &S) -> String {
    let parent = Parent {
        catalog: "main".into(),
        schema: None,
    };
    let streams = store.list_streams(&parent, None, 100).await.unwrap();
    let connections = store.list_connections(None, 100).await.unwrap();
    let (uids, warehouse) = (store.stream_uids().await.unwrap(), store.warehouse_id().await.unwrap());
    let secrets = store.list_secrets(&ScopeId::Connection("c1".into()), None, 100).await.unwrap();
    let tokens = store.list_tokens(None, None, 1_000).await.unwrap();
    let (outbox, events) = (store.audit_outbox().await.unwrap(), store.audit_events(0, 100).await.unwrap());
    format!("{uids:?} {warehouse:?} {streams:#?} {connections:#?} {tokens:#?} {secrets:?} {outbox:?} {events:?}")
}

async fn insert<S: Store>(store: &S, uid: &str, name: &str) -> InsertedStream {
    store.insert_stream(uid, &declared(name)).await.unwrap()
}

async fn streams_need_their_connection_and_free_names<S: Store>(store: &S) {
    assert!(matches!(insert(store, "u1", "main.pay.orders").await, InsertedStream::ConnectionMissing { name } if name.as_str() == "kafka"));
    assert!(store.insert_connection(&connection("kafka"), &LiteralSecrets::Stay).await.unwrap());
    assert!(!store.insert_connection(&connection("kafka"), &LiteralSecrets::Stay).await.unwrap());
    match insert(store, "u1", "main.pay.orders").await {
        InsertedStream::Inserted(record) => {
            assert_eq!((record.revision, &record.declared), (1, &declared("main.pay.orders")));
            assert_eq!(store.stream_by_uid("u1").await.unwrap(), Some(*record));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(insert(store, "u2", "main.pay.orders").await, InsertedStream::NameTaken(record) if record.uid == "u1"));
    let mut other_name = declared("main.pay.refunds");
    other_name.spec.ingestion.destination = declared("main.pay.orders").spec.ingestion.destination;
    match store.insert_stream("u2", &other_name).await.unwrap() {
        InsertedStream::TableTaken { by } => assert_eq!(by.as_str(), "main.pay.orders"),
        other => panic!("{other:?}"),
    }
    let table = declared("main.pay.orders").spec.ingestion.destination;
    assert_eq!(
        store.stream_of_table(&table).await.unwrap(),
        Some(StreamName::parse("main.pay.orders").unwrap())
    );
    assert_eq!(store.stream_by_uid("u2").await.unwrap(), None);
    assert_eq!(
        store.stream_by_name(&StreamName::parse("main.pay.refunds").unwrap()).await.unwrap(),
        None
    );
}

async fn a_write_replaces_only_what_was_read<S: Store>(store: &S) {
    let mut change = declared("main.pay.orders");
    change.generation = 2;
    assert_eq!(store.declare_stream("u1", 1, &change).await.unwrap(), Replaced::Done);
    change.presence = Presence::Deleted { retain_table: true };
    assert_eq!(store.declare_stream("u1", 1, &change).await.unwrap(), Replaced::Conflict);
    assert_eq!(store.declare_stream("nobody", 1, &change).await.unwrap(), Replaced::Missing);
    let record = store.stream_by_uid("u1").await.unwrap().unwrap();
    assert_eq!(
        (record.revision, record.declared.generation, record.declared.presence),
        (2, 2, Presence::Present)
    );

    let mut connection = connection("kafka");
    connection.generation = 2;
    connection.spec.comment = Some("moved".into());
    assert_eq!(
        store.replace_connection(1, &connection, &LiteralSecrets::Stay).await.unwrap(),
        Replaced::Done
    );
    assert_eq!(
        store.replace_connection(1, &connection, &LiteralSecrets::Stay).await.unwrap(),
        Replaced::Conflict
    );
    let another_life = super::records::ConnectionRecord {
        uid: "another".into(),
        ..connection.clone()
    };
    assert_eq!(
        store.replace_connection(2, &another_life, &LiteralSecrets::Stay).await.unwrap(),
        Replaced::Conflict
    );
    assert_eq!(store.connection(&connection.spec.name).await.unwrap(), Some(connection.clone()));
    connection.spec.name = ConnectionName::parse("nobody").unwrap();
    assert_eq!(
        store.replace_connection(1, &connection, &LiteralSecrets::Stay).await.unwrap(),
        Replaced::Missing
    );
}

async fn what_is_observed_does_not_touch_what_is_declared<S: Store>(store: &S) {
    let before = store.stream_by_uid("u1").await.unwrap().unwrap();
    let place = SourcePlace {
        partition: PartitionId {
            topic: "orders".into(),
            partition: 1,
        },
        offset: 7,
        epoch: 1,
    };
    let observed = ObservedStream {
        provisioned: true,
        generation: 2,
        state: StreamState::Active,
        schema_starts: [(2, vec![place])].into(),
        ..Default::default()
    };
    store.observe_stream("u1", &observed).await.unwrap();
    store.observe_stream("nobody", &observed).await.unwrap();
    let after = store.stream_by_uid("u1").await.unwrap().unwrap();
    assert_eq!(
        (after.revision, &after.declared, &after.observed),
        (before.revision, &before.declared, &observed)
    );
    assert_eq!(store.stream_by_uid("nobody").await.unwrap(), None);
}

async fn lists_are_ordered_and_bounded<S: Store>(store: &S) {
    for (uid, name) in [
        ("u4", "main.pay2.a"),
        ("u3", "main.pay.z_1"),
        ("u5", "other.pay.orders"),
        ("u2", "main.pay.accounts"),
    ] {
        assert!(matches!(insert(store, uid, name).await, InsertedStream::Inserted(_)));
    }
    let cases = [
        (
            "main",
            Some("pay"),
            None,
            10,
            vec!["main.pay.accounts", "main.pay.orders", "main.pay.z_1"],
        ),
        ("main", Some("pay"), None, 2, vec!["main.pay.accounts", "main.pay.orders"]),
        ("main", Some("pay"), Some("main.pay.orders"), 10, vec!["main.pay.z_1"]),
        ("main", Some("pay"), Some("main.pay.between"), 1, vec!["main.pay.orders"]),
        (
            "main",
            None,
            None,
            10,
            vec!["main.pay.accounts", "main.pay.orders", "main.pay.z_1", "main.pay2.a"],
        ),
        ("pay", None, None, 10, vec![]),
    ];
    for (catalog, schema, after, limit, expected) in cases {
        let parent = Parent {
            catalog: catalog.into(),
            schema: schema.map(str::to_owned),
        };
        let streams = store.list_streams(&parent, after, limit).await.unwrap();
        let names: Vec<_> = streams.iter().map(|record| record.declared.spec.name.as_str()).collect();
        assert_eq!(names, expected, "{parent:?} after {after:?}");
    }
    assert_eq!(store.stream_uids().await.unwrap(), ["u1", "u2", "u3", "u4", "u5"]);

    assert!(
        store
            .insert_connection(&connection("a-second"), &LiteralSecrets::Stay)
            .await
            .unwrap()
    );
    let names =
        |records: Vec<super::records::ConnectionRecord>| records.into_iter().map(|record| record.spec.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(store.list_connections(None, 10).await.unwrap()), ["a-second", "kafka"]);
    assert_eq!(names(store.list_connections(Some("a-second"), 10).await.unwrap()), ["kafka"]);
    assert_eq!(names(store.list_connections(None, 1).await.unwrap()), ["a-second"]);
}

async fn a_connection_in_use_stays<S: Store>(store: &S) {
    let name = |text: &str| ConnectionName::parse(text).unwrap();
    match store.delete_connection(&name("kafka"), "", false).await.unwrap() {
        DeletedConnection::InUse(users) => assert_eq!(users.first().map(StreamName::as_str), Some("main.pay.accounts")),
        other => panic!("{other:?}"),
    }
    assert_eq!(store.streams_on_connection(&name("kafka"), 2).await.unwrap().len(), 2);
    assert_eq!(
        store.delete_connection(&name("a-second"), "", false).await.unwrap(),
        DeletedConnection::Deleted
    );
    assert_eq!(
        store.delete_connection(&name("a-second"), "", true).await.unwrap(),
        DeletedConnection::Missing
    );
    assert_eq!(
        store.delete_connection(&name("kafka"), "", true).await.unwrap(),
        DeletedConnection::Deleted
    );
    assert_eq!(store.connection(&name("kafka")).await.unwrap(), None);
    assert!(store.insert_connection(&connection("kafka"), &LiteralSecrets::Stay).await.unwrap());
}

async fn the_first_warehouse_is_the_one<S: Store>(store: &S) {
    assert_eq!(store.warehouse_id().await.unwrap(), None);
    for id in ["w1", "w1", "w2"] {
        store.remember_warehouse(id).await.unwrap();
        assert_eq!(store.warehouse_id().await.unwrap().as_deref(), Some("w1"), "after {id}");
    }
}

async fn forgetting_frees_name_and_table<S: Store>(store: &S) {
    store.forget_stream("u1").await.unwrap();
    store.forget_stream("u1").await.unwrap();
    assert_eq!(store.stream_by_uid("u1").await.unwrap(), None);
    let table = |name| select_for(SecurableType::Table, name, "", Privilege::Select);
    assert_eq!(granted(store, &table("main.pay.orders_raw")).await, None);
    assert_eq!(granted(store, &table("main.pay.elsewhere")).await, Some(1));
    let former = async || store.document(DocumentKind::FormerStream, "main.pay.orders").await.unwrap();
    let record: FormerStreamRecord = payload::decode("former stream", "", &former().await.unwrap().payload).unwrap();
    assert_eq!(record.readers, BTreeSet::from(["local-admin".to_owned(), "readers".to_owned()]));
    assert!(matches!(insert(store, "u6", "main.pay.orders").await, InsertedStream::Inserted(_)));
    assert_eq!(former().await, None);
}
