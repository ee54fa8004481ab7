//! Every way to sign in with every way to subscribe, side by side on one cluster: over a broker that is killed, partitions that are
//! added, a topic that comes, and one that is deleted and made again, each record is in each table once.

use std::collections::BTreeMap;

use e2e::agent::Agent;
use e2e::api::stream_message;
use e2e::aws::Aws;
use e2e::config::order_schema;
use e2e::kafka_secure::{Listener, PLAIN_PASSWORD, PLAIN_USER, SecureKafka};
use e2e::key_stores::{KeyKind, Kind, Stores};
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use featurestore_proto::v1::connection::Options;
use featurestore_proto::v1::source_config::Source;
use featurestore_proto::v1::subscription_mode::Mode;
use featurestore_proto::v1::{Connection, ConnectionConfig, OnDataLoss, StreamOperations, connection_config};
use serde_json::json;

use crate::mtls_scene::{By, STORE, Scene};
use crate::rows::{assert_each_exactly_once, await_count};
use crate::stage::{PARTITIONS, order, unique};
use crate::topics::await_deletion;

const PASSWORD: &str = "password-of-a-test";
const EXTERNAL_ID: &str = "tenant-7";

/// How streams of a row sign in.
struct Security {
    name: &'static str,
    config: ConnectionConfig,
}

/// How a stream of a column subscribes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subscription {
    Topics,
    Pattern,
    Partitions,
}

const SUBSCRIPTIONS: [(&str, Subscription); 3] = [
    ("subscribe", Subscription::Topics),
    ("pattern", Subscription::Pattern),
    ("assign", Subscription::Partitions),
];

/// The topics, and what is in them.
struct Topics {
    /// Gains partitions.
    grows: String,
    /// Is deleted and made again.
    returns: String,
    /// Comes later.
    comes: String,
    common: String,
    sent: Vec<Acknowledged>,
}

impl Topics {
    fn new() -> Self {
        let common = unique("matrix");
        Self {
            grows: format!("{common}.grows"),
            returns: format!("{common}.returns"),
            comes: format!("{common}.comes"),
            common,
            sent: Vec::new(),
        }
    }

    fn mode(&self, subscription: Subscription) -> Mode {
        let Self {
            grows, returns, common, ..
        } = self;
        match subscription {
            Subscription::Topics => Mode::Subscribe(format!("{grows}, {returns}")),
            Subscription::Pattern => Mode::SubscribePattern(format!("{common}\\..+")),
            Subscription::Partitions => {
                let partitions = BTreeMap::from([(grows, vec![0, 1]), (returns, vec![2])]);
                Mode::Assign(json!(partitions).to_string())
            }
        }
    }

    /// What a stream that subscribes so has to have.
    fn wanted(&self, subscription: Subscription) -> Vec<Acknowledged> {
        let is_wanted = |record: &&Acknowledged| match subscription {
            Subscription::Topics => record.topic != self.comes,
            Subscription::Pattern => true,
            Subscription::Partitions => {
                (record.topic == self.grows && record.partition < 2) || (record.topic == self.returns && record.partition == 2)
            }
        };
        self.sent.iter().filter(is_wanted).cloned().collect()
    }

    /// Some orders for every partition of a topic.
    fn produce(&mut self, kafka: &SecureKafka, topic: &str, partitions: i32) {
        let first = i64::try_from(self.sent.len()).unwrap();
        let orders = (0..i64::from(partitions) * 3).map(|number| Outgoing {
            partition: i32::try_from(number).ok().map(|number| number % partitions),
            ..order(first + number)
        });
        let producer = RecordingProducer::to(kafka.kafka().bootstrap(), &[]);
        self.sent.extend(producer.send_all(topic, &orders.collect::<Vec<_>>()));
    }
}

fn by_name(scene: &Scene, name: &'static str, connection: Connection) -> Security {
    scene.api().create_connection(&connection).unwrap();
    let named = connection_config::Connection::UcConnectionName(connection.name);
    Security {
        name,
        config: ConnectionConfig { connection: Some(named) },
    }
}

/// One connection for each protocol and mechanism, and a client certificate in each kind of store.
fn securities(scene: &Scene) -> Vec<Security> {
    let kafka = &scene.kafka;
    for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512"] {
        kafka.set_scram_password("ada", mechanism, PASSWORD);
    }
    let mut all = Vec::new();
    for (name, listener, mechanism, user, password) in [
        ("ssl", Listener::Ssl, None, "", ""),
        ("open_plain", Listener::SaslPlaintext, Some("PLAIN"), PLAIN_USER, PLAIN_PASSWORD),
        ("open_scram_256", Listener::SaslPlaintext, Some("SCRAM-SHA-256"), "ada", PASSWORD),
        ("open_scram_512", Listener::SaslPlaintext, Some("SCRAM-SHA-512"), "ada", PASSWORD),
        ("tls_plain", Listener::SaslSsl, Some("PLAIN"), PLAIN_USER, PLAIN_PASSWORD),
        ("tls_scram_256", Listener::SaslSsl, Some("SCRAM-SHA-256"), "ada", PASSWORD),
        ("tls_scram_512", Listener::SaslSsl, Some("SCRAM-SHA-512"), "ada", PASSWORD),
    ] {
        let connection = kafka.connection(name, listener, mechanism, user, password);
        all.push(by_name(scene, name, connection));
    }
    let mut plaintext = kafka.connection("plaintext", Listener::Ssl, None, "", "");
    let mut msk = kafka.connection("msk", Listener::SaslSsl, None, "", "");
    if let (Some(Options::Kafka(plaintext)), Some(Options::Kafka(msk))) = (&mut plaintext.options, &mut msk.options) {
        plaintext.bootstrap_servers = kafka.kafka().bootstrap().to_owned();
        plaintext.security_protocol = "PLAINTEXT".to_owned();
        plaintext.ca_pem = None;
        msk.credential = Some("reader".to_owned());
    }
    all.push(by_name(scene, "plaintext", plaintext));
    all.push(by_name(scene, "msk", msk));
    let client = scene.client("client", KeyKind::Rsa, Kind::Good);
    let mut stores = Stores::default();
    for (name, kind, file) in [("mtls_jks", "JKS", "client.jks"), ("mtls_pkcs12", "PKCS12", "client.p12")] {
        stores.keystore(kind, &scene.file(file), (STORE, STORE), &[&client]);
        let config = scene.message(name, &By::keystore(file)).connection_config.unwrap();
        all.push(Security { name, config });
    }
    scene.write(&mut stores);
    all
}

fn start() -> (Aws, Scene) {
    let mut aws = Aws::start();
    let role = aws.role("reader", Some(EXTERNAL_ID));
    let user = aws.user("agent", &[("sts:AssumeRole", &role)]);
    let kafka = SecureKafka::start_knowing_tokens(&aws.tokens_verifier());
    let mut environment = aws.environment(&user);
    environment.push(("FEATURESTORE_AGENT_DISCOVERY_INTERVAL", "1s".to_owned()));
    let scene = Scene::at(kafka, Agent::start_in(environment));
    let credential = scene.api().create_credential("reader", &role, EXTERNAL_ID).unwrap();
    assert_eq!(credential.problem, "");
    (aws, scene)
}

#[test]
fn every_security_with_every_subscription_has_each_record_once_whatever_happens_to_broker_and_topics() {
    let (_aws, scene) = start();
    let mut topics = Topics::new();
    let broker = || scene.kafka.kafka();
    for topic in [&topics.grows, &topics.returns] {
        broker().create_topic(topic, PARTITIONS);
    }
    let mut tables = Vec::new();
    for security in securities(&scene) {
        for (name, subscription) in SUBSCRIPTIONS {
            let mut stream = stream_message("", &order_schema().to_string());
            stream.name = format!("main.matrix.{}_{name}", security.name);
            stream.connection_config = Some(security.config.clone());
            if let Some(Source::KafkaStreamConfig(kafka)) = &mut stream.source_config.as_mut().unwrap().source {
                kafka.subscription_mode.as_mut().unwrap().mode = Some(topics.mode(subscription));
            }
            let table = format!("main.matrix.{}_{name}_raw", security.name);
            let ingestion = stream.ingestion_config.as_mut().unwrap();
            table.clone_into(&mut ingestion.ingestion_destination.as_mut().unwrap().delta_table_name);
            let operations = StreamOperations {
                on_data_loss: OnDataLoss::Earliest.into(),
                ..StreamOperations::default()
            };
            scene.api().declare_stream_with(stream, operations).unwrap();
            tables.push((table, subscription));
        }
    }
    let await_all = |topics: &Topics| {
        for (table, subscription) in &tables {
            await_count(&scene.agent.table(table), topics.wanted(*subscription).len());
        }
    };
    let produce = |topics: &mut Topics, topic: &str, partitions| topics.produce(&scene.kafka, topic, partitions);
    let (grows, returns, comes) = (topics.grows.clone(), topics.returns.clone(), topics.comes.clone());
    for topic in [&grows, &returns] {
        produce(&mut topics, topic, PARTITIONS);
    }
    await_all(&topics);

    // Some of these are on their way to the tables when the broker dies.
    produce(&mut topics, &grows, PARTITIONS);
    broker().kill();
    broker().start_again();
    produce(&mut topics, &grows, PARTITIONS);
    produce(&mut topics, &returns, PARTITIONS);
    await_all(&topics);

    broker().add_partitions(&grows, PARTITIONS + 2);
    broker().create_topic(&comes, PARTITIONS);
    broker().delete_topic(&returns);
    await_deletion(broker(), &returns);
    broker().create_topic(&returns, PARTITIONS);
    for (topic, partitions) in [(&grows, PARTITIONS + 2), (&comes, PARTITIONS), (&returns, PARTITIONS)] {
        produce(&mut topics, topic, partitions);
    }
    for (table, subscription) in &tables {
        assert_each_exactly_once(&scene.agent.table(table), &topics.wanted(*subscription));
    }
}
