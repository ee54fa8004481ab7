//! `kill -9` of a busy agent, again and again: every committed record is in the table exactly once, and no other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use e2e::config::{self, PAYLOAD_SCHEMA, STREAM_NAME, with};
use e2e::limits::STREAM_SETTLES;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::tables;
use e2e::transactions::{SCHEMA, Transactions};
use e2e::wait::wait_until;
use featurestore_proto::v1::{StreamRecord, StreamState};
use serde_json::{Value, json};
use tonic::Status;

use crate::rows::{assert_each_exactly_once, rows_by_origin};
use crate::stage::{PARTITIONS, Stage};

/// Kills of one ordinary run; `make soak` asks for more.
const KILLS: u32 = 25;
/// Records in one transaction of the producer.
const TRANSACTION: usize = 400;
/// Every so many transactions one is aborted.
const ABORTED_EVERY: usize = 5;
/// Every so many kills one comes during an update.
const UPDATED_EVERY: u32 = 5;
/// Terraform starts the provider and plans before it calls the agent to change anything.
const COMMAND_BEGINS: Duration = Duration::from_millis(500);
/// Longest life of an agent after a commit was seen; the moments of the kills are spread over it.
const MOMENT_MAX: Duration = Duration::from_millis(300);

fn kills() -> u32 {
    std::env::var("E2E_KILLS").map_or(KILLS, |text| text.parse().expect("E2E_KILLS is a number"))
}

/// Produces until told to stop; returns the records of the committed transactions.
fn produce_until(topic: &str, stop: &AtomicBool) -> Vec<Acknowledged> {
    let producer = RecordingProducer::transactional(topic);
    let plain = RecordingProducer::new();
    let mut events = Transactions::new(7);
    let mut committed = Vec::new();
    for round in 0_usize.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        producer.begin();
        for number in 0..TRANSACTION {
            let partition = i32::try_from((round + number) % usize::try_from(PARTITIONS).unwrap()).unwrap();
            producer.send(
                topic,
                &Outgoing {
                    partition: Some(partition),
                    ..events.next_record()
                },
            );
        }
        if round % ABORTED_EVERY == 2 {
            producer.abort()
        } else {
            committed.extend(producer.commit())
        }
        // Records outside any transaction, between those inside.
        committed.extend(plain.send_all(topic, &[events.next_record()]));
    }
    committed
}

/// Lets a busy agent live until it has committed `commits` times more and a moment longer.
fn let_it_work(stage: &Stage, commits: usize, moment: Duration) {
    let entries = || tables::log_entries(&stage.table());
    let start = entries();
    wait_until("the busy agent commits", STREAM_SETTLES, || {
        let now = entries();
        if now >= start + commits {
            Ok(())
        } else {
            Err(format!("{} new log entries", now - start))
        }
    });
    pass(moment);
}

/// Lets a moment pass: faults must not come at the same point of every commit.
fn pass(moment: Duration) {
    let since = Instant::now();
    wait_until("the moment of the kill", moment + MOMENT_MAX, || {
        if since.elapsed() >= moment { Ok(()) } else { Err("not yet") }
    });
}

/// A call that changes the exclusions, to be made while the agent is killed.
fn update_of(stage: &Stage, excluded: Vec<String>) -> impl FnOnce() -> Result<StreamRecord, Status> + Send + 'static {
    let (api, mut stream) = (stage.agent.api().clone(), stage.record().stream.unwrap());
    stream.excluded_columns = excluded;
    move || api.update_stream(stream, &["excluded_columns"], 0)
}

#[test]
fn after_many_kills_of_the_busy_agent_each_committed_record_is_there_exactly_once() {
    let mut stage = Stage::new("crash");
    let stream = with(&stage.stream(), PAYLOAD_SCHEMA, SCHEMA);
    let stream = with(&stream, "/operations", json!({"flush_interval": "100ms"}));
    stage.apply(&stream);
    let stop = Arc::new(AtomicBool::new(false));
    let producer = {
        let (topic, stop) = (stage.topic.clone(), Arc::clone(&stop));
        thread::spawn(move || produce_until(&topic, &stop))
    };
    for kill in 0..kills() {
        let commits = usize::try_from(kill % 4).unwrap();
        let_it_work(&stage, commits, MOMENT_MAX * (kill * 7 % 25) / 25);
        if kill % UPDATED_EVERY == 3 {
            // A switch commit in flight: the kill may come before it, in it or after it.
            let excluded = if kill % (2 * UPDATED_EVERY) == 3 {
                vec!["value.user_agent".to_owned()]
            } else {
                Vec::new()
            };
            let updater = thread::spawn(update_of(&stage, excluded));
            pass(MOMENT_MAX * (kill * 11 % 25) / 100);
            stage.agent.kill();
            let _may_have_been_cut_off = updater.join().unwrap();
        } else {
            stage.agent.kill();
        }
        stage.agent.start_again();
    }
    stop.store(true, Ordering::Relaxed);
    let committed = producer.join().unwrap();
    println!("{} records committed over {} kills", committed.len(), kills());

    assert_each_exactly_once(&stage.table(), &committed);
    let rows = rows_by_origin("duckdb", &stage.table());
    for record in &committed {
        let sent: Value = serde_json::from_slice(record.value.as_ref().unwrap()).unwrap();
        let row = &rows[&(record.topic.clone(), i64::from(record.partition), record.offset)];
        for field in ["event_id", "sequence", "memo", "account_id"] {
            assert_eq!(row["value"][field], sent[field], "{field} in {row}");
        }
    }
    stage.agent.api().await_state(STREAM_NAME, &[StreamState::Active]);
    // Updates that were cut off are either in force or not there; the configuration takes them back.
    stage.workspace.apply_now().assert_success();
    stage.workspace.plan().assert_empty();
}

#[test]
fn a_kill_at_any_point_of_create_update_and_delete_leaves_something_that_apply_finishes() {
    let mut stage = Stage::new("crash-steps");
    for round in 0..6_u32 {
        let moment = Duration::from_millis(u64::from(round) * 60);
        for stream in [stage.stream(), with(&stage.stream(), "/excluded_columns", json!(["value.amount"]))] {
            stage.write(&stream);
            let command = stage.workspace.start(&["apply", "-json", "-input=false", "-auto-approve"]);
            kill_once_called(&mut stage, moment);
            let _may_have_failed = command.wait();
            finish(&stage);
        }
        let records = stage.produce_orders(0, 8);
        assert_each_exactly_once(&stage.table(), &records);
        let command = stage.workspace.start(&["destroy", "-json", "-input=false", "-auto-approve"]);
        kill_once_called(&mut stage, moment);
        let _may_have_failed = command.wait();
        stage.workspace.destroy().assert_success();
        assert!(!stage.table().exists(), "round {round}");
    }
}

/// Kills the agent some time after a command began, and starts it again.
fn kill_once_called(stage: &mut Stage, moment: Duration) {
    pass(COMMAND_BEGINS + moment);
    stage.agent.kill();
    stage.agent.start_again();
}

/// Applies until the plan is empty; an answer that was lost is taken up by import, as the error says.
fn finish(stage: &Stage) {
    let run = stage.workspace.apply_now();
    if run.errors().any(|error| error.mentions("import {")) {
        for (address, id) in [(config::CONNECTION, config::CONNECTION_NAME), (config::STREAM, STREAM_NAME)] {
            if stage.workspace.resource(address).is_null() {
                let _may_not_exist = stage.workspace.import(address, id);
            }
        }
        stage.workspace.apply_now().assert_success();
    } else {
        run.assert_success();
    }
    stage.workspace.plan().assert_empty();
}
