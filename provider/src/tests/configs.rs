//! Configurations of the tests: written as JSON, read into values by the schema. The text `<unknown>` stands for a value that
//! only an apply knows.

use serde_json::{Value as Json, json};
use tfplugin::schema::Schema;
use tfplugin::value::Value;
use tfplugin::value::number::Number;
use tfplugin::value::types::Type;

/// Stands for an unknown value.
pub(crate) const UNKNOWN: &str = "<unknown>";

/// A JSON schema with three fields.
pub(crate) const SCHEMA: &str =
    r#"{"type":"object","properties":{"id":{"type":"string"},"amount":{"type":"integer","format":"int64"},"card":{"type":"string"}}}"#;
/// The same with a field more.
pub(crate) const SCHEMA_WIDER: &str = r#"{"type":"object","properties":{"id":{"type":"string"},"amount":{"type":"integer","format":"int64"},"card":{"type":"string"},"note":{"type":"string"}}}"#;
/// The first one with a narrower field.
pub(crate) const SCHEMA_NARROWED: &str =
    r#"{"type":"object","properties":{"id":{"type":"string"},"amount":{"type":"integer"},"card":{"type":"string"}}}"#;

/// A Kafka stream with every attribute that a direct, backfilled Kafka stream can have.
pub(crate) fn kafka_stream() -> Json {
    json!({
        "name": "main.payments.cards",
        "description": "card transactions",
        "source_config": { "kafka_stream_config": {
            "subscription_mode": { "subscribe": "cards,refunds" },
            "extra_options": { "maxOffsetsPerTrigger": "1000" },
        } },
        "connection_config": { "uc_connection_name": "kafka" },
        "schema_config": { "direct_schemas": { "payload_schema": { "json_schema": SCHEMA } } },
        "ingestion_config": {
            "ingestion_destination": { "delta_table_name": "main.payments.cards_raw" },
            "backfill_source": { "delta_table_name": "main.payments.cards_old" },
            "deduplication_columns": ["value.id", "kafka_offset"],
            "tags": { "team": "payments" },
            "budget_policy_id": "budget-1",
        },
        "record_type_filter": "value.amount > 0",
        "excluded_columns": ["value.card"],
    })
}

/// A stream with only what is required.
pub(crate) fn plain_stream() -> Json {
    json!({
        "name": "main.payments.cards",
        "source_config": { "kafka_stream_config": { "subscription_mode": { "subscribe": "cards" } } },
        "connection_config": { "uc_connection_name": "kafka" },
        "schema_config": { "direct_schemas": { "payload_schema": { "json_schema": SCHEMA } } },
        "ingestion_config": { "ingestion_destination": { "delta_table_name": "main.payments.cards_raw" } },
    })
}

/// A Kinesis stream.
pub(crate) fn kinesis_stream() -> Json {
    let mut stream = plain_stream();
    stream["source_config"] = json!({ "kinesis_stream_config": {
        "stream_names": { "names": ["clicks", "views"] },
        "extra_options": { "consumerMode": "efo" },
    } });
    stream
}

/// A Kafka stream by mutual TLS with both sides' schemas from a registry.
pub(crate) fn registry_stream() -> Json {
    let secret = |key: &str| json!({ "scope": "kafka", "key": key });
    let mut stream = plain_stream();
    stream["connection_config"] = json!({ "direct_mtls_config": {
        "bootstrap_servers": "broker-1:9093,broker-2:9093",
        "mtls_config": {
            "keystore_location": "/Volumes/main/payments/keys/keystore.jks",
            "truststore_location": "/Volumes/main/payments/keys/truststore.jks",
            "keystore_password_ref": secret("keystore"),
            "key_password_ref": secret("key"),
            "truststore_password_ref": secret("truststore"),
        },
    } });
    stream["schema_config"] = json!({ "schema_registry_config": {
        "uc_connection": "registry",
        "api_secret_ref": secret("registry"),
        "payload_schema_locator": { "confluent_schema": { "subject": "cards-value", "format": "FORMAT_AVRO" } },
        "key_schema_locator": { "confluent_schema": { "subject": "cards-key", "format": "FORMAT_PROTOBUF" } },
    } });
    stream
}

/// A Kafka connection as this version of the agent can do it.
pub(crate) fn connection() -> Json {
    json!({ "name": "kafka", "comment": "the brokers", "kafka": {
        "bootstrap_servers": "localhost:9092", "security_protocol": "PLAINTEXT",
    } })
}

/// The JSON with one attribute at a pointer set, or with JSON null taken away. Objects on the way are made.
pub(crate) fn with(mut config: Json, pointer: &str, value: Json) -> Json {
    let mut here = &mut config;
    for name in pointer.split('/').skip(1) {
        if !here.is_object() {
            *here = json!({});
        }
        here = &mut here[name];
    }
    *here = value;
    config
}

/// JSON as a value of the schema.
pub(crate) fn value(schema: &Schema, json: &Json) -> Value {
    typed(&schema.value_type(), json)
}

fn typed(kind: &Type, json: &Json) -> Value {
    if json.as_str() == Some(UNKNOWN) {
        return Value::UNKNOWN;
    }
    let elements = |element: &Type| {
        json.as_array()
            .expect("a JSON array")
            .iter()
            .map(|it| typed(element, it))
            .collect::<Vec<_>>()
    };
    match (kind, json) {
        (_, Json::Null) => Value::Null,
        (Type::Bool, _) => Value::Bool(json.as_bool().expect("a truth value")),
        (Type::Number, _) => Value::Number(Number::parse(&json.to_string()).expect("a number")),
        (Type::String, _) => Value::string(json.as_str().expect("a text")),
        (Type::List(element), _) => Value::List(elements(element)),
        (Type::Set(element), _) => Value::Set(elements(element)),
        (Type::Map(element), _) => Value::map(
            json.as_object()
                .expect("a JSON object")
                .iter()
                .map(|(key, it)| (key, typed(element, it))),
        ),
        (Type::Object(attributes), _) => {
            let given = json.as_object().expect("a JSON object");
            for name in given.keys() {
                assert!(attributes.contains_key(name), "there is no attribute `{name}`");
            }
            Value::object(attributes.iter().map(|(name, kind)| (name, typed(kind, &json[name.as_str()]))))
        }
    }
}
