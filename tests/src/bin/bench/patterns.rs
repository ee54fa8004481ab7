//! What streams that choose their topics by a pattern cost in a cluster of many topics: what they ask, and how large the answer is.
//! Invariant: nothing is sent and no topic comes, so that all that is counted is what looking for topics costs.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use e2e::agent::Agent;
use e2e::api::{kafka_source, numbered_stream};
use e2e::config::CONNECTION_NAME;
use e2e::kafka::{Kafka, client_config};
use e2e::limits::BROKER_REQUEST;
use e2e::transactions::SCHEMA;
use featurestore_proto::v1::{Stream, subscription_mode::Mode};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::{ClientContext, Statistics};

use crate::many::{STREAMS_DEFAULT, look, print};
use crate::scene::setting;

const TOPICS_DEFAULT: u64 = 10_000;

/// Makes topics and streams, and prints a row for each number of streams.
pub(crate) fn measure() {
    let topics = usize::try_from(setting("BENCH_TOPICS", TOPICS_DEFAULT)).unwrap();
    let total = usize::try_from(setting("BENCH_STREAMS", STREAMS_DEFAULT)).unwrap();
    let broker = Kafka::start_telling_requests();
    let names: Vec<String> = (0..topics).map(topic).collect();
    broker.create_topics(&names);
    let mut agent = Agent::start();
    agent.api().create_kafka_connection(CONNECTION_NAME, broker.bootstrap()).unwrap();
    let mut rows = Vec::new();
    let mut made = 0;
    for count in [1, total] {
        for number in made..count {
            agent.api().create_stream(stream(number), &format!("pattern-{number}")).unwrap();
        }
        made = count;
        rows.push(look(&broker, &agent, count, count.to_string()));
    }
    agent.terminate();
    agent.start_again();
    rows.push(look(&broker, &agent, total, format!("{total}, after a restart")));
    print(&format!("Idle streams by patterns, each of one of {topics} topics"), &rows);
    println!("\nA list of all topics has {} kB.", list_bytes(&broker) / 1_000);
}

fn topic(number: usize) -> String {
    format!("bench-pattern-{number}-orders")
}

/// A stream whose pattern matches one topic.
fn stream(number: usize) -> Stream {
    let mut stream = numbered_stream(number, "", SCHEMA);
    let pattern = format!("bench-pattern-{number}-(orders|payments)");
    kafka_source(&mut stream).subscription_mode.as_mut().unwrap().mode = Some(Mode::SubscribePattern(pattern));
    stream
}

/// Bytes that a client receives for one list of all topics.
fn list_bytes(broker: &Kafka) -> u64 {
    let (received, inbox) = channel();
    let mut config = client_config(broker.bootstrap());
    config.set("group.id", "bench").set("statistics.interval.ms", "100");
    let consumer: BaseConsumer<Received> = config.create_with_context(Received(received)).unwrap();
    // What a client asks at its beginning is not part of it.
    consumer.fetch_metadata(Some(&topic(0)), BROKER_REQUEST).unwrap();
    let before = received_bytes(&consumer, &inbox);
    consumer.fetch_metadata(None, BROKER_REQUEST).unwrap();
    received_bytes(&consumer, &inbox) - before
}

/// Tells the bytes that were received so far, each time the client counts.
struct Received(Sender<u64>);

impl ClientContext for Received {
    fn stats(&self, statistics: Statistics) {
        let bytes = statistics.brokers.values().map(|broker| broker.rxbytes).sum();
        // Whoever wanted to know may have ended.
        let _ = self.0.send(bytes);
    }
}

impl ConsumerContext for Received {}

fn received_bytes(consumer: &BaseConsumer<Received>, inbox: &Receiver<u64>) -> u64 {
    inbox.try_iter().for_each(drop);
    let next = || loop {
        drop(consumer.poll(Duration::from_millis(50)));
        if let Ok(bytes) = inbox.try_recv() {
            return bytes;
        }
    };
    // The first of them may have been counted before.
    next();
    next()
}
