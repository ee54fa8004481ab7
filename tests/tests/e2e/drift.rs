//! Changes by another way than this configuration: they show in the plan, and applying the plan repairs them.

use std::fs;

use e2e::config::{self, PAYLOAD_SCHEMA, STREAM, STREAM_NAME, with, with_properties};
use e2e::limits::STREAM_SETTLES;
use e2e::plan::Action;
use e2e::tables;
use e2e::wait::wait_until;
use featurestore_proto::v1::{StreamOperations, StreamState};
use serde_json::{Value, json};

use crate::rows::{assert_each_exactly_once, assert_rows, order_value};
use crate::stage::Stage;

#[test]
fn a_stream_deleted_by_someone_else_is_planned_for_creation() {
    let stage = Stage::applied("deleted");
    let uid = stage.uid();
    stage.agent.api().delete_stream(STREAM_NAME).unwrap();
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Create);
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();
    assert_ne!(stage.uid(), uid);
    let records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);
}

#[test]
fn destroying_a_stream_that_someone_else_deleted_succeeds() {
    let stage = Stage::applied("deleted-destroy");
    stage.agent.api().delete_stream(STREAM_NAME).unwrap();
    stage
        .workspace
        .run(&["destroy", "-json", "-input=false", "-auto-approve", "-refresh=false"])
        .assert_success();
    assert_eq!(stage.workspace.resource(STREAM), Value::Null);
}

#[test]
fn an_update_by_someone_else_shows_as_a_difference_and_is_taken_back() {
    let stage = Stage::applied("updated");
    let mut stream = stage.record().stream.unwrap();
    stream.excluded_columns = vec!["value.amount".to_owned()];
    stage.agent.api().update_stream(stream, &["excluded_columns"], 1).unwrap();
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Update);
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();
    assert!(stage.record().stream.unwrap().excluded_columns.is_empty());
    let records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);
}

#[test]
fn a_plan_that_someone_overtook_is_refused_and_overwrites_nothing() {
    let stage = Stage::applied("overtaken");
    let note = with_properties(&config::order_schema(), &json!({"note": {"type": "string"}})).to_string();
    stage.write(&with(&stage.stream(), PAYLOAD_SCHEMA, note));
    let plan = stage.workspace.plan();
    let mut stream = stage.record().stream.unwrap();
    stream.excluded_columns = vec!["value.amount".to_owned()];
    stage.agent.api().update_stream(stream, &["excluded_columns"], 0).unwrap();

    stage.workspace.apply(&plan).assert_error(&["generation"]);
    let record = stage.record();
    assert_eq!(record.stream.unwrap().excluded_columns, ["value.amount"]);
    assert_eq!(record.status.unwrap().generation, 2);
}

#[test]
fn a_pipeline_stopped_by_someone_else_is_drift_of_paused_only() {
    let stage = Stage::applied("stopped");
    let paused = StreamOperations {
        paused: Some(true),
        ..StreamOperations::default()
    };
    stage.agent.api().set_operations(STREAM_NAME, paused).unwrap();
    stage.agent.api().await_state(STREAM_NAME, &[StreamState::Paused]);
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Update);
    assert_eq!(plan.after(STREAM)["operations"]["paused"], false);
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();
    stage.await_active();
}

#[test]
fn a_table_gone_for_good_plans_a_replacement_that_says_what_is_lost() {
    let stage = Stage::applied("dropped");
    let records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);
    fs::remove_dir_all(stage.table()).unwrap();
    stage.agent.api().await_state(STREAM_NAME, &[StreamState::TableGone]);
    let plan = stage.workspace.plan();
    plan.assert_replaces_for(STREAM, "state");
    assert!(plan.run.warnings().count() > 0, "{}", plan.run);
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();
    let records = stage.produce_orders(100, 8);
    assert_rows(&stage.table(), &records, order_value);
}

#[test]
fn a_table_in_the_trash_is_a_failed_stream_that_apply_repairs_by_restoring_it() {
    let stage = Stage::applied("trashed");
    let uid = stage.uid();
    let records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);
    let trash = stage.agent.warehouse().join("_trash");
    fs::create_dir_all(&trash).unwrap();
    fs::rename(stage.table(), trash.join(&uid)).unwrap();
    stage.agent.api().await_state(STREAM_NAME, &[StreamState::Failed]);
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Update);
    assert!(plan.is_unknown(STREAM, "/state"));
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();
    assert_eq!(stage.uid(), uid);
    let later = stage.produce_orders(100, 8);
    assert_rows(&stage.table(), &[records, later].concat(), order_value);
}

#[test]
fn a_table_that_was_moved_away_and_comes_back_is_not_replaced() {
    let stage = Stage::applied("moved");
    let records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);
    let elsewhere = stage.agent.warehouse().join("moved-away");
    fs::rename(stage.table(), &elsewhere).unwrap();
    stage.agent.api().await_state(STREAM_NAME, &[StreamState::TableGone]);
    stage.workspace.plan().assert_replaces_for(STREAM, "state");
    fs::rename(&elsewhere, stage.table()).unwrap();
    let plan = stage.workspace.plan();
    assert_ne!(plan.action(STREAM), Action::Replace, "{}", plan.run);
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();
    assert_rows(&stage.table(), &records, order_value);
}

#[test]
fn an_altered_table_stops_the_stream_and_runs_again_once_it_is_sound() {
    let stage = Stage::applied("altered");
    let records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);
    let sound = tables::version(&stage.table());
    tables::overwrite(&stage.table());
    let altered = stage.agent.api().await_state(STREAM_NAME, &[StreamState::TableAltered]);
    assert!(!altered.status.unwrap().conditions.is_empty());
    let meanwhile = stage.produce_orders(100, 8);
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Update);
    assert!(plan.is_unknown(STREAM, "/state"));
    // The table is still another one: a restart cannot help, and says so.
    stage.workspace.apply(&plan).assert_error(&[config::TABLE_NAME]);
    assert_eq!(tables::column_names(&stage.table()), ["other"], "nothing was written into it");

    tables::restore(&stage.table(), sound);
    stage.workspace.apply_now().assert_success();
    stage.workspace.plan().assert_empty();
    assert_each_exactly_once(&stage.table(), &[records, meanwhile].concat());
}

#[test]
fn what_users_may_do_to_a_table_stops_nothing() {
    let stage = Stage::applied("tolerated");
    let first = stage.produce_orders(0, 16);
    assert_rows(&stage.table(), &first, order_value);
    tables::add_column(&stage.table(), "comment");
    tables::delete_rows(&stage.table(), "kafka_partition = 0");
    let second = stage.produce_orders(100, 16);
    let left: Vec<_> = first.into_iter().filter(|record| record.partition != 0).chain(second).collect();
    assert_each_exactly_once(&stage.table(), &left);
    stage.await_active();
    stage.workspace.plan().assert_empty();
}

#[test]
fn a_topic_made_again_is_neither_skipped_nor_read_as_the_old_one() {
    let stage = Stage::applied("recreated");
    let old = stage.produce_orders(0, 40);
    assert_rows(&stage.table(), &old, order_value);
    e2e::kafka::kafka().delete_topic(&stage.topic);
    wait_until("the topic is gone", STREAM_SETTLES, || {
        let consumer = e2e::kafka::kafka().consumer();
        let metadata = rdkafka::consumer::Consumer::fetch_metadata(&consumer, None, STREAM_SETTLES).map_err(|error| error.to_string())?;
        let there = metadata.topics().iter().any(|topic| topic.name() == stage.topic);
        if there { Err("still there".to_owned()) } else { Ok(()) }
    });
    e2e::kafka::kafka().create_topic(&stage.topic, crate::stage::PARTITIONS);
    let new = stage.produce_orders(0, 80);
    let degraded = stage
        .agent
        .api()
        .await_state(STREAM_NAME, &[StreamState::Degraded, StreamState::Failed]);
    let conditions = degraded.status.unwrap().conditions;
    assert!(
        conditions.iter().any(|condition| condition.message.contains(&stage.topic)),
        "{conditions:?}"
    );
    assert_each_exactly_once(&stage.table(), &old);

    stage.apply(&with(&stage.stream(), "/operations/on_data_loss", "earliest"));
    wait_until("the new topic's records are in the table", STREAM_SETTLES, || {
        let found = tables::rows("duckdb", &stage.table(), &["kafka_offset"])?.len();
        if found == old.len() + new.len() {
            Ok(())
        } else {
            Err(format!("{found} rows"))
        }
    });
}
