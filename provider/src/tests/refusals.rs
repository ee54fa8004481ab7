//! What a configuration may not say, found without an agent, each at its attribute.

use serde_json::{Value as Json, json};

use super::bench::Bench;
use super::configs::{kafka_stream, kinesis_stream, plain_stream, registry_stream, with};

/// A base, a pointer, what is put there, the attribute that the error is at.
type Row = (fn() -> Json, &'static str, Json, &'static str);

#[tokio::test]
async fn bad_configurations_are_refused_at_their_attribute() {
    let rows: Vec<Row> = vec![
        (plain_stream, "/name", json!("payments.cards"), "name"),
        (plain_stream, "/name", json!("Main.payments.cards"), "name"),
        (plain_stream, "/name", json!("main.payments.../cards"), "name"),
        (plain_stream, "/name", json!("system.payments.cards"), "name"),
        (plain_stream, "/source_config", json!({}), "source_config"),
        (
            kinesis_stream,
            "/source_config/kafka_stream_config",
            kafka_stream()["source_config"]["kafka_stream_config"].clone(),
            "source_config",
        ),
        (
            plain_stream,
            "/source_config/kafka_stream_config/subscription_mode/subscribe_pattern",
            json!("c.*"),
            "source_config.kafka_stream_config.subscription_mode",
        ),
        (
            plain_stream,
            "/source_config/kafka_stream_config/extra_options",
            json!({ "startingOffset": "earliest" }),
            "source_config.kafka_stream_config.extra_options",
        ),
        (plain_stream, "/connection_config", json!({}), "connection_config"),
        (
            registry_stream,
            "/connection_config/uc_connection_name",
            json!("kafka"),
            "connection_config",
        ),
        (plain_stream, "/schema_config", json!({}), "schema_config"),
        (
            plain_stream,
            "/schema_config/direct_schemas",
            json!({}),
            "schema_config.direct_schemas",
        ),
        (
            plain_stream,
            "/schema_config/direct_schemas/payload_schema",
            json!({}),
            "schema_config.direct_schemas.payload_schema",
        ),
        (
            plain_stream,
            "/schema_config/direct_schemas/payload_schema/json_schema",
            json!("{"),
            "schema_config.direct_schemas.payload_schema.json_schema",
        ),
        (
            plain_stream,
            "/schema_config/direct_schemas/payload_schema/json_schema",
            json!("{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"),
            "schema_config.direct_schemas.payload_schema.json_schema",
        ),
        (
            plain_stream,
            "/schema_config/schema_registry_config",
            registry_stream()["schema_config"]["schema_registry_config"].clone(),
            "schema_config",
        ),
        (
            plain_stream,
            "/ingestion_config/ingestion_destination/delta_table_name",
            json!("cards_raw"),
            "ingestion_config.ingestion_destination.delta_table_name",
        ),
        (plain_stream, "/excluded_columns", json!(["value.none"]), "excluded_columns"),
        (plain_stream, "/excluded_columns", json!(["card"]), "excluded_columns"),
        (
            plain_stream,
            "/operations/flush_interval",
            json!("1ms"),
            "operations.flush_interval",
        ),
        (
            plain_stream,
            "/operations/flush_interval",
            json!("soon"),
            "operations.flush_interval",
        ),
        (plain_stream, "/operations/on_data_loss", json!("ignore"), "operations.on_data_loss"),
        (plain_stream, "/schema_update_policy", json!("always"), "schema_update_policy"),
        (plain_stream, "/on_destroy", json!("keep"), "on_destroy"),
        (plain_stream, "/timeouts/create", json!("0s"), "timeouts.create"),
        (plain_stream, "/timeouts/delete", json!("later"), "timeouts.delete"),
    ];
    let bench = Bench::start().await;
    for (base, pointer, value, path) in rows {
        let refused = bench.validate(&with(base(), pointer, value.clone())).await;
        assert!(refused.has_errors(), "{pointer} = {value} is accepted");
        assert!(
            refused.error_paths().contains(&path.to_owned()),
            "{pointer} = {value}: {:?} {}",
            refused.error_paths(),
            refused.words()
        );
    }
    for base in [plain_stream(), kafka_stream(), kinesis_stream(), registry_stream()] {
        assert_eq!(bench.validate(&base).await.words(), "", "{base}");
    }
}

#[tokio::test]
async fn a_backfill_without_deduplication_columns_warns() {
    let bench = Bench::start().await;
    let config = with(
        plain_stream(),
        "/ingestion_config/backfill_source/delta_table_name",
        json!("main.payments.old"),
    );
    let said = bench.validate(&config).await;
    assert!(!said.has_errors() && said.words().contains("kafka_partition"), "{}", said.words());
}

#[tokio::test]
async fn a_protected_stream_is_neither_destroyed_nor_replaced() {
    let bench = Bench::start().await;
    let config = with(plain_stream(), "/deletion_protection", json!(true));
    let stored = bench.applied(&config).await;
    let destroy = bench.plan_destroy(&stored).await;
    assert!(destroy.has_errors() && destroy.words().contains("Stream Is Protected"));
    let unprotected = with(plain_stream(), "/name", json!("main.payments.others"));
    let replace = bench.plan(Some(&stored), &unprotected).await;
    assert!(
        replace.words().contains("Stream Is Protected"),
        "the protection in force counts, not the one to come"
    );
}

#[tokio::test]
async fn a_replacement_that_retains_its_table_needs_another_table_name() {
    let bench = Bench::start().await;
    let config = with(plain_stream(), "/on_destroy", json!("retain"));
    let stored = bench.applied(&config).await;
    let renamed = with(config, "/description", json!("other"));
    let same_table = bench.plan(Some(&stored), &renamed).await;
    assert_eq!(same_table.error_path(), "ingestion_config.ingestion_destination.delta_table_name");
    let moved = with(
        renamed,
        "/ingestion_config/ingestion_destination/delta_table_name",
        json!("main.payments.cards_two"),
    );
    let planned = bench.plan(Some(&stored), &moved).await;
    assert!(!planned.has_errors(), "{}", planned.words());
    assert!(
        planned.words().contains("1,234 rows") && planned.words().contains("It stays"),
        "{}",
        planned.words()
    );
}

#[tokio::test]
async fn retain_that_comes_with_the_replacement_comes_too_late() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    let config = with(with(plain_stream(), "/on_destroy", json!("retain")), "/description", json!("other"));
    assert_eq!(bench.plan(Some(&stored), &config).await.error_path(), "on_destroy");
}

#[tokio::test]
async fn a_replacement_warns_with_figures_and_how_to_keep_the_rows() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    let planned = bench
        .plan(Some(&stored), &with(plain_stream(), "/description", json!("other")))
        .await;
    for part in ["Replacement Deletes A Table", "1,234 rows", "7 days", "new `delta_table_name`"] {
        assert!(planned.words().contains(part), "no {part:?} in: {}", planned.words());
    }
}
