//! The life of a stream under Terraform: created, planned empty, imported, destroyed; and what protects its table.

use std::fs;

use e2e::config::{self, CONNECTION, PAYLOAD_SCHEMA, STREAM, STREAM_NAME, with};
use e2e::kafka::kafka;
use e2e::plan::Action;
use e2e::tables;
use e2e::terraform::Workspace;
use serde_json::{Value, json};
use tonic::Code;

use crate::rows::{assert_rows, order_value};
use crate::stage::Stage;

#[test]
fn apply_makes_a_topic_a_table_and_the_next_plan_is_empty() {
    let stage = Stage::new("created");
    stage.write(&stage.stream());
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Create).assert_action(CONNECTION, Action::Create);
    assert!(plan.is_unknown(STREAM, "/id"), "{}", plan.after(STREAM));
    stage
        .workspace
        .apply(&plan)
        .assert_success()
        .assert_warning(&[config::PLAINTEXT_WARNING])
        .assert_no_warning_but(config::PLAINTEXT_WARNING);

    stage.workspace.plan_with(&["-refresh=false"]).assert_empty();
    stage.workspace.plan().assert_empty();
    let attributes = stage.workspace.resource(STREAM);
    assert_eq!(attributes["state"], "ACTIVE");
    assert_eq!(attributes["id"], stage.uid());
    assert_eq!(
        attributes["operations"],
        json!({"paused": false, "flush_interval": "1s", "on_data_loss": "fail"})
    );

    let records = stage.produce_orders(0, 200);
    assert_rows(&stage.table(), &records, order_value);
    let columns = tables::column_names(&stage.table());
    assert_eq!(
        columns,
        [
            "key",
            "value",
            "stream_record_timestamp",
            "record_source",
            "kafka_topic",
            "kafka_partition",
            "kafka_offset"
        ]
    );
    stage.workspace.plan().assert_empty();
}

#[test]
fn records_from_before_the_creation_are_not_ingested_and_all_later_ones_are() {
    let stage = Stage::new("latest");
    let _before = stage.produce_orders(0, 40);
    stage.apply(&stage.stream());
    let after = stage.produce_orders(100, 40);
    assert_rows(&stage.table(), &after, order_value);
}

#[test]
fn two_texts_of_one_schema_plan_empty() {
    let stage = Stage::applied("same-schema");
    let reformatted = serde_json::to_string_pretty(&config::order_schema()).unwrap();
    let reordered = r#"{ "properties": {"amount": {"type":"number"}, "order_id": {"format":"int64", "type":"integer"}},
        "type": "object", "description": "orders" }"#;
    for text in [reformatted.as_str(), &format!("\r\n{reformatted}\n"), reordered] {
        stage.write(&with(&stage.stream(), PAYLOAD_SCHEMA, text));
        stage.workspace.plan().assert_empty();
    }
}

#[test]
fn import_gives_an_empty_plan_and_an_unknown_id_is_an_error() {
    let stage = Stage::applied("imported");
    let second = Workspace::new(stage.agent.endpoint());
    second.write(&config::document(&config::connection(kafka().bootstrap()), &stage.stream()));
    second.import(CONNECTION, config::CONNECTION_NAME).assert_success();
    second.import(STREAM, STREAM_NAME).assert_success();
    second.plan().assert_empty();

    let third = Workspace::new(stage.agent.endpoint());
    third.write(&config::document(&config::connection(kafka().bootstrap()), &stage.stream()));
    let run = third.import(STREAM, "main.payments.unknown");
    assert!(run.code == Some(1) && run.output.contains("main.payments.unknown"), "{run}");
}

#[test]
fn destroy_removes_the_stream_and_its_table() {
    let stage = Stage::applied("destroyed");
    let records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);
    let plan = stage.workspace.plan_with(&["-destroy"]);
    plan.assert_action(STREAM, Action::Delete);
    plan.run.assert_warning(&["8 rows", "retain"]);
    stage.workspace.apply(&plan).assert_success();
    assert!(!stage.table().exists());
    assert_eq!(stage.agent.api().stream(STREAM_NAME).unwrap_err().code(), Code::NotFound);
    assert_eq!(stage.workspace.resource(STREAM), Value::Null);

    // The name and the table's place are free at once.
    stage.apply(&stage.stream());
    let records = stage.produce_orders(100, 8);
    assert_rows(&stage.table(), &records, order_value);
}

#[test]
fn a_retained_table_stays_where_it_is_and_readable() {
    let stage = Stage::new("retained");
    let stream = with(&stage.stream(), "/on_destroy", "retain");
    stage.apply(&stream);
    let records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);
    stage.workspace.destroy().assert_success();
    assert_eq!(stage.agent.api().stream(STREAM_NAME).unwrap_err().code(), Code::NotFound);
    assert_rows(&stage.table(), &records, order_value);

    // Its table is no one's now, and a new stream does not write into it.
    stage.write(&stream);
    stage.workspace.apply_now().assert_error(&[config::TABLE_NAME]);
    assert_rows(&stage.table(), &records, order_value);
}

#[test]
fn deletion_protection_refuses_destroy_and_replacement_until_it_is_taken_off() {
    let stage = Stage::new("protected");
    let stream = with(&stage.stream(), "/deletion_protection", true);
    stage.apply(&stream);
    stage.workspace.plan_with(&["-destroy"]).run.assert_error(&["deletion_protection"]);
    stage.write(&with(&stream, "/description", "other"));
    stage.workspace.plan().run.assert_error(&["deletion_protection"]);
    assert!(stage.table().exists());

    stage.write(&stage.stream());
    stage.workspace.plan().assert_action(STREAM, Action::Update);
    stage.apply(&stage.stream());
    stage.workspace.destroy().assert_success();
    assert!(!stage.table().exists());
}

#[test]
fn a_stream_that_exists_is_never_adopted_but_offered_for_import() {
    let stage = Stage::applied("exists");
    let uid = stage.uid();
    let second = Workspace::new(stage.agent.endpoint());
    let connection = with(&config::connection(kafka().bootstrap()), "/name", "second-kafka");
    second.write(&config::document(&connection, &stage.stream()));
    second.apply_now().assert_error(&["import {", STREAM_NAME]);
    assert_eq!(second.resource(STREAM), Value::Null);
    assert_eq!(stage.uid(), uid);
}

#[test]
fn sigterm_commits_what_is_in_flight_and_a_restart_goes_on_from_there() {
    let mut stage = Stage::new("sigterm");
    // Longer than the test runs: only the stop itself can commit these rows.
    stage.apply(&with(&stage.stream(), "/operations/flush_interval", "1h"));
    let mut records = stage.produce_orders(0, 100);
    let api = stage.agent.api().clone();
    e2e::wait::wait_until("records are fetched", e2e::limits::STREAM_SETTLES, || {
        let ends: i64 = api
            .stream(STREAM_NAME)
            .map_err(|status| status.to_string())?
            .status
            .unwrap_or_default()
            .partitions
            .iter()
            .map(|partition| partition.end.unwrap_or_default())
            .sum();
        if ends >= 100 {
            Ok(())
        } else {
            Err(format!("ends add up to {ends}"))
        }
    });
    assert!(stage.agent.terminate().success());
    let files = fs::read_dir(stage.table()).unwrap().count();
    assert!(files > 1, "a data file beside the log");
    assert_rows(&stage.table(), &records, order_value);

    stage.agent.start_again();
    stage.apply(&with(&stage.stream(), "/operations/flush_interval", "100ms"));
    records.extend(stage.produce_orders(1000, 100));
    assert_rows(&stage.table(), &records, order_value);
}
