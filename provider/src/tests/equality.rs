//! What means the same plans nothing, and the state keeps the user's text.

use serde_json::{Value as Json, json};
use tfplugin::testing::core::Action;

use super::bench::Bench;
use super::configs::{SCHEMA, kafka_stream, kinesis_stream, plain_stream, registry_stream, with};

const REFORMATTED: &str = "{\n  \"properties\": {\n    \"id\": { \"type\": \"string\" },\n    \"amount\": { \"format\": \"int64\", \"type\": \"integer\" },\n    \"card\": { \"type\": \"string\" }\n  },\n  \"type\": \"object\"\n}\n";
const REORDERED: &str =
    r#"{"type":"object","properties":{"card":{"type":"string"},"amount":{"type":"integer","format":"int64"},"id":{"type":"string"}}}"#;

/// A base, an attribute, two ways to write it.
type Row = (fn() -> Json, &'static str, Json, Json);

fn rows() -> Vec<Row> {
    const JSON_SCHEMA: &str = "/schema_config/direct_schemas/payload_schema/json_schema";
    const MODE: &str = "/source_config/kafka_stream_config/subscription_mode";
    vec![
        (plain_stream, JSON_SCHEMA, json!(SCHEMA), json!(REFORMATTED)),
        (plain_stream, JSON_SCHEMA, json!(SCHEMA), json!(REORDERED)),
        (plain_stream, MODE, json!({ "subscribe": "a,b" }), json!({ "subscribe": " b, a " })),
        (
            plain_stream,
            MODE,
            json!({ "assign": "{\"a\":[0,1]}" }),
            json!({ "assign": "{ \"a\": [1, 0] }" }),
        ),
        (
            kafka_stream,
            "/record_type_filter",
            json!("value.amount > 0"),
            json!("value.amount > 0\n"),
        ),
        (
            kafka_stream,
            "/record_type_filter",
            json!("value.amount > 0 AND kafka_partition IN (1, 2)"),
            json!("((VALUE.`amount`) > 0) AND Kafka_Partition in (1, 2) -- the same\n"),
        ),
        (
            kafka_stream,
            "/ingestion_config/deduplication_columns",
            json!(["value.id", "kafka_offset"]),
            json!(["kafka_offset", "value.id"]),
        ),
        (
            plain_stream,
            "/excluded_columns",
            json!(["value.id", "value.card"]),
            json!(["value.card", "value.id"]),
        ),
        (plain_stream, "/operations/flush_interval", json!("1s"), json!("1000ms")),
        (plain_stream, "/operations", json!({ "paused": false }), json!(null)),
        (plain_stream, "/timeouts/create", json!("60s"), json!("1m")),
        (
            kinesis_stream,
            "/source_config/kinesis_stream_config/extra_options/consumerMode",
            json!("efo"),
            json!("EFO"),
        ),
        (
            kinesis_stream,
            "/source_config/kinesis_stream_config/stream_names/names",
            json!(["a", "b"]),
            json!(["b", "a"]),
        ),
        (
            registry_stream,
            "/connection_config/direct_mtls_config/bootstrap_servers",
            json!("broker-1:9093"),
            json!("Broker-1:9093"),
        ),
        (
            registry_stream,
            "/connection_config/direct_mtls_config/mtls_config/disable_hostname_verification",
            json!(false),
            json!(null),
        ),
        (plain_stream, "/schema_update_policy", json!("reject"), json!(null)),
        (plain_stream, "/on_destroy", json!("delete"), json!(null)),
        (plain_stream, "/deletion_protection", json!(false), json!(null)),
    ]
}

#[tokio::test]
async fn another_spelling_of_the_same_plans_nothing() {
    for (base, pointer, one, other) in rows() {
        for (before, after) in [(&one, &other), (&other, &one)] {
            let bench = Bench::start().await;
            let stored = bench.applied(&with(base(), pointer, before.clone())).await;
            let planned = bench.plan(Some(&stored), &with(base(), pointer, after.clone())).await;
            assert_eq!(planned.action(), Action::NoOp, "{pointer}: {before} to {after}");
        }
    }
}

#[tokio::test]
async fn a_filter_in_another_spelling_is_a_change_where_its_columns_are_not_known() {
    for (base, replaces) in [(kafka_stream as fn() -> Json, false), (registry_stream, true)] {
        let bench = Bench::start().await;
        let spelled = |text: &str| with(base(), "/record_type_filter", json!(text));
        let stored = bench.applied(&spelled("value.amount > 0")).await;
        let planned = bench.plan(Some(&stored), &spelled("(value.Amount) > 0")).await;
        assert_eq!(!planned.requires_replace.is_empty(), replaces);
    }
}

#[tokio::test]
async fn an_empty_collection_and_none_differ_only_in_form() {
    for (pointer, empty) in [
        ("/excluded_columns", json!([])),
        ("/ingestion_config/deduplication_columns", json!([])),
        ("/ingestion_config/tags", json!({})),
        ("/source_config/kafka_stream_config/extra_options", json!({})),
    ] {
        let bench = Bench::start().await;
        let config = with(plain_stream(), pointer, empty);
        let stored = bench.refreshed(&bench.applied(&config).await).await;
        assert_eq!(
            bench.plan(Some(&stored), &config).await.action(),
            Action::NoOp,
            "{pointer} after its apply"
        );
        let planned = bench.plan(Some(&stored), &plain_stream()).await;
        assert!(planned.requires_replace.is_empty(), "{pointer}: form alone replaces nothing");
    }
}

#[tokio::test]
async fn a_refresh_keeps_the_users_text_while_the_agent_answers_in_its_own_form() {
    let bench = Bench::start().await;
    let config = with(
        kafka_stream(),
        "/schema_config/direct_schemas/payload_schema/json_schema",
        json!(REFORMATTED),
    );
    let stored = bench.applied(&config).await;
    bench
        .agent
        .world()
        .stream("main.payments.cards")
        .record
        .stream
        .as_mut()
        .expect("a stream")
        .schema_config = Some(super::fake_agent::json_payload(SCHEMA));
    for _ in 0..3 {
        let refreshed = bench.refreshed(&stored).await;
        assert_eq!(refreshed.state, stored.state, "a refresh changes nothing");
        assert_eq!(bench.plan(Some(&refreshed), &config).await.action(), Action::NoOp);
    }
}
