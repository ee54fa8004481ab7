//! Client certificates and the stores that Java keeps them in. Everything is made when it is asked for: no key and no password is in
//! the repository. Invariant: a store is written by Java, and put in its place at once.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, RsaKeySize, date_time_ymd,
};

use crate::paths::{discard, fresh_folder, repository};

/// A kind of private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// RSA of 2,048 bits.
    Rsa,
    /// The elliptic curve P-256.
    Ec,
}

/// Who signs a client's certificate, and when it is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An authority below the one that the broker trusts; good now.
    Good,
    /// The same, until some years ago.
    Expired,
    /// The same, in a far future.
    NotYetValid,
    /// The same, for so long from now.
    Brief(Duration),
    /// An authority that the broker does not know; good now.
    OfAStranger,
}

/// A client's key and certificates, PEM files.
#[derive(Clone, Debug)]
pub struct Client {
    key: PathBuf,
    chain: PathBuf,
}

impl Client {
    /// The private key.
    #[must_use]
    pub fn key(&self) -> &Path {
        &self.key
    }
}

type Authority = CertifiedIssuer<'static, KeyPair>;

/// Authorities of clients, and what is made with them.
pub struct KeyStores {
    folder: PathBuf,
    authority: Authority,
    between: Authority,
    stranger: Authority,
}

impl KeyStores {
    /// New authorities.
    #[must_use]
    pub fn new() -> Self {
        let authority = CertifiedIssuer::self_signed(authority_params("clients"), KeyPair::generate().unwrap()).unwrap();
        let between = CertifiedIssuer::signed_by(authority_params("between"), KeyPair::generate().unwrap(), &authority).unwrap();
        Self {
            folder: fresh_folder("key-stores"),
            authority,
            between,
            stranger: CertifiedIssuer::self_signed(authority_params("stranger"), KeyPair::generate().unwrap()).unwrap(),
        }
    }

    /// The authority that a broker is to trust, PEM.
    #[must_use]
    pub fn authority(&self) -> String {
        self.authority.pem()
    }

    /// A new client.
    #[must_use]
    pub fn client(&self, name: &str, key: KeyKind, kind: Kind) -> Client {
        let key = match key {
            KeyKind::Rsa => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048),
            KeyKind::Ec => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
        };
        let key = key.unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        match kind {
            Kind::Expired => params.not_after = date_time_ymd(2021, 3, 1),
            Kind::NotYetValid => params.not_before = date_time_ymd(3021, 3, 1),
            Kind::Brief(life) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                params.not_after = date_time_ymd(1970, 1, 1) + now + life;
            }
            Kind::Good | Kind::OfAStranger => {}
        }
        let chain = match kind {
            Kind::OfAStranger => params.signed_by(&key, &self.stranger).unwrap().pem(),
            _ => format!("{}{}", params.signed_by(&key, &self.between).unwrap().pem(), self.between.pem()),
        };
        let client = Client {
            key: self.folder.join(format!("{name}.key")),
            chain: self.folder.join(format!("{name}.pem")),
        };
        fs::write(&client.key, key.serialize_pem()).unwrap();
        fs::write(&client.chain, chain).unwrap();
        client
    }

    /// A certificate as a file, for [`Stores::trust`].
    #[must_use]
    pub fn certificate(&self, name: &str, pem: &str) -> PathBuf {
        let file = self.folder.join(format!("{name}.certificate"));
        fs::write(&file, pem).unwrap();
        file
    }
}

impl Default for KeyStores {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for KeyStores {
    fn drop(&mut self) {
        discard(&self.folder);
    }
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// What Java is to write; many stores take one start of it.
#[derive(Default)]
pub struct Stores {
    script: String,
}

impl Stores {
    /// A store with one client's key.
    pub fn keystore(&mut self, kind: &str, file: &Path, passwords: (&str, &str), clients: &[&Client]) -> &mut Self {
        let (store, key) = passwords;
        writeln!(self.script, "store {kind} {store}").unwrap();
        for (number, client) in clients.iter().enumerate() {
            let (pem, chain) = (client.key.display(), client.chain.display());
            writeln!(self.script, "key client-{number} {key} {pem} {chain}").unwrap();
        }
        writeln!(self.script, "write {}", file.display()).unwrap();
        self
    }

    /// A store with one certificate that is trusted.
    pub fn truststore(&mut self, kind: &str, file: &Path, password: &str, certificate: &Path) -> &mut Self {
        let certificate = certificate.display();
        writeln!(
            self.script,
            "store {kind} {password}\ntrust authority {certificate}\nwrite {}",
            file.display()
        )
        .unwrap();
        self
    }

    /// Has Java write them all.
    pub fn write(&mut self) {
        let mut java = Command::new("java")
            .args(["-Xmx64m", "-XX:TieredStopAtLevel=1"])
            .arg(repository().join("scripts/kafka/KeyStores.java"))
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start java");
        java.stdin
            .take()
            .unwrap()
            .write_all(std::mem::take(&mut self.script).as_bytes())
            .unwrap();
        let ended = java.wait_with_output().unwrap();
        assert!(ended.status.success(), "write stores: {}", String::from_utf8_lossy(&ended.stderr));
    }
}
