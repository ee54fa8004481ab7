//! Streams that choose their topics by pattern, or their partitions one by one: what comes is read from its first record, what is not
//! chosen never is, and what goes is not missed unless records went with it.

use std::thread;

use e2e::config::STREAM_NAME;
use e2e::kafka::kafka;
use e2e::limits::STREAM_SETTLES;
use e2e::producer::{Acknowledged, RecordingProducer};
use e2e::wait::wait_until;
use featurestore_proto::v1::StreamState;
use serde_json::{Value, json};

use crate::stage::{PARTITIONS, order, unique};
use crate::topics::await_deletion;
use crate::topics_scene::{Scene, assert_exactly};

const MODE: &str = "/source_config/kafka_stream_config/subscription_mode";
const POLICY: &str = "/operations/on_data_loss";

/// A change of the standard stream to a pattern.
fn matching(pattern: &str) -> (&'static str, Value) {
    (MODE, json!({"subscribe_pattern": pattern}))
}

/// A change of the standard stream to partitions.
fn assigning(partitions: &Value) -> (&'static str, Value) {
    (MODE, json!({"assign": partitions.to_string()}))
}

/// Makes a topic beside the scene's own, with this end of its name.
fn neighbour(scene: &Scene, end: &str) -> String {
    let topic = format!("{}-{end}", scene.topic);
    scene.kafka().create_topic(&topic, PARTITIONS);
    topic
}

/// Topics whose partitions the status shows.
fn topics_shown(scene: &Scene) -> Vec<String> {
    let mut topics: Vec<String> = scene.status().unwrap().partitions.into_iter().map(|at| at.topic).collect();
    topics.dedup();
    topics
}

/// `confluentinc/librdkafka#2361`, `confluentinc/librdkafka#1852`.
#[test]
fn a_pattern_reads_new_topics_from_their_first_record_and_never_an_internal_one() {
    let scene = Scene::with_broker("any");
    // Both of the cluster's own topics are there, with records, before the stream is.
    let transactional = RecordingProducer::to(scene.kafka().bootstrap(), &[("transactional.id", "t")]);
    transactional.init_transactions();
    transactional.begin();
    (0..8).for_each(|number| transactional.send(&scene.topic, &order(number)));
    let _before = transactional.commit();
    scene.commit_to_a_group();
    scene.apply(&[matching(".*")]);
    scene.workspace.plan().assert_empty();
    scene.await_no_condition();
    let mut wanted = scene.produce(8, 16);
    assert_exactly(&scene.table(), &wanted);

    let later = unique("later");
    scene.kafka().create_topic(&later, 2);
    wanted.extend(scene.produce_to_some(&later, 100, 10, 2));
    assert_exactly(&scene.table(), &wanted);
    // What a topic grows by is read from its first record too.
    scene.kafka().add_partitions(&later, 3);
    wanted.extend(scene.produce_to_some(&later, 200, 12, 3));
    scene.commit_to_a_group();
    transactional.begin();
    (300..308).for_each(|number| transactional.send(&scene.topic, &order(number)));
    wanted.extend(transactional.commit());
    assert_exactly(&scene.table(), &wanted);
    assert_eq!(topics_shown(&scene), [scene.topic.clone(), later]);
    scene.await_no_condition();
}

#[test]
fn a_pattern_that_means_nothing_yet_is_no_obstacle_and_says_so() {
    let scene = Scene::new("nothing");
    let pattern = format!(r"(?i){}-(EU|us)\.v\d+", scene.topic);
    scene.apply(&[matching(&pattern)]);
    scene.await_condition("TopicsExist", &["no topic", "`subscribe_pattern`", &pattern]);
    scene.workspace.plan().assert_empty();
    let other = neighbour(&scene, "asia.v1");
    let chosen = neighbour(&scene, "eu.v12");
    drop(scene.produce_to(&other, 0, 8));
    let wanted = scene.produce_to(&chosen, 0, 8);
    assert_exactly(&scene.table(), &wanted);
    scene.await_no_condition();
    assert_eq!(topics_shown(&scene), [chosen]);
}

/// `quickwit-oss/quickwit#758`, the other way round: what is not chosen is not read.
#[test]
fn assigned_partitions_are_read_and_no_others_whatever_the_topic_grows_to() {
    let scene = Scene::new("assigned");
    let (absent, topic) = (format!("{}-absent", scene.topic), scene.topic.as_str());
    scene.apply(&[assigning(&json!({topic: [0, 2, 6], absent.as_str(): [1]}))]);
    let missing = format!("the topic `{absent}` does not exist");
    let lacking = format!("the topic `{topic}` has no partition 6, which `assign` lists");
    scene.await_condition("TopicsExist", &[&missing, &lacking]);
    scene.workspace.plan().assert_empty();
    let is_chosen = |record: &Acknowledged| [0, 2, 6].contains(&record.partition);
    let mut wanted: Vec<Acknowledged> = scene.produce(0, 40).into_iter().filter(is_chosen).collect();
    assert_exactly(&scene.table(), &wanted);

    scene.kafka().add_partitions(topic, 8);
    wanted.extend(scene.produce_to_some(topic, 100, 40, 8).into_iter().filter(is_chosen));
    assert_exactly(&scene.table(), &wanted);
    neighbour(&scene, "absent");
    wanted.extend(scene.produce_to(&absent, 200, 8).into_iter().filter(|record| record.partition == 1));
    assert_exactly(&scene.table(), &wanted);
    scene.await_no_condition();
    let shown: Vec<(String, i32)> = scene
        .status()
        .unwrap()
        .partitions
        .into_iter()
        .map(|at| (at.topic, at.partition))
        .collect();
    let expected = [(topic, 0), (topic, 2), (topic, 6), (absent.as_str(), 1)];
    assert_eq!(shown, expected.map(|(topic, partition)| (topic.to_owned(), partition)));
    // The same partitions in other words are no change.
    scene.write(&[assigning(&json!({absent.as_str(): [1], topic: [6, 0, 2]}))]);
    scene.workspace.plan().assert_empty();
}

#[test]
fn a_topic_of_a_pattern_comes_and_goes_and_nothing_is_missed_but_what_was_not_read() {
    let mut scene = Scene::new("churn");
    let pattern = format!("{}-.*", scene.topic);
    scene.apply(&[matching(&pattern)]);
    let (first, second) = (neighbour(&scene, "first"), neighbour(&scene, "second"));
    let mut wanted = scene.produce_to(&first, 0, 40);
    wanted.extend(scene.produce_to(&second, 100, 40));
    assert_exactly(&scene.table(), &wanted);
    scene.await_no_lag();

    // Read to its end: its deletion is ordinary, and so is another one of its name.
    scene.kafka().delete_topic(&first);
    await_deletion(scene.kafka(), &first);
    scene.await_log("was deleted, and is waited for no longer");
    wanted.extend(scene.produce_to(&second, 200, 8));
    assert_exactly(&scene.table(), &wanted);
    scene.await_no_condition();
    scene.restart_agent();
    scene.agent.api().await_state(STREAM_NAME, &[StreamState::Active]);
    scene.kafka().create_topic(&first, PARTITIONS);
    wanted.extend(scene.produce_to(&first, 300, 60));
    assert_exactly(&scene.table(), &wanted);
    scene.await_no_condition();

    // Deleted with records that nobody read.
    scene.agent.terminate();
    drop(scene.produce_to(&second, 400, 8));
    scene.kafka().delete_topic(&second);
    await_deletion(scene.kafka(), &second);
    scene.agent.start_again();
    let texts = [
        second.as_str(),
        "partition 0: wanted offset 12, nothing is available",
        "the topic was deleted",
        "`on_data_loss`",
    ];
    scene.await_condition("DataAvailable", &texts);
    wanted.extend(scene.produce_to(&first, 500, 8));
    assert_exactly(&scene.table(), &wanted);
    scene.apply(&[matching(&pattern), (POLICY, json!("latest"))]);
    scene.await_no_condition();
    let lost = |partition| (partition, "deleted", 12, 12, 0);
    scene.assert_losses(&second, &[lost(0), lost(1), lost(2), lost(3)]);
    scene.restart_agent();
    wanted.extend(scene.produce_to(&first, 600, 8));
    assert_exactly(&scene.table(), &wanted);
    scene.await_no_condition();
}

/// `quickwit-oss/quickwit#1602`: nobody saw that the topic went, so that what it had last is not known.
#[test]
fn a_topic_of_a_pattern_made_again_behind_the_agents_back_is_held_until_the_policy_decides() {
    let mut scene = Scene::new("again");
    let pattern = format!("{}-.*", scene.topic);
    scene.apply(&[matching(&pattern)]);
    let (topic, other) = (neighbour(&scene, "topic"), neighbour(&scene, "other"));
    let mut wanted = scene.produce_to(&topic, 0, 40);
    assert_exactly(&scene.table(), &wanted);
    scene.agent.terminate();
    scene.kafka().delete_topic(&topic);
    await_deletion(scene.kafka(), &topic);
    scene.kafka().create_topic(&topic, PARTITIONS);
    let new = scene.produce_to(&topic, 100, 80);
    scene.agent.start_again();
    scene.await_condition(
        "DataAvailable",
        &[&topic, "was deleted and created again", "wanted offset 10, available 0 to 20"],
    );
    wanted.extend(scene.produce_to(&other, 200, 8));
    assert_exactly(&scene.table(), &wanted);
    scene.apply(&[matching(&pattern), (POLICY, json!("earliest"))]);
    wanted.extend(new);
    assert_exactly(&scene.table(), &wanted);
    let lost = |partition| (partition, "recreated", 10, 0, 1);
    scene.assert_losses(&topic, &[lost(0), lost(1), lost(2), lost(3)]);
}

#[test]
fn an_agent_that_is_killed_while_a_pattern_gains_topics_reads_each_record_once() {
    let mut scene = Scene::new("killed");
    scene.apply(&[matching(&format!("{}-.*", scene.topic))]);
    let mut wanted = Vec::new();
    for round in 0..6 {
        let topics: Vec<String> = (0..3).map(|number| format!("{}-{round}-{number}", scene.topic)).collect();
        let (kafka, first) = (kafka(), i64::from(round) * 1_000);
        let produced = thread::scope(|scope| {
            let producing = scope.spawn(|| {
                let mut produced = Vec::new();
                for (topic, number) in topics.iter().zip(0..) {
                    kafka.create_topic(topic, PARTITIONS);
                    let orders: Vec<_> = (0..40).map(|order_number| order(first + number * 100 + order_number)).collect();
                    produced.extend(RecordingProducer::to(kafka.bootstrap(), &[]).send_all(topic, &orders));
                }
                produced
            });
            // At another moment in each round: before any of them is known, when the first is, when some rows are there.
            let rows = wanted.len() + [0, 1, 41, 81][round as usize % 4];
            wait_until("as many rows", STREAM_SETTLES, || {
                let found = scene_rows(&scene)?;
                if found >= rows { Ok(()) } else { Err(format!("{found} rows")) }
            });
            scene.agent.kill();
            producing.join().unwrap()
        });
        wanted.extend(produced);
        scene.agent.start_again();
    }
    assert_exactly(&scene.table(), &wanted);
    scene.await_no_condition();
}

fn scene_rows(scene: &Scene) -> Result<usize, String> {
    let rows = scene.status()?.table.unwrap_or_default().rows;
    usize::try_from(rows).map_err(|error| error.to_string())
}
