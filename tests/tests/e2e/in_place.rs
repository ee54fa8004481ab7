//! Changes that keep the table: a compatible schema, excluded columns, both at once, and how the stream runs; and what the status
//! tells of them.

use e2e::config::{self, PAYLOAD_SCHEMA, STREAM, with, with_properties};
use e2e::limits::STREAM_SETTLES;
use e2e::plan::Action;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::tables;
use e2e::wait::wait_until;
use featurestore_proto::v1::StreamState;
use serde_json::{Value, json};
use stream_pipeline::failpoint::Point;

use crate::crash_points::{apply_cut_off, finish};
use crate::rows::{assert_each_exactly_once, assert_rows, order_value, row_of};
use crate::stage::{PARTITIONS, Stage, status_shown_by};

fn schema_with_note() -> String {
    with_properties(&config::order_schema(), &json!({"note": {"type": "string"}})).to_string()
}

fn field(record: &Acknowledged, name: &str) -> Value {
    serde_json::from_slice::<Value>(record.value.as_ref().unwrap()).unwrap()[name].clone()
}

fn generation(stage: &Stage) -> u64 {
    stage.record().status.unwrap().generation
}

#[test]
fn an_added_optional_field_changes_in_place_and_fills_from_then_on() {
    let stage = Stage::applied("add-field");
    let uid = stage.uid();
    let before = stage.produce_orders(0, 20);
    assert_rows(&stage.table(), &before, order_value);

    let changed = with(&stage.stream(), PAYLOAD_SCHEMA, schema_with_note());
    stage.write(&changed);
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Update);
    assert!(plan.is_unknown(STREAM, "/state") && !plan.is_unknown(STREAM, "/id"));
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();
    assert_eq!((stage.uid(), generation(&stage)), (uid, 2));

    let after = stage.produce_orders(100, 20);
    let all: Vec<Acknowledged> = before.iter().chain(&after).cloned().collect();
    assert_each_exactly_once(&stage.table(), &all);
    for record in &before {
        assert_eq!(row_of(&stage.table(), record)["value"]["note"], Value::Null);
    }
    for record in &after {
        assert_eq!(row_of(&stage.table(), record)["value"]["note"], field(record, "note"));
    }
}

#[test]
fn an_excluded_column_is_null_in_new_rows_only_and_comes_back() {
    let stage = Stage::applied("exclude");
    let before = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &before, order_value);

    stage.write(&with(&stage.stream(), "/excluded_columns", json!(["value.amount"])));
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Update);
    plan.run.assert_warning(&["value.amount"]);
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();
    let during = stage.produce_orders(100, 8);

    assert_each_exactly_once(&stage.table(), &[before.clone(), during.clone()].concat());
    stage.apply(&with(&stage.stream(), "/excluded_columns", json!([])));
    stage.workspace.plan().assert_empty();
    let after = stage.produce_orders(200, 8);
    assert_each_exactly_once(&stage.table(), &[before.clone(), during.clone(), after.clone()].concat());

    for record in before.iter().chain(&after) {
        assert_eq!(row_of(&stage.table(), record)["value"], order_value(record));
    }
    for record in &during {
        let value = &row_of(&stage.table(), record)["value"];
        assert_eq!((&value["order_id"], &value["amount"]), (&field(record, "order_id"), &Value::Null));
    }
}

#[test]
fn a_column_excluded_at_creation_is_not_in_the_table() {
    let stage = Stage::new("exclude-first");
    stage.apply(&with(&stage.stream(), "/excluded_columns", json!(["value.amount"])));
    let records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, |record| json!({"order_id": field(record, "order_id")}));
}

#[test]
fn a_new_field_and_its_exclusion_in_one_update_never_store_the_field() {
    let stage = Stage::applied("both");
    let before = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &before, order_value);

    let changed = with(&stage.stream(), PAYLOAD_SCHEMA, schema_with_note());
    stage.write(&with(&changed, "/excluded_columns", json!(["value.note"])));
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Update);
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();
    assert_eq!(generation(&stage), 2, "one call, one restart");

    let after = stage.produce_orders(100, 40);
    let all = [before, after].concat();
    assert_each_exactly_once(&stage.table(), &all);
    for row in tables::rows("duckdb", &stage.table(), &["value"]).unwrap() {
        assert_eq!(row["value"]["note"], Value::Null);
    }
}

#[test]
fn a_removed_field_stays_in_the_table_and_is_null_in_new_rows() {
    let stage = Stage::applied("remove-field");
    let before = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &before, order_value);
    let mut schema = config::order_schema();
    schema["properties"].as_object_mut().unwrap().remove("amount");
    stage.write(&with(&stage.stream(), PAYLOAD_SCHEMA, schema.to_string()));
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Update);
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();

    let after = stage.produce_orders(100, 8);
    assert_each_exactly_once(&stage.table(), &[before.clone(), after.clone()].concat());
    for record in &before {
        assert_eq!(row_of(&stage.table(), record)["value"], order_value(record));
    }
    for record in &after {
        let value = &row_of(&stage.table(), record)["value"];
        assert_eq!((&value["order_id"], &value["amount"]), (&field(record, "order_id"), &Value::Null));
    }
}

#[test]
fn operations_change_in_place_and_a_paused_stream_stands_still() {
    let stage = Stage::applied("operations");
    let before = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &before, order_value);
    let (uid, definition) = (stage.uid(), generation(&stage));

    let paused = with(&stage.stream(), "/operations", json!({"paused": true, "on_data_loss": "earliest"}));
    stage.write(&paused);
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Update);
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();
    stage.agent.api().await_state(config::STREAM_NAME, &[StreamState::Paused]);
    let meanwhile = stage.produce_orders(100, 8);

    // A removed argument goes back to its default.
    stage.apply(&with(&stage.stream(), "/operations", json!({"flush_interval": "200ms"})));
    stage.write(&with(&stage.stream(), "/operations", json!({"flush_interval": "0.2s"})));
    stage.workspace.plan().assert_empty();
    assert_rows(&stage.table(), &[before, meanwhile].concat(), order_value);
    assert_eq!((stage.uid(), generation(&stage)), (uid, definition));
}

#[test]
fn a_change_that_only_the_provider_sees_makes_no_call() {
    let stage = Stage::applied("own");
    let before = stage.record().status.unwrap();
    let stream = with(
        &with(&stage.stream(), "/on_destroy", "retain"),
        "/timeouts",
        json!({"create": "2m"}),
    );
    stage.write(&stream);
    stage.workspace.plan().assert_action(STREAM, Action::Update);
    stage.apply(&stream);
    stage.workspace.plan().assert_empty();
    let after = stage.record().status.unwrap();
    assert_eq!(
        (before.generation, before.operations_generation),
        (after.generation, after.operations_generation)
    );
    // `2m` and `120s` are one duration.
    stage.write(&with(&stream, "/timeouts", json!({"create": "120s"})));
    stage.workspace.plan().assert_empty();
}

/// The first offset of each partition that was not sent yet.
fn ends(sent: &[Acknowledged]) -> Vec<i64> {
    let end = |number| {
        let offsets = sent.iter().filter(|record| record.partition == number);
        offsets.map(|record| record.offset + 1).max().unwrap_or(0)
    };
    (0..PARTITIONS).map(end).collect()
}

/// Waits until everything was read, whatever became of it.
fn await_read(stage: &Stage, sent: &[Acknowledged]) {
    let expected: Vec<Option<i64>> = ends(sent).into_iter().map(Some).collect();
    wait_until("everything is read", STREAM_SETTLES, || {
        let partitions = stage.record().status.unwrap_or_default().partitions;
        let positions: Vec<Option<i64>> = partitions.iter().map(|partition| partition.position).collect();
        if positions == expected {
            Ok(())
        } else {
            Err(format!("{positions:?} of {expected:?}"))
        }
    });
}

fn position(topic: &str, partition: i32, offset: i64) -> Value {
    json!({"topic": topic, "partition": partition, "offset": offset, "epoch": 0})
}

#[test]
fn the_data_source_shows_what_did_not_fit_what_was_dropped_and_where_each_schema_begins() {
    let mut stage = Stage::new("told");
    let stream = with(&stage.stream(), "/record_type_filter", "kafka_partition <> 3");
    stage.apply(&stream);
    let mut sent = stage.produce_orders(0, 40);
    let bad = |partition: i32, value: &str| Outgoing {
        partition: Some(partition),
        ..Outgoing::new("bad", value)
    };
    let mut messages = vec![bad(1, r#"{"order_id": "x"}"#)];
    messages.extend((0..5).map(|_| bad(0, "{")));
    let misfits = RecordingProducer::new().send_all(&stage.topic, &messages);
    sent.extend(misfits.iter().cloned());
    await_read(&stage, &sent);
    let status = status_shown_by(&stage.agent);
    let place = |record: &Acknowledged| position(&stage.topic, record.partition, record.offset);
    let of_partition = |number: i32| misfits.iter().filter(move |record| record.partition == number).map(place);
    let latest: Vec<Value> = of_partition(0).skip(2).collect();
    let expected = json!([
        {"side": "value", "reason": "malformed", "count": 5, "positions": latest},
        {"side": "value", "reason": "wrong_kind", "count": 1, "positions": of_partition(1).collect::<Vec<_>>()},
    ]);
    assert_eq!((&status["misfits"], &status["records_filtered"]), (&expected, &json!(10)));

    // The switch lands, and nobody lives to see it.
    let mut begins = vec![vec![0; 4], ends(&sent)];
    let with_note = with(&stream, PAYLOAD_SCHEMA, schema_with_note());
    stage.write(&with_note);
    apply_cut_off(&mut stage, &["apply"], Point::SwitchAfterCommit);
    sent.extend(stage.produce_orders(100, 8));
    finish(&stage);
    await_read(&stage, &sent);
    // A change of exclusions is no version of the schemas.
    let without_amount = with(&with_note, "/excluded_columns", json!(["value.amount"]));
    stage.apply(&without_amount);
    sent.extend(stage.produce_orders(200, 8));
    await_read(&stage, &sent);
    begins.push(ends(&sent));
    let wider = with_properties(
        &config::order_schema(),
        &json!({"note": {"type": "string"}, "more": {"type": "string"}}),
    );
    stage.apply(&with(&without_amount, PAYLOAD_SCHEMA, wider.to_string()));
    sent.extend(stage.produce_orders(300, 8));
    await_read(&stage, &sent);
    stage.agent.kill();
    stage.agent.start_again();
    stage.await_active();

    let status = status_shown_by(&stage.agent);
    let first_positions = |offsets: &Vec<i64>| -> Vec<Value> {
        let numbered = (0..PARTITIONS).zip(offsets);
        numbered.map(|(number, offset)| position(&stage.topic, number, *offset)).collect()
    };
    let shown: Vec<&Value> = status["schema_versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| &version["first_positions"])
        .collect();
    assert_eq!(json!(shown), json!(begins.iter().map(first_positions).collect::<Vec<_>>()));
    assert_eq!(
        (&status["misfits"], &status["records_filtered"]),
        (&json!([]), &json!(0)),
        "this life met none"
    );
}
