//! What hangs and gives no error: a disk, one table's files, a broker. It costs nobody else anything, and the agent ends within
//! its bound all the same: with exit code 3, and what was in flight is read again. So it does where the last commit fails.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use e2e::agent::Agent;
use e2e::config::{self, STREAM_NAME, TABLE_NAME, with};
use e2e::kafka::Kafka;
use e2e::limits::STREAM_SETTLES;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::tables;
use e2e::terraform::Workspace;
use e2e::wait::wait_until;
use featurestore_proto::v1::{Stream, StreamOperations, StreamState, source_config, subscription_mode};
use serde_json::{Value, json};

use crate::rows::{assert_rows, order_value};
use crate::stage::{PARTITIONS, Stage, new_topic, order};

/// The exit code of an agent that ended at its bound, or whose last commit failed.
const ENDED_CUT_SHORT: Option<i32> = Some(3);
/// Records that a broker which hangs still has to give, each a fetch of its own and a batch of its own: seconds of work.
const BACKLOG: i64 = 6_000;
const BACKLOG_RECORD_BYTES: usize = 1_500;
const OTHER_STREAM: &str = "main.payments.refunds";
const OTHER_TABLE: &str = "main.payments.refunds_raw";

#[test]
fn an_agent_whose_disk_hangs_ends_by_itself_with_code_3_and_goes_on_exactly() {
    let mut stage = Stage::applied("hung-disk");
    let mut records = stage.produce_orders(0, 40);
    assert_rows(&stage.table(), &records, order_value);
    stage.agent.failpoints().arm("append.before_file hang\n");
    records.extend(stage.produce_orders(100, 40));
    await_hit(&stage.agent, "append.before_file");
    assert_eq!(stage.agent.terminate().code(), ENDED_CUT_SHORT);
    stage.agent.failpoints().disarm();
    stage.agent.start_again();
    records.extend(stage.produce_orders(200, 40));
    assert_rows(&stage.table(), &records, order_value);
    assert_eq!(stage.agent.terminate().code(), Some(0));
}

fn await_hit(agent: &Agent, point: &str) {
    wait_until(&format!("the agent hangs at {point}"), STREAM_SETTLES, || {
        let hits = agent.failpoints().hits();
        if hits.iter().any(|hit| hit == point) {
            Ok(())
        } else {
            Err(format!("{hits:?}"))
        }
    });
}

#[test]
fn an_agent_whose_broker_hangs_ends_by_itself_with_code_0_or_3_and_goes_on_exactly() {
    let broker = Kafka::start();
    broker.create_topic("orders", PARTITIONS);
    let mut agent = Agent::start();
    let workspace = Workspace::new(agent.endpoint());
    let stream = with(
        &config::stream("orders"),
        "/operations",
        json!({"paused": true, "flush_interval": "100ms"}),
    );
    let options = json!({"startingOffsets": "earliest", "kafka.max.partition.fetch.bytes": "1000"});
    let stream = with(&stream, "/source_config/kafka_stream_config/extra_options", options);
    workspace.write(&config::document(&config::connection(broker.bootstrap()), &stream));
    workspace.apply_now().assert_success();
    let producer = RecordingProducer::to(broker.bootstrap(), &[("batch.num.messages", "1")]);
    let mut records = producer.send_all("orders", &(0..BACKLOG).map(long_order).collect::<Vec<Outgoing>>());
    let table = agent.table(TABLE_NAME);
    agent
        .api()
        .set_operations(STREAM_NAME, flushing_every(Duration::from_millis(100)))
        .unwrap();
    wait_until(
        "the first of the backlog is in the table",
        STREAM_SETTLES,
        || match tables::log_entries(&table) {
            0..4 => Err("not yet"),
            _ => Ok(()),
        },
    );
    broker.freeze();
    let code = agent.terminate().code();
    assert!([Some(0), ENDED_CUT_SHORT].contains(&code), "{code:?}");
    let committed = tables::rows("duckdb", &table, &["kafka_offset"]).unwrap().len();
    assert!(
        0 < committed && committed < records.len(),
        "{committed} of {} records: the broker had no more to give",
        records.len()
    );
    broker.thaw();
    agent.start_again();
    records.extend(producer.send_all("orders", &(10_000..10_040).map(order).collect::<Vec<Outgoing>>()));
    assert_rows(&table, &records, order_value);
}

/// An order as long as a fetch, by a field that is not in the table.
fn long_order(number: i64) -> Outgoing {
    let mut order = order(number);
    let mut value: Value = serde_json::from_slice(order.value.as_ref().unwrap()).unwrap();
    value["of_no_column"] = "x".repeat(BACKLOG_RECORD_BYTES).into();
    order.value = Some(value.to_string().into());
    order
}

/// Not paused, and with that flush interval.
fn flushing_every(interval: Duration) -> StreamOperations {
    StreamOperations {
        paused: Some(false),
        flush_interval: Some(interval.try_into().unwrap()),
        ..StreamOperations::default()
    }
}

#[test]
fn an_agent_whose_last_commit_fails_ends_with_code_3_and_goes_on_exactly() {
    let mut stage = Stage::applied("failed-last-commit");
    let mut records = stage.produce_orders(0, 40);
    assert_rows(&stage.table(), &records, order_value);
    // Only the stop itself commits what comes now.
    let api = stage.agent.api().clone();
    api.set_operations(STREAM_NAME, flushing_every(Duration::from_secs(3600))).unwrap();
    stage.await_active();
    records.extend(stage.produce_orders(100, 40));
    await_ends(&stage.agent, STREAM_NAME, i64::try_from(records.len()).unwrap());
    // An end can be known before the records are there; once the ends of later ones are, these are.
    records.extend(stage.produce_orders(200, 40));
    await_ends(&stage.agent, STREAM_NAME, i64::try_from(records.len()).unwrap());
    stage.agent.failpoints().arm("append.before_file fail:5\n");
    assert_eq!(stage.agent.terminate().code(), ENDED_CUT_SHORT);
    assert_eq!(stage.agent.failpoints().hits(), ["append.before_file"]);
    stage.agent.failpoints().disarm();
    stage.agent.start_again();
    api.set_operations(STREAM_NAME, flushing_every(Duration::from_millis(100))).unwrap();
    assert_rows(&stage.table(), &records, order_value);
    assert_eq!(stage.agent.terminate().code(), Some(0));
}

/// The stream of the stage's record under another name, on another topic.
fn other_stream(stage: &Stage, topic: &str) -> Stream {
    let mut stream = stage.record().stream.unwrap();
    stream.name = OTHER_STREAM.to_owned();
    stream
        .ingestion_config
        .as_mut()
        .unwrap()
        .ingestion_destination
        .as_mut()
        .unwrap()
        .delta_table_name = OTHER_TABLE.to_owned();
    let Some(source_config::Source::KafkaStreamConfig(kafka)) = &mut stream.source_config.as_mut().unwrap().source else {
        panic!("a stream of Kafka");
    };
    kafka.subscription_mode.as_mut().unwrap().mode = Some(subscription_mode::Mode::Subscribe(topic.to_owned()));
    stream
}

fn produce_to(topic: &str, first: i64) -> Vec<Acknowledged> {
    RecordingProducer::new().send_all(topic, &(first..first + 40).map(order).collect::<Vec<Outgoing>>())
}

#[test]
fn a_table_that_hangs_holds_up_no_other_stream_no_call_and_no_shutdown_of_others() {
    let mut stage = Stage::with_agent("hung-table", Agent::start_with(&["--discovery-interval", "1s"]));
    stage.apply(&with(&stage.stream(), "/operations", json!({"flush_interval": "100ms"})));
    let topic = new_topic("hung-table-other");
    let api = stage.agent.api().clone();
    api.create_stream(other_stream(&stage, &topic), "other").unwrap();
    api.await_state(OTHER_STREAM, &[StreamState::Active]);
    assert_rows(&stage.table(), &stage.produce_orders(0, 40), order_value);

    // Whoever opens a pipe for reading waits for somebody who writes: the next entry of the log cannot be read, nor made.
    let version = tables::version(&stage.table()) + 1;
    let pipe = stage.table().join(format!("_delta_log/{version:020}.json"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _never_seen = stage.produce_orders(100, 40);
    for _ in 0..3 {
        api.stream(STREAM_NAME).unwrap();
    }
    let mut records = produce_to(&topic, 0);
    let other_table = stage.agent.table(OTHER_TABLE);
    assert_rows(&other_table, &records, order_value);
    let paused = |paused: bool| StreamOperations {
        paused: Some(paused),
        ..StreamOperations::default()
    };
    api.set_operations(STREAM_NAME, paused(true)).unwrap();
    api.set_operations(OTHER_STREAM, paused(true)).unwrap();
    api.await_state(OTHER_STREAM, &[StreamState::Paused]);
    api.set_operations(OTHER_STREAM, paused(false)).unwrap();
    api.await_state(OTHER_STREAM, &[StreamState::Active]);
    records.extend(produce_to(&topic, 100));
    assert_rows(&other_table, &records, order_value);

    // Longer than the test runs: only the stop itself can commit these rows, and it does.
    api.set_operations(OTHER_STREAM, flushing_every(Duration::from_secs(3600))).unwrap();
    api.await_state(OTHER_STREAM, &[StreamState::Active]);
    records.extend(produce_to(&topic, 200));
    await_ends(&stage.agent, OTHER_STREAM, i64::try_from(records.len()).unwrap());
    let fetched = records.len();
    // An end can be known before the records are there; once the ends of later ones are, these are.
    records.extend(produce_to(&topic, 300));
    await_ends(&stage.agent, OTHER_STREAM, i64::try_from(records.len()).unwrap());
    // What is begun for the table that hangs takes longer than a shutdown waits.
    let deletion = {
        let api = api.clone();
        thread::spawn(move || api.delete_stream(STREAM_NAME))
    };
    wait_until("the deletion is asked for", STREAM_SETTLES, || {
        if stage.agent.log().contains("asked for deletion") {
            Ok(())
        } else {
            Err("not yet")
        }
    });
    assert_eq!(stage.agent.terminate().code(), ENDED_CUT_SHORT);
    let _answered_as_long_as_it_could_be = deletion.join().unwrap();
    let committed = tables::rows("duckdb", &other_table, &["kafka_offset"]).unwrap().len();
    assert!(committed >= fetched, "{committed} rows of {fetched} records that were in flight");

    fs::remove_file(&pipe).unwrap();
    stage.agent.start_again();
    wait_until("the deleted stream is gone", STREAM_SETTLES, || match api.stream(STREAM_NAME) {
        Err(status) if status.code() == tonic::Code::NotFound => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert!(!stage.table().exists());
    api.set_operations(OTHER_STREAM, StreamOperations::default()).unwrap();
    assert_rows(&other_table, &records, order_value);
    assert_eq!(stage.agent.terminate().code(), Some(0));
}

/// Waits until the agent has seen that many records at the ends of a stream's partitions.
fn await_ends(agent: &Agent, stream: &str, records: i64) {
    wait_until("records are fetched", STREAM_SETTLES, || {
        let record = agent.api().stream(stream).map_err(|status| status.to_string())?;
        let partitions = record.status.unwrap_or_default().partitions;
        let ends: i64 = partitions.iter().map(|partition| partition.end.unwrap_or_default()).sum();
        if ends >= records {
            Ok(())
        } else {
            Err(format!("ends add up to {ends}"))
        }
    });
}
