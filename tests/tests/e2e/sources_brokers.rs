//! A broker that goes away: while records flow, and before there is a table.

use e2e::config::STREAM_NAME;
use e2e::producer::RecordingProducer;
use featurestore_proto::v1::StreamState;
use serde_json::json;

use crate::rows::assert_each_exactly_once;
use crate::stage::order;
use crate::topics_scene::Scene;

#[test]
fn a_broker_that_stops_or_dies_while_records_flow_costs_no_record_and_doubles_none() {
    let scene = Scene::with_broker("restarts");
    scene.apply(&[("/operations/flush_interval", json!("200ms"))]);
    let mut records = Vec::new();
    let mut produce = |round: i64| {
        let producer = RecordingProducer::to(scene.kafka().bootstrap(), &[]);
        let orders: Vec<_> = (round * 20_000..(round + 1) * 20_000).map(order).collect();
        records.extend(producer.send_all(&scene.topic, &orders));
    };
    let ends: [fn(&e2e::kafka::Kafka); 2] = [e2e::kafka::Kafka::stop, e2e::kafka::Kafka::kill];
    for (round, end) in (0..).zip(ends) {
        produce(round);
        // The agent is still reading, or committing, what was just acknowledged.
        end(scene.kafka());
        let bootstrap = scene.kafka().bootstrap();
        scene.await_condition("SourceReachable", &[bootstrap]);
        scene.kafka().start_again();
    }
    produce(2);
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
