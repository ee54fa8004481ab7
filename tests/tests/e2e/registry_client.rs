//! The agent's client of schema registries against two that are not ours: a real one, and a small one that fails on demand.

use std::fs;

use e2e::api::block_on;
use e2e::certificates::Certificates;
use e2e::paths::fresh_folder;
use e2e::registry::{Fault, Registry, Schema, SmallRegistry};
use stream_pipeline::registry::{RegisteredSchema, RegistryClient, RegistryError, RegistryProperties};
use stream_spec::schema::{MessageChoice, SchemaFormat};

const ADDRESS: &str = r#"{"type":"record","name":"Address","namespace":"shop","fields":[{"name":"street","type":"string"}]}"#;
const ORDER: &str =
    r#"{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"int"},{"name":"to","type":"shop.Address"}]}"#;
const LATER_ORDER: &str = r#"{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"int"},{"name":"to","type":"shop.Address"},
    {"name":"note","type":["null","string"],"default":null}]}"#;

fn properties(url: &str, user: Option<(&str, &str)>) -> RegistryProperties {
    RegistryProperties {
        urls: RegistryProperties::urls_of(url),
        api_key: user.map(|(key, _)| key.to_owned()),
        api_secret: user.map(|(_, secret)| secret.into()),
        ca_pem: None,
        identity: "test".into(),
    }
}

fn client(url: &str) -> RegistryClient {
    RegistryClient::open(&properties(url, None)).unwrap()
}

fn columns(schema: &RegisteredSchema) -> String {
    schema.parse(MessageChoice::At(&[0])).unwrap().data_type.to_string()
}

/// What both registries must be to a stream: versions, ids, references, subjects, and what is not there.
fn assert_serves(url: &str, register: &dyn Fn(&str, &Schema) -> u32) {
    let client = client(url);
    assert_eq!(block_on(client.subject_count()), Ok(0));
    let address = register("shop.address", &Schema::avro(ADDRESS));
    let of = |text: &str| Schema::avro(text).with_reference("shop.Address", "shop.address", 1);
    let first = register("orders-value", &of(ORDER));
    let latest = || block_on(client.latest("orders-value", SchemaFormat::Avro)).unwrap();
    assert_eq!((latest().id, latest().version), (first, Some(1)));
    assert_eq!(columns(&latest()), "STRUCT<id: INT, to: STRUCT<street: STRING>>");
    let second = register("orders-value", &of(LATER_ORDER));
    assert_eq!((latest().id, latest().version), (second, Some(2)));

    let by_id = |id| block_on(client.by_id(id, "orders-value"));
    assert_eq!(
        columns(&by_id(second).unwrap()),
        "STRUCT<id: INT, to: STRUCT<street: STRING>, note: STRING>"
    );
    assert_eq!(columns(&by_id(first).unwrap()), "STRUCT<id: INT, to: STRUCT<street: STRING>>");
    let has = |id, subject: &str| block_on(client.has_subject(id, subject));
    assert_eq!((has(first, "orders-value"), has(second, "orders-value")), (Ok(true), Ok(true)));
    assert_eq!((has(address, "orders-value"), has(first, "nobody's")), (Ok(false), Ok(false)));
    assert_eq!(
        by_id(4711).unwrap_err().to_string(),
        "the schema registry has no schema with the id 4711"
    );
    assert!(matches!(has(4711, "orders-value"), Err(RegistryError::NotFound { .. })));
    let absent = block_on(client.latest("nobody's", SchemaFormat::Avro)).unwrap_err();
    assert_eq!(absent.to_string(), "the schema registry has no version of the subject `nobody's`");

    let common = "syntax = \"proto3\"; package common; message Money { int64 units = 1; }";
    register("common.proto", &Schema::protobuf(common));
    let text = "syntax = \"proto3\"; package shop; import \"common.proto\"; import \"google/protobuf/timestamp.proto\"; \
                message Paid { common.Money sum = 1; google.protobuf.Timestamp at = 2; message Line { int32 n = 1; } }";
    register(
        "paid-value",
        &Schema::protobuf(text).with_reference("common.proto", "common.proto", 1),
    );
    let paid = block_on(client.latest("paid-value", SchemaFormat::Protobuf)).unwrap();
    assert_eq!(columns(&paid), "STRUCT<sum: STRUCT<units: BIGINT>, at: TIMESTAMP>");
    let line = paid.parse(MessageChoice::At(&[0, 0])).unwrap();
    assert_eq!(line.data_type.to_string(), "STRUCT<n: INT>");

    register(
        "json-value",
        &Schema::json(r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#),
    );
    let json = block_on(client.latest("json-value", SchemaFormat::Avro)).unwrap_err();
    assert!(json.to_string().contains("declare the schema in the stream itself"), "{json}");
    assert_eq!(block_on(client.subject_count()), Ok(5));
}

#[test]
fn a_real_registry_serves_its_schemas_over_kills_and_to_its_user_only() {
    let registry = Registry::start_with_user("key", "secret-of-a-test");
    let open = |secret: &str| RegistryClient::open(&properties(registry.url(), Some(("key", secret)))).unwrap();
    let refused = block_on(open("another").subject_count()).unwrap_err();
    assert!(
        refused.to_string().contains("refuses the API key `key` with status 401"),
        "{refused}"
    );
    let id = registry.register("a", &Schema::avro(ADDRESS));
    let client = open("secret-of-a-test");
    let known = block_on(client.by_id(id, "a")).unwrap();
    registry.delete_subject("a");
    assert!(block_on(client.latest("a", SchemaFormat::Avro)).is_err(), "deleted");

    registry.kill();
    let error = block_on(client.by_id(id + 1, "a")).unwrap_err();
    assert!(matches!(error, RegistryError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("Connection refused"), "{error}");
    assert_eq!(block_on(client.by_id(id, "a")).unwrap(), known, "what is known goes on");
    registry.start_again();
    assert_eq!(
        *block_on(open("secret-of-a-test").by_id(id, "a")).unwrap(),
        *known,
        "deleted, and found by its id"
    );
}

#[test]
fn schemas_come_from_a_real_registry_with_what_they_refer_to() {
    let registry = Registry::start();
    assert_serves(registry.url(), &|subject, schema| registry.register(subject, schema));
}

#[test]
fn a_small_registry_serves_the_same_and_passing_faults_are_waited_out() {
    let registry = SmallRegistry::start();
    assert_serves(registry.url(), &|subject, schema| registry.register(subject, schema));
    for fault in [Fault::Status(500), Fault::Busy(429, 1), Fault::Close, Fault::Slow(200)] {
        registry.fail("/subjects/shop.address", 2, &fault);
        let latest = block_on(client(registry.url()).latest("shop.address", SchemaFormat::Avro));
        assert!(latest.is_ok(), "{fault:?}: {latest:?}");
    }
    registry.fail_always("/subjects", &Fault::Busy(503, 60));
    let away = client(registry.url());
    for _ in 0..2 {
        let error = block_on(away.latest("shop.address", SchemaFormat::Avro)).unwrap_err();
        assert!(error.to_string().contains("it answers with status 503"), "{error}");
    }
    assert_eq!(registry.requests().1, 8, "it is asked once, and left alone as it asked to be");
    registry.fail_always("/", &Fault::Body("<html>".into()));
    let error = block_on(client(registry.url()).subject_count()).unwrap_err();
    assert!(
        error.to_string().contains("does not answer as a Confluent schema registry"),
        "{error}"
    );
    registry.mend();
    let both = format!("http://127.0.0.1:1,{}", registry.url());
    assert!(block_on(client(&both).latest("shop.address", SchemaFormat::Avro)).is_ok());
}

#[test]
fn an_encrypted_registry_is_trusted_by_its_authority_alone() {
    let folder = fresh_folder("registry-certificates");
    let certificates = Certificates::make(&folder, &[]);
    let registry = SmallRegistry::start_encrypted(&certificates.certificate("agent"), &certificates.key("agent"));
    let other = Certificates::make(&fresh_folder("other-certificates"), &[]);
    let open = |authority: Option<std::path::PathBuf>| {
        let mut properties = properties(registry.url(), None);
        properties.ca_pem = authority.map(|file| fs::read_to_string(file).unwrap());
        RegistryClient::open(&properties).unwrap()
    };
    assert_eq!(block_on(open(Some(certificates.authority())).subject_count()), Ok(0));
    for authority in [None, Some(other.authority())] {
        let error = block_on(open(authority).subject_count()).unwrap_err().to_string();
        assert!(
            error.contains("certificate") && error.contains("in the connection's `ca_pem`"),
            "{error}"
        );
    }
}
