//! A broker that goes away: while records flow, and before there is a table.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use e2e::config::STREAM_NAME;
use e2e::producer::{Acknowledged, RecordingProducer};
use featurestore_proto::v1::StreamState;
use serde_json::json;

use crate::rows::assert_each_exactly_once;
use crate::stage::order;
use crate::topics_scene::Scene;

/// More orders than a round takes, and three rounds of them are no more than a number of 32 bits.
const ROUND: i64 = 500_000_000;

/// Says that it is over when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Produces without a break until told that it is over; returns what was acknowledged.
fn produce_until(is_over: &AtomicBool, bootstrap: &str, topic: &str, round: i64) -> Vec<Acknowledged> {
    // Few at a time: records on their way all the time count, not how many.
    let producer = RecordingProducer::to(bootstrap, &[("queue.buffering.max.messages", "20")]);
    for number in round * ROUND.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        producer.send(topic, &order(number));
    }
    producer.flush()
}

#[test]
fn a_broker_that_stops_or_dies_while_records_flow_costs_no_record_and_doubles_none() {
    let scene = Scene::with_broker("restarts");
    scene.apply(&[("/operations/flush_interval", json!("200ms"))]);
    let mut records = Vec::new();
    let ends: [fn(&e2e::kafka::Kafka); 2] = [e2e::kafka::Kafka::stop, e2e::kafka::Kafka::kill];
    for (round, end) in (0..).zip(ends) {
        let bootstrap = scene.kafka().bootstrap();
        let (topic, is_over) = (&scene.topic, &AtomicBool::new(false));
        let acknowledged = thread::scope(|scope| {
            let producing = scope.spawn(move || produce_until(is_over, bootstrap, topic, round));
            // Ends the producer too when the test fails.
            let over = Over(is_over);
            scene.await_rows_beyond(records.len());
            end(scene.kafka());
            scene.await_condition("SourceReachable", &[bootstrap]);
            scene.kafka().start_again();
            drop(over);
            producing.join().expect("the producer ends")
        });
        records.extend(acknowledged);
    }
    records.extend(scene.produce(2 * ROUND, 8));
    assert_each_exactly_once(&scene.table(), &records);
    scene.agent.api().await_state(STREAM_NAME, &[StreamState::Active]);
    scene.workspace.plan().assert_empty();
}

#[test]
fn a_broker_that_is_away_at_create_is_waited_for_and_named() {
    let scene = Scene::with_broker("away-at-create");
    let _before_the_stream = scene.produce(0, 8);
    scene.kafka().stop();
    scene.write(&[("/timeouts", json!({"create": "5s"}))]);
    let run = scene.workspace.apply_now();
    run.assert_success();
    run.assert_warning(&["StartPositions", scene.kafka().bootstrap()]);
    let status = scene.await_condition("StartPositions", &[scene.kafka().bootstrap()]);
    assert_eq!(status.state(), StreamState::Provisioning);
    assert!(!scene.table().exists(), "nothing is promised yet");

    scene.kafka().start_again();
    scene.agent.api().await_state(STREAM_NAME, &[StreamState::Active]);
    let records = scene.produce(8, 8);
    assert_each_exactly_once(&scene.table(), &records);
    scene.workspace.plan().assert_empty();
}
