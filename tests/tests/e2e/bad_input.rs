//! What is refused, where, and in which words: in the plan if it can be known there, in the apply otherwise.

use std::thread;

use e2e::agent::Agent;
use e2e::config::{self, CONNECTION, PAYLOAD_SCHEMA, STREAM, STREAM_NAME, TABLE_NAME, with};
use e2e::kafka::kafka;
use e2e::plan::Action;
use e2e::tables;
use e2e::terraform::Workspace;
use featurestore_proto::v1::{StreamOperations, StreamState};
use serde_json::{Value, json};
use tonic::Code;

use crate::rows::{assert_rows, order_value};
use crate::stage::{Stage, unique};

#[test]
fn unsound_definitions_are_refused_in_the_plan_by_attribute_value_and_remedy() {
    let stage = Stage::new("unsound");
    let excluded = |path: &str| ("/excluded_columns", json!([path]));
    let schema = |text: &str| (PAYLOAD_SCHEMA, json!(text));
    let cases: Vec<((&str, Value), Vec<&str>)> = vec![
        (("/name", json!("main.orders")), vec!["name", "main.orders"]),
        (("/name", json!("main.payments.Orders")), vec!["name", "main.payments.Orders"]),
        (("/name", json!("main.payments.../etc")), vec!["name", "../etc"]),
        (("/name", json!("system.payments.orders")), vec!["name", "system"]),
        (
            (
                "/ingestion_config/ingestion_destination/delta_table_name",
                json!("main.payments.a/b"),
            ),
            vec!["delta_table_name", "a/b"],
        ),
        (
            ("/source_config/kafka_stream_config/subscription_mode/assign", json!("{\"a\":[0]}")),
            vec!["subscribe", "assign"],
        ),
        (
            ("/source_config/kafka_stream_config/subscription_mode", json!({})),
            vec!["subscription_mode"],
        ),
        (
            ("/source_config/kafka_stream_config/extra_options", json!({"group.id": "x"})),
            vec!["group.id"],
        ),
        (("/schema_config/direct_schemas", json!({})), vec!["payload_schema"]),
        (schema("not json"), vec!["json_schema"]),
        (schema("{\"type\": \"array\", \"items\": {\"type\": \"string\"}}"), vec!["array"]),
        (
            schema("{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"decimal\"}}}"),
            vec!["decimal"],
        ),
        (excluded("value.unknown"), vec!["excluded_columns", "value.unknown"]),
        (excluded("kafka_offset"), vec!["excluded_columns", "kafka_offset"]),
        (
            ("/operations/flush_interval", json!("1 fortnight")),
            vec!["flush_interval", "1 fortnight"],
        ),
        (("/operations/on_data_loss", json!("ignore")), vec!["on_data_loss", "ignore"]),
        (("/on_destroy", json!("keep")), vec!["on_destroy", "keep"]),
    ];
    for ((pointer, value), words) in cases {
        stage.write(&with(&stage.stream(), pointer, value));
        stage.workspace.plan().run.assert_error(&words);
    }
    assert_eq!(stage.agent.api().stream(STREAM_NAME).unwrap_err().code(), Code::NotFound);
}

#[test]
fn connections_beyond_this_agent_are_an_error_in_the_plan() {
    let stage = Stage::new("beyond");
    let kinesis = json!({"name": "kinesis", "kinesis": {"aws_region": "eu-west-1", "credential": "aws"}});
    stage.workspace.write(&config::document(&kinesis, &stage.stream()));
    let plan = stage.workspace.plan();
    let named = plan.run.errors().any(|error| error.mentions(CONNECTION));
    assert!(named, "{}", plan.run);
}

#[test]
fn a_broker_that_is_not_there_leaves_a_stream_that_keeps_trying() {
    let agent = Agent::start();
    let workspace = Workspace::new(agent.endpoint());
    let stream = with(&config::stream("orders"), "/timeouts", json!({"create": "20s"}));
    workspace.write(&config::document(&config::connection("127.0.0.1:9"), &stream));
    let run = workspace.apply_now();
    run.assert_success().assert_warning(&["127.0.0.1:9"]);
    assert!(!workspace.is_tainted(STREAM));
    assert_eq!(workspace.resource(STREAM)["state"], "PROVISIONING");
    workspace.plan().assert_empty();

    // The address is put right in place, and the stream starts.
    let topic = "orders";
    kafka().create_topic(topic, 1);
    workspace.write(&config::document(&config::connection(kafka().bootstrap()), &stream));
    workspace
        .plan()
        .assert_action(CONNECTION, Action::Update)
        .assert_action(STREAM, Action::NoOp);
    workspace.apply_now().assert_success();
    agent.api().await_state(STREAM_NAME, &[StreamState::Active]);
    workspace.plan().assert_empty();
}

#[test]
fn a_topic_that_is_not_there_yet_is_a_condition_and_starts_when_it_appears() {
    let topic = unique("late");
    let agent = Agent::start();
    let workspace = Workspace::new(agent.endpoint());
    let stream = with(&config::stream(&topic), "/timeouts", json!({"create": "5s"}));
    let stage = Stage { topic, agent, workspace };
    stage.apply(&stream).assert_warning(&[stage.topic.as_str()]);
    let waiting = stage.agent.api().await_state(STREAM_NAME, &[StreamState::Provisioning]);
    let conditions = waiting.status.unwrap().conditions;
    assert!(
        conditions.iter().any(|condition| condition.message.contains(&stage.topic)),
        "a condition names the topic: {conditions:?}"
    );
    kafka().create_topic(&stage.topic, crate::stage::PARTITIONS);
    stage.await_active();
    let records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);
    stage.workspace.plan().assert_empty();
}

#[test]
fn a_table_that_exists_already_is_never_written_to() {
    let stage = Stage::new("occupied");
    tables::foreign_table(&stage.table());
    stage.write(&stage.stream());
    stage.workspace.apply_now().assert_error(&[TABLE_NAME]);
    assert_eq!(tables::column_names(&stage.table()), ["mine"]);
    assert_eq!(stage.agent.api().stream(STREAM_NAME).unwrap_err().code(), Code::NotFound);
}

#[test]
fn of_two_creates_of_one_name_at_once_exactly_one_succeeds() {
    let stage = Stage::applied("race");
    let mut stream = stage.record().stream.unwrap();
    stream.name = "main.payments.raced".to_owned();
    let outcomes: Vec<_> = thread::scope(|scope| {
        let tries: Vec<_> = (0..4)
            .map(|number| {
                let mut stream = stream.clone();
                let table = format!("main.payments.raced_{number}");
                let destination = stream.ingestion_config.as_mut().unwrap().ingestion_destination.as_mut();
                destination.unwrap().delta_table_name = table;
                let api = stage.agent.api().clone();
                scope.spawn(move || api.create_stream(stream, &format!("request-{number}")))
            })
            .collect();
        tries.into_iter().map(|attempt| attempt.join().unwrap()).collect()
    });
    let codes: Vec<_> = outcomes
        .iter()
        .map(|outcome| outcome.as_ref().map_err(tonic::Status::code))
        .collect();
    assert_eq!(codes.iter().filter(|code| code.is_ok()).count(), 1, "{outcomes:?}");
    let refused = codes.iter().filter(|code| matches!(code, Err(Code::AlreadyExists))).count();
    assert_eq!(refused, 3, "{outcomes:?}");
}

#[test]
fn one_table_serves_one_stream() {
    let stage = Stage::applied("shared-table");
    let mut stream = stage.record().stream.unwrap();
    stream.name = "main.payments.second".to_owned();
    let refused = stage.agent.api().create_stream(stream, "second").unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    assert!(refused.message().contains(TABLE_NAME), "{refused}");
}

#[test]
fn a_repeated_create_answers_as_the_first_one_did() {
    let stage = Stage::applied("repeated");
    let mut stream = stage.record().stream.unwrap();
    stream.name = "main.payments.repeated".to_owned();
    let destination = stream.ingestion_config.as_mut().unwrap().ingestion_destination.as_mut();
    destination.unwrap().delta_table_name = "main.payments.repeated_raw".to_owned();
    let first = stage.agent.api().create_stream(stream.clone(), "one-request").unwrap();
    let second = stage.agent.api().create_stream(stream, "one-request").unwrap();
    assert_eq!(first.status.unwrap().uid, second.status.unwrap().uid);
}

#[test]
fn a_connection_in_use_is_not_deleted() {
    let stage = Stage::applied("in-use");
    let refused = stage.agent.api().delete_connection(config::CONNECTION_NAME).unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    assert!(refused.message().contains(STREAM_NAME), "{refused}");
}

#[test]
fn a_call_on_a_stream_that_is_not_there_is_not_found() {
    let agent = Agent::start();
    let api = agent.api();
    let codes = [
        api.stream("main.payments.none").unwrap_err().code(),
        api.set_operations("main.payments.none", StreamOperations::default())
            .unwrap_err()
            .code(),
    ];
    assert_eq!(codes, [Code::NotFound; 2]);
}
