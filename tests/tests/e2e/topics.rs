//! Records that are gone before they were read: deleted, past their retention, in a topic that was deleted and created again,
//! or in a log that was cut. Nothing is read until `on_data_loss` says where to go on; nothing is read twice.

use e2e::kafka::Kafka;
use e2e::limits::STREAM_SETTLES;
use e2e::producer::Acknowledged;
use e2e::wait::wait_until;
use rdkafka::consumer::Consumer;

use crate::stage::{PARTITIONS, unique};
use crate::topics_scene::{Scene, assert_exactly};

/// The records of some, less what is lost of them.
fn without(records: &[Acknowledged], is_lost: impl Fn(&Acknowledged) -> bool) -> Vec<Acknowledged> {
    records.iter().filter(|record| !is_lost(record)).cloned().collect()
}

#[test]
fn deleted_records_hold_their_partition_until_the_policy_says_where_to_go_on() {
    for (policy, to) in [("earliest", 7), ("latest", 12)] {
        let mut scene = Scene::new("deleted");
        scene.apply(&[]);
        let first = scene.produce(0, 8);
        assert_exactly(&scene.table(), &first);
        scene.agent.terminate();
        let meanwhile = scene.produce(8, 40);
        scene.kafka().delete_records(&scene.topic, 1, 7);
        scene.agent.start_again();

        let range = "partition 1: wanted offset 2, available 7 to 12";
        let status = scene.await_condition("DataAvailable", &[&scene.topic, range, "on_data_loss"]);
        let held: Vec<i32> = status
            .partitions
            .iter()
            .filter(|at| !at.held.is_empty())
            .map(|at| at.partition)
            .collect();
        assert_eq!(held, [1]);
        let others = without(&meanwhile, |record| record.partition == 1);
        assert_exactly(&scene.table(), &[first.clone(), others].concat());

        scene.apply_policy(policy, &[]);
        let read = without(&meanwhile, |record| record.partition == 1 && record.offset < to);
        let later = scene.produce(48, 8);
        assert_exactly(&scene.table(), &[first, read, later].concat());
        scene.assert_losses(&scene.topic, &[(1, "expired", 2, to, 1)]);
    }
}

#[test]
fn records_past_their_retention_are_named_and_what_came_after_is_read() {
    let mut scene = Scene::new("expired");
    scene.apply(&[]);
    let first = scene.produce(0, 8);
    assert_exactly(&scene.table(), &first);
    scene.agent.terminate();
    let _expired = scene.produce(8, 8);
    scene.kafka().set_topic_property(&scene.topic, "retention.ms", "1");
    wait_until("the records are past their retention", STREAM_SETTLES, || {
        let ranges: Vec<_> = (0..PARTITIONS)
            .map(|number| scene.kafka().watermarks(&scene.topic, number))
            .collect();
        let empty = ranges.iter().all(|range| *range == (4, 4));
        if empty { Ok(()) } else { Err(format!("{ranges:?}")) }
    });
    scene.kafka().set_topic_property(&scene.topic, "retention.ms", "-1");
    let later = scene.produce(16, 8);
    scene.agent.start_again();
    scene.await_condition("DataAvailable", &[&scene.topic, "partition 3: wanted offset 2, available 4 to 6"]);
    assert_exactly(&scene.table(), &first);
    scene.apply_policy("earliest", &[]);
    assert_exactly(&scene.table(), &[first, later].concat());
    let lost = |partition| (partition, "expired", 2, 4, 1);
    scene.assert_losses(&scene.topic, &[lost(0), lost(1), lost(2), lost(3)]);
}

pub(crate) fn await_deletion(kafka: &Kafka, topic: &str) {
    let consumer = kafka.consumer();
    wait_until("the topic is gone", STREAM_SETTLES, || {
        let metadata = consumer.fetch_metadata(None, STREAM_SETTLES).map_err(|error| error.to_string())?;
        let there = metadata.topics().iter().any(|found| found.name() == topic);
        if there { Err("still there") } else { Ok(()) }.map_err(str::to_owned)
    });
}

/// A topic is deleted and created again with so many records per partition, while the agent is away or not.
fn check_recreated(name: &str, per_partition: i64, agent_is_away: bool, policy: &str) {
    let mut scene = Scene::new(name);
    let other = unique("other");
    scene.kafka().create_topic(&other, PARTITIONS);
    scene.apply_policy("fail", &[&other]);
    let mut wanted = scene.produce(0, 40);
    wanted.extend(scene.produce_to(&other, 1_000, 8));
    assert_exactly(&scene.table(), &wanted);

    scene.kafka().delete_topic(&scene.topic);
    scene.await_condition("TopicsExist", &[&scene.topic, "does not exist"]);
    wanted.extend(scene.produce_to(&other, 1_008, 8));
    assert_exactly(&scene.table(), &wanted);

    if agent_is_away {
        scene.agent.terminate();
    }
    await_deletion(scene.kafka(), &scene.topic);
    scene.kafka().create_topic(&scene.topic, PARTITIONS);
    let new = scene.produce(100, per_partition * i64::from(PARTITIONS));
    if agent_is_away {
        scene.agent.start_again();
    }
    // What was available when it was found: an agent that is there can find the new topic before its first record.
    let end = if agent_is_away { per_partition.to_string() } else { String::new() };
    let range = format!("partition 0: wanted offset 10, available 0 to {end}");
    scene.await_condition("DataAvailable", &[&scene.topic, "was deleted and created again", &range]);
    wanted.extend(scene.produce_to(&other, 1_016, 8));
    assert_exactly(&scene.table(), &wanted);

    scene.apply_policy(policy, &[&other]);
    let to = if policy == "earliest" {
        wanted.extend(new);
        0
    } else {
        scene.await_no_lag();
        per_partition
    };
    wanted.extend(scene.produce(200, 8));
    assert_exactly(&scene.table(), &wanted);
    let lost = |partition| (partition, "recreated", 10, to, 1);
    scene.assert_losses(&scene.topic, &[lost(0), lost(1), lost(2), lost(3)]);
    scene.restart_agent();
    wanted.extend(scene.produce(300, 8));
    assert_exactly(&scene.table(), &wanted);
}

#[test]
fn a_topic_made_again_shorter_is_held_and_then_read_from_its_first_record() {
    check_recreated("shorter", 2, false, "earliest");
}

#[test]
fn a_topic_made_again_longer_while_the_agent_was_away_is_held_and_then_read_from_its_end() {
    check_recreated("longer", 20, true, "latest");
}

/// A broker loses the log of partition 1 while the agent is away, and gets more records than it had.
fn check_cut(policy: &str) {
    let mut scene = Scene::with_broker("cut");
    scene.apply(&[]);
    let mut wanted = scene.produce(0, 40);
    assert_exactly(&scene.table(), &wanted);
    scene.agent.terminate();
    scene.kafka().stop();
    scene.kafka().lose_log(&scene.topic, 1);
    scene.kafka().start_again();
    let mut new = scene.produce(100, 80);
    scene.agent.start_again();

    let range = "partition 1: wanted offset 10, available 0 to 20; its log was cut at offset 0";
    scene.await_condition("DataAvailable", &[&scene.topic, range, "on_data_loss"]);
    wanted.extend(without(&new, |record| record.partition == 1));
    assert_exactly(&scene.table(), &wanted);
    // Nobody but the table's log remembers what was read.
    scene.restart_agent();
    scene.await_condition("DataAvailable", &[&scene.topic, "wanted offset 10", "cut at offset 0"]);
    let more = scene.produce(200, 4);
    wanted.extend(without(&more, |record| record.partition == 1));
    assert_exactly(&scene.table(), &wanted);
    new.extend(more);

    scene.apply_policy(policy, &[]);
    let to = if policy == "earliest" {
        wanted.extend(without(&new, |record| record.partition != 1));
        0
    } else {
        scene.await_no_lag();
        21
    };
    wanted.extend(scene.produce(300, 4));
    assert_exactly(&scene.table(), &wanted);
    scene.assert_losses(&scene.topic, &[(1, "truncated", 10, to, 1)]);
    scene.restart_agent();
    wanted.extend(scene.produce(400, 4));
    assert_exactly(&scene.table(), &wanted);
}

#[test]
fn a_log_that_was_cut_is_held_over_restarts_and_then_read_from_the_cut() {
    check_cut("earliest");
}

#[test]
fn a_log_that_was_cut_is_held_over_restarts_and_then_read_from_its_end() {
    check_cut("latest");
}
