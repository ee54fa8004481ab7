//! The rows: base, attribute, new value, what the plan must come to.

use serde_json::{Value as Json, json};
use tfplugin::testing::core::Action::{self, Replace, Update};

use self::Expected::{Fails, Plans};
use crate::tests::configs::{SCHEMA_NARROWED, SCHEMA_WIDER, kafka_stream, kinesis_stream, plain_stream, registry_stream, with};

/// What a plan must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Plans(Action),
    /// An error whose text holds this.
    Fails(&'static str),
}

/// A change of one attribute: the base, the attribute's pointer, the new value, what the plan must come to.
pub(super) type Row = (fn() -> Json, &'static str, Json, Expected);

const PAYLOAD: &str = "/schema_config/direct_schemas/payload_schema";
const KEY: &str = "/schema_config/direct_schemas/key_schema";

fn keyed_stream() -> Json {
    with(plain_stream(), KEY, json!({ "json_schema": "{\"type\":\"string\"}" }))
}

fn avro_stream() -> Json {
    let avro = json!({ "avro_schema": "{\"type\":\"record\",\"name\":\"a\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"}]}" });
    with(with(plain_stream(), PAYLOAD, avro.clone()), KEY, avro)
}

fn proto_stream() -> Json {
    let proto = json!({ "proto_schema": { "schema_text": "syntax = \"proto3\"; message A { string a = 1; }", "message_name": "A" } });
    with(with(plain_stream(), PAYLOAD, proto.clone()), KEY, proto)
}

fn pattern_stream() -> Json {
    with(
        plain_stream(),
        "/source_config/kafka_stream_config/subscription_mode",
        json!({ "subscribe_pattern": "cards.*" }),
    )
}

fn assigned_stream() -> Json {
    with(
        plain_stream(),
        "/source_config/kafka_stream_config/subscription_mode",
        json!({ "assign": "{\"cards\": [0, 1]}" }),
    )
}

fn arn_stream() -> Json {
    let arns = json!({ "stream_arns": { "arns": ["arn:aws:kinesis:eu-west-1:123456789012:stream/clicks"] } });
    with(plain_stream(), "/source_config", json!({ "kinesis_stream_config": arns }))
}

pub(super) fn rows() -> Vec<Row> {
    let secret = |name: &str| json!({ "scope": "kafka", "key": name });
    let mtls = registry_stream()["connection_config"]["direct_mtls_config"].clone();
    let registry = registry_stream()["schema_config"]["schema_registry_config"].clone();
    vec![
        (kafka_stream, "/name", json!("main.payments.others"), Plans(Replace)),
        (kafka_stream, "/description", json!("other"), Plans(Replace)),
        (kafka_stream, "/description", json!(null), Plans(Replace)),
        (plain_stream, "/description", json!(""), Plans(Replace)),
        (
            plain_stream,
            "/source_config",
            kinesis_stream()["source_config"].clone(),
            Plans(Replace),
        ),
        (
            kafka_stream,
            "/source_config/kafka_stream_config/subscription_mode/subscribe",
            json!("cards"),
            Plans(Replace),
        ),
        (
            kafka_stream,
            "/source_config/kafka_stream_config/subscription_mode",
            json!({ "subscribe_pattern": "cards.*" }),
            Plans(Replace),
        ),
        (
            pattern_stream,
            "/source_config/kafka_stream_config/subscription_mode/subscribe_pattern",
            json!("c.*"),
            Plans(Replace),
        ),
        (
            assigned_stream,
            "/source_config/kafka_stream_config/subscription_mode/assign",
            json!("{\"cards\": [0]}"),
            Plans(Replace),
        ),
        (
            kafka_stream,
            "/source_config/kafka_stream_config/extra_options",
            json!({ "maxOffsetsPerTrigger": "2000" }),
            Plans(Replace),
        ),
        (
            kafka_stream,
            "/source_config/kafka_stream_config/extra_options",
            json!(null),
            Plans(Replace),
        ),
        (
            kinesis_stream,
            "/source_config/kinesis_stream_config/stream_names/names",
            json!(["clicks"]),
            Plans(Replace),
        ),
        (
            arn_stream,
            "/source_config/kinesis_stream_config/stream_arns/arns",
            json!(["arn:aws:kinesis:eu-west-1:123456789012:stream/views"]),
            Plans(Replace),
        ),
        (
            kinesis_stream,
            "/source_config/kinesis_stream_config/extra_options",
            json!({ "consumerMode": "polling" }),
            Plans(Replace),
        ),
        (
            kafka_stream,
            "/connection_config/uc_connection_name",
            json!("other"),
            Plans(Replace),
        ),
        (
            kafka_stream,
            "/connection_config",
            json!({ "direct_mtls_config": mtls }),
            Plans(Replace),
        ),
        (
            registry_stream,
            "/connection_config/direct_mtls_config/bootstrap_servers",
            json!("broker-3:9093"),
            Plans(Replace),
        ),
        (
            registry_stream,
            "/connection_config/direct_mtls_config/mtls_config/keystore_location",
            json!("/Volumes/main/payments/keys/other.jks"),
            Plans(Replace),
        ),
        (
            registry_stream,
            "/connection_config/direct_mtls_config/mtls_config/truststore_location",
            json!("/Volumes/main/payments/keys/other.jks"),
            Plans(Replace),
        ),
        (
            registry_stream,
            "/connection_config/direct_mtls_config/mtls_config/keystore_password_ref",
            secret("other"),
            Plans(Replace),
        ),
        (
            registry_stream,
            "/connection_config/direct_mtls_config/mtls_config/key_password_ref",
            secret("other"),
            Plans(Replace),
        ),
        (
            registry_stream,
            "/connection_config/direct_mtls_config/mtls_config/truststore_password_ref",
            secret("other"),
            Plans(Replace),
        ),
        (
            registry_stream,
            "/connection_config/direct_mtls_config/mtls_config/disable_hostname_verification",
            json!(true),
            Plans(Replace),
        ),
        (
            kafka_stream,
            "/schema_config",
            json!({ "schema_registry_config": registry }),
            Plans(Replace),
        ),
        (
            registry_stream,
            "/schema_config/schema_registry_config/uc_connection",
            json!("other"),
            Plans(Replace),
        ),
        (
            registry_stream,
            "/schema_config/schema_registry_config/api_secret_ref",
            secret("other"),
            Plans(Replace),
        ),
        (
            registry_stream,
            "/schema_config/schema_registry_config/payload_schema_locator/confluent_schema/subject",
            json!("other-value"),
            Plans(Replace),
        ),
        (
            registry_stream,
            "/schema_config/schema_registry_config/payload_schema_locator/confluent_schema/format",
            json!("FORMAT_PROTOBUF"),
            Plans(Replace),
        ),
        (
            registry_stream,
            "/schema_config/schema_registry_config/key_schema_locator/confluent_schema/subject",
            json!("other-key"),
            Plans(Replace),
        ),
        (
            registry_stream,
            "/schema_config/schema_registry_config/key_schema_locator/confluent_schema/format",
            json!("FORMAT_AVRO"),
            Plans(Replace),
        ),
        (
            plain_stream,
            "/schema_config/direct_schemas/payload_schema/json_schema",
            json!(SCHEMA_WIDER),
            Plans(Update),
        ),
        (
            plain_stream,
            "/schema_config/direct_schemas/payload_schema/json_schema",
            json!(SCHEMA_NARROWED),
            Fails("value.amount"),
        ),
        (
            plain_stream,
            PAYLOAD,
            json!({ "avro_schema": "\"string\"" }),
            Fails("changes the format"),
        ),
        (
            plain_stream,
            KEY,
            json!({ "json_schema": "{\"type\":\"string\"}" }),
            Fails("gets its first schema"),
        ),
        (keyed_stream, KEY, json!(null), Fails("loses its schema")),
        (
            keyed_stream,
            "/schema_config/direct_schemas/key_schema/json_schema",
            json!("{\"type\":\"integer\"}"),
            Fails("key"),
        ),
        (
            avro_stream,
            "/schema_config/direct_schemas/key_schema/avro_schema",
            json!("\"long\""),
            Fails("key"),
        ),
        (
            avro_stream,
            "/schema_config/direct_schemas/payload_schema/avro_schema",
            json!("\"long\""),
            Fails("value"),
        ),
        (
            proto_stream,
            "/schema_config/direct_schemas/key_schema/proto_schema/schema_text",
            json!("other"),
            Fails("Mend the text"),
        ),
        (
            proto_stream,
            "/schema_config/direct_schemas/key_schema/proto_schema/message_name",
            json!("B"),
            Fails("declares no message"),
        ),
        (
            proto_stream,
            "/schema_config/direct_schemas/payload_schema/proto_schema/schema_text",
            json!("other"),
            Fails("Mend the text"),
        ),
        (
            proto_stream,
            "/schema_config/direct_schemas/payload_schema/proto_schema/message_name",
            json!("B"),
            Fails("declares no message"),
        ),
        (
            kafka_stream,
            "/ingestion_config/ingestion_destination/delta_table_name",
            json!("main.payments.other_raw"),
            Plans(Replace),
        ),
        (
            kafka_stream,
            "/ingestion_config/backfill_source/delta_table_name",
            json!("main.payments.older"),
            Plans(Replace),
        ),
        (kafka_stream, "/ingestion_config/backfill_source", json!(null), Plans(Replace)),
        (
            kafka_stream,
            "/ingestion_config/deduplication_columns",
            json!(["value.id"]),
            Plans(Replace),
        ),
        (kafka_stream, "/ingestion_config/tags", json!({ "team": "risk" }), Plans(Replace)),
        (
            kafka_stream,
            "/ingestion_config/budget_policy_id",
            json!("budget-2"),
            Plans(Replace),
        ),
        (kafka_stream, "/record_type_filter", json!("value.amount > 1"), Plans(Replace)),
        (plain_stream, "/excluded_columns", json!(["value.card"]), Plans(Update)),
        (plain_stream, "/operations/paused", json!(true), Plans(Update)),
        (plain_stream, "/operations/flush_interval", json!("2s"), Plans(Update)),
        (plain_stream, "/operations/on_data_loss", json!("earliest"), Plans(Update)),
        (plain_stream, "/schema_update_policy", json!("replace"), Plans(Update)),
        (plain_stream, "/on_destroy", json!("retain"), Plans(Update)),
        (plain_stream, "/deletion_protection", json!(true), Plans(Update)),
        (plain_stream, "/timeouts/create", json!("90s"), Plans(Update)),
        (plain_stream, "/timeouts/update", json!("90s"), Plans(Update)),
        (plain_stream, "/timeouts/delete", json!("90s"), Plans(Update)),
    ]
}
