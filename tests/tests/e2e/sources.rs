//! What a stream reads: where it starts, how many topics, keys with and without a schema; and what its status says of it.

use e2e::config::{self, STREAM_NAME, with};
use e2e::kafka::kafka;
use e2e::limits::STREAM_SETTLES;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::wait::wait_until;
use serde_json::{Value, json};

use crate::rows::{assert_each_exactly_once, assert_rows, order_value, row_of};
use crate::stage::{PARTITIONS, Stage, new_topic, order};

const STARTING_OFFSETS: &str = "/source_config/kafka_stream_config/extra_options";
const SUBSCRIBE: &str = "/source_config/kafka_stream_config/subscription_mode/subscribe";

#[test]
fn earliest_reads_the_topic_from_its_first_record() {
    let stage = Stage::new("earliest");
    let before = stage.produce_orders(0, 40);
    stage.apply(&with(&stage.stream(), STARTING_OFFSETS, json!({"startingOffsets": "earliest"})));
    let after = stage.produce_orders(100, 40);
    assert_rows(&stage.table(), &[before, after].concat(), order_value);
    stage.workspace.plan().assert_empty();
}

#[test]
fn each_partition_starts_where_its_offset_says() {
    let stage = Stage::new("offsets");
    let before = stage.produce_orders(0, 40);
    let offsets = json!({stage.topic.clone(): {"0": 3, "1": -1, "2": -2, "3": 10}}).to_string();
    stage.apply(&with(&stage.stream(), STARTING_OFFSETS, json!({"startingOffsets": offsets})));
    let after = stage.produce_orders(100, 40);
    let is_after_start = |record: &&Acknowledged| match record.partition {
        0 => record.offset >= 3,
        1 => false,
        2 => true,
        _ => record.offset >= 10,
    };
    let wanted: Vec<_> = before.iter().filter(is_after_start).chain(&after).cloned().collect();
    assert_rows(&stage.table(), &wanted, order_value);
}

#[test]
fn one_stream_reads_several_topics() {
    let stage = Stage::new("several");
    let second = new_topic("several-second");
    stage.apply(&with(&stage.stream(), SUBSCRIBE, format!("{}, {second}", stage.topic)));
    let mut records = stage.produce_orders(0, 40);
    let orders: Vec<Outgoing> = (100..140).map(order).collect();
    records.extend(RecordingProducer::new().send_all(&second, &orders));
    assert_rows(&stage.table(), &records, order_value);
}

#[test]
fn a_key_is_text_without_a_schema_and_decoded_with_one() {
    let cases: [(Value, &str, Value); 3] = [
        (json!({"type": "string"}), "plain text", json!("plain text")),
        (
            json!({"type": "integer", "format": "int64"}),
            "4000000000",
            json!(4_000_000_000_i64),
        ),
        (
            json!({"type": "object", "properties": {"customer": {"type": "string"}}}),
            r#"{"customer": "c-1"}"#,
            json!({"customer": "c-1"}),
        ),
    ];
    for (schema, key, expected) in cases {
        let stage = Stage::new("keys");
        let pointer = "/schema_config/direct_schemas/key_schema/json_schema";
        stage.apply(&with(&stage.stream(), pointer, schema.to_string()));
        stage.workspace.plan().assert_empty();
        let message = Outgoing::new(key, r#"{"order_id": 1, "amount": 0.5}"#);
        let records = RecordingProducer::new().send_all(&stage.topic, &[message]);
        assert_each_exactly_once(&stage.table(), &records);
        assert_eq!(row_of(&stage.table(), &records[0])["key"], expected);
    }
}

#[test]
fn a_payload_without_a_schema_is_its_text() {
    let stage = Stage::new("text");
    let key_only = json!({"direct_schemas": {"key_schema": {"json_schema": "{\"type\": \"string\"}"}}});
    stage.apply(&with(&stage.stream(), "/schema_config", key_only));
    let records = stage.produce_orders(0, 8);
    let text = |record: &Acknowledged| json!(String::from_utf8(record.value.clone().unwrap()).unwrap());
    assert_rows(&stage.table(), &records, text);
}

#[test]
fn the_data_source_shows_positions_ends_and_the_table() {
    let stage = Stage::applied("status");
    let records = stage.produce_orders(0, 40);
    assert_rows(&stage.table(), &records, order_value);
    wait_until("the agent knows the ends", STREAM_SETTLES, || {
        let partitions = stage.record().status.unwrap_or_default().partitions;
        let settled = partitions.iter().filter(|partition| partition.lag == Some(0)).count();
        if settled == usize::try_from(PARTITIONS).unwrap() {
            Ok(())
        } else {
            Err(format!("{partitions:?}"))
        }
    });
    let document = config::document(&config::connection(kafka().bootstrap()), &stage.stream());
    let document = with(&document, "/data", json!({"featurestore_stream": {"seen": {"name": STREAM_NAME}}}));
    let output = json!({"status": {"value": "${data.featurestore_stream.seen.status}"}});
    stage.workspace.write(&with(&document, "/output", output));
    stage.workspace.apply_now().assert_success();
    let status = stage.workspace.state()["values"]["outputs"]["status"]["value"].clone();
    assert_eq!(status["table"]["rows"], 40, "{status}");
    let partitions = status["partitions"].as_array().unwrap();
    assert_eq!(partitions.len(), usize::try_from(PARTITIONS).unwrap());
    for partition in partitions {
        assert_eq!(
            (&partition["position"], &partition["lag"]),
            (&partition["end"], &json!(0)),
            "{partition}"
        );
        assert_eq!(partition["position"], 10, "{partition}");
    }
}
