//! The vault over a real store: what goes in comes out, and nothing else opens.

use std::sync::Arc;

use stream_spec::name::{ScopeName, SecretKey};

use super::master::{LocalKey, MasterKeys};
use super::{NewSecret, ScopeId, SecretValue, Vault, VaultError};
use crate::store::documents::{Authorship, ScopeRecord};
use crate::store::secrets::SecretsWritten;
use crate::store::sqlite::SqliteStore;
use crate::store::{Store, documents};

const REMEDY: &str = "put the master key back";

struct Room {
    vault: Vault,
    store: Arc<dyn Store>,
    sqlite: Arc<SqliteStore>,
    folder: tempfile::TempDir,
}

fn master(byte: u8) -> Arc<LocalKey> {
    Arc::new(LocalKey::from_bytes(&[byte; 32]).unwrap())
}

fn named(name: &str) -> ScopeId {
    ScopeId::Named(ScopeName::parse(name).unwrap())
}

fn key(text: &str) -> SecretKey {
    SecretKey::parse(text).unwrap()
}

fn scope_record(name: &str) -> ScopeRecord {
    ScopeRecord {
        name: ScopeName::parse(name).unwrap(),
        generation: 1,
        authorship: Authorship {
            uid: "u".into(),
            create_time_ms: 1,
            created_by: "a".into(),
            update_time_ms: 1,
            updated_by: "a".into(),
            create_request_id: String::new(),
        },
    }
}

impl Room {
    /// With the scopes `pay` and `ship`, under master key 1.
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
        let store: Arc<dyn Store> = sqlite.clone();
        for scope in ["pay", "ship"] {
            assert!(documents::insert(&store, &scope_record(scope)).await.unwrap());
        }
        let vault = Vault::new(store.clone(), MasterKeys::new(master(1), Vec::new(), REMEDY));
        Self {
            vault,
            store,
            sqlite,
            folder,
        }
    }

    fn with(&self, master_keys: MasterKeys) -> Vault {
        Vault::new(self.store.clone(), master_keys)
    }

    async fn put(&self, scope: &str, name: &str, value: &str) -> String {
        let value = SecretValue::from(value.to_owned());
        self.vault.put(&named(scope), &key(name), &value, "me").await.unwrap().revision
    }

    async fn read(&self, scope: &str, name: &str) -> Result<String, VaultError> {
        read(&self.vault, scope, name).await
    }
}

async fn read(vault: &Vault, scope: &str, name: &str) -> Result<String, VaultError> {
    let value = vault.read(&named(scope), &key(name)).await?;
    Ok(value.expose_text().unwrap().to_owned())
}

#[tokio::test]
async fn a_value_comes_back_and_its_revision_is_new_with_every_write() {
    let room = Room::new().await;
    let first = room.put("pay", "password", "hunter2").await;
    assert_eq!(room.read("pay", "password").await.unwrap(), "hunter2");
    let second = room.put("pay", "password", "hunter2").await;
    assert_ne!(first, second, "the same value twice is two revisions");
    room.put("pay", "empty", "").await;
    assert_eq!(room.read("pay", "empty").await.unwrap(), "");
    let listed = room.vault.list(&named("pay"), None, 9).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|entry| (entry.key.as_str(), entry.updated_by.as_str())).collect();
    assert_eq!(listed, [("empty", "me"), ("password", "me")]);
    assert!(room.vault.delete(&named("pay"), &key("password")).await.unwrap());
    assert!(!room.vault.delete(&named("pay"), &key("password")).await.unwrap());
    assert!(matches!(room.read("pay", "password").await, Err(VaultError::SecretMissing { .. })));
    assert!(matches!(
        room.read("nowhere", "password").await,
        Err(VaultError::ScopeMissing { .. })
    ));
    let value = SecretValue::from("v".to_owned());
    let nowhere = room.vault.put(&named("nowhere"), &key("k"), &value, "me").await;
    assert!(matches!(nowhere, Err(VaultError::ScopeMissing { .. })));
}

#[tokio::test]
async fn no_file_of_the_database_and_no_text_holds_a_value() {
    let room = Room::new().await;
    let canary = "canary-5d1f0c";
    room.put("pay", "password", canary).await;
    let value = room.vault.read(&named("pay"), &key("password")).await.unwrap();
    assert!(!format!("{value:?}").contains(canary));
    let files = std::fs::read_dir(room.folder.path()).unwrap();
    let files: Vec<_> = files.map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect();
    let holds = |what: &str| {
        files
            .iter()
            .any(|bytes| bytes.windows(what.len()).any(|window| window == what.as_bytes()))
    };
    // The key is found, so the search works.
    assert!(holds("password") && !holds(canary));
}

#[tokio::test]
async fn literal_secrets_of_a_connection_are_written_together_and_replaced_without_being_readable() {
    let room = Room::new().await;
    let scope = ScopeId::Connection("c1".into());
    let new = |name: &str, value: &str| NewSecret {
        key: key(name),
        value: SecretValue::from(value.to_owned()),
    };
    let write = room
        .vault
        .seal_for_connection("c1", &[new("a", "1"), new("b", "2")], Vec::new(), "me")
        .await
        .unwrap();
    assert_eq!(room.store.write_secrets(&write).await.unwrap(), SecretsWritten::Done);
    // A write that was sealed under a first key of its own.
    let late = room.vault.seal_all_for_connection("c1", &[new("c", "3")], "me").await.unwrap();
    let late = crate::store::secrets::SecretsWrite { anew: false, ..late };
    assert_eq!(room.store.write_secrets(&late).await.unwrap(), SecretsWritten::KeyChanged);
    let change = room
        .vault
        .seal_for_connection("c1", &[new("b", "4")], vec![key("a")], "me")
        .await
        .unwrap();
    assert_eq!(room.store.write_secrets(&change).await.unwrap(), SecretsWritten::Done);
    assert!(room.vault.read(&scope, &key("a")).await.is_err());
    assert_eq!(room.vault.read(&scope, &key("b")).await.unwrap().expose(), b"4");
    let with_another_key = room.with(MasterKeys::new(master(2), Vec::new(), REMEDY));
    assert!(with_another_key.seal_for_connection("c1", &[], Vec::new(), "me").await.is_err());
    let anew = with_another_key
        .seal_all_for_connection("c1", &[new("b", "5")], "me")
        .await
        .unwrap();
    assert_eq!(room.store.write_secrets(&anew).await.unwrap(), SecretsWritten::Done);
    assert_eq!(with_another_key.read(&scope, &key("b")).await.unwrap().expose(), b"5");
}

#[tokio::test]
async fn a_lost_or_wrong_master_key_is_said_with_the_scope_and_harms_nothing_else() {
    let room = Room::new().await;
    room.put("pay", "password", "hunter2").await;
    for (keys, has) in [
        (MasterKeys::new(master(2), Vec::new(), REMEDY), "this agent has `local/"),
        (MasterKeys::none(REMEDY), "this agent has none"),
    ] {
        let vault = room.with(keys);
        let value = SecretValue::from("v".to_owned());
        for error in [
            read(&vault, "pay", "password").await.unwrap_err(),
            vault.put(&named("pay"), &key("other"), &value, "me").await.unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(
                !error.is_passing() && text.contains("`pay`") && text.contains(has) && text.contains(REMEDY),
                "{text}"
            );
        }
        assert_eq!(vault.list(&named("pay"), None, 9).await.unwrap().len(), 1);
    }
    assert_eq!(room.read("pay", "password").await.unwrap(), "hunter2", "the key is back");
    // The key is lost for good: what was sealed under it goes, and the scope is usable again.
    let after = room.with(MasterKeys::new(master(2), Vec::new(), REMEDY));
    assert!(after.delete(&named("pay"), &key("password")).await.unwrap());
    let value = SecretValue::from("new".to_owned());
    after.put(&named("pay"), &key("password"), &value, "me").await.unwrap();
    assert_eq!(read(&after, "pay", "password").await.unwrap(), "new");
    let none = room.with(MasterKeys::none(REMEDY));
    assert!(matches!(
        none.put(&named("ship"), &key("k"), &value, "me").await,
        Err(VaultError::NoMasterKey { .. })
    ));
}

#[tokio::test]
async fn a_rotation_of_the_master_key_goes_on_where_it_was_interrupted() {
    let room = Room::new().await;
    for (scope, name) in [("pay", "a"), ("pay", "b"), ("ship", "a")] {
        room.put(scope, name, "hunter2").await;
    }
    let damaged = "UPDATE scope_keys SET wrapped = zeroblob(61) WHERE scope = 'broken'";
    assert!(documents::insert(&room.store, &scope_record("broken")).await.unwrap());
    room.put("broken", "a", "hunter2").await;
    room.sqlite.close().await;
    rusqlite::Connection::open(room.folder.path().join("agent.db"))
        .unwrap()
        .execute(damaged, [])
        .unwrap();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&room.folder.path().join("agent.db")).await.unwrap());
    let rotating = || MasterKeys::new(master(2), vec![master(1) as _], REMEDY);
    let vault = Vault::new(store.clone(), rotating());
    // As if it had been stopped after one scope: that one is under the new key, the rest under the old one.
    let old = store.scope_key(&named("pay")).await.unwrap().unwrap();
    let rotated = vault.rotate_master_key().await.unwrap();
    assert_eq!((rotated.sealed, rotated.unchanged), (2, 0));
    assert!(
        rotated.failed.first().unwrap().to_string().contains("`broken`"),
        "{:?}",
        rotated.failed
    );
    let new = store.scope_key(&named("pay")).await.unwrap().unwrap();
    assert!(new.key_id == old.key_id && new.master_key_id != old.master_key_id);
    assert_eq!(
        store.replace_scope_key(&named("pay"), &new, &old, &[]).await.unwrap(),
        crate::store::Replaced::Done
    );
    assert_eq!(read(&vault, "pay", "a").await.unwrap(), "hunter2", "both keys open meanwhile");
    let alone = Vault::new(store.clone(), MasterKeys::new(master(2), Vec::new(), REMEDY));
    let elsewhere = alone.sealed_elsewhere(9).await.unwrap();
    assert_eq!(
        elsewhere.iter().map(|(scope, _)| scope.to_string()).collect::<Vec<_>>(),
        ["broken", "pay"]
    );
    let rotated = vault.rotate_master_key().await.unwrap();
    assert_eq!((rotated.sealed, rotated.unchanged, rotated.failed.len()), (1, 1, 1));
    for (scope, name) in [("pay", "a"), ("pay", "b"), ("ship", "a")] {
        assert_eq!(read(&alone, scope, name).await.unwrap(), "hunter2");
    }
}

#[tokio::test]
async fn a_new_data_key_seals_everything_anew_and_keeps_the_revisions() {
    let room = Room::new().await;
    let revision = room.put("pay", "a", "hunter2").await;
    room.put("pay", "b", "hunter3").await;
    let before = room.store.sealed_secrets(&named("pay")).await.unwrap().unwrap();
    let rotated = room.vault.rotate_data_keys().await.unwrap();
    assert_eq!((rotated.sealed, rotated.failed.len()), (1, 0));
    let after = room.store.sealed_secrets(&named("pay")).await.unwrap().unwrap();
    assert!(before.0.key_id != after.0.key_id && before.1[0].sealed != after.1[0].sealed);
    assert_eq!(
        (after.1[0].revision.as_str(), room.read("pay", "b").await.unwrap()),
        (revision.as_str(), "hunter3".into())
    );
}

/// What another hand may do to the database file, and what reading says then.
#[tokio::test]
async fn bytes_that_were_changed_or_moved_do_not_open() {
    let cases = [
        (
            "UPDATE secrets SET sealed = zeroblob(64) WHERE scope = 'pay' AND key = 'a'",
            "secret `a`",
        ),
        ("UPDATE secrets SET sealed = x'' WHERE scope = 'pay' AND key = 'a'", "secret `a`"),
        (
            "UPDATE secrets SET sealed = CAST(x'02' || substr(sealed, 2) AS BLOB) WHERE scope = 'pay' AND key = 'a'",
            "secret `a`",
        ),
        (
            "UPDATE secrets SET sealed = substr(sealed, 1, length(sealed) - 1) WHERE scope = 'pay' AND key = 'a'",
            "secret `a`",
        ),
        (
            "UPDATE secrets SET sealed = (SELECT sealed FROM secrets WHERE scope = 'pay' AND key = 'b') WHERE scope = 'pay' AND key = 'a'",
            "secret `a`",
        ),
        (
            "UPDATE secrets SET (sealed, revision) = (SELECT sealed, revision FROM secrets WHERE scope = 'pay' AND key = 'b') WHERE scope = 'pay' AND key = 'a'",
            "secret `a`",
        ),
        (
            "UPDATE secrets SET (sealed, revision) = (SELECT sealed, revision FROM secrets WHERE scope = 'ship' AND key = 'a') WHERE scope = 'pay' AND key = 'a'",
            "secret `a`",
        ),
        (
            "UPDATE secrets SET revision = 'another' WHERE scope = 'pay' AND key = 'a'",
            "secret `a`",
        ),
        ("UPDATE scope_keys SET wrapped = zeroblob(61) WHERE scope = 'pay'", "data key"),
        ("UPDATE scope_keys SET key_id = 'another' WHERE scope = 'pay'", "data key"),
        (
            "UPDATE scope_keys SET (key_id, wrapped) = (SELECT key_id, wrapped FROM scope_keys WHERE scope = 'ship') WHERE scope = 'pay'",
            "data key",
        ),
    ];
    for (statement, said) in cases {
        let room = Room::new().await;
        for (scope, name) in [("pay", "a"), ("pay", "b"), ("ship", "a")] {
            room.put(scope, name, "hunter2").await;
        }
        let path = room.folder.path().join("agent.db");
        room.sqlite.close().await;
        let changed = rusqlite::Connection::open(&path).unwrap().execute(statement, []).unwrap();
        assert_eq!(changed, 1, "{statement}");
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path).await.unwrap());
        let vault = Vault::new(store.clone(), MasterKeys::new(master(1), Vec::new(), REMEDY));
        let error = read(&vault, "pay", "a").await.unwrap_err().to_string();
        assert!(
            error.contains(said) && error.contains("`pay`") && !error.contains("hunter2"),
            "{statement}: {error}"
        );
        assert_eq!(read(&vault, "ship", "a").await.unwrap(), "hunter2", "{statement}");
    }
}
