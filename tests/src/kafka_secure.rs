//! A real broker with a listener for each kind of security, certificates and users of its own. Everything is made when it starts:
//! no key and no password is in the repository.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use featurestore_proto::v1::connection::Options;
use featurestore_proto::v1::{Connection, KafkaConnection};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd};

use crate::kafka::Kafka;
use crate::key_stores::KeyStores;
use crate::paths::{fresh_folder, repository, test_parts};

/// The only user of PLAIN.
pub const PLAIN_USER: &str = "plain-user";

/// Its password.
pub const PLAIN_PASSWORD: &str = "plain-password-of-a-test";

/// A listener of the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// TLS.
    Ssl,
    /// SASL without TLS.
    SaslPlaintext,
    /// SASL over TLS.
    SaslSsl,
    /// TLS with a certificate of the client.
    Mtls,
    /// TLS by a certificate that has expired.
    Expired,
}

/// A broker with listeners of every kind.
pub struct SecureKafka {
    kafka: Kafka,
    folder: PathBuf,
    authority: String,
    other_authority: String,
    clients: KeyStores,
}

impl SecureKafka {
    /// Starts one. Its certificate is for `localhost` only.
    #[must_use]
    pub fn start() -> Self {
        Self::launched(None)
    }

    /// Starts one that takes tokens of AWS IAM, too, on the listener for SASL over TLS; `verifier` tells it whose one is.
    #[must_use]
    pub fn start_knowing_tokens(verifier: &str) -> Self {
        Self::launched(Some(verifier))
    }

    fn launched(tokens_verifier: Option<&str>) -> Self {
        let folder = fresh_folder("kafka-security");
        if let Some(verifier) = tokens_verifier {
            fs::write(folder.join("tokens-verifier"), verifier).unwrap();
        }
        let (authority, [broker, expired]) = certificates();
        fs::write(folder.join("broker.pem"), broker).unwrap();
        fs::write(folder.join("expired.pem"), expired).unwrap();
        let clients = KeyStores::new();
        fs::write(folder.join("clients.pem"), clients.authority()).unwrap();
        fs::write(folder.join("plain-users"), format!("user_{PLAIN_USER}=\"{PLAIN_PASSWORD}\"")).unwrap();
        let (other_authority, _) = certificates();
        Self {
            kafka: Kafka::start_with_security(&folder),
            folder,
            authority,
            other_authority,
            clients,
        }
    }

    /// The broker.
    #[must_use]
    pub fn kafka(&self) -> &Kafka {
        &self.kafka
    }

    /// `host:port` of a listener.
    #[must_use]
    pub fn bootstrap(&self, listener: Listener) -> String {
        self.kafka.read(match listener {
            Listener::Ssl => "bootstrap-ssl",
            Listener::SaslPlaintext => "bootstrap-sasl-plaintext",
            Listener::SaslSsl => "bootstrap-sasl-ssl",
            Listener::Mtls => "bootstrap-mtls",
            Listener::Expired => "bootstrap-expired",
        })
    }

    /// A connection to a listener, by a mechanism if it is one of SASL.
    #[must_use]
    pub fn connection(&self, name: &str, listener: Listener, mechanism: Option<&str>, user: &str, password: &str) -> Connection {
        let protocol = match listener {
            Listener::Ssl | Listener::Mtls | Listener::Expired => "SSL",
            Listener::SaslPlaintext => "SASL_PLAINTEXT",
            Listener::SaslSsl => "SASL_SSL",
        };
        let ca_pem = (listener != Listener::SaslPlaintext).then(|| self.authority.clone());
        let kafka = KafkaConnection {
            bootstrap_servers: self.bootstrap(listener),
            security_protocol: protocol.to_owned(),
            sasl_mechanism: mechanism.map(str::to_owned),
            user: mechanism.map(|_| user.to_owned()),
            password: mechanism.map(|_| password.to_owned()),
            ca_pem,
            ..KafkaConnection::default()
        };
        Connection {
            name: name.to_owned(),
            options: Some(Options::Kafka(kafka)),
            ..Connection::default()
        }
    }

    /// The authority that signed the broker's certificate, PEM.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// An authority that signed nothing of this broker, PEM.
    #[must_use]
    pub fn other_authority(&self) -> &str {
        &self.other_authority
    }

    /// The clients that it knows by their certificates.
    #[must_use]
    pub fn clients(&self) -> &KeyStores {
        &self.clients
    }

    /// Gives a user a password of SCRAM, in the place of the one before.
    pub fn set_scram_password(&self, user: &str, mechanism: &str, password: &str) {
        self.administer("ScramUser.java", &[user, mechanism], password);
    }

    /// Forbids a user something; `what` is the kind of a resource, and `name` which one.
    pub fn deny(&self, user: &str, operation: &str, what: &str, name: &str) {
        self.administer("Acl.java", &["DENY", user, operation, what, name], "");
    }

    /// Forbids it no more.
    pub fn deny_no_more(&self, user: &str, operation: &str, what: &str, name: &str) {
        self.administer("Acl.java", &["FORGET", user, operation, what, name], "");
    }

    /// Runs a program of Java beside the broker's scripts, with Kafka's own client.
    fn administer(&self, program: &str, arguments: &[&str], input: &str) {
        let scripts = repository().join("scripts/kafka");
        let home = &test_parts().kafka_home;
        let jars = Command::new(scripts.join("classpath.sh")).arg(home).output().unwrap().stdout;
        let mut java = Command::new("java")
            .args([
                "-Xmx64m",
                "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                "-cp",
            ])
            .arg(String::from_utf8(jars).unwrap().trim())
            .arg(scripts.join(program))
            .arg(self.kafka.bootstrap())
            .args(arguments)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start java");
        java.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let ended = java.wait_with_output().unwrap();
        assert!(ended.status.success(), "{program}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}

impl Drop for SecureKafka {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A new authority, and keys with certificates for `localhost` that it signed: one that is good and one that has expired. PEM, all of them.
fn certificates() -> (String, [String; 2]) {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority.distinguished_name.push(DnType::CommonName, "authority of a test");
    let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(authority, authority_key);
    let until = |year| {
        let key = KeyPair::generate().unwrap();
        let mut broker = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        broker.distinguished_name.push(DnType::CommonName, "localhost");
        broker.not_after = date_time_ymd(year, 3, 1);
        let certificate = broker.signed_by(&key, &issuer).unwrap();
        format!("{}{}{authority_pem}", key.serialize_pem(), certificate.pem())
    };
    let made = [until(3021), until(2021)];
    (authority_pem, made)
}
