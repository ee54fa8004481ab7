//! Changes that keep the table: a compatible schema, excluded columns, both at once, and how the stream runs.

use e2e::config::{self, PAYLOAD_SCHEMA, STREAM, with, with_properties};
use e2e::plan::Action;
use e2e::producer::Acknowledged;
use e2e::tables;
use featurestore_proto::v1::StreamState;
use serde_json::{Value, json};

use crate::rows::{assert_each_exactly_once, assert_rows, order_value, row_of};
use crate::stage::Stage;

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
