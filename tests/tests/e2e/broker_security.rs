//! Connections by TLS and SASL to a real broker: each protocol reads records, what is wrong is said, and a changed password loses and
//! repeats nothing.

use std::io::Write;
use std::process::{Command, Stdio};

use e2e::agent::Agent;
use e2e::api::{Api, Target, stream_message};
use e2e::config::order_schema;
use e2e::kafka_secure::{Listener, PLAIN_PASSWORD, PLAIN_USER, SecureKafka};
use e2e::limits::STREAM_SETTLES;
use e2e::paths::binary;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::wait::wait_until;
use featurestore_proto::v1;
use featurestore_proto::v1::connection::Options;
use featurestore_proto::v1::{Connection, KafkaConnection, SecretRef, TestStep, connection_config};

use crate::rows::assert_each_exactly_once;
use crate::stage::{PARTITIONS, order, unique};

const PASSWORD: &str = "first-password-of-a-test";
const NEXT_PASSWORD: &str = "second-password-of-a-test";

struct Scene {
    kafka: SecureKafka,
    agent: Agent,
    topic: String,
    sent: Vec<Acknowledged>,
}

impl Scene {
    fn new() -> Self {
        let kafka = SecureKafka::start();
        let topic = unique("secured");
        kafka.kafka().create_topic(&topic, PARTITIONS);
        Self {
            kafka,
            agent: Agent::start(),
            topic,
            sent: Vec::new(),
        }
    }

    fn api(&self) -> &Api {
        self.agent.api()
    }

    fn produce(&mut self, count: i64) {
        let first = i64::try_from(self.sent.len()).unwrap();
        let orders: Vec<Outgoing> = (first..first + count).map(order).collect();
        let producer = RecordingProducer::to(self.kafka.kafka().bootstrap(), &[]);
        self.sent.extend(producer.send_all(&self.topic, &orders));
    }

    fn connection(&self, name: &str, listener: Listener, mechanism: Option<&str>, user: &str, password: &str) -> Connection {
        self.kafka.connection(name, listener, mechanism, user, password)
    }

    /// Makes a stream from the topic's beginning on a connection; its table's name.
    fn stream(&self, name: &str, connection: &str) -> String {
        let mut stream = stream_message(&self.topic, &order_schema().to_string());
        stream.name = format!("main.secured.{name}");
        let table = format!("main.secured.{name}_raw");
        stream.connection_config = Some(v1::ConnectionConfig {
            connection: Some(connection_config::Connection::UcConnectionName(connection.to_owned())),
        });
        let ingestion = stream.ingestion_config.as_mut().unwrap();
        ingestion
            .ingestion_destination
            .as_mut()
            .unwrap()
            .delta_table_name
            .clone_from(&table);
        self.api().declare_stream(stream).unwrap();
        table
    }

    #[track_caller]
    fn assert_all_in(&self, table: &str) {
        assert_each_exactly_once(&self.agent.table(table), &self.sent);
    }

    /// Runs a statement by the command line, which reads it from standard input; what it prints.
    fn sql(&self, statement: &str) -> String {
        let mut command = Command::new(binary("featurestore-agent"))
            .args(["sql", "--endpoint", self.agent.endpoint()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        command.stdin.take().unwrap().write_all(statement.as_bytes()).unwrap();
        let ended = command.wait_with_output().unwrap();
        format!(
            "{}{}",
            String::from_utf8_lossy(&ended.stdout),
            String::from_utf8_lossy(&ended.stderr)
        )
    }

    /// Waits until the stream says so in a condition.
    #[track_caller]
    fn await_condition(&self, stream: &str, reason: &str, words: &[&str]) {
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

fn changed(connection: &Connection, change: impl FnOnce(&mut KafkaConnection)) -> Connection {
    let mut changed = connection.clone();
    let Some(Options::Kafka(kafka)) = &mut changed.options else {
        panic!("it is of Kafka")
    };
    change(kafka);
    changed
}

/// Names of the steps that worked, then the message of the first one that did not.
pub(crate) fn said(steps: &[TestStep]) -> (Vec<&str>, String) {
    let worked = steps.iter().take_while(|step| step.ok).map(|step| step.name.as_str()).collect();
    let failed = steps
        .iter()
        .find(|step| !step.ok)
        .map(|step| format!("{}: {}", step.name, step.message));
    (worked, failed.unwrap_or_default())
}

#[test]
fn every_protocol_and_mechanism_reads_records() {
    let mut scene = Scene::new();
    for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512"] {
        scene.kafka.set_scram_password("ada", mechanism, PASSWORD);
    }
    scene.produce(20);
    let mut tables = Vec::new();
    for (name, listener, mechanism, user, password) in [
        ("ssl", Listener::Ssl, None, "", ""),
        ("plain_open", Listener::SaslPlaintext, Some("PLAIN"), PLAIN_USER, PLAIN_PASSWORD),
        ("plain", Listener::SaslSsl, Some("PLAIN"), PLAIN_USER, PLAIN_PASSWORD),
        ("scram_256", Listener::SaslPlaintext, Some("SCRAM-SHA-256"), "ada", PASSWORD),
        ("scram_512", Listener::SaslSsl, Some("SCRAM-SHA-512"), "ada", PASSWORD),
    ] {
        let connection = scene.connection(name, listener, mechanism, user, password);
        scene.api().create_connection(&connection).unwrap();
        let steps = scene.api().test_connection(Target::Name(name.to_owned())).unwrap();
        assert_eq!(said(&steps).0, ["address", "tls", "authentication", "topics"], "{name}: {steps:?}");
        tables.push(scene.stream(name, name));
    }
    let options = format!(
        "bootstrap_servers '{}', security_protocol 'SASL_PLAINTEXT', sasl_mechanism 'SCRAM-SHA-256', user 'ada', password '{PASSWORD}'",
        scene.kafka.bootstrap(Listener::SaslPlaintext)
    );
    let create = format!("CREATE CONNECTION by_sql TYPE KAFKA OPTIONS ({options});");
    assert_eq!(scene.sql(&create), "created connection `by_sql`\n");
    let described = scene.sql("DESCRIBE CONNECTION by_sql");
    assert!(described.contains("*****") && !described.contains(PASSWORD), "{described}");
    let refused = scene.sql(&create.replace("user", "usr"));
    assert!(refused.contains("did you mean `user`?") && !refused.contains(PASSWORD), "{refused}");
    tables.push(scene.stream("by_sql", "by_sql"));
    for table in &tables {
        scene.assert_all_in(table);
    }
    scene.produce(20);
    for table in &tables {
        scene.assert_all_in(table);
    }
}

#[test]
fn what_keeps_a_connection_from_working_is_said_by_the_test_and_by_the_stream() {
    let mut scene = Scene::new();
    scene.kafka.set_scram_password("ada", "SCRAM-SHA-256", PASSWORD);
    scene.produce(5);
    let good = scene.connection("good", Listener::SaslSsl, Some("SCRAM-SHA-256"), "ada", PASSWORD);
    let port = |listener| scene.kafka.bootstrap(listener).rsplit(':').next().unwrap().to_owned();
    let ssl = scene.connection("ssl", Listener::Ssl, None, "", "");
    let mut broken = Vec::new();
    for (name, connection, worked, reason, words) in [
        (
            "wrong_password",
            changed(&good, |kafka| kafka.password = Some("wrong-password-of-a-test".to_owned())),
            vec!["address", "tls"],
            "AuthenticationFailed",
            vec!["the user `ada` by SCRAM-SHA-256"],
        ),
        (
            "wrong_user",
            changed(&good, |kafka| kafka.user = Some("eve".to_owned())),
            vec!["address", "tls"],
            "AuthenticationFailed",
            vec!["the user `eve` by SCRAM-SHA-256"],
        ),
        (
            "other_authority",
            changed(&ssl, |kafka| kafka.ca_pem = Some(scene.kafka.other_authority().to_owned())),
            vec!["address"],
            "CertificateNotTrusted",
            vec!["is not trusted", "CN=authority of a test", "`ca_pem`"],
        ),
        (
            "system_authorities",
            changed(&ssl, |kafka| kafka.ca_pem = None),
            vec!["address"],
            "CertificateNotTrusted",
            vec!["this system trusts"],
        ),
        (
            "other_host",
            changed(&ssl, |kafka| kafka.bootstrap_servers = format!("127.0.0.1:{}", port(Listener::Ssl))),
            vec!["address"],
            "CertificateForOtherHost",
            vec!["is for `localhost`", "not for that host"],
        ),
        (
            "expired",
            changed(&ssl, |kafka| kafka.bootstrap_servers = scene.kafka.bootstrap(Listener::Expired)),
            vec!["address"],
            "CertificateOutOfDate",
            vec!["has expired on 2021-03-01T00:00:00Z"],
        ),
        (
            "client_certificate",
            changed(&ssl, |kafka| kafka.bootstrap_servers = scene.kafka.bootstrap(Listener::Mtls)),
            vec!["address", "tls"],
            "ClientCertificateRequired",
            vec!["asks for a client certificate", "`direct_mtls_config`"],
        ),
        (
            "no_tls_there",
            changed(&ssl, |kafka| {
                kafka.bootstrap_servers = format!("localhost:{}", port(Listener::SaslPlaintext))
            }),
            vec!["address"],
            "TlsFailed",
            vec!["does not come about"],
        ),
        (
            "tls_there",
            changed(&good, |kafka| {
                kafka.security_protocol = "SASL_PLAINTEXT".to_owned();
                kafka.ca_pem = None;
            }),
            vec!["address", "tls"],
            "OtherSecurityProtocol",
            vec!["its port seems to be one for TLS", "set `security_protocol` to SSL or SASL_SSL"],
        ),
        (
            "sasl_there",
            changed(&ssl, |kafka| kafka.bootstrap_servers = scene.kafka.bootstrap(Listener::SaslSsl)),
            vec!["address", "tls"],
            "OtherSecurityProtocol",
            vec!["its port seems to be one for SASL"],
        ),
        (
            "no_sasl_there",
            changed(&good, |kafka| kafka.bootstrap_servers = scene.kafka.bootstrap(Listener::Ssl)),
            vec!["address", "tls"],
            "OtherSecurityProtocol",
            vec!["takes no user on that port", "set `security_protocol` to SSL"],
        ),
    ] {
        let connection = Connection {
            name: name.to_owned(),
            ..connection
        };
        let steps = scene.api().test_connection(Target::Connection(connection.clone())).unwrap();
        let (found, message) = said(&steps);
        assert_eq!(found, worked, "{name}: {steps:?}");
        assert!(words.iter().all(|word| message.contains(word)), "{name}: {message}");
        assert!(!format!("{steps:?}").contains("password-of-a-test"), "{steps:?}");
        scene.api().create_connection(&connection).unwrap();
        scene.stream(name, name);
        broken.push((name, reason, words));
    }
    for (name, reason, words) in &broken {
        scene.await_condition(name, reason, words);
    }
    let nobody = changed(&ssl, |kafka| kafka.bootstrap_servers = "127.0.0.1:1".to_owned());
    let steps = scene.api().test_connection(Target::Connection(nobody)).unwrap();
    let (found, message) = said(&steps);
    assert!(
        found.is_empty() && message.contains("address: cannot connect to `127.0.0.1:1`"),
        "{steps:?}"
    );

    // Mended, the first one reads from the beginning.
    let right = changed(&good, |kafka| kafka.password = Some(PASSWORD.to_owned()));
    let right = Connection {
        name: "wrong_password".to_owned(),
        ..right
    };
    scene.api().update_connection(&right, &["kafka.password"]).unwrap();
    scene.assert_all_in("main.secured.wrong_password_raw");
}

#[test]
fn what_a_user_may_not_do_is_said_and_nothing_more_is_asked_for() {
    let mut scene = Scene::new();
    for user in ["unseeing", "unreading"] {
        scene.kafka.set_scram_password(user, "SCRAM-SHA-256", PASSWORD);
        let connection = scene.connection(user, Listener::SaslPlaintext, Some("SCRAM-SHA-256"), user, PASSWORD);
        scene.api().create_connection(&connection).unwrap();
        // Reading takes nothing of the cluster.
        scene.kafka.deny(user, "ALL", "CLUSTER", "kafka-cluster");
    }
    scene.kafka.deny("unseeing", "DESCRIBE", "TOPIC", &scene.topic);
    scene.produce(5);
    let unreading = scene.stream("unreading", "unreading");
    scene.assert_all_in(&unreading);
    scene.kafka.deny("unreading", "READ", "TOPIC", &scene.topic);
    let unseeing = scene.stream("unseeing", "unseeing");
    scene.await_condition(
        "unseeing",
        "TopicRefused",
        &[&format!("`{}`", scene.topic), "opic authorization failed", "permissions"],
    );
    scene.produce(5);
    scene.await_condition("unreading", "PartitionError", &["may see the topic and not read it", "grant READ"]);
    scene.kafka.deny_no_more("unreading", "READ", "TOPIC", &scene.topic);
    scene.kafka.deny_no_more("unseeing", "DESCRIBE", "TOPIC", &scene.topic);
    scene.assert_all_in(&unreading);
    scene.assert_all_in(&unseeing);
}

/// How a test keeps a connection's password.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    WithTheConnection,
    InAScope,
}

/// A connection of `ada` whose password is kept so, and a way to put another one.
struct Rotated {
    connection: Connection,
    kept: Kept,
}

impl Rotated {
    fn new(scene: &Scene, kept: Kept) -> Self {
        let name = match kept {
            Kept::WithTheConnection => "literal",
            Kept::InAScope => "referring",
        };
        let literal = scene.connection(name, Listener::SaslPlaintext, Some("SCRAM-SHA-256"), "ada", PASSWORD);
        let connection = match kept {
            Kept::WithTheConnection => literal,
            Kept::InAScope => {
                scene.api().create_secret_scope("rotated").unwrap();
                scene.api().put_secret("rotated", "password", PASSWORD).unwrap();
                changed(&literal, |kafka| {
                    kafka.password = None;
                    kafka.password_secret = Some(SecretRef {
                        scope: "rotated".to_owned(),
                        key: "password".to_owned(),
                    });
                })
            }
        };
        scene.api().create_connection(&connection).unwrap();
        Self { connection, kept }
    }

    fn put(&self, scene: &Scene, password: &str) {
        let before = scene.api().connection(&self.connection.name).unwrap().secrets_revision;
        match self.kept {
            Kept::WithTheConnection => {
                let rotated = changed(&self.connection, |kafka| kafka.password = Some(password.to_owned()));
                scene.api().update_connection(&rotated, &["kafka.password"]).unwrap();
            }
            Kept::InAScope => drop(scene.api().put_secret("rotated", "password", password).unwrap()),
        }
        let after = scene.api().connection(&self.connection.name).unwrap().secrets_revision;
        assert_ne!(before, after, "a write of the secret shows");
    }
}

#[test]
fn a_rotated_password_reconnects_at_the_exact_position() {
    let mut scene = Scene::new();
    let set_at_broker = |scene: &Scene, password: &str| scene.kafka.set_scram_password("ada", "SCRAM-SHA-256", password);
    set_at_broker(&scene, PASSWORD);
    let rotated = [Kept::WithTheConnection, Kept::InAScope].map(|kept| Rotated::new(&scene, kept));
    let names = rotated.iter().map(|rotated| rotated.connection.name.clone()).collect::<Vec<_>>();
    let tables: Vec<String> = names.iter().map(|name| scene.stream(name, name)).collect();
    let assert_all = |scene: &Scene| tables.iter().for_each(|table| scene.assert_all_in(table));
    let await_refusal = |scene: &Scene| {
        for name in &names {
            scene.await_condition(name, "AuthenticationFailed", &["`ada`", "SCRAM-SHA-256"]);
        }
    };
    scene.produce(20);
    assert_all(&scene);

    // The broker's first: open connections authenticate again, and are refused.
    set_at_broker(&scene, NEXT_PASSWORD);
    await_refusal(&scene);
    scene.produce(20);
    rotated.iter().for_each(|rotated| rotated.put(&scene, NEXT_PASSWORD));
    scene.produce(20);
    assert_all(&scene);

    // Then ours first, while records keep coming.
    rotated.iter().for_each(|rotated| rotated.put(&scene, PASSWORD));
    scene.produce(20);
    await_refusal(&scene);
    set_at_broker(&scene, PASSWORD);
    scene.produce(20);
    assert_all(&scene);
}
