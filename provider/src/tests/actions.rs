//! One row per attribute of the stream: what a change of it plans. A test below proves that no attribute is left out.

use serde_json::{Value as Json, json};
use tfplugin::schema::Attributes;
use tfplugin::schema::attribute::{AttributeType, Mode};
use tfplugin::testing::core::Action::{self, Replace, Update};

use super::bench::Bench;
use super::configs::{
    SCHEMA_NARROWED, SCHEMA_WIDER, UNKNOWN, kafka_stream, kinesis_stream, plain_stream, registry_stream, with,
};
use crate::resources::stream::schema::schema;

/// What a plan must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Plans(Action),
    /// An error whose text holds this.
    Fails(&'static str),
}
use Expected::{Fails, Plans};

/// A change of one attribute: the base, the attribute's pointer, the new value, what the plan must come to.
type Row = (fn() -> Json, &'static str, Json, Expected);

const PAYLOAD: &str = "/schema_config/direct_schemas/payload_schema";
const KEY: &str = "/schema_config/direct_schemas/key_schema";

fn keyed_stream() -> Json {
    with(plain_stream(), KEY, json!({ "json_schema": "{\"type\":\"string\"}" }))
}

fn avro_stream() -> Json {
    let avro = json!({ "avro_schema": "{\"type\":\"record\",\"name\":\"a\",\"fields\":[]}" });
    with(with(plain_stream(), PAYLOAD, avro.clone()), KEY, avro)
}

fn proto_stream() -> Json {
    let proto = json!({ "proto_schema": { "schema_text": "syntax = \"proto3\"; message A { string a = 1; }", "message_name": "A" } });
    with(with(plain_stream(), PAYLOAD, proto.clone()), KEY, proto)
}

fn pattern_stream() -> Json {
    with(plain_stream(), "/source_config/kafka_stream_config/subscription_mode", json!({ "subscribe_pattern": "cards.*" }))
}

fn assigned_stream() -> Json {
    with(plain_stream(), "/source_config/kafka_stream_config/subscription_mode", json!({ "assign": "{\"cards\": [0, 1]}" }))
}

fn arn_stream() -> Json {
    let arns = json!({ "stream_arns": { "arns": ["arn:aws:kinesis:eu-west-1:123456789012:stream/clicks"] } });
    with(plain_stream(), "/source_config", json!({ "kinesis_stream_config": arns }))
}

fn rows() -> Vec<Row> {
    let secret = |name: &str| json!({ "scope": "kafka", "key": name });
    let mtls = registry_stream()["connection_config"]["direct_mtls_config"].clone();
    let registry = registry_stream()["schema_config"]["schema_registry_config"].clone();
    vec![
        (kafka_stream, "/name", json!("main.payments.others"), Plans(Replace)),
        (kafka_stream, "/description", json!("other"), Plans(Replace)),
        (kafka_stream, "/description", json!(null), Plans(Replace)),
        (plain_stream, "/description", json!(""), Plans(Replace)),
        (kafka_stream, "/source_config", kinesis_stream()["source_config"].clone(), Plans(Replace)),
        (kafka_stream, "/source_config/kafka_stream_config/subscription_mode/subscribe", json!("cards"), Plans(Replace)),
        (
            kafka_stream,
            "/source_config/kafka_stream_config/subscription_mode",
            json!({ "subscribe_pattern": "cards.*" }),
            Plans(Replace),
        ),
        (pattern_stream, "/source_config/kafka_stream_config/subscription_mode/subscribe_pattern", json!("c.*"), Plans(Replace)),
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
        (kafka_stream, "/source_config/kafka_stream_config/extra_options", json!(null), Plans(Replace)),
        (kinesis_stream, "/source_config/kinesis_stream_config/stream_names/names", json!(["clicks"]), Plans(Replace)),
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
        (kafka_stream, "/connection_config/uc_connection_name", json!("other"), Plans(Replace)),
        (kafka_stream, "/connection_config", json!({ "direct_mtls_config": mtls }), Plans(Replace)),
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
        (registry_stream, "/connection_config/direct_mtls_config/mtls_config/key_password_ref", secret("other"), Plans(Replace)),
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
        (kafka_stream, "/schema_config", json!({ "schema_registry_config": registry }), Plans(Replace)),
        (registry_stream, "/schema_config/schema_registry_config/uc_connection", json!("other"), Plans(Replace)),
        (registry_stream, "/schema_config/schema_registry_config/api_secret_ref", secret("other"), Plans(Replace)),
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
        (plain_stream, "/schema_config/direct_schemas/payload_schema/json_schema", json!(SCHEMA_WIDER), Plans(Update)),
        (plain_stream, "/schema_config/direct_schemas/payload_schema/json_schema", json!(SCHEMA_NARROWED), Fails("value.amount")),
        (plain_stream, PAYLOAD, json!({ "avro_schema": "\"string\"" }), Fails("changes the format")),
        (plain_stream, KEY, json!({ "json_schema": "{\"type\":\"string\"}" }), Fails("gets its first schema")),
        (keyed_stream, KEY, json!(null), Fails("loses its schema")),
        (keyed_stream, "/schema_config/direct_schemas/key_schema/json_schema", json!("{\"type\":\"integer\"}"), Fails("key")),
        (avro_stream, "/schema_config/direct_schemas/key_schema/avro_schema", json!("\"long\""), Fails("key")),
        (avro_stream, "/schema_config/direct_schemas/payload_schema/avro_schema", json!("\"long\""), Fails("value")),
        (proto_stream, "/schema_config/direct_schemas/key_schema/proto_schema/schema_text", json!("other"), Fails("key")),
        (proto_stream, "/schema_config/direct_schemas/key_schema/proto_schema/message_name", json!("B"), Fails("key")),
        (proto_stream, "/schema_config/direct_schemas/payload_schema/proto_schema/schema_text", json!("other"), Fails("value")),
        (proto_stream, "/schema_config/direct_schemas/payload_schema/proto_schema/message_name", json!("B"), Fails("value")),
        (
            kafka_stream,
            "/ingestion_config/ingestion_destination/delta_table_name",
            json!("main.payments.other_raw"),
            Plans(Replace),
        ),
        (kafka_stream, "/ingestion_config/backfill_source/delta_table_name", json!("main.payments.older"), Plans(Replace)),
        (kafka_stream, "/ingestion_config/backfill_source", json!(null), Plans(Replace)),
        (kafka_stream, "/ingestion_config/deduplication_columns", json!(["value.id"]), Plans(Replace)),
        (kafka_stream, "/ingestion_config/tags", json!({ "team": "risk" }), Plans(Replace)),
        (kafka_stream, "/ingestion_config/budget_policy_id", json!("budget-2"), Plans(Replace)),
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

#[tokio::test]
async fn each_attributes_change_plans_what_it_should() {
    for (base, pointer, value, expected) in rows() {
        let bench = Bench::start().await;
        let stored = bench.applied(&base()).await;
        let planned = bench.plan(Some(&stored), &with(base(), pointer, value.clone())).await;
        match expected {
            Plans(action) => {
                assert!(!planned.has_errors(), "{pointer} = {value}: {}", planned.words());
                assert_eq!(planned.action, action, "{pointer} = {value}");
                if action == Replace {
                    let attribute = pointer.trim_start_matches('/').replace('/', ".");
                    let named = |path: &String| path.starts_with(&attribute) || attribute.starts_with(path.as_str());
                    let paths: Vec<String> = planned.requires_replace.iter().map(ToString::to_string).collect();
                    assert!(!paths.is_empty() && paths.iter().all(named), "{pointer}: only what differs replaces, not {paths:?}");
                }
            }
            Fails(text) => {
                assert!(planned.has_errors(), "{pointer} = {value} plans {:?}", planned.action);
                assert!(planned.words().contains(text), "{pointer} = {value}: {}", planned.words());
            }
        }
    }
}

#[tokio::test]
async fn what_is_planned_in_place_is_applied_in_place_and_then_plans_nothing() {
    for (base, pointer, value, expected) in rows() {
        if expected != Plans(Update) {
            continue;
        }
        let bench = Bench::start().await;
        let stored = bench.applied(&base()).await;
        let changed = with(base(), pointer, value);
        let stored = bench.applied_over(&stored, &changed).await;
        let again = bench.plan(Some(&bench.refreshed(&stored).await), &changed).await;
        assert_eq!(again.action, Action::NoOp, "{pointer} after its apply");
        assert_eq!(bench.agent.count("CreateStream"), 1, "{pointer} replaced nothing");
    }
}

#[tokio::test]
async fn settings_of_the_providers_own_change_without_a_call_to_the_agent() {
    for (pointer, value) in [
        ("/schema_update_policy", json!("replace")),
        ("/on_destroy", json!("retain")),
        ("/deletion_protection", json!(true)),
        ("/timeouts/create", json!("90s")),
    ] {
        let bench = Bench::start().await;
        let stored = bench.applied(&plain_stream()).await;
        let before = bench.agent.world().calls.len();
        bench.applied_over(&stored, &with(plain_stream(), pointer, value)).await;
        assert_eq!(bench.agent.world().calls.len(), before, "{pointer}");
    }
}

#[tokio::test]
async fn schema_and_exclusions_change_in_one_call() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    let changed = with(plain_stream(), "/schema_config/direct_schemas/payload_schema/json_schema", json!(SCHEMA_WIDER));
    let changed = with(changed, "/excluded_columns", json!(["value.note"]));
    bench.applied_over(&stored, &changed).await;
    assert_eq!(bench.agent.count("UpdateStream"), 1);
    let masks = bench.agent.world().masks.clone();
    assert_eq!(masks, [["schema_config.direct_schemas.payload_schema", "excluded_columns"]]);
}

#[tokio::test]
async fn an_incompatible_schema_replaces_only_if_the_user_asked_for_it() {
    let bench = Bench::start().await;
    let base = with(plain_stream(), "/schema_update_policy", json!("replace"));
    let stored = bench.applied(&base).await;
    let narrowed = with(base, "/schema_config/direct_schemas/payload_schema/json_schema", json!(SCHEMA_NARROWED));
    let planned = bench.plan(Some(&stored), &narrowed).await;
    assert_eq!(planned.action, Replace, "{}", planned.words());
    assert!(planned.words().contains("1,234 rows"), "{}", planned.words());
}

#[test]
fn the_table_has_a_row_for_every_attribute_a_user_can_set() {
    let rows: Vec<String> = rows().iter().map(|(_, pointer, value, _)| all_paths(pointer.trim_start_matches("/"), value)).collect::<Vec<_>>().concat();
    let mut settable = Vec::new();
    leaves(&schema().attributes, "", &mut settable);
    for path in settable {
        let pointer = path.replace('.', "/");
        assert!(rows.iter().any(|row| row == &pointer || row.starts_with(&format!("{pointer}/"))), "no row changes `{path}`");
    }
    assert_ne!(UNKNOWN, "", "unknown values have tests of their own");
}

/// A pointer and every pointer below it that the value sets.
fn all_paths(pointer: &str, value: &Json) -> Vec<String> {
    let mut paths = vec![pointer.to_owned()];
    for (name, inner) in value.as_object().into_iter().flatten() {
        paths.extend(all_paths(&format!("{pointer}/{name}"), inner));
    }
    paths
}

/// Paths of the attributes without attributes inside that a user can set.
fn leaves(attributes: &Attributes, prefix: &str, found: &mut Vec<String>) {
    for (name, attribute) in attributes {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match &attribute.attribute_type {
            AttributeType::Nested { attributes, .. } => leaves(attributes, &path, found),
            AttributeType::Plain(_) if attribute.mode != Mode::Computed => found.push(path),
            AttributeType::Plain(_) => {}
        }
    }
}
