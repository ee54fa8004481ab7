//! A key of KMS over a stand-in for KMS: what opens, what is refused, and what happens while it is away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use stream_spec::name::SecretKey;

use super::*;
use crate::governance::secrets::master::{LocalKey, MasterKeys};
use crate::governance::secrets::{ScopeId, SecretValue, Vault, VaultError};
use crate::store::Store;
use crate::store::sqlite::SqliteStore;
use crate::testing::aws::{FakeAws, configuration};

const KEY: &str = "1234abcd-12ab-34cd-56ef-1234567890ab";
const DATA_KEY: [u8; 32] = [7; 32];

const PURPOSE: KeyUse<'static> = KeyUse {
    scope: "pay",
    key_id: "k1",
};

/// A KMS that seals by writing down what it was given, and opens for the same key and context only.
fn kms(_: usize, target: &str, body: &[u8]) -> (u16, String) {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    let asked: Value = serde_json::from_slice(body).unwrap();
    let context = json!([asked["KeyId"], asked["EncryptionContext"]]);
    match target {
        "TrentService.Encrypt" => {
            let sealed = STANDARD.encode(json!([context, asked["Plaintext"]]).to_string());
            (200, json!({"CiphertextBlob": sealed, "KeyId": asked["KeyId"]}).to_string())
        }
        "TrentService.Decrypt" => {
            let sealed = STANDARD.decode(asked["CiphertextBlob"].as_str().unwrap()).unwrap();
            match serde_json::from_slice::<Value>(&sealed) {
                Ok(sealed) if sealed[0] == context => (200, json!({"Plaintext": sealed[1], "KeyId": asked["KeyId"]}).to_string()),
                _ => failed(400, "InvalidCiphertextException"),
            }
        }
        other => failed(400, other),
    }
}

fn failed(status: u16, code: &str) -> (u16, String) {
    (status, json!({"__type": code, "message": "said by the service"}).to_string())
}

fn key_at(aws: &FakeAws, name: &str) -> KmsKey {
    KmsKey::reached_by(name, AwsEnvironment::of(aws.configuration.clone()))
}

#[test]
fn a_key_is_named_by_its_id_or_its_arn() {
    let arn = |rest: &str| format!("arn:aws:kms:{rest}");
    for (name, expected) in [
        (KEY.to_owned(), Some(None)),
        (format!("mrk-{}", "0a".repeat(16)), Some(None)),
        (arn(&format!("eu-central-1:123456789012:key/{KEY}")), Some(Some("eu-central-1"))),
        (
            format!("arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/{KEY}"),
            Some(Some("us-gov-west-1")),
        ),
        (arn("eu-central-1:123456789012:alias/k"), None),
        (arn(&format!("eu-central-1:12345:key/{KEY}")), None),
        (arn(&format!(":123456789012:key/{KEY}")), None),
        (format!("arn:aws:s3:eu-central-1:123456789012:key/{KEY}"), None),
        ("alias/k".to_owned(), None),
        ("mrk-0".to_owned(), None),
        (String::new(), None),
    ] {
        assert_eq!(region_of(&name), expected, "{name}");
        match KmsKey::parse(&name) {
            Ok(key) => assert_eq!(key.id(), format!("aws-kms/{name}")),
            Err(error) => assert!(expected.is_none() && error.to_string().contains(&format!("`{name}`")), "{error}"),
        }
    }
}

#[tokio::test]
async fn a_data_key_opens_for_its_scope_its_life_and_its_master_key_alone() {
    let aws = FakeAws::start(kms).await;
    let master = key_at(&aws, KEY);
    let sealed = master.seal_key(PURPOSE, &Key::from_bytes(&DATA_KEY).unwrap()).await.unwrap();
    assert_eq!(master.open_key(PURPOSE, &sealed).await.ok().unwrap().bytes(), DATA_KEY);
    let other = key_at(&aws, "1234abcd-12ab-34cd-56ef-000000000000");
    for (master, purpose, sealed) in [
        (&master, KeyUse { scope: "ship", ..PURPOSE }, sealed.as_slice()),
        (&master, KeyUse { key_id: "k2", ..PURPOSE }, &sealed),
        (&other, PURPOSE, &sealed),
        (&master, PURPOSE, b"damaged"),
    ] {
        let opened = master.open_key(purpose, sealed).await;
        assert_eq!(opened.err(), Some(WrapError::NotAuthentic), "{purpose:?}");
    }
}

#[tokio::test]
async fn what_kms_refuses_is_not_taken_for_damage() {
    // What it answers, how often it is asked, what is said.
    let cases = [
        (400, "AccessDeniedException", 1),
        (400, "DisabledException", 1),
        (400, "NotFoundException", 1),
        (400, "ThrottlingException", 3),
        (500, "KMSInternalException", 3),
    ];
    for (status, code, asked) in cases {
        let aws = FakeAws::start(move |_, _, _| failed(status, code)).await;
        let master = key_at(&aws, KEY);
        let Err(WrapError::Unavailable(problem)) = master.open_key(PURPOSE, b"sealed").await else {
            panic!("{code} is not taken for what it is")
        };
        for part in [code, "said by the service", "kms:Decrypt"] {
            assert!(problem.contains(part), "{problem}");
        }
        assert_eq!(aws.asked(), asked, "{code}");
    }
}

#[tokio::test]
async fn what_aws_says_of_a_wrong_signature_is_not_repeated() {
    let answer = json!({"__type": "SignatureDoesNotMatch", "message": "x-amz-security-token:canary-token-5e11"}).to_string();
    let aws = FakeAws::start(move |_, _, _| (403, answer.clone())).await;
    let Err(WrapError::Unavailable(problem)) = key_at(&aws, KEY).open_key(PURPOSE, b"sealed").await else {
        panic!("a wrong signature is not taken for what it is")
    };
    assert!(problem.contains("SignatureDoesNotMatch") && problem.contains("clock"), "{problem}");
    assert!(!problem.contains("canary"), "{problem}");
}

fn secret() -> (ScopeId, SecretKey) {
    // A connection's scope needs no record.
    (ScopeId::Connection("c1".into()), SecretKey::parse("password").unwrap())
}

async fn store() -> (tempfile::TempDir, Arc<dyn Store>) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("agent.db")).await.unwrap();
    (folder, Arc::new(store))
}

async fn read(vault: &Vault) -> Result<SecretValue, VaultError> {
    let (scope, key) = secret();
    vault.read(&scope, &key).await
}

#[tokio::test]
async fn secrets_go_from_a_local_key_to_kms_and_back() {
    let aws = FakeAws::start(kms).await;
    let (_folder, store) = store().await;
    let local = || -> Arc<dyn KeyWrapper> { Arc::new(LocalKey::from_bytes(&[1; 32]).unwrap()) };
    let in_kms = || -> Arc<dyn KeyWrapper> { Arc::new(key_at(&aws, KEY)) };
    let vault = |current, former| Vault::new(store.clone(), MasterKeys::new(current, former, "name the key"));
    let (scope, key) = secret();
    let value = SecretValue::from("hunter2".to_owned());
    vault(local(), Vec::new()).put(&scope, &key, &value, "me").await.unwrap();
    for (next, former) in [(in_kms(), local()), (local(), in_kms())] {
        let rotation = vault(next.clone(), vec![former.clone()]).rotate_master_key().await.unwrap();
        assert_eq!((rotation.sealed, rotation.failed.len()), (1, 0));
        assert!(read(&vault(next, Vec::new())).await.unwrap() == value);
        let error = read(&vault(former, Vec::new())).await.unwrap_err();
        assert!(matches!(error, VaultError::MasterKeyMissing { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_kms_that_is_away_is_unavailable_for_the_scope_and_comes_back() {
    let away = Arc::new(AtomicBool::new(false));
    let is_away = away.clone();
    let aws = FakeAws::start(move |number, target, body| match is_away.load(Ordering::SeqCst) {
        true => (503, "away".to_owned()),
        false => kms(number, target, body),
    })
    .await;
    let (_folder, store) = store().await;
    let master = Arc::new(key_at(&aws, KEY));
    let vault = Vault::new(store.clone(), MasterKeys::new(master, Vec::new(), "name the key"));
    let (scope, key) = secret();
    let value = SecretValue::from("hunter2".to_owned());
    vault.put(&scope, &key, &value, "me").await.unwrap();
    away.store(true, Ordering::SeqCst);
    let error = read(&vault).await.unwrap_err();
    assert!(
        error.is_passing() && matches!(error, VaultError::MasterKeyUnavailable { .. }),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(["connection/c1", KEY, "503"].iter().all(|part| text.contains(part)), "{text}");
    // What needs no key goes on.
    assert_eq!(vault.list(&scope, None, 9).await.unwrap().len(), 1);
    away.store(false, Ordering::SeqCst);
    assert!(read(&vault).await.unwrap() == value);
    // One that nobody listens for is the same.
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let master = KmsKey::reached_by(KEY, AwsEnvironment::of(configuration(&format!("http://{gone}"))));
    let vault = Vault::new(store, MasterKeys::new(Arc::new(master), Vec::new(), "name the key"));
    assert!(matches!(read(&vault).await, Err(VaultError::MasterKeyUnavailable { .. })));
}
