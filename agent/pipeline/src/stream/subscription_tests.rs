//! Streams that choose topics by pattern, or partitions one by one, on librdkafka's mock cluster. Deletion and growth of topics, which
//! the mock does not know: the e2e tests.

use stream_spec::name::TableName;
use stream_spec::stream::{KafkaSource, SourceConfig, SubscriptionMode};

use super::cluster_tests::{Place, rows_of, said};
use super::tests::{definition, wait_for};
use crate::engine::StreamDefinition;
use crate::error::Retry;
use crate::kafka::testing::Cluster;
use crate::position::{PartitionId, Position, Positions};
use crate::status::{PipelineStatus, condition};

/// The standard definition, the `number`th of its kind, with another source.
fn reading(subscription: SubscriptionMode, number: u32, options: &[(&str, &str)]) -> StreamDefinition {
    let mut definition = definition();
    definition.uid = format!("0198c0de-0000-7000-8000-{number:012}");
    definition.spec.ingestion.destination = TableName::parse(&format!("main.shop.orders_{number}")).expect("legal");
    let extra_options = options
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    definition.spec.source = SourceConfig::Kafka(KafkaSource {
        subscription,
        extra_options,
    });
    definition
}

fn pattern(text: &str, number: u32) -> StreamDefinition {
    reading(SubscriptionMode::SubscribePattern(text.to_owned()), number, &[])
}

fn assign(text: &str, number: u32, options: &[(&str, &str)]) -> StreamDefinition {
    reading(SubscriptionMode::Assign(text.to_owned()), number, options)
}

fn at(topic: &str, partition: i32) -> PartitionId {
    PartitionId {
        topic: topic.to_owned(),
        partition,
    }
}

impl Place {
    fn send_to(&self, topic: &str, partition: i32, numbers: std::ops::Range<i64>) {
        for number in numbers {
            let payload = format!(r#"{{"id": {number}, "name": "n"}}"#);
            self.cluster.send_to(topic, partition, Some("k"), Some(&payload));
        }
    }
}

fn has_rows(rows: i64) -> impl FnMut(&PipelineStatus) -> bool {
    move |status| rows_of(status) == rows && status.conditions.is_empty()
}

#[tokio::test]
async fn a_pattern_without_a_topic_says_so_and_reads_the_first_one_from_its_first_record() {
    let place = Place::new(Cluster::new(1));
    let definition = pattern("tenant-[a-z]+", 1);
    let made = place.engine.provision(&definition).await.expect("made without a topic");
    assert_eq!(made.positions, Positions::new());
    let stream = place.engine.start(definition);
    let nothing = |status: &PipelineStatus| said(status, condition::TOPICS_EXIST).is_some_and(|said| said.contains("`tenant-[a-z]+`"));
    wait_for(&stream, "the condition", nothing).await;

    place.cluster.create_topic("tenant-a", 2);
    place.cluster.create_topic("tenant-1", 1);
    place.send_to("tenant-a", 1, 0..3);
    place.send_to("tenant-1", 0, 0..3);
    wait_for(&stream, "the rows of the first topic", has_rows(3)).await;
    place.cluster.create_topic("tenant-b", 1);
    place.send_to("tenant-b", 0, 0..4);
    let status = wait_for(&stream, "the rows of both topics", has_rows(7)).await;
    let read: Vec<&PartitionId> = status.partitions.keys().collect();
    assert_eq!(read, [&at("tenant-a", 0), &at("tenant-a", 1), &at("tenant-b", 0)]);
    stream.stop().await;
}

#[tokio::test]
async fn a_pattern_starts_at_the_end_of_what_there_is() {
    let place = Place::new(Cluster::new(2));
    place.cluster.create_topic("orders-eu", 1);
    place.cluster.create_topic("other", 1);
    place.send_to("orders", 1, 0..5);
    place.send_to("orders-eu", 0, 0..2);
    let made = place.engine.provision(&pattern("orders.*", 1)).await.expect("made");
    let expected = [(at("orders", 0), 0), (at("orders", 1), 5), (at("orders-eu", 0), 2)];
    assert_eq!(made.positions, expected.map(|(at, offset)| (at, Position::new(offset, 0))).into());
    assert_eq!(made.source.topic_ids.keys().collect::<Vec<_>>(), ["orders", "orders-eu"]);

    let named = r#"{"orders": {"1": -2}, "orders-us": {"0": 0}, "orders-eu": {"0": 1, "3": -1}}"#;
    let with = reading(
        SubscriptionMode::SubscribePattern("orders.*".to_owned()),
        2,
        &[("startingOffsets", named)],
    );
    let error = place.engine.provision(&with).await.expect_err("two are not there");
    assert_eq!(error.retry(), Retry::No);
    let message = error.to_string();
    assert!(
        message.contains("startingOffsets") && message.contains("topic `orders-eu` partition 3, topic `orders-us` partition 0;"),
        "{message}"
    );
    let named = r#"{"orders": {"1": -2}, "orders-eu": {"0": 1}}"#;
    let with = reading(
        SubscriptionMode::SubscribePattern("orders.*".to_owned()),
        3,
        &[("startingOffsets", named)],
    );
    let made = place.engine.provision(&with).await.expect("made");
    let expected = [(at("orders", 0), 0), (at("orders", 1), 0), (at("orders-eu", 0), 1)];
    assert_eq!(made.positions, expected.map(|(at, offset)| (at, Position::new(offset, 0))).into());
}

#[tokio::test]
async fn streams_whose_patterns_come_to_overlap_read_each_record_once_each() {
    let place = Place::new(Cluster::new(1));
    let definitions = [pattern("orders|a-.*", 1), pattern("orders|.*-b", 2), pattern("[ab]-[ab]", 3)];
    let mut streams = Vec::new();
    for definition in definitions {
        place.engine.provision(&definition).await.expect("made");
        streams.push(place.engine.start(definition));
    }
    place.send_to("orders", 0, 0..3);
    wait_for(&streams[0], "rows", has_rows(3)).await;
    wait_for(&streams[1], "rows", has_rows(3)).await;
    // All three share this one from now on, the first two of them beside `orders`.
    place.cluster.create_topic("a-b", 2);
    place.send_to("a-b", 0, 0..5);
    place.send_to("a-b", 1, 0..5);
    place.send_to("orders", 0, 3..6);
    for (stream, rows) in streams.iter().zip([16, 16, 10]) {
        wait_for(stream, "all rows", has_rows(rows)).await;
    }
    for stream in streams {
        stream.stop().await;
    }
}

#[tokio::test]
async fn assigned_partitions_are_read_and_no_others_and_those_that_are_not_there_are_named() {
    let place = Place::new(Cluster::new(4));
    let definition = assign(r#"{"orders": [1, 3, 9], "later": [0]}"#, 1, &[]);
    place.send_to("orders", 1, 0..2);
    let made = place.engine.provision(&definition).await.expect("made");
    let expected = [(at("orders", 1), 2), (at("orders", 3), 0)];
    assert_eq!(made.positions, expected.map(|(at, offset)| (at, Position::new(offset, 0))).into());
    let stream = place.engine.start(definition);
    for partition in 0..4 {
        place.send_to("orders", partition, 0..5);
    }
    let status = wait_for(&stream, "the rows", |status| rows_of(status) == 10).await;
    let said = said(&status, condition::TOPICS_EXIST).expect("something is missing");
    assert!(
        said.contains("the topic `orders` has no partition 9, which `assign` lists") && said.contains("the topic `later` does not exist"),
        "{said}"
    );
    place.cluster.create_topic("later", 2);
    place.send_to("later", 0, 0..3);
    place.send_to("later", 1, 0..3);
    let status = wait_for(&stream, "the rows of the topic that came", |status| rows_of(status) == 13).await;
    let read: Vec<&PartitionId> = status.partitions.keys().collect();
    assert_eq!(read, [&at("later", 0), &at("orders", 1), &at("orders", 3)]);
    stream.stop().await;

    let starts = r#"{"orders": {"9": -2, "1": 1}}"#;
    let refused = assign(r#"{"orders": [1, 9]}"#, 2, &[("startingOffsets", starts)]);
    let error = place.engine.provision(&refused).await.expect_err("there is no such partition");
    assert!(error.to_string().contains("topic `orders` partition 9;"), "{error}");
}

#[tokio::test]
async fn a_pattern_that_is_too_hard_to_match_is_said_and_the_stream_goes_on() {
    let place = Place::new(Cluster::new(1));
    let definition = pattern("(a|aa)+b\\1|orders", 1);
    place.engine.provision(&definition).await.expect("made");
    let stream = place.engine.start(definition);
    place.send_to("orders", 0, 0..2);
    wait_for(&stream, "rows", has_rows(2)).await;
    let hopeless = "a".repeat(60);
    place.cluster.create_topic(&hopeless, 1);
    let is_said = |status: &PipelineStatus| {
        said(status, condition::TOPICS_EXIST).is_some_and(|said| said.contains("too much work") && said.contains(&hopeless))
    };
    wait_for(&stream, "the condition", is_said).await;
    place.send_to("orders", 0, 2..4);
    wait_for(&stream, "more rows", |status| rows_of(status) == 4).await;
    stream.stop().await;
}
