//! An issuer of JSON web tokens whose documents are files. Invariant: of two tokens the later one says when it was made by a later
//! time, since the agent believes the newest of what it was told of somebody's groups.

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::json;

/// The claim `iss` of its tokens.
const ISSUER: &str = "https://issuer.example";

pub(crate) struct Issuer {
    folder: tempfile::TempDir,
    key: EncodingKey,
}

impl Issuer {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        // An uncompressed point: a byte that says so, and two numbers.
        let point = pair.public_key_raw();
        let part = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let key = json!({"kty": "EC", "crv": "P-256", "kid": "k", "x": part(&point[1..33]), "y": part(&point[33..])});
        let file = |name: &str| format!("file://{}", folder.path().join(name).display());
        for (name, document) in [
            ("keys.json", json!({ "keys": [key] })),
            ("discovery.json", json!({"issuer": ISSUER, "jwks_uri": file("keys.json")})),
        ] {
            fs::write(folder.path().join(name), document.to_string()).unwrap();
        }
        let settings = format!(
            "[[oidc]]\nissuer = '{ISSUER}'\naudience = 'agent'\ngroups_claim = 'groups'\ndiscovery = '{}'\n",
            file("discovery.json")
        );
        fs::write(folder.path().join("agent.toml"), settings).unwrap();
        Self {
            key: EncodingKey::from_ec_der(pair.serialized_der()),
            folder,
        }
    }

    /// A configuration file that has an agent take its tokens.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.folder.path().join("agent.toml")
    }

    /// A token of somebody that is good for so many seconds from now on, and says which groups they are in, or nothing of groups.
    pub(crate) fn token(&self, name: &str, groups: Option<&[&str]>, seconds: i64) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some("k".to_owned());
        let expiry = i64::try_from(now.as_secs()).unwrap() + seconds;
        let claims = json!({
            "iss": ISSUER, "aud": "agent", "sub": name, "exp": expiry, "iat": now.as_secs_f64(), "groups": groups,
        });
        encode(&header, &claims, &self.key).unwrap()
    }
}
