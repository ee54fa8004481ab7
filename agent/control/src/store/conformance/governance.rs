//! What every store must do with the records of governance: documents, grants, secrets and who uses them.

use std::collections::{BTreeMap, BTreeSet};

use stream_spec::connection::ConnectionOptions;
use stream_spec::name::{ConnectionName, CredentialName, ScopeName, SecretKey};
use stream_spec::stream::SecretRef;

use crate::governance::privilege::{Privilege, SecurableType};
use crate::governance::secrets::ScopeId;
use crate::store::documents::{Authorship, CredentialIdentity, CredentialRecord, DocumentKind, GrantsRecord, ScopeRecord, StoredDocument};
use crate::store::secrets::{Expected, ScopeKey, SealedSecret, SecretsWrite, SecretsWritten};
use crate::store::users::{DeletedIfUnused, UsedThing, Users};
use crate::store::{DeletedConnection, LiteralSecrets, Replaced, Store, WrittenGrants, payload};
use crate::testing::definitions::connection;

pub(super) async fn documents_are_kept_by_kind_and_name<S: Store>(store: &S) {
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

pub(super) fn select_for(securable_type: SecurableType, name: &str, grantee: &str, privilege: Privilege) -> GrantsRecord {
    GrantsRecord {
        securable_type,
        securable_name: name.into(),
        generation: 0,
        grants: BTreeMap::from([(grantee.into(), BTreeSet::from([privilege]))]),
        update_time_ms: 5,
        updated_by: "local-admin".into(),
    }
}

pub(super) async fn granted<S: Store>(store: &S, record: &GrantsRecord) -> Option<u64> {
    let name = GrantsRecord::document_name(record.securable_type, &record.securable_name);
    let found = store.document(DocumentKind::Grants, &name).await.unwrap();
    found.map(|found| found.generation)
}

pub(super) async fn grants_are_on_what_exists_and_go_with_it<S: Store>(store: &S) {
    let on_missing = select_for(SecurableType::Connection, "no-such", "ann", Privilege::UseConnection);
    assert_eq!(
        store.set_grants(None, "", &on_missing).await.unwrap(),
        WrittenGrants::SecurableMissing
    );
    let missing_volume = select_for(SecurableType::Volume, "main.no.such", "ann", Privilege::ReadVolume);
    assert_eq!(
        store.set_grants(None, "", &missing_volume).await.unwrap(),
        WrittenGrants::SecurableMissing
    );

    assert!(
        store
            .insert_connection(&connection("granted"), &LiteralSecrets::Stay)
            .await
            .unwrap()
    );
    let record = select_for(SecurableType::Connection, "granted", "ann", Privilege::UseConnection);
    let life = store.life(SecurableType::Connection, "granted").await.unwrap().unwrap();
    assert_eq!(life, connection("granted").uid);
    let another = store.set_grants(None, "another", &record).await.unwrap();
    assert_eq!(another, WrittenGrants::AnotherLife);
    for (planned, expected) in [
        (Some(0), Ok(1)),
        (Some(0), Err(1)),
        (Some(1), Ok(2)),
        (Some(1), Err(2)),
        (None, Ok(3)),
        (Some(4), Err(3)),
    ] {
        match (store.set_grants(planned, &life, &record).await.unwrap(), expected) {
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
            (other, expected) => panic!("{other:?} on {planned:?}, not {expected:?}"),
        }
    }
    assert_eq!(granted(store, &record).await, Some(3));
    store
        .delete_connection(&ConnectionName::parse("granted").unwrap(), "", false)
        .await
        .unwrap();
    assert_eq!(granted(store, &record).await, None);

    let credential = CredentialRecord {
        name: CredentialName::parse("role").unwrap(),
        generation: 1,
        authorship: Authorship::new("me", 1, ""),
        identity: CredentialIdentity::Ambient,
    };
    let credential = StoredDocument {
        name: "role".into(),
        generation: 1,
        payload: payload::encode("", "", &credential).unwrap(),
    };
    assert!(store.insert_document(DocumentKind::Credential, &credential).await.unwrap());
    let record = select_for(SecurableType::ServiceCredential, "role", "ann", Privilege::Access);
    assert!(matches!(
        store.set_grants(None, "", &record).await.unwrap(),
        WrittenGrants::Written(_)
    ));
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
    assert!(matches!(
        store.set_grants(None, "", &table).await.unwrap(),
        WrittenGrants::Written(_)
    ));
    let other = select_for(SecurableType::Table, "main.pay.elsewhere", "readers", Privilege::Select);
    assert!(matches!(
        store.set_grants(None, "", &other).await.unwrap(),
        WrittenGrants::Written(_)
    ));
}

pub(super) async fn secrets_and_the_key_of_their_scope_are_written_together<S: Store>(store: &S) {
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
        life: String::new(),
        key: scope_key(id),
        anew: false,
        expected: Expected::Anything,
        put: put.to_vec(),
        remove: remove.iter().map(|name| key(name)).collect(),
    };
    let written = async |change: SecretsWrite| store.write_secrets(&change).await.unwrap();
    assert_eq!(
        written(write(&named, "k1", &[secret("a", "1")], &[])).await,
        SecretsWritten::ScopeMissing
    );
    assert_eq!(store.scope_key(&named).await.unwrap(), None);
    let record = ScopeRecord {
        name: ScopeName::parse("pay").unwrap(),
        generation: 1,
        authorship: Authorship::new("me", 1, ""),
    };
    let scope = StoredDocument {
        name: "pay".into(),
        generation: 1,
        payload: payload::encode("", "", &record).unwrap(),
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

pub(super) async fn a_connection_and_its_literal_secrets_are_written_together<S: Store>(store: &S) {
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
        LiteralSecrets::Change(Box::new(SecretsWrite {
            scope: scope.clone(),
            life: String::new(),
            key: ScopeKey {
                key_id: key_id.into(),
                master_key_id: "m1".into(),
                wrapped: vec![1],
            },
            anew,
            expected: Expected::Anything,
            put: names.iter().map(secret).collect(),
            remove: Vec::new(),
        }))
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

pub(super) async fn what_is_used_stays_unless_forced<S: Store>(store: &S) {
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
        life: String::new(),
        key: ScopeKey {
            key_id: "k".into(),
            master_key_id: "m".into(),
            wrapped: vec![1],
        },
        anew: false,
        expected: Expected::Anything,
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
    assert_eq!(delete(&other, "another", false).await, DeletedIfUnused::Missing);
    assert_eq!(delete(&other, &uid, false).await, DeletedIfUnused::Deleted);
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
