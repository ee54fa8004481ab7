//! Roles of AWS: a service credential is tried when it is written, and signs in to brokers as Amazon MSK has it. The brokers are
//! real, the tokens are signed again by botocore, and AWS is moto, which asks for signatures, policies and external ids.

use std::fs;

use e2e::agent::Agent;
use e2e::api::{Target, stream_message};
use e2e::aws::{Aws, AwsUser};
use e2e::config::order_schema;
use e2e::kafka_secure::{Listener, SecureKafka};
use e2e::limits::STREAM_SETTLES;
use e2e::paths::repository;
use e2e::plan::Action;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::terraform::Workspace;
use e2e::wait::wait_until;
use featurestore_proto::v1;
use featurestore_proto::v1::connection::Options;
use featurestore_proto::v1::{Connection, KafkaConnection, connection_config};

use crate::canary_search::{Canary, Search};
use crate::rows::assert_each_exactly_once;
use crate::stage::{PARTITIONS, order, unique};

const STREAM: &str = "main.roles.orders";
const TABLE: &str = "main.roles.orders_raw";
const EXTERNAL_ID: &str = "tenant-7";

struct Scene {
    aws: Aws,
    user: AwsUser,
    role: String,
    kafka: SecureKafka,
    agent: Agent,
    topic: String,
    sent: Vec<Acknowledged>,
}

impl Scene {
    fn new() -> Self {
        let mut aws = Aws::start();
        let role = aws.role("reader", Some(EXTERNAL_ID));
        let user = aws.user("agent", &[("sts:AssumeRole", &role)]);
        let kafka = SecureKafka::start_knowing_tokens(&aws.tokens_verifier());
        let topic = unique("roles");
        kafka.kafka().create_topic(&topic, PARTITIONS);
        let mut environment = aws.environment(&user);
        environment.push(("FEATURESTORE_AGENT_LOG_LEVEL", "trace".to_owned()));
        let agent = Agent::start_in(environment);
        Self {
            aws,
            user,
            role,
            kafka,
            agent,
            topic,
            sent: Vec::new(),
        }
    }

    /// A connection by the credential.
    fn connection(&self) -> Connection {
        let kafka = KafkaConnection {
            bootstrap_servers: self.kafka.bootstrap(Listener::SaslSsl),
            security_protocol: "SASL_SSL".to_owned(),
            credential: Some("reader".to_owned()),
            ca_pem: Some(self.kafka.authority().to_owned()),
            ..KafkaConnection::default()
        };
        Connection {
            name: "msk".to_owned(),
            options: Some(Options::Kafka(kafka)),
            ..Connection::default()
        }
    }

    fn declare_stream(&self) {
        let mut stream = stream_message(&self.topic, &order_schema().to_string());
        stream.name = STREAM.to_owned();
        stream.connection_config = Some(v1::ConnectionConfig {
            connection: Some(connection_config::Connection::UcConnectionName("msk".to_owned())),
        });
        let ingestion = stream.ingestion_config.as_mut().unwrap();
        TABLE.clone_into(&mut ingestion.ingestion_destination.as_mut().unwrap().delta_table_name);
        self.agent.api().declare_stream(stream).unwrap();
    }

    /// Sends records; they are in that table, once each.
    fn send_to(&mut self, table: &str) {
        let first = i64::try_from(self.sent.len()).unwrap();
        let orders: Vec<Outgoing> = (first..first + 8).map(order).collect();
        let producer = RecordingProducer::to(self.kafka.kafka().bootstrap(), &[]);
        self.sent.extend(producer.send_all(&self.topic, &orders));
        assert_each_exactly_once(&self.agent.table(table), &self.sent);
    }

    /// The steps of an attempt, those that failed with why.
    fn attempt(&self) -> String {
        let steps = self.agent.api().test_connection(Target::Connection(self.connection())).unwrap();
        let said = steps.into_iter().map(|step| match step.ok {
            true => format!("{} ok", step.name),
            false => format!("{}: {}", step.name, step.message),
        });
        said.collect::<Vec<_>>().join(", ")
    }

    /// Fails if anything that only the agent may see is in a file of it.
    fn assert_no_secret_is_written(&mut self) {
        let mut canaries: Vec<Canary> = self
            .aws
            .secrets()
            .iter()
            .map(|(name, secret)| Canary::of(name, secret.as_bytes()))
            .collect();
        assert!(canaries.len() >= 3, "a session has keys and a token, and signed in");
        canaries.push(Canary::of("key of the agent", self.user.secret_access_key.as_bytes()));
        assert_eq!(Search::new(&canaries).in_folder(self.agent.folder()), []);
    }
}

#[track_caller]
fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
fn a_role_signs_in_to_brokers_and_one_that_is_refused_is_said() {
    let mut scene = Scene::new();
    let role = scene.role.clone();
    let refused = ["service credential `reader`", role.as_str(), "HTTP status ", "external id"];

    // Tried when it is written.
    let api = scene.agent.api().clone();
    let wrong = api.create_credential("reader", &role, "tenant-8").unwrap();
    assert_says(&wrong.problem, &refused);
    assert_says(
        &scene.attempt(),
        &["address ok", "tls: not tried", "authentication: the service credential `reader`"],
    );
    let right = api.update_credential("reader", &role, EXTERNAL_ID).unwrap();
    assert_eq!(right.problem, "");

    // Signs in, and again and again while nothing is read: the broker ends each session after some seconds.
    assert_eq!(scene.attempt(), "address ok, tls ok, authentication ok, topics ok");
    api.create_connection(&scene.connection()).unwrap();
    scene.declare_stream();
    scene.send_to(TABLE);
    let seen = scene.aws.signed_in().len();
    wait_until("the idle stream signs in again", STREAM_SETTLES, || {
        match scene.aws.signed_in().len() {
            count if count >= seen + 2 => Ok(()),
            count => Err(count),
        }
    });
    scene.send_to(TABLE);
    let signed_in = scene.aws.signed_in();
    assert!(signed_in.iter().all(|who| who == "reader/featurestore-msk"), "{signed_in:?}");

    // Refused: said as a condition, and mended by whoever mends the role.
    assert!(scene.agent.terminate().success());
    scene.aws.allow(&scene.user, &[("kms:Decrypt", "*")]);
    scene.agent.start_again();
    wait_until("the stream says that the role is refused", STREAM_SETTLES, || {
        let status = api.stream(STREAM).unwrap().status.unwrap();
        let found = status.conditions.iter().find(|condition| condition.reason == "CredentialRefused");
        match found {
            Some(condition) if refused[..3].iter().all(|word| condition.message.contains(word)) => Ok(()),
            _ => Err(format!("{:?}", status.conditions)),
        }
    });
    scene.aws.allow(&scene.user, &[("sts:AssumeRole", &role)]);
    scene.send_to(TABLE);
    assert!(scene.agent.terminate().success());
    scene.assert_no_secret_is_written();
}

#[test]
fn the_example_of_a_role_is_made_planned_empty_and_destroyed() {
    let mut scene = Scene::new();
    let authorities = scene.agent.folder().join("brokers.pem");
    fs::write(&authorities, scene.kafka.authority()).unwrap();
    let mut workspace = Workspace::new(scene.agent.endpoint());
    workspace.copy_from(&repository().join("examples/msk-iam"));
    for (name, value) in [
        ("role_arn", scene.role.as_str()),
        ("external_id", EXTERNAL_ID),
        ("bootstrap_servers", &scene.kafka.bootstrap(Listener::SaslSsl)),
        ("certificate_authorities", authorities.to_str().unwrap()),
        ("topic", &scene.topic),
    ] {
        workspace.set_environment(&format!("TF_VAR_{name}"), value);
    }
    let plan = workspace.plan();
    plan.assert_action("featurestore_stream.orders", Action::Create);
    workspace.apply(&plan).assert_success();
    workspace.plan().assert_empty();
    scene.send_to("main.shop.orders_raw");
    let signed_in = scene.aws.signed_in();
    assert!(signed_in.iter().all(|who| who == "reader/featurestore-shop-msk"), "{signed_in:?}");
    scene.assert_no_secret_is_written();
    workspace.destroy().assert_success();
    assert!(!scene.agent.table("main.shop.orders_raw").exists());
}
