//! The data sources, over the fake agent.

use serde_json::json;
use tfplugin::value::Value;

use super::bench::Bench;
use super::configs::{connection, kafka_stream};

#[tokio::test]
async fn a_stream_is_read_with_its_status() {
    let bench = Bench::start().await;
    let stored = bench.applied(&kafka_stream()).await;
    let read = bench
        .read_data("featurestore_stream", &json!({ "name": "main.payments.cards" }))
        .await
        .expect("it is there");
    for path in [
        "id",
        "description",
        "source_config",
        "schema_config",
        "ingestion_config.tags",
        "state",
        "operations",
    ] {
        assert_eq!(read.dig(path), stored.state.dig(path), "{path}");
    }
    assert_eq!(read.dig("status.table.rows"), &Value::from(1234_i64));
    assert_eq!(read.dig("status.generation"), &Value::from(1_i64));
    assert_eq!(read.dig("status.conditions").elements().len(), 1);
    assert_eq!(read.dig("status.records_filtered"), &Value::from(34_i64));
    let [misfits] = read.dig("status.misfits").elements() else {
        panic!("one reason")
    };
    let [version] = read.dig("status.schema_versions").elements() else {
        panic!("one version")
    };
    let position = Value::object([
        ("topic", Value::string("cards")),
        ("partition", Value::from(2_i64)),
        ("offset", Value::from(77_i64)),
        ("epoch", Value::from(1_i64)),
    ]);
    let expected = Value::object([
        ("side", Value::string("value")),
        ("reason", Value::string("malformed")),
        ("count", Value::from(12_i64)),
        ("positions", Value::List(vec![position.clone()])),
    ]);
    assert_eq!(misfits, &expected);
    assert_eq!(version.get("first_positions"), &Value::List(vec![position]));
}

#[tokio::test]
async fn a_stream_that_is_not_there_is_an_error() {
    let bench = Bench::start().await;
    let refused = bench
        .read_data("featurestore_stream", &json!({ "name": "main.payments.none" }))
        .await
        .expect_err("nothing there");
    assert!(refused.contains("Not Found"), "{refused}");
}

#[tokio::test]
async fn a_connection_is_read_without_its_secrets() {
    let bench = Bench::start().await;
    let stored = bench.applied_connection(None, &connection()).await;
    let read = bench.read_data("featurestore_connection", &json!({ "name": "kafka" })).await;
    let read = read.expect("it is there");
    for path in [
        "id",
        "name",
        "comment",
        "kafka.bootstrap_servers",
        "kafka.security_protocol",
        "kinesis",
    ] {
        assert_eq!(read.dig(path), stored.state.dig(path), "{path}");
    }
    let kafka = read.get("kafka").entries().expect("an object");
    assert!(kafka.keys().all(|option| !option.ends_with("_wo")), "{kafka:?}");
    let refused = bench.read_data("featurestore_connection", &json!({ "name": "none" })).await;
    assert!(refused.expect_err("nothing there").contains("Not Found"));
}

#[tokio::test]
async fn the_agent_says_what_it_can_do() {
    let bench = Bench::start().await;
    let read = bench.read_data("featurestore_agent", &json!({})).await.expect("it answers");
    assert_eq!(read.get("version"), &Value::string("0.1.0"));
    assert_eq!(read.get("trash_retention"), &Value::string("168h"));
    assert_eq!(read.get("capabilities"), &Value::string_set(["kafka.subscribe", "schema.json"]));
}

#[tokio::test]
async fn columns_follow_from_schemas_alone() {
    let bench = Bench::start().await;
    let avro = r#"{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"memo","type":"string"}]}"#;
    let read = bench
        .read_data(
            "featurestore_table_columns",
            &json!({
                "direct_schemas": {"payload_schema": {"avro_schema": avro}},
                "include_headers": true,
                "excluded_columns": ["value.memo"],
            }),
        )
        .await
        .expect("sound");
    let columns: Vec<String> = read
        .get("columns")
        .elements()
        .iter()
        .map(|column| format!("{} {}", column.get("name").as_str().unwrap(), column.get("type").as_str().unwrap()))
        .collect();
    assert_eq!(columns[..2], ["key STRING", "value STRUCT<id: BIGINT>"]);
    assert_eq!(columns[7..], ["headers ARRAY<STRUCT<key: STRING, value: BINARY>>"]);

    for (config, expected) in [
        (json!({"direct_schemas": {}}), "Neither side has a schema"),
        (
            json!({"direct_schemas": {"payload_schema": {"json_schema": "{}"}}, "source": "pulsar"}),
            "The source is not known",
        ),
        (
            json!({"direct_schemas": {"payload_schema": {"avro_schema": avro}}, "excluded_columns": ["value.nothing"]}),
            "value.nothing",
        ),
    ] {
        let refused = bench.read_data("featurestore_table_columns", &config).await.expect_err("refused");
        assert!(refused.contains(expected), "{refused}");
    }
}
