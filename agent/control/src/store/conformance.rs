//! What every store must do. An implementation calls `run_all` with a way to open it anew on what was written before.

mod audit;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use stream_pipeline::position::{PartitionId, SourcePlace};
use stream_spec::connection::ConnectionOptions;
use stream_spec::name::{ConnectionName, CredentialName, ScopeName, SecretKey, StreamName};
use stream_spec::stream::SecretRef;

use super::documents::{Authorship, DocumentKind, FormerStreamRecord, GrantsRecord, ScopeRecord, StoredDocument};
use super::records::{ObservedStream, Presence};
use super::secrets::{ScopeKey, SealedSecret, SecretsWrite, SecretsWritten};
use super::users::{DeletedIfUnused, UsedThing, Users};
use super::{DeletedConnection, InsertedStream, LiteralSecrets, Parent, Replaced, Store, WrittenGrants, payload};
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
    documents_are_kept_by_kind_and_name(&store).await;
    grants_are_on_what_exists_and_go_with_it(&store).await;
    secrets_and_the_key_of_their_scope_are_written_together(&store).await;
    a_connection_and_its_literal_secrets_are_written_together(&store).await;
    tokens::are_bounded_and_expire(&store).await;
    what_is_used_stays_unless_forced(&store).await;
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

async fn documents_are_kept_by_kind_and_name<S: Store>(store: &S) {
    let document = |name: &str, generation| StoredDocument {
        name: name.into(),
        generation,
        payload: format!("{name} {generation}"),
    };
    let (volume, grants) = (DocumentKind::Volume, DocumentKind::Grants);
    for name in ["main.a.v", "main.b.v", "main.a%.v", "main_a.v"] {
        assert!(store.insert_document(volume, &document(name, 1)).await.unwrap());
    }
    assert!(!store.insert_document(volume, &document("main.a.v", 1)).await.unwrap());
    assert!(store.insert_document(grants, &document("main.a.v", 7)).await.unwrap());
    let names = async |prefix: &str, after, limit| -> Vec<String> {
        let found = store.list_documents(volume, prefix, after, limit).await.unwrap();
        found.into_iter().map(|found| found.name).collect()
    };
    assert_eq!(names("main.", None, 9).await, ["main.a%.v", "main.a.v", "main.b.v"]);
    assert_eq!(names("main.a", Some("main.a%.v"), 9).await, ["main.a.v"]);
    assert_eq!(names("", Some("main.a.v"), 1).await, ["main.b.v"]);
    let several = ["main.b.v", "nothing", "main.a.v", "main.b.v"].map(str::to_owned);
    assert_eq!(
        store.documents_named(volume, &several).await.unwrap(),
        [document("main.a.v", 1), document("main.b.v", 1)]
    );
    let replace = async |generation, next| {
        store
            .replace_document(volume, generation, &document("main.a.v", next))
            .await
            .unwrap()
    };
    assert_eq!(replace(2, 3).await, Replaced::Conflict);
    assert_eq!(replace(1, 2).await, Replaced::Done);
    assert_eq!(store.document(volume, "main.a.v").await.unwrap(), Some(document("main.a.v", 2)));
    assert_eq!(store.document(grants, "main.a.v").await.unwrap(), Some(document("main.a.v", 7)));
    let delete = async |name: &str, generation| store.delete_document(volume, generation, name).await.unwrap();
    assert_eq!(delete("main.b.v", 2).await, Replaced::Conflict);
    assert_eq!(delete("main.b.v", 1).await, Replaced::Done);
    assert_eq!(delete("main.b.v", 1).await, Replaced::Missing);
    assert_eq!(store.document(volume, "main.b.v").await.unwrap(), None);
}

fn select_for(securable_type: SecurableType, name: &str, grantee: &str, privilege: Privilege) -> GrantsRecord {
    GrantsRecord {
        securable_type,
        securable_name: name.into(),
        generation: 0,
        grants: BTreeMap::from([(grantee.into(), BTreeSet::from([privilege]))]),
        update_time_ms: 5,
        updated_by: "local-admin".into(),
    }
}

async fn granted<S: Store>(store: &S, record: &GrantsRecord) -> Option<u64> {
    let name = GrantsRecord::document_name(record.securable_type, &record.securable_name);
    let found = store.document(DocumentKind::Grants, &name).await.unwrap();
    found.map(|found| found.generation)
}

async fn grants_are_on_what_exists_and_go_with_it<S: Store>(store: &S) {
    let on_missing = select_for(SecurableType::Connection, "no-such", "ann", Privilege::UseConnection);
    assert_eq!(store.set_grants(0, &on_missing).await.unwrap(), WrittenGrants::SecurableMissing);
    let missing_volume = select_for(SecurableType::Volume, "main.no.such", "ann", Privilege::ReadVolume);
    assert_eq!(store.set_grants(0, &missing_volume).await.unwrap(), WrittenGrants::SecurableMissing);

    assert!(
        store
            .insert_connection(&connection("granted"), &LiteralSecrets::Stay)
            .await
            .unwrap()
    );
    let record = select_for(SecurableType::Connection, "granted", "ann", Privilege::UseConnection);
    for (planned, expected) in [(0, Ok(1)), (1, Ok(2)), (1, Err(2)), (0, Ok(3)), (4, Err(3))] {
        match (store.set_grants(planned, &record).await.unwrap(), expected) {
            (WrittenGrants::Written(written), Ok(generation)) => {
                assert_eq!(
                    *written,
                    GrantsRecord {
                        generation,
                        ..record.clone()
                    }
                );
            }
            (WrittenGrants::Conflict { found }, Err(generation)) => assert_eq!(found, generation),
            (other, expected) => panic!("{other:?} on {planned}, not {expected:?}"),
        }
    }
    assert_eq!(granted(store, &record).await, Some(3));
    store
        .delete_connection(&ConnectionName::parse("granted").unwrap(), "", false)
        .await
        .unwrap();
    assert_eq!(granted(store, &record).await, None);

    let credential = StoredDocument {
        name: "role".into(),
        generation: 1,
        payload: "{}".into(),
    };
    assert!(store.insert_document(DocumentKind::Credential, &credential).await.unwrap());
    let record = select_for(SecurableType::ServiceCredential, "role", "ann", Privilege::Access);
    assert!(matches!(store.set_grants(0, &record).await.unwrap(), WrittenGrants::Written(_)));
    assert_eq!(
        store.delete_document(DocumentKind::Credential, 2, "role").await.unwrap(),
        Replaced::Conflict
    );
    assert_eq!(granted(store, &record).await, Some(1), "the credential is still there");
    assert_eq!(
        store.delete_document(DocumentKind::Credential, 1, "role").await.unwrap(),
        Replaced::Done
    );
    assert_eq!(granted(store, &record).await, None);

    // A table need not be there, or be a stream's.
    let table = select_for(SecurableType::Table, "main.pay.orders_raw", "readers", Privilege::Select);
    assert!(matches!(store.set_grants(0, &table).await.unwrap(), WrittenGrants::Written(_)));
    let other = select_for(SecurableType::Table, "main.pay.elsewhere", "readers", Privilege::Select);
    assert!(matches!(store.set_grants(0, &other).await.unwrap(), WrittenGrants::Written(_)));
}

async fn secrets_and_the_key_of_their_scope_are_written_together<S: Store>(store: &S) {
    let (named, literal) = (ScopeId::Named(ScopeName::parse("pay").unwrap()), ScopeId::Connection("c1".into()));
    let key = |text: &str| SecretKey::parse(text).unwrap();
    let scope_key = |id: &str| ScopeKey {
        key_id: id.into(),
        master_key_id: "m1".into(),
        wrapped: vec![1, 2],
    };
    let secret = |name: &str, revision: &str| SealedSecret {
        key: key(name),
        revision: revision.into(),
        update_time_ms: 5,
        updated_by: "me".into(),
        sealed: vec![0, 255],
    };
    let write = |scope: &ScopeId, id: &str, put: &[SealedSecret], remove: &[&str]| SecretsWrite {
        scope: scope.clone(),
        key: scope_key(id),
        anew: false,
        put: put.to_vec(),
        remove: remove.iter().map(|name| key(name)).collect(),
    };
    let written = async |change: SecretsWrite| store.write_secrets(&change).await.unwrap();
    assert_eq!(
        written(write(&named, "k1", &[secret("a", "1")], &[])).await,
        SecretsWritten::ScopeMissing
    );
    assert_eq!(store.scope_key(&named).await.unwrap(), None);
    let scope = StoredDocument {
        name: "pay".into(),
        generation: 1,
        payload: String::new(),
    };
    assert!(store.insert_document(DocumentKind::Scope, &scope).await.unwrap());
    for (scope, id) in [(&named, "k1"), (&literal, "k2")] {
        let put = [secret("a", "1"), secret("b", "1"), secret("c", "1")];
        assert_eq!(written(write(scope, id, &put, &[])).await, SecretsWritten::Done);
    }
    assert_eq!(
        written(write(&named, "k2", &[secret("a", "2")], &[])).await,
        SecretsWritten::KeyChanged
    );
    assert_eq!(
        written(write(&named, "k1", &[secret("a", "3")], &["b", "none"])).await,
        SecretsWritten::Done
    );
    let found = store.secret(&named, &key("a")).await.unwrap();
    assert_eq!(found, Some((scope_key("k1"), secret("a", "3"))));
    assert_eq!(store.secret(&named, &key("b")).await.unwrap(), None);
    assert_eq!(
        store.secret(&literal, &key("b")).await.unwrap(),
        Some((scope_key("k2"), secret("b", "1")))
    );
    let entries = store.list_secrets(&literal, Some("a"), 1).await.unwrap();
    assert_eq!(entries, [secret("b", "1").entry()]);

    for (name, was_there) in [("a", true), ("a", false), ("c", true)] {
        assert!(store.scope_key(&named).await.unwrap().is_some());
        assert_eq!(store.delete_secret(&named, &key(name)).await.unwrap(), was_there, "{name}");
    }
    assert_eq!(
        store.scope_key(&named).await.unwrap(),
        None,
        "the last secret takes the key with it"
    );
    let (scope_key_now, all) = store.sealed_secrets(&literal).await.unwrap().unwrap();
    assert_eq!(all, [secret("a", "1"), secret("b", "1"), secret("c", "1")]);
    let keys = store.scope_keys(None, 9).await.unwrap();
    assert_eq!(keys, [(literal.clone(), scope_key("k2"))]);
    assert_eq!(store.scope_keys(Some(&literal), 9).await.unwrap(), []);
    let rewrapped = ScopeKey {
        master_key_id: "m2".into(),
        ..scope_key_now.clone()
    };
    let replace = async |old: &ScopeKey, new: &ScopeKey, secrets: &[SealedSecret]| {
        store.replace_scope_key(&literal, old, new, secrets).await.unwrap()
    };
    assert_eq!(replace(&scope_key_now, &rewrapped, &[]).await, Replaced::Done);
    assert_eq!(replace(&scope_key_now, &rewrapped, &[]).await, Replaced::Conflict);
    assert_eq!(store.scope_key(&literal).await.unwrap(), Some(rewrapped.clone()));
    // Another data key: all secrets are there, as they are by now, or none is replaced.
    let mut again = all.clone();
    for secret in &mut again {
        secret.sealed = vec![7];
    }
    assert_eq!(replace(&rewrapped, &scope_key("k4"), &again[1..]).await, Replaced::Conflict);
    let mut older = again.clone();
    older[0].revision = "0".into();
    assert_eq!(replace(&rewrapped, &scope_key("k4"), &older).await, Replaced::Conflict);
    assert_eq!(replace(&rewrapped, &scope_key("k4"), &again).await, Replaced::Done);
    assert_eq!(store.sealed_secrets(&literal).await.unwrap(), Some((scope_key("k4"), again)));
    assert_eq!(
        store.replace_scope_key(&named, &rewrapped, &rewrapped, &[]).await.unwrap(),
        Replaced::Missing
    );

    let many: Vec<SealedSecret> = (0..1001).map(|number| secret(&format!("n{number}"), "1")).collect();
    let many = SecretsWrite {
        anew: true,
        ..write(&literal, "k5", &many, &[])
    };
    assert_eq!(written(many).await, SecretsWritten::Full);
    let anew = SecretsWrite {
        anew: true,
        ..write(&literal, "k3", &[secret("b", "2")], &[])
    };
    assert_eq!(written(anew).await, SecretsWritten::Done);
    let entries = store.list_secrets(&literal, None, 9).await.unwrap();
    assert_eq!(
        (entries.len(), store.scope_key(&literal).await.unwrap()),
        (1, Some(scope_key("k3")))
    );
}

async fn a_connection_and_its_literal_secrets_are_written_together<S: Store>(store: &S) {
    let mut record = connection("literal");
    let scope = ScopeId::Connection(record.uid.clone());
    let change = |key_id: &str, names: &[&str], anew: bool| {
        let secret = |name: &&str| SealedSecret {
            key: SecretKey::parse(name).unwrap(),
            revision: "1".into(),
            update_time_ms: 5,
            updated_by: "me".into(),
            sealed: vec![7],
        };
        LiteralSecrets::Change(SecretsWrite {
            scope: scope.clone(),
            key: ScopeKey {
                key_id: key_id.into(),
                master_key_id: "m1".into(),
                wrapped: vec![1],
            },
            anew,
            put: names.iter().map(secret).collect(),
            remove: Vec::new(),
        })
    };
    let kept = async || store.list_secrets(&scope, None, 9).await.unwrap().len();
    assert!(store.insert_connection(&record, &change("k1", &["a"], false)).await.unwrap());
    assert!(!store.insert_connection(&record, &change("k1", &["b"], false)).await.unwrap());
    assert_eq!(kept().await, 1, "a name that is taken writes no secret");
    record.generation = 2;
    for (generation, change, expected, left) in [
        (5, change("k1", &["b"], false), Replaced::Conflict, 1),
        (1, change("k2", &["b"], false), Replaced::Conflict, 1),
        (1, change("k1", &["b"], false), Replaced::Done, 2),
        (2, LiteralSecrets::Stay, Replaced::Done, 2),
        (2, change("k2", &["c"], true), Replaced::Done, 1),
        (2, LiteralSecrets::Go, Replaced::Done, 0),
        (2, change("k3", &["a", "b"], false), Replaced::Done, 2),
    ] {
        assert_eq!(store.replace_connection(generation, &record, &change).await.unwrap(), expected);
        assert_eq!(kept().await, left, "{change:?}");
        let found = store.connection(&record.spec.name).await.unwrap().unwrap();
        assert_eq!(found.generation == 2, expected == Replaced::Done || left == 2, "{change:?}");
    }
    let deleted = store.delete_connection(&record.spec.name, "another life", false).await.unwrap();
    assert_eq!((deleted, kept().await), (DeletedConnection::Missing, 2));
    let deleted = store.delete_connection(&record.spec.name, &record.uid, false).await.unwrap();
    assert_eq!((deleted, kept().await), (DeletedConnection::Deleted, 0));
    assert_eq!(store.scope_key(&scope).await.unwrap(), None);
}

async fn what_is_used_stays_unless_forced<S: Store>(store: &S) {
    let scope = ScopeName::parse("used").unwrap();
    let key = |text: &str| SecretKey::parse(text).unwrap();
    let credential = CredentialName::parse("reader").unwrap();
    let record = ScopeRecord {
        name: scope.clone(),
        generation: 1,
        authorship: Authorship::new("me", 1, ""),
    };
    let uid = record.authorship.uid.clone();
    let stored = StoredDocument {
        name: "used".into(),
        generation: 1,
        payload: payload::encode("", "", &record).unwrap(),
    };
    assert!(store.insert_document(DocumentKind::Scope, &stored).await.unwrap());
    let secret = |name: &str| SealedSecret {
        key: key(name),
        revision: "1".into(),
        update_time_ms: 5,
        updated_by: "me".into(),
        sealed: vec![1],
    };
    let write = SecretsWrite {
        scope: ScopeId::Named(scope.clone()),
        key: ScopeKey {
            key_id: "k".into(),
            master_key_id: "m".into(),
            wrapped: vec![1],
        },
        anew: false,
        put: vec![secret("password"), secret("other")],
        remove: Vec::new(),
    };
    assert_eq!(store.write_secrets(&write).await.unwrap(), SecretsWritten::Done);
    let mut user = connection("user");
    if let ConnectionOptions::Kafka(kafka) = &mut user.spec.options {
        kafka.password_secret = Some(SecretRef {
            scope: "used".into(),
            key: "password".into(),
        });
        kafka.credential = Some("reader".into());
    }
    assert!(store.insert_connection(&user, &LiteralSecrets::Stay).await.unwrap());
    // Says the name, and uses nothing.
    let mut mentions = connection("mentions");
    mentions.spec.comment = Some("used password reader".into());
    assert!(store.insert_connection(&mentions, &LiteralSecrets::Stay).await.unwrap());

    let used = Users {
        connections: vec![user.spec.name.clone()],
        streams: Vec::new(),
    };
    let delete = async |what: &UsedThing, uid: &str, force| store.delete_if_unused(what, uid, force).await.unwrap();
    let (password, other) = (
        UsedThing::Secret(scope.clone(), key("password")),
        UsedThing::Secret(scope.clone(), key("other")),
    );
    let (credential, scope) = (UsedThing::Credential(credential), UsedThing::Scope(scope));
    for (what, expected) in [
        (&password, &used),
        (&scope, &used),
        (&credential, &used),
        (&other, &Users::default()),
    ] {
        assert_eq!(store.users(what).await.unwrap(), *expected, "{what:?}");
    }
    assert_eq!(delete(&credential, "", false).await, DeletedIfUnused::Missing);
    assert_eq!(delete(&password, "", false).await, DeletedIfUnused::InUse(used.clone()));
    assert_eq!(delete(&other, "", false).await, DeletedIfUnused::Deleted);
    assert_eq!(delete(&other, "", false).await, DeletedIfUnused::Missing);
    assert_eq!(delete(&scope, "another", true).await, DeletedIfUnused::Missing);
    assert_eq!(delete(&scope, &uid, false).await, DeletedIfUnused::InUse(used));
    assert_eq!(delete(&scope, &uid, true).await, DeletedIfUnused::Deleted);
    assert_eq!(store.list_secrets(&write.scope, None, 9).await.unwrap(), []);
    assert_eq!(store.scope_key(&write.scope).await.unwrap(), None);
    assert_eq!(delete(&scope, "", true).await, DeletedIfUnused::Missing);
    for name in [&user.spec.name, &mentions.spec.name] {
        assert_eq!(store.delete_connection(name, "", false).await.unwrap(), DeletedConnection::Deleted);
    }
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
