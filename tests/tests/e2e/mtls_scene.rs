//! What the tests of client certificates share: a broker that asks for them, a volume with stores of keys, secrets that open these, and
//! streams that connect by them.

use std::path::{Path, PathBuf};

use e2e::agent::Agent;
use e2e::api::{Api, stream_message};
use e2e::config::order_schema;
use e2e::kafka_secure::{Listener, SecureKafka};
use e2e::key_stores::{Client, KeyKind, Kind, Stores};
use e2e::limits::STREAM_SETTLES;
use e2e::paths::{discard, fresh_folder};
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::wait::wait_until;
use featurestore_proto::v1::{ConnectionConfig, DirectMtlsConfig, MtlsConfig, SecretRef, Stream, connection_config};

use crate::rows::assert_each_exactly_once;
use crate::stage::{PARTITIONS, order, unique};

pub(crate) const STORE: &str = "store-password-of-a-test";
pub(crate) const KEY: &str = "key-password-of-a-test";
pub(crate) const VOLUME: &str = "main.secured.keys";
const SCOPE: &str = "stores";

pub(crate) struct Scene {
    pub(crate) kafka: SecureKafka,
    pub(crate) agent: Agent,
    /// The volume's folder.
    pub(crate) folder: PathBuf,
    topic: String,
    sent: Vec<Acknowledged>,
}

/// How a stream connects; the secrets by their keys.
pub(crate) struct By<'a> {
    pub(crate) listener: Listener,
    pub(crate) keystore: &'a str,
    pub(crate) truststore: &'a str,
    pub(crate) keystore_password: &'a str,
    pub(crate) key_password: &'a str,
    pub(crate) truststore_password: &'a str,
    /// By the broker's number instead of its name, which its certificate does not have.
    pub(crate) by_number: bool,
    pub(crate) any_host: bool,
}

impl<'a> By<'a> {
    /// A good one by that keystore.
    pub(crate) fn keystore(keystore: &'a str) -> Self {
        Self {
            listener: Listener::Mtls,
            keystore,
            truststore: "trust.jks",
            keystore_password: "store",
            key_password: "store",
            truststore_password: "store",
            by_number: false,
            any_host: false,
        }
    }
}

impl Scene {
    /// With a truststore `trust.jks`, and the secrets `store`, `key` and `wrong`.
    pub(crate) fn new() -> Self {
        Self::at(SecureKafka::start(), Agent::start_with(&["--discovery-interval", "1s"]))
    }

    /// The same with that broker and that agent.
    pub(crate) fn at(kafka: SecureKafka, agent: Agent) -> Self {
        let topic = unique("certified");
        kafka.kafka().create_topic(&topic, PARTITIONS);
        let scene = Self {
            kafka,
            agent,
            folder: fresh_folder("volume"),
            topic,
            sent: Vec::new(),
        };
        let api = scene.api();
        scene.make_volume();
        api.create_secret_scope(SCOPE).unwrap();
        for (key, value) in [("store", STORE), ("key", KEY), ("wrong", "wrong-password-of-a-test")] {
            api.put_secret(SCOPE, key, value).unwrap();
        }
        scene
    }

    pub(crate) fn api(&self) -> &Api {
        self.agent.api()
    }

    pub(crate) fn make_volume(&self) {
        self.api().create_volume(VOLUME, self.folder.to_str().unwrap()).unwrap();
    }

    pub(crate) fn topic(&self) -> &str {
        &self.topic
    }

    /// A file of the volume.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn client(&self, name: &str, key: KeyKind, kind: Kind) -> Client {
        self.kafka.clients().client(name, key, kind)
    }

    /// The certificate of the authority that signed the broker's, as a file.
    pub(crate) fn authority(&self) -> PathBuf {
        self.kafka.clients().certificate("broker", self.kafka.authority())
    }

    /// Has Java write stores, `trust.jks` among them.
    pub(crate) fn write(&self, stores: &mut Stores) {
        stores.truststore("JKS", &self.file("trust.jks"), STORE, &self.authority()).write();
    }

    /// Puts a store with one client in its place.
    pub(crate) fn put(&self, kind: &str, name: &str, client: &Client) {
        Stores::default()
            .keystore(kind, &self.file(name), (STORE, STORE), &[client])
            .write();
    }

    pub(crate) fn secret(&self, key: &str, value: &str) {
        self.api().put_secret(SCOPE, key, value).unwrap();
    }

    pub(crate) fn produce(&mut self, count: i64) {
        let first = i64::try_from(self.sent.len()).unwrap();
        let orders: Vec<Outgoing> = (first..first + count).map(order).collect();
        let producer = RecordingProducer::to(self.kafka.kafka().bootstrap(), &[]);
        self.sent.extend(producer.send_all(&self.topic, &orders));
    }

    /// A stream from the topic's beginning.
    pub(crate) fn message(&self, name: &str, by: &By<'_>) -> Stream {
        let mut stream = stream_message(&self.topic, &order_schema().to_string());
        stream.name = format!("main.secured.{name}");
        let destination = stream.ingestion_config.as_mut().unwrap().ingestion_destination.as_mut().unwrap();
        destination.delta_table_name = format!("main.secured.{name}_raw");
        let bootstrap = self.kafka.bootstrap(by.listener);
        let location = |file: &str| format!("/Volumes/{}/{file}", VOLUME.replace('.', "/"));
        let secret = |key: &str| {
            Some(SecretRef {
                scope: SCOPE.to_owned(),
                key: key.to_owned(),
            })
        };
        let mtls = MtlsConfig {
            keystore_location: location(by.keystore),
            truststore_location: location(by.truststore),
            keystore_password_ref: secret(by.keystore_password),
            key_password_ref: secret(by.key_password),
            truststore_password_ref: secret(by.truststore_password),
            disable_hostname_verification: by.any_host,
        };
        let direct = DirectMtlsConfig {
            bootstrap_servers: match by.by_number {
                true => bootstrap.replace("localhost", "127.0.0.1"),
                false => bootstrap,
            },
            mtls_config: Some(mtls),
        };
        stream.connection_config = Some(ConnectionConfig {
            connection: Some(connection_config::Connection::DirectMtlsConfig(direct)),
        });
        stream
    }

    /// Makes it; its table's name.
    pub(crate) fn stream(&self, name: &str, by: &By<'_>) -> String {
        self.api().declare_stream(self.message(name, by)).unwrap();
        format!("main.secured.{name}_raw")
    }

    /// What a plan of it is warned of.
    pub(crate) fn warned(&self, name: &str, by: &By<'_>) -> String {
        let checked = self.api().check_stream(self.message(name, by)).unwrap();
        assert!(
            checked.violations.is_empty() && checked.missing_capabilities.is_empty(),
            "{name}: {checked:?}"
        );
        let problems: Vec<String> = checked.warnings.into_iter().map(|warning| warning.problem).collect();
        problems.join("; ")
    }

    #[track_caller]
    pub(crate) fn assert_all_in(&self, table: &str) {
        assert_each_exactly_once(&self.agent.table(table), &self.sent);
    }

    /// Waits until the stream says so in a condition.
    #[track_caller]
    pub(crate) fn await_condition(&self, stream: &str, reason: &str, words: &[&str]) {
        let name = format!("main.secured.{stream}");
        wait_until(&format!("`{name}` says {reason}"), STREAM_SETTLES, || {
            let status = self.api().stream(&name).unwrap().status.unwrap();
            let found = status.conditions.iter().find(|condition| condition.reason == reason);
            match found {
                Some(condition) if words.iter().all(|word| condition.message.contains(word)) => Ok(()),
                _ => Err(format!("{:?}", status.conditions)),
            }
        });
    }
}

/// Fails unless no byte of a key, in the form that it is kept in, is in a text.
#[track_caller]
pub(crate) fn assert_without_keys(text: &str, key: &Path) {
    let pem = std::fs::read_to_string(key).unwrap();
    for line in pem.lines().filter(|line| !line.starts_with('-')) {
        assert!(!text.contains(line), "a line of {} is there", key.display());
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        discard(&self.folder);
    }
}
