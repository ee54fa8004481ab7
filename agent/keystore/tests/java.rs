//! Stores that Java itself wrote, by its API and by `keytool`: every format, way of protection and mistake. Keys and passwords are
//! made for each run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the panic is the test's failure"
)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384,
    PKCS_RSA_SHA256, RsaKeySize,
};
use stream_keystore::{ClientIdentity, KeystoreError, client_identity, trusted_certificates};

const STORE: &str = "store-password";
const KEY: &str = "key-password-ünd-more";

/// A folder with keys and certificates of a made-up world: an authority, one below it, and clients that the latter signed.
struct World {
    folder: tempfile::TempDir,
    script: String,
}

/// The certificates of a PEM file, DER.
fn certificates(pem: &Path) -> Vec<Vec<u8>> {
    use base64::Engine;
    let text = fs::read_to_string(pem).unwrap();
    let parts = text.split("-----BEGIN CERTIFICATE-----").skip(1);
    parts
        .map(|part| {
            let body: String = part.split("-----END").next().unwrap().split_whitespace().collect();
            base64::prelude::BASE64_STANDARD.decode(body).unwrap()
        })
        .collect()
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = CertifiedIssuer::self_signed(authority_params("root"), KeyPair::generate().unwrap()).unwrap();
        let below = CertifiedIssuer::signed_by(authority_params("below"), KeyPair::generate().unwrap(), &root).unwrap();
        fs::write(folder.path().join("root.pem"), root.pem()).unwrap();
        let keys = [
            ("rsa", KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap()),
            ("p256", KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap()),
            ("p384", KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap()),
        ];
        for (name, key) in keys {
            let mut params = CertificateParams::default();
            params.distinguished_name.push(DnType::CommonName, name);
            let leaf = params.signed_by(&key, &below).unwrap();
            let chain = format!("{}{}{}", leaf.pem(), below.pem(), root.pem());
            fs::write(folder.path().join(format!("{name}.pem")), chain).unwrap();
            fs::write(folder.path().join(format!("{name}.key")), key.serialize_pem()).unwrap();
        }
        Self {
            folder,
            script: String::new(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn line(&mut self, line: &str) {
        self.script.push_str(line);
        self.script.push('\n');
    }

    fn key(&mut self, alias: &str, password: &str, of: &str) {
        let (key, chain) = (self.path(&format!("{of}.key")), self.path(&format!("{of}.pem")));
        self.line(&format!("key {alias} {password} {} {}", key.display(), chain.display()));
    }

    fn trust(&mut self, alias: &str) {
        let root = self.path("root.pem");
        self.line(&format!("trust {alias} {}", root.display()));
    }

    fn write(&mut self, name: &str) {
        let path = self.path(name);
        self.line(&format!("write {}", path.display()));
    }

    /// Has Java do all that was said.
    fn run(&mut self) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/kafka/KeyStores.java");
        let mut java = Command::new("java")
            .args(["-Xmx64m", "-Dfile.encoding=UTF-8", "-XX:TieredStopAtLevel=1"])
            .arg(source)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start java, which `make setup` asks for");
        java.stdin
            .take()
            .unwrap()
            .write_all(std::mem::take(&mut self.script).as_bytes())
            .unwrap();
        let ended = java.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Fails unless the client is the one whose key and certificates Java was given.
    fn assert_is(&self, found: &ClientIdentity, of: &str, store: &str) {
        assert_eq!(found.chain, certificates(&self.path(&format!("{of}.pem"))), "{store}");
        assert_eq!(
            *found.key_pem(),
            fs::read_to_string(self.path(&format!("{of}.key"))).unwrap().replace("\r\n", "\n"),
            "{store}"
        );
    }
}

const CERTIFICATES_BY: &str = "keystore.pkcs12.certProtectionAlgorithm";
const KEYS_BY: &str = "keystore.pkcs12.keyProtectionAlgorithm";
const CHECK_BY: &str = "keystore.pkcs12.macAlgorithm";

#[test]
fn every_kind_of_store_gives_the_key_and_its_certificates() {
    let mut world = World::new();
    let ways = [
        ("JKS", "", "", ""),
        ("PKCS12", "", "", ""),
        ("PKCS12", "PBEWithSHA1AndRC2_40", "PBEWithSHA1AndDESede", "HmacPBESHA1"),
        ("PKCS12", "PBEWithSHA1AndRC2_128", "PBEWithSHA1AndDESede", "HmacPBESHA256"),
        (
            "PKCS12",
            "PBEWithHmacSHA1AndAES_128",
            "PBEWithHmacSHA384AndAES_256",
            "HmacPBESHA384",
        ),
        (
            "PKCS12",
            "PBEWithHmacSHA512AndAES_256",
            "PBEWithHmacSHA512AndAES_128",
            "HmacPBESHA512",
        ),
        ("PKCS12", "NONE", "PBEWithHmacSHA256AndAES_256", "NONE"),
    ];
    let mut stores = Vec::new();
    for (number, (kind, certificates_by, keys_by, check_by)) in ways.into_iter().enumerate() {
        for (name, value) in [(CERTIFICATES_BY, certificates_by), (KEYS_BY, keys_by), (CHECK_BY, check_by)] {
            if !value.is_empty() {
                world.line(&format!("set {name} {value}"));
            }
        }
        for (of, key_password) in [("rsa", STORE), ("p256", KEY), ("p384", STORE)] {
            // The older ways take passwords of ASCII letters alone.
            let key_password = if key_password == KEY && kind == "PKCS12" {
                "another-password"
            } else {
                key_password
            };
            let store = format!("{number}-{kind}-{of}");
            world.line(&format!("store {kind} {STORE}"));
            world.key("client", key_password, of);
            world.trust("authority");
            world.write(&store);
            stores.push((store, of, key_password));
        }
    }
    world.run();
    let root = certificates(&world.path("root.pem"));
    for (store, of, key_password) in &stores {
        let bytes = world.bytes(store);
        let found = client_identity(&bytes, STORE, key_password).unwrap_or_else(|error| panic!("{store}: {error}"));
        world.assert_is(&found, of, store);
        let trusted = trusted_certificates(&bytes, STORE).unwrap();
        assert_eq!(trusted.into_iter().map(|it| it.certificate).collect::<Vec<_>>(), root, "{store}");
        let wrong_key = client_identity(&bytes, STORE, "wrong").unwrap_err();
        assert!(
            matches!(&wrong_key, KeystoreError::WrongKeyPassword { alias } if alias == "client"),
            "{store}: {wrong_key}"
        );
        // Nothing but a key is under a password where there is no check.
        if !store.starts_with("6-") {
            assert_eq!(
                client_identity(&bytes, "wrong", key_password).unwrap_err(),
                KeystoreError::WrongStorePassword,
                "{store}"
            );
            assert_eq!(
                trusted_certificates(&bytes, "wrong").unwrap_err(),
                KeystoreError::WrongStorePassword,
                "{store}"
            );
        }
    }
}

#[test]
fn what_a_store_lacks_is_said_with_the_names_in_it() {
    let mut world = World::new();
    for kind in ["JKS", "PKCS12", "JCEKS"] {
        world.line(&format!("store {kind} {STORE}"));
        world.write(&format!("{kind}-empty"));
        world.line(&format!("store {kind} {STORE}"));
        world.trust("authority");
        world.write(&format!("{kind}-trust"));
        world.line(&format!("store {kind} {STORE}"));
        world.key("client", STORE, "rsa");
        world.write(&format!("{kind}-key"));
        world.line(&format!("store {kind} {STORE}"));
        world.key("old", STORE, "rsa");
        world.key("new", STORE, "p256");
        world.write(&format!("{kind}-keys"));
    }
    world.run();
    let said = |name: String| {
        client_identity(&world.bytes(&name), STORE, STORE)
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    let trusts = |name: String| trusted_certificates(&world.bytes(&name), STORE).map(drop).unwrap_err().to_string();
    for kind in ["JKS", "PKCS12"] {
        assert!(said(format!("{kind}-trust")).contains("no private key in it, but certificates: `authority`"));
        assert!(said(format!("{kind}-empty")).contains("but nothing"));
        let several = said(format!("{kind}-keys"));
        assert!(
            several.contains("`old`") && several.contains("`new`") && several.contains("-delete"),
            "{several}"
        );
        assert!(trusts(format!("{kind}-key")).contains("there is the key `client`"));
        assert!(trusts(format!("{kind}-empty")).contains("there is nothing"));
    }
    assert!(said("JCEKS-key".to_owned()).contains("keytool -importkeystore -srcstoretype JCEKS"));
    assert!(trusts("JCEKS-trust".to_owned()).contains("keytool -importkeystore -srcstoretype JCEKS"));
    let pem = client_identity(&world.bytes("rsa.pem"), STORE, STORE).unwrap_err().to_string();
    assert!(pem.contains("openssl pkcs12 -export"), "{pem}");
    let bare = client_identity(&certificates(&world.path("root.pem"))[0], STORE, STORE).unwrap_err();
    assert!(bare.to_string().contains("bare certificate"), "{bare}");
    for (bytes, found) in [(&b""[..], "an empty file"), (b"\x00\x01", "something else")] {
        let error = client_identity(bytes, STORE, STORE).unwrap_err().to_string();
        assert!(error.contains(found), "{error}");
    }
}

#[test]
fn stores_that_keytool_wrote_are_read_and_each_changed_byte_is_noticed() {
    let world = World::new();
    for (kind, algorithm) in [("JKS", "RSA"), ("PKCS12", "EC")] {
        let file = world.path(kind);
        let made = Command::new("keytool")
            .args([
                "-genkeypair",
                "-noprompt",
                "-alias",
                "client",
                "-dname",
                "CN=client",
                "-keyalg",
                algorithm,
            ])
            .args(["-storetype", kind, "-storepass", STORE, "-keypass", STORE, "-keystore"])
            .arg(&file)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
        let bytes = fs::read(&file).unwrap();
        let found = client_identity(&bytes, STORE, STORE).unwrap();
        assert_eq!((found.alias.as_str(), found.chain.len()), ("client", 1));
        for at in (0..bytes.len()).step_by(bytes.len() / 50) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(client_identity(&changed, STORE, STORE).is_err(), "{kind}: byte {at} was changed");
            assert!(client_identity(&bytes[..at], STORE, STORE).is_err(), "{kind}: cut at {at}");
        }
    }
}
