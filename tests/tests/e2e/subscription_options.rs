//! The options of a Kafka stream's reader: each has its effect, and one that is wrong is refused by its name; the examples that use
//! them.

use e2e::config::with;
use e2e::kafka::kafka;
use e2e::paths::repository;
use e2e::plan::Action;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::tables::{READERS, rows, statistics};
use serde_json::{Value, json};

use crate::rows::{assert_each_exactly_once, assert_rows, order_value};
use crate::stage::{PARTITIONS, Stage, order, unique};

const OPTIONS: &str = "/source_config/kafka_stream_config/extra_options";
const MODE: &str = "/source_config/kafka_stream_config/subscription_mode";

#[test]
fn a_commit_has_no_more_records_than_max_offsets_per_trigger() {
    let stage = Stage::new("trigger");
    let records = stage.produce_orders(0, 100);
    // With the smallest fetches that there are, and a session that no group has.
    let options = json!({
        "maxOffsetsPerTrigger": "7", "startingOffsets": "earliest", "kafka.max.partition.fetch.bytes": "1",
        "kafka.request.timeout.ms": "1000", "kafka.session.timeout.ms": "1",
    });
    stage.apply(&with(&stage.stream(), OPTIONS, options));
    assert_rows(&stage.table(), &records, order_value);
    let largest = statistics(&stage.table())
        .iter()
        .filter_map(|file| file["num_records"].as_i64())
        .max();
    assert_eq!(largest, Some(7), "{:?}", statistics(&stage.table()));
}

#[test]
fn headers_are_a_column_where_they_are_asked_for() {
    let stage = Stage::new("headers");
    stage.apply(&with(&stage.stream(), OPTIONS, json!({"includeHeaders": "true"})));
    stage.workspace.plan().assert_empty();
    let headers = [
        vec![],
        vec![("trace".to_owned(), Some(b"abc".to_vec()))],
        vec![
            ("twice".to_owned(), Some(vec![0, 255])),
            ("twice".to_owned(), None),
            ("".to_owned(), Some(vec![])),
        ],
    ];
    let outgoing: Vec<Outgoing> = (0..)
        .zip(&headers)
        .map(|(number, headers)| Outgoing {
            headers: headers.clone(),
            partition: Some(0),
            ..order(number)
        })
        .collect();
    let records = RecordingProducer::new().send_all(&stage.topic, &outgoing);
    assert_each_exactly_once(&stage.table(), &records);
    for reader in READERS {
        let mut found = rows(reader, &stage.table(), &["kafka_offset", "headers"]).unwrap();
        found.sort_by_key(|row| row["kafka_offset"].as_i64());
        let names = |row: &Value| {
            let headers = row["headers"].as_array()?;
            Some(
                headers
                    .iter()
                    .map(|header| header["key"].as_str().unwrap().to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        let found: Vec<Option<Vec<String>>> = found.iter().map(names).collect();
        let expected = [None, Some(vec!["trace"]), Some(vec!["twice", "twice", ""])];
        let expected = expected.map(|names| names.map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>()));
        assert_eq!(found, expected, "{reader}");
    }
}

#[test]
fn start_positions_are_given_by_partition_whatever_chooses_them() {
    for is_pattern in [true, false] {
        let stage = Stage::new("starts");
        let before = stage.produce_orders(0, 40);
        let topic = stage.topic.as_str();
        let (mode, offsets) = if is_pattern {
            (
                json!({"subscribe_pattern": format!("{topic}|none")}),
                json!({topic: {"0": 3, "1": -1, "2": -2}}),
            )
        } else {
            let assigned = json!({topic: [0, 1, 2]}).to_string();
            (json!({"assign": assigned}), json!({topic: {"0": 3, "2": -2}}))
        };
        let stream = with(&stage.stream(), MODE, mode);
        let with_starts = |starts: Value| with(&stream, OPTIONS, json!({"startingOffsets": starts.to_string()}));
        for (wrong, texts) in [
            (
                json!({unique("other"): {"0": 1}}),
                vec!["startingOffsets", "topic that the stream does not read"],
            ),
            (json!({topic: {"0": 11}}), vec!["startingOffsets", "has offsets 0 to 10, not 11"]),
            (json!({topic: {"0": -3}}), vec!["startingOffsets", "has the offset -3"]),
            (json!({topic: {"7": 0}}), vec!["startingOffsets", "partition"]),
        ] {
            stage.write(&with_starts(wrong));
            stage.workspace.apply_now().assert_error(&texts);
        }
        stage.apply(&with_starts(offsets));
        let after = stage.produce_orders(100, 40);
        let is_wanted = |record: &&Acknowledged| match record.partition {
            0 => record.offset >= 3,
            1 => record.offset >= 10,
            2 => true,
            _ => is_pattern && record.offset >= 10,
        };
        let wanted: Vec<_> = before.iter().chain(&after).filter(is_wanted).cloned().collect();
        assert_rows(&stage.table(), &wanted, order_value);
    }
}

#[test]
fn an_option_that_is_wrong_or_unknown_is_refused_in_the_plan_by_its_name() {
    let stage = Stage::new("refused");
    for (options, texts) in [
        (json!({"minPartitions": "3"}), vec!["`minPartitions`"]),
        (json!({"group.id": "mine"}), vec!["`group.id`"]),
        (json!({"maxOffsetsPerTrigger": "0"}), vec!["`maxOffsetsPerTrigger`"]),
        (json!({"includeHeaders": "yes"}), vec!["`includeHeaders`"]),
        (json!({"kafka.request.timeout.ms": "999"}), vec!["`kafka.request.timeout.ms`"]),
        (json!({"kafka.session.timeout.ms": "3600001"}), vec!["`kafka.session.timeout.ms`"]),
        (
            json!({"kafka.max.partition.fetch.bytes": "0"}),
            vec!["`kafka.max.partition.fetch.bytes`"],
        ),
    ] {
        stage.write(&with(&stage.stream(), OPTIONS, options));
        stage.workspace.plan().run.assert_error(&texts);
    }
    for (mode, texts) in [
        (
            json!({"subscribe_pattern": "orders-(eu"}),
            vec!["subscribe_pattern", "group that is not closed"],
        ),
        (json!({"subscribe_pattern": ""}), vec!["subscribe_pattern", "pattern is empty"]),
        (json!({"assign": "{\"a\": [0], \"a\": [1]}"}), vec!["assign", "appears twice"]),
        (json!({"assign": "{\"a\": [1.5]}"}), vec!["assign", "is not topics and partitions"]),
    ] {
        stage.write(&with(&stage.stream(), MODE, mode));
        stage.workspace.plan().run.assert_error(&texts);
    }
}

#[test]
fn the_example_of_a_pattern_reads_a_family_of_topics_with_headers() {
    let mut stage = Stage::new("pattern-example");
    let family = stage.topic.clone();
    stage.workspace.copy_from(&repository().join("examples/pattern-with-headers"));
    stage.workspace.set_environment("TF_VAR_bootstrap_servers", kafka().bootstrap());
    stage.workspace.set_environment("TF_VAR_topics", &format!(r"{family}-(eu|us)\..+"));
    let topic = |end: &str| {
        let topic = format!("{family}-{end}");
        kafka().create_topic(&topic, PARTITIONS);
        topic
    };
    let produce = |topic: &str| {
        let orders: Vec<Outgoing> = (0..8)
            .map(|number| Outgoing {
                headers: vec![("trace-id".to_owned(), Some(format!("{topic}/{number}").into_bytes()))],
                ..order(number)
            })
            .collect();
        RecordingProducer::new().send_all(topic, &orders)
    };
    let mut records = produce(&topic("eu.v1"));
    drop(produce(&topic("asia.v1")));
    stage.workspace.plan().assert_action("featurestore_stream.orders", Action::Create);
    stage.workspace.apply_now().assert_success();
    stage.workspace.plan().assert_empty();
    records.extend(produce(&topic("us.v1")));
    let table = stage.agent.table("main.shop.orders_everywhere_raw");
    assert_rows(&table, &records, order_value);
    let found = rows(READERS[0], &table, &["headers"]).unwrap();
    assert!(found.iter().all(|row| row["headers"][0]["key"] == "trace-id"), "{found:?}");
    stage.workspace.destroy().assert_success();
}

#[test]
fn the_example_of_assigned_partitions_reads_those_alone() {
    let mut stage = Stage::new("assign-example");
    let before = stage.produce_orders(0, 40);
    stage.workspace.copy_from(&repository().join("examples/assign"));
    stage.workspace.set_environment("TF_VAR_bootstrap_servers", kafka().bootstrap());
    stage.workspace.set_environment("TF_VAR_topic", &stage.topic);
    stage.workspace.plan().assert_action("featurestore_stream.tenant", Action::Create);
    stage.workspace.apply_now().assert_success();
    stage.workspace.plan().assert_empty();
    let after = stage.produce_orders(100, 40);
    let is_read = |record: &&Acknowledged| record.partition == 0 || record.partition == 2 && record.offset >= 10;
    let wanted: Vec<_> = before.iter().chain(&after).filter(is_read).cloned().collect();
    assert_rows(&stage.agent.table("main.shop.tenant_orders_raw"), &wanted, order_value);
    stage.workspace.destroy().assert_success();
}
