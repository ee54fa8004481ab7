//! Messages that are not what the schema says: every one is a row, exactly once, and none stops the stream.

use e2e::agent::Agent;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use serde_json::{Value, json};

use crate::rows::{assert_each_exactly_once, assert_rows, order_value, row_of};
use crate::stage::Stage;

/// Nested deeper than any parser may recurse.
const DEPTH: usize = 10_000;

fn payload(value: impl Into<Vec<u8>>) -> Outgoing {
    Outgoing::new("key", value)
}

#[test]
fn damaged_messages_are_rows_and_the_sound_ones_beside_them_are_whole() {
    let stage = Stage::applied("damaged");
    let nothing = json!({"order_id": null, "amount": null});
    // The expected value where the decoding notes decide it; none where only the row itself is asserted.
    let cases: Vec<(Outgoing, Option<Value>)> = vec![
        (payload(""), Some(Value::Null)),
        (
            Outgoing {
                value: None,
                ..payload("")
            },
            Some(Value::Null),
        ),
        (
            Outgoing {
                key: None,
                ..payload(r#"{"order_id": 1, "amount": 0.5}"#)
            },
            Some(json!({"order_id": 1, "amount": 0.5})),
        ),
        (payload("not json"), Some(nothing.clone())),
        (payload([0xff, 0xfe, 0x00, 0x80]), None),
        (payload(r#"{"order_id": 1, "amo"#), None),
        (payload(r#"[{"order_id": 1}]"#), None),
        (
            payload(r#"{"order_id": 9223372036854775808, "amount": 0.5}"#),
            Some(json!({"order_id": null, "amount": 0.5})),
        ),
        (
            payload(r#"{"order_id": {"a": 1}, "amount": 0.5}"#),
            Some(json!({"order_id": null, "amount": 0.5})),
        ),
        (payload(r#"{"unknown": 1}"#), Some(nothing.clone())),
        (payload("{}"), Some(nothing)),
        (payload("[".repeat(DEPTH)), None),
        (payload(format!("{}1{}", "{\"a\":".repeat(DEPTH), "}".repeat(DEPTH))), None),
        (
            payload(format!(
                "{{\"order_id\": 7, \"deep\": {}1{}}}",
                "[".repeat(DEPTH),
                "]".repeat(DEPTH)
            )),
            None,
        ),
    ];
    let producer = RecordingProducer::new();
    let mut all = Vec::new();
    for (message, expected) in &cases {
        let acknowledged = producer.send_all(&stage.topic, std::slice::from_ref(message));
        all.push((acknowledged[0].clone(), expected.clone()));
    }
    let sound = stage.produce_orders(0, 20);
    let records: Vec<Acknowledged> = all.iter().map(|(record, _)| record.clone()).chain(sound.clone()).collect();
    assert_each_exactly_once(&stage.table(), &records);
    for (record, expected) in &all {
        let row = row_of(&stage.table(), record);
        if let Some(expected) = expected {
            assert_eq!(
                &row["value"],
                expected,
                "{:?}",
                record.value.as_ref().map(|value| String::from_utf8_lossy(value))
            );
        }
        assert_eq!(row["key"].is_null(), record.key.is_none(), "{row}");
    }
    for record in &sound {
        assert_eq!(row_of(&stage.table(), record)["value"], order_value(record));
    }
    stage.await_active();
}

#[test]
fn aborted_transactions_are_never_seen_and_committed_ones_are_whole() {
    let stage = Stage::applied("transactions");
    let producer = RecordingProducer::transactional(&stage.topic);
    let mut committed = Vec::new();
    for round in 0..10 {
        producer.begin();
        for number in 0..20 {
            producer.send(&stage.topic, &crate::stage::order(round * 100 + number));
        }
        if round % 3 == 1 {
            producer.abort()
        } else {
            committed.extend(producer.commit())
        }
    }
    // The last transaction was aborted or committed; behind it are only markers, which hold nothing back.
    assert_rows(&stage.table(), &committed, order_value);
    let status = stage.record().status.unwrap();
    assert!(!status.partitions.is_empty());
}

#[test]
fn every_codec_and_messages_of_many_megabytes_are_ordinary_input() {
    let stage = Stage::applied("codecs");
    let mut records = Vec::new();
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let producer = RecordingProducer::with(&[("compression.type", codec)]);
        let orders: Vec<Outgoing> = (0..20).map(crate::stage::order).collect();
        records.extend(producer.send_all(&stage.topic, &orders));
        if matches!(codec, "none" | "zstd") {
            let filler = "x".repeat(9 << 20);
            let large = payload(format!("{{\"order_id\": 1, \"amount\": 2.5, \"filler\": \"{filler}\"}}"));
            records.extend(producer.send_all(&stage.topic, &[large]));
        }
    }
    assert_rows(&stage.table(), &records, order_value);
}

#[test]
fn new_partitions_are_read_from_their_first_record() {
    let stage = Stage::with_agent("partitions", Agent::start_with(&["--discovery-interval", "1s"]));
    stage.apply(&stage.stream());
    let mut records = stage.produce_orders(0, 8);
    e2e::kafka::kafka().add_partitions(&stage.topic, crate::stage::PARTITIONS + 2);
    let late = Outgoing {
        partition: Some(crate::stage::PARTITIONS + 1),
        ..crate::stage::order(1)
    };
    records.extend(RecordingProducer::new().send_all(&stage.topic, &[late]));
    assert_rows(&stage.table(), &records, order_value);
}
