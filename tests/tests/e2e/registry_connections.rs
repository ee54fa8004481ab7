//! How streams come to their schema registry: a secret that changes under way, a registry beside a client certificate, a privilege that
//! is taken away, and what a test of a connection says.

use e2e::agent::Agent;
use e2e::api::Target;
use e2e::certificates::Certificates;
use e2e::config::{CONNECTION_NAME, STREAM_NAME, with};
use e2e::confluent::{Part, Serializer};
use e2e::kafka::kafka;
use e2e::key_stores::{KeyKind, Kind, Stores};
use e2e::limits::STREAM_SETTLES;
use e2e::paths::fresh_folder;
use e2e::producer::{Acknowledged, RecordingProducer};
use e2e::registry::{Registry, Schema, SmallRegistry};
use e2e::wait::wait_until;
use featurestore_proto::v1::connection::Options;
use featurestore_proto::v1::{
    ConfluentSchema, Connection, KafkaConnection, SchemaConfig, SchemaLocator, SchemaRegistryConfig, SecretRef, SecurableType,
    schema_config,
};
use serde_json::{Value, json};

use crate::mtls_scene::{By, Scene};
use crate::registry_scene::{
    PASSWORD, USER, apply, avro, await_condition, await_version, document, framed_order, note, number_of, numbered, send, status, subject,
};
use crate::rows::{assert_rows, await_count};
use crate::stage::Stage;

const NEXT_PASSWORD: &str = "next-registry-password-of-a-test";
const REGISTRY: &str = "registry";

/// A connection that only a registry is reached by.
fn registry_connection(url: &str) -> KafkaConnection {
    KafkaConnection {
        // Nobody is there, and nobody asks.
        bootstrap_servers: "127.0.0.1:1".to_owned(),
        security_protocol: "PLAINTEXT".to_owned(),
        schema_registry_url: Some(url.to_owned()),
        ..KafkaConnection::default()
    }
}

fn named(options: KafkaConnection) -> Connection {
    Connection {
        name: REGISTRY.to_owned(),
        options: Some(Options::Kafka(options)),
        ..Connection::default()
    }
}

fn plain_value(record: &Acknowledged) -> Value {
    let number = number_of(record);
    json!({"id": number, "name": format!("n {number}")})
}

/// The registry comes back with another password: what is known goes on, what is new waits, and the new secret reads it.
#[test]
fn a_registrys_secret_that_is_changed_under_way_is_signed_in_with_and_nothing_is_lost() {
    let mut registry = Registry::start_with_user(USER, PASSWORD);
    let stage = Stage::new("rotated");
    let api = stage.agent.api();
    api.create_secret_scope("registry").unwrap();
    api.put_secret("registry", "password", PASSWORD).unwrap();
    let first = registry.register(&subject(&stage), &Schema::avro(&avro(&[])));
    let options = KafkaConnection {
        schema_registry_api_key: Some(USER.to_owned()),
        schema_registry_api_secret_ref: Some(SecretRef {
            scope: "registry".to_owned(),
            key: "password".to_owned(),
        }),
        ..registry_connection(registry.url())
    };
    api.create_connection(&named(options)).unwrap();
    let wanted = with(
        &document(&stage, registry.url(), "FORMAT_AVRO", false),
        "/resource/featurestore_stream/subject/schema_config/schema_registry_config/uc_connection",
        REGISTRY,
    );
    let wanted = with(
        &wanted,
        "/resource/featurestore_connection/kafka/kafka/schema_registry_url",
        Value::Null,
    );
    apply(&stage, &wanted);
    stage.await_active();
    let mut sent = send(&stage, 0, (0..4).map(|number| framed_order(first, number, &[])).collect());
    await_count(&stage.table(), 4);

    registry.kill();
    registry.start_again_with_user(USER, NEXT_PASSWORD);
    let second = registry.register(&subject(&stage), &Schema::avro(&avro(&[note()])));
    // Of the four partitions one begins with a message of the new version.
    let mut messages = vec![framed_order(second, 4, &[0])];
    messages.extend((5..12).map(|number| framed_order(first, number, &[])));
    sent.extend(send(&stage, 4, messages));
    await_count(&stage.table(), 4 + 6);
    let message = await_condition(&stage, "SchemasAvailable");
    for part in [
        &format!("the schema {second}, which is not known"),
        "refuses the API key `ada`",
        "401",
    ] {
        assert!(message.contains(part), "{message}");
    }
    api.put_secret("registry", "password", NEXT_PASSWORD).unwrap();
    await_version(&stage, 2);
    sent.extend(send(&stage, 12, vec![framed_order(second, 12, &[0])]));
    await_count(&stage.table(), sent.len());
    stage.await_active();
    assert_rows(&stage.table(), &sent, |record| {
        let number = number_of(record);
        json!({"id": number, "name": format!("n {number}"), "note": null})
    });
    let log = stage.agent.log();
    assert!(!log.contains(PASSWORD) && !log.contains(NEXT_PASSWORD));
}

#[test]
fn a_stream_by_client_certificate_has_its_schemas_from_the_registry_of_another_connection() {
    let scene = Scene::new();
    let registry = Registry::start_with_user(USER, PASSWORD);
    let client = scene.client("registered", KeyKind::Ec, Kind::Good);
    scene.write(&mut Stores::default());
    scene.put("JKS", "client.jks", &client);
    scene.secret("registry", PASSWORD);
    let secret = || {
        Some(SecretRef {
            scope: "stores".to_owned(),
            key: "registry".to_owned(),
        })
    };
    let options = KafkaConnection {
        schema_registry_api_key: Some(USER.to_owned()),
        schema_registry_api_secret_ref: secret(),
        ..registry_connection(registry.url())
    };
    scene.api().create_connection(&named(options)).unwrap();
    let text = avro(&[]);
    let serializer = Serializer::avro(registry.url(), scene.topic(), Part::Value, &text).with_user(&format!("{USER}:{PASSWORD}"));
    let written = |numbers: std::ops::Range<i64>| -> Vec<Vec<u8>> {
        let values: Vec<Value> = numbers.map(|number| json!({"id": number, "name": format!("n {number}")})).collect();
        serializer.serialize(&values).into_iter().map(|message| message.bytes).collect()
    };
    let producer = RecordingProducer::to(scene.kafka.kafka().bootstrap(), &[]);
    let mut sent = producer.send_all(scene.topic(), &numbered(0, written(0..8)));
    let mut stream = scene.message("registered", &By::keystore("client.jks"));
    let registered = SchemaRegistryConfig {
        uc_connection: Some(REGISTRY.to_owned()),
        api_secret_ref: secret(),
        payload_schema_locator: Some(SchemaLocator {
            confluent_schema: Some(ConfluentSchema {
                subject: format!("{}-value", scene.topic()),
                format: "FORMAT_AVRO".to_owned(),
            }),
        }),
        key_schema_locator: None,
    };
    stream.schema_config = Some(SchemaConfig {
        config: Some(schema_config::Config::SchemaRegistryConfig(registered)),
    });
    let checked = scene.api().check_stream(stream.clone()).unwrap();
    assert!(checked.violations.is_empty() && checked.warnings.is_empty(), "{checked:?}");
    assert_eq!(checked.registry_subjects[0].latest_version, Some(1), "{checked:?}");
    scene.api().declare_stream(stream).unwrap();
    let table = scene.agent.table("main.secured.registered_raw");
    assert_rows(&table, &sent, plain_value);
    sent.extend(producer.send_all(scene.topic(), &numbered(8, written(8..16))));
    assert_rows(&table, &sent, plain_value);
    assert!(!scene.agent.log().contains(PASSWORD));
}

/// Who made the stream must hold USE CONNECTION on the registry's connection as long as it runs, as on the stream's own.
#[test]
fn a_stream_whose_owner_may_not_use_the_registrys_connection_any_more_stands_still_and_says_so() {
    let registry = SmallRegistry::start();
    let agent = Agent::start_secured(&["ada"], &[]);
    let stage = Stage::with_agent("registrys-privilege", agent);
    let api = stage.agent.api();
    let id = registry.register(&subject(&stage), &Schema::avro(&avro(&[])));
    api.create_kafka_connection(CONNECTION_NAME, kafka().bootstrap()).unwrap();
    api.create_connection(&named(registry_connection(registry.url()))).unwrap();
    let needed: [(SecurableType, &str, &[&str]); 4] = [
        (SecurableType::Catalog, "main", &["USE CATALOG"]),
        (SecurableType::Schema, "main.payments", &["USE SCHEMA", "CREATE TABLE"]),
        (SecurableType::Connection, CONNECTION_NAME, &["USE CONNECTION"]),
        (SecurableType::Connection, REGISTRY, &["USE CONNECTION"]),
    ];
    for (securable, name, privileges) in needed {
        api.set_grants(securable, name, &[("ada", privileges)]).unwrap();
    }
    let locator = json!({"confluent_schema": {"subject": subject(&stage), "format": "FORMAT_AVRO"}});
    let schemas = json!({"schema_registry_config": {"uc_connection": REGISTRY, "payload_schema_locator": locator}});
    let stream = with(&stage.stream(), "/schema_config", schemas);
    let stream = with(&stream, "/connection_config/uc_connection_name", CONNECTION_NAME);
    let authority = stage.agent.certificates().authority();
    stage.workspace.write(&json!({
        "terraform": {"required_providers": {"featurestore": {"source": "featurestore/featurestore"}}},
        "provider": {"featurestore": {"ca_file": authority.to_str().unwrap(), "token": api.create_token("ada").unwrap()}},
        "resource": {"featurestore_stream": {"subject": stream}},
    }));
    // The plan is asked about a connection that is there, so it shows what the registry has.
    let run = stage.workspace.apply_now();
    run.assert_success();
    run.assert_warning(&["Columns By The Registry", "version 1", "STRUCT<id: BIGINT, name: STRING>"]);
    stage.await_active();
    let mut sent = send(&stage, 0, (0..4).map(|number| framed_order(id, number, &[])).collect());
    assert_rows(&stage.table(), &sent, plain_value);

    api.set_grants(SecurableType::Connection, REGISTRY, &[]).unwrap();
    wait_until("the stream says what is missing", STREAM_SETTLES, || {
        let found = status(&stage)?.conditions;
        let told = |it: &featurestore_proto::v1::Condition| {
            it.r#type == "SourceReachable" && it.reason == "PrivilegeMissing" && it.message.contains("lacks USE CONNECTION on")
        };
        let told = found.iter().any(|it| told(it) && it.message.contains(REGISTRY));
        if told { Ok(()) } else { Err(format!("{found:?}")) }
    });
    sent.extend(send(&stage, 4, (4..8).map(|number| framed_order(id, number, &[])).collect()));
    // Started again, it is still not let in.
    api.restart_stream(STREAM_NAME).unwrap();
    await_condition(&stage, "SourceReachable");
    assert_eq!(status(&stage).unwrap().table.unwrap().rows, 4);
    api.set_grants(SecurableType::Connection, REGISTRY, &[("ada", &["USE CONNECTION"])])
        .unwrap();
    stage.await_active();
    assert_rows(&stage.table(), &sent, plain_value);
}

#[test]
fn a_test_of_a_connection_goes_through_the_steps_of_its_registry() {
    let (real, small) = (Registry::start_with_user(USER, PASSWORD), SmallRegistry::start());
    let certificates = Certificates::make(&fresh_folder("registry-steps"), &[]);
    let other = Certificates::make(&fresh_folder("registry-steps-of-another"), &[]);
    let encrypted = SmallRegistry::start_encrypted(&certificates.certificate("agent"), &certificates.key("agent"));
    let authority = |of: &Certificates| Some(std::fs::read_to_string(of.authority()).unwrap());
    let agent = Agent::start();
    let with_user = |url: &str, password: &str| KafkaConnection {
        schema_registry_api_key: Some(USER.to_owned()),
        schema_registry_api_secret: Some(password.to_owned()),
        ..registry_connection(url)
    };
    let trusting = |of: &Certificates| KafkaConnection {
        ca_pem: authority(of),
        ..registry_connection(encrypted.url())
    };
    let wrong_path = real.url().replace("/apis/ccompat/v7", "/nowhere");
    small.register("orders-value", &Schema::avro(&avro(&[])));
    for (what, options, worked, words) in [
        ("a right user", with_user(real.url(), PASSWORD), 4, "tells 0 subjects"),
        ("nobody is asked for", registry_connection(small.url()), 4, "tells 1 subjects"),
        ("a trusted certificate", trusting(&certificates), 4, "tells 0 subjects"),
        ("nobody is there", registry_connection("http://127.0.0.1:1"), 0, "cannot connect to"),
        ("a certificate of another", trusting(&other), 1, "in the connection's `ca_pem`"),
        (
            "a wrong user",
            with_user(real.url(), NEXT_PASSWORD),
            2,
            "refuses the API key `ada` with status 401",
        ),
        (
            "a wrong path",
            with_user(&wrong_path, PASSWORD),
            3,
            "check the path of `schema_registry_url`",
        ),
    ] {
        let options = KafkaConnection {
            bootstrap_servers: kafka().bootstrap().to_owned(),
            ..options
        };
        let steps = agent.api().test_connection(Target::Connection(named(options))).unwrap();
        let (of_kafka, of_registry) = steps.split_at(4);
        assert!(of_kafka.iter().all(|step| step.ok), "{what}: {steps:?}");
        let names: Vec<&str> = of_registry
            .iter()
            .map(|step| step.name.trim_start_matches("schema_registry_"))
            .collect();
        assert_eq!(names, ["address", "tls", "authentication", "subjects"], "{what}");
        assert_eq!(
            of_registry.iter().take_while(|step| step.ok).count(),
            worked,
            "{what}: {of_registry:?}"
        );
        let telling = of_registry.get(worked).or(of_registry.last()).unwrap();
        assert!(telling.message.contains(words), "{what}: {of_registry:?}");
        assert!(!format!("{steps:?}").contains("password-of-a-test"), "{what}: {steps:?}");
    }
}
