//! Tokens of an issuer whose keys are in a file: what is right, and everything that can be wrong with one.

mod https;

use std::path::Path;

use base64::Engine;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::json;

use super::*;
use crate::clock::now_ms;

const ISSUER: &str = "https://issuer.example";

/// A key of the issuer, or of somebody who pretends.
struct Signer {
    id: &'static str,
    algorithm: Algorithm,
    key: EncodingKey,
    public: Vec<u8>,
}

impl Signer {
    fn new(id: &'static str, algorithm: Algorithm) -> Self {
        let kind = match algorithm {
            Algorithm::ES256 => &rcgen::PKCS_ECDSA_P256_SHA256,
            Algorithm::EdDSA => &rcgen::PKCS_ED25519,
            _ => &rcgen::PKCS_RSA_SHA256,
        };
        let pair = rcgen::KeyPair::generate_for(kind).unwrap();
        let key = match algorithm {
            Algorithm::ES256 => EncodingKey::from_ec_der(pair.serialized_der()),
            Algorithm::EdDSA => EncodingKey::from_ed_der(pair.serialized_der()),
            // Inside PKCS#8 stands the key itself, after a head of 26 bytes for 2,048 bits.
            _ => EncodingKey::from_rsa_der(&pair.serialized_der()[26..]),
        };
        let public = pair.public_key_raw().to_vec();
        Self {
            id,
            algorithm,
            key,
            public,
        }
    }

    fn published(&self) -> Value {
        if self.algorithm == Algorithm::EdDSA {
            let x = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(&self.public);
            return json!({"kty": "OKP", "crv": "Ed25519", "x": x, "kid": self.id});
        }
        let mut jwk = Jwk::from_encoding_key(&self.key, self.algorithm).unwrap();
        jwk.common.key_id = Some(self.id.to_owned());
        serde_json::to_value(jwk).unwrap()
    }

    fn sign(&self, claims: &Value) -> String {
        let mut header = Header::new(self.algorithm);
        header.kid = Some(self.id.to_owned());
        encode(&header, claims, &self.key).unwrap()
    }
}

/// An issuer whose documents are files.
struct Scene {
    folder: tempfile::TempDir,
    oidc: Oidc,
}

impl Scene {
    fn new(published: &[Value]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let oidc = Oidc::new(vec![settings(folder.path())]).unwrap();
        let keys = url::Url::from_file_path(folder.path().join("keys.json")).unwrap();
        let scene = Self { folder, oidc };
        scene.write("discovery.json", &json!({"issuer": ISSUER, "jwks_uri": keys.as_str()}));
        scene.publish(published);
        scene
    }

    fn write(&self, name: &str, document: &Value) {
        std::fs::write(self.folder.path().join(name), document.to_string()).unwrap();
    }

    fn publish(&self, keys: &[Value]) {
        self.write("keys.json", &json!({ "keys": keys }));
    }

    async fn check(&self, token: &str, expected: Result<&str, &str>) {
        match (self.oidc.verify(token).await, expected) {
            (Ok(named), expected) => assert_eq!(Ok(named.name.as_str()), expected),
            (Err(error), Err(said)) => assert!(error.to_string().contains(said), "{error}, not {said}"),
            (Err(error), Ok(name)) => panic!("{name}: {error}"),
        }
    }
}

fn settings(folder: &Path) -> IssuerSettings {
    IssuerSettings {
        issuer: ISSUER.to_owned(),
        audience: "featurestore".to_owned(),
        discovery: Some(url::Url::from_file_path(folder.join("discovery.json")).unwrap().into()),
        authorities: None,
        principal_claim: "sub".to_owned(),
        principal_prefix: String::new(),
        groups_claim: Some("groups".to_owned()),
        may_name_admins: false,
        clock_skew: Duration::from_secs(60),
    }
}

/// Sound claims, with some of them other.
fn claims(other: &Value) -> Value {
    let now = now_ms() / 1_000;
    let mut claims =
        json!({"iss": ISSUER, "aud": "featurestore", "sub": "ada", "exp": now + 600, "nbf": now - 10, "groups": ["sre", "admins"]});
    for (name, value) in other.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims
}

#[tokio::test]
async fn each_algorithm_that_is_taken_is_checked_with_the_issuers_key() {
    let signers = [Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::EdDSA]
        .into_iter()
        .zip(["rs", "ps", "es", "ed"])
        .map(|(algorithm, id)| Signer::new(id, algorithm));
    let signers: Vec<_> = signers.collect();
    let published: Vec<_> = signers.iter().map(Signer::published).collect();
    let scene = Scene::new(&published);
    for signer in &signers {
        let token = signer.sign(&claims(&json!({})));
        scene.check(&token, Ok("ada")).await;
        let pretender = Signer::new(signer.id, signer.algorithm);
        scene.check(&pretender.sign(&claims(&json!({}))), Err("signature")).await;
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let (header, _) = signed.split_once('.').unwrap();
        let other = signer.sign(&claims(&json!({"sub": "bob"})));
        let other = other.split('.').nth(1).unwrap();
        scene.check(&format!("{header}.{other}.{signature}"), Err("signature")).await;
        scene.check(&format!("{signed}."), Err("")).await;
    }
}

#[tokio::test]
async fn a_token_with_anything_wrong_is_refused() {
    let signer = Signer::new("k1", Algorithm::ES256);
    let scene = Scene::new(&[signer.published()]);
    let now = now_ms() / 1_000;
    let cases = [
        (json!({}), Ok("ada")),
        (json!({"aud": ["other", "featurestore"]}), Ok("ada")),
        (json!({"exp": now - 30}), Ok("ada")),
        (json!({"nbf": now + 30}), Ok("ada")),
        (json!({"exp": now - 120}), Err("has expired")),
        (json!({"nbf": now + 120}), Err("not good yet")),
        (json!({"exp": null}), Err("lacks one of")),
        (json!({"exp": "tomorrow"}), Err("lacks one of")),
        (json!({"aud": "other"}), Err("another audience")),
        (json!({"aud": null}), Err("lacks one of")),
        (json!({"iss": "https://issuer.example/"}), Err("issuer is none")),
        (json!({"iss": null}), Err("cannot be read")),
        (json!({"sub": null}), Err("names nobody")),
        (json!({"sub": ""}), Err("names nobody")),
        (json!({"sub": 7}), Err("names nobody")),
        (json!({"groups": {"a": 1}}), Err("no list")),
        (json!({"groups": vec!["g"; GROUPS_OF_A_CALLER_MAX + 1]}), Err("no list")),
    ];
    for (other, expected) in cases {
        scene.check(&signer.sign(&claims(&other)), expected).await;
    }
    let sound = signer.sign(&claims(&json!({})));
    let (_, rest) = sound.split_once('.').unwrap();
    let with_header = |header: Value| {
        format!(
            "{}.{rest}",
            base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(header.to_string())
        )
    };
    for (header, said) in [
        (json!({"alg": "none"}), "not signed by"),
        (json!({"alg": "None"}), "not signed by"),
        (json!({"alg": "ES384", "kid": "k1"}), "not signed by"),
        (json!({"alg": "RS256", "kid": "k1"}), "does not publish"),
        (json!({"alg": "ES256", "kid": "k2"}), "does not publish"),
        (json!({"alg": "ES256", "kid": "k1", "crit": ["b64"]}), "critical"),
    ] {
        scene.check(&with_header(header), Err(said)).await;
    }
    for text in ["a.b.c", "..", "x"] {
        assert!(scene.oidc.verify(text).await.is_err(), "{text}");
    }
    // The public key, taken for the secret that both sides share.
    let mut header = Header::new(Algorithm::HS256);
    header.kid = Some("k1".to_owned());
    let forged = encode(&header, &claims(&json!({})), &EncodingKey::from_secret(&signer.public)).unwrap();
    scene.check(&forged, Err("not signed by")).await;
}

#[tokio::test]
async fn other_groups_than_at_the_last_login_are_told_of_once() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crate::governance::authentication::{Authenticator, Directory, Door, Shown};
    use crate::store::Store;
    use crate::store::sqlite::SqliteStore;

    let signer = Signer::new("k1", Algorithm::ES256);
    let Scene { folder, oidc } = Scene::new(&[signer.published()]);
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
    let directory = Arc::new(Directory::default().with_issuers(vec![settings(folder.path())]));
    let told = Arc::new(AtomicUsize::new(0));
    let count = told.clone();
    let authenticator = Authenticator::new(store.clone(), directory.clone(), oidc, Door::Closed).telling_of_other_groups(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let now = now_ms() / 1_000;
    for (age, groups, expected, is_told) in [
        (9, json!([]), &[][..], false),
        (8, json!(["sre"]), &["sre"], true),
        (7, json!(["sre"]), &["sre"], false),
        (6, json!([]), &[], true),
        // An old token, which counts for its own call.
        (8, json!(["sre"]), &[], false),
        (5, json!(["dba"]), &["dba"], true),
    ] {
        let token = signer.sign(&claims(&json!({"iat": now - age, "groups": groups})));
        let header = format!("Bearer {token}");
        let shown = Shown {
            authorization: Some(Ok(&header)),
            ..Shown::default()
        };
        authenticator.authenticate(&shown).await.unwrap();
        assert_eq!(told.swap(0, Ordering::Relaxed) > 0, is_told, "{groups} {age} s ago");
        let absent = directory.absent_principal(&store, "ada").await.unwrap();
        assert_eq!(absent.groups().iter().map(String::as_str).collect::<Vec<_>>(), expected, "{age}");
    }
}

#[tokio::test]
async fn groups_are_as_the_issuer_says_but_for_the_admins() {
    let signer = Signer::new("k1", Algorithm::ES256);
    let scene = Scene::new(&[signer.published()]);
    let token = signer.sign(&claims(&json!({})));
    let named = scene.oidc.verify(&token).await.unwrap();
    assert_eq!(named.groups, Some(BTreeSet::from(["sre".to_owned()])));
    let trusted = Oidc::new(vec![IssuerSettings {
        may_name_admins: true,
        principal_prefix: "corp:".to_owned(),
        ..settings(scene.folder.path())
    }])
    .unwrap();
    let named = trusted.verify(&token).await.unwrap();
    let groups = ["admins", "corp:sre"].map(str::to_owned);
    assert_eq!((named.name.as_str(), named.groups), ("corp:ada", Some(BTreeSet::from(groups))));
    for (other, groups) in [(json!({"groups": null}), None), (json!({"groups": []}), Some(BTreeSet::new()))] {
        let named = scene.oidc.verify(&signer.sign(&claims(&other))).await.unwrap();
        assert_eq!(named.groups, groups, "{other}");
    }
    let dated = scene.oidc.verify(&signer.sign(&claims(&json!({"iat": 7})))).await.unwrap();
    assert_eq!((dated.issue_time_ms, named.issue_time_ms), (Some(7_000), None));
    let of_the_agent = signer.sign(&claims(&json!({"groups": ["admin", "local-admin", "sre"]})));
    let named = scene.oidc.verify(&of_the_agent).await.unwrap();
    assert_eq!(named.groups, Some(BTreeSet::from(["sre".to_owned()])));
    let by_mail = Oidc::new(vec![IssuerSettings {
        principal_claim: "email".to_owned(),
        groups_claim: None,
        ..settings(scene.folder.path())
    }])
    .unwrap();
    let mail = |verified: bool| signer.sign(&claims(&json!({"email": "ada@example.com", "email_verified": verified})));
    assert_eq!(by_mail.verify(&mail(true)).await.unwrap().groups, None);
    assert!(by_mail.verify(&mail(false)).await.is_err());
    for unsaid in [
        json!({"email": "ada@example.com"}),
        json!({"email": "ada@example.com", "email_verified": "true"}),
    ] {
        assert!(by_mail.verify(&signer.sign(&claims(&unsaid))).await.is_err(), "{unsaid}");
    }
}

#[tokio::test]
async fn a_new_key_is_found_once_the_issuer_may_be_asked_again_and_the_known_one_meanwhile() {
    let (first, second) = (Signer::new("k1", Algorithm::ES256), Signer::new("k2", Algorithm::ES256));
    let scene = Scene::new(&[first.published()]);
    let (old, new) = (first.sign(&claims(&json!({}))), second.sign(&claims(&json!({}))));
    scene.check(&old, Ok("ada")).await;
    scene.publish(&[second.published()]);
    scene.check(&new, Err("does not publish")).await;
    scene.check(&old, Ok("ada")).await;
    scene.oidc.issuers[0].keys.pretend_older(crate::limits::ISSUER_LOOK_INTERVAL);
    scene.check(&new, Ok("ada")).await;
    scene.check(&old, Err("does not publish")).await;
    std::fs::remove_file(scene.folder.path().join("keys.json")).unwrap();
    scene.oidc.issuers[0].keys.pretend_older(crate::limits::ISSUER_KEYS_AGE_MAX);
    scene.check(&new, Ok("ada")).await;
    scene.oidc.issuers[0].keys.pretend_older(crate::limits::ISSUER_KEYS_STALE_MAX);
    scene.check(&new, Err("cannot be had")).await;
}

#[tokio::test]
async fn documents_of_another_issuer_or_of_no_use_leave_nobody_known() {
    let signer = Signer::new("k1", Algorithm::ES256);
    let token = signer.sign(&claims(&json!({})));
    // Of another issuer, and nothing else is wrong with it: the keys are there.
    let scene = Scene::new(&[signer.published()]);
    let keys = url::Url::from_file_path(scene.folder.path().join("keys.json")).unwrap();
    scene.write(
        "discovery.json",
        &json!({"issuer": "https://other.example", "jwks_uri": keys.as_str()}),
    );
    scene.check(&token, Err("cannot be had")).await;
    for document in [
        json!({"issuer": ISSUER, "jwks_uri": "http://issuer.example/keys"}),
        json!({"issuer": ISSUER, "jwks_uri": "file:///nowhere/keys.json"}),
        json!({"issuer": ISSUER}),
        json!("x"),
    ] {
        let scene = Scene::new(&[signer.published()]);
        scene.write("discovery.json", &document);
        scene.check(&token, Err("cannot be had")).await;
    }
    let scene = Scene::new(&[json!({"kty": "oct", "k": "AAAA", "kid": "k1"}), json!(7), json!({"kty": "XX"})]);
    scene.check(&token, Err("does not publish")).await;
    let mut for_encryption = signer.published();
    for_encryption["use"] = json!("enc");
    let scene = Scene::new(&[for_encryption]);
    scene.check(&token, Err("does not publish")).await;
    for address in ["http://issuer.example", "issuer", "ftp://issuer"] {
        let refused = Oidc::new(vec![IssuerSettings {
            discovery: Some(address.to_owned()),
            ..settings(Path::new("/"))
        }]);
        assert!(refused.is_err(), "{address}");
    }
}

#[test]
fn a_document_in_the_web_names_no_file() {
    let check = |discovery: &str, keys: &str, expected: Result<(), &str>| {
        let of = Keys::of(&IssuerSettings {
            discovery: Some(discovery.to_owned()),
            ..settings(Path::new("/"))
        })
        .unwrap();
        let document = json!({"issuer": ISSUER, "jwks_uri": keys}).to_string();
        match (of.place_of_keys(document.as_bytes()), expected) {
            (Ok(place), expected) => assert_eq!(Ok(()), expected, "{place}"),
            (Err(error), expected) => assert!(expected.is_err_and(|said| error.to_string().contains(said)), "{error}"),
        }
    };
    check("https://issuer.example/d", "https://issuer.example/k", Ok(()));
    check("file:///d.json", "file:///k.json", Ok(()));
    check("https://issuer.example/d", "file:///k.json", Err("names a file"));
    check("https://issuer.example/d", "http://issuer.example/k", Err("neither"));
}
