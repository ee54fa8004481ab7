//! Memory of a real agent where it is tempted to take more: a disk that hangs while records keep coming, messages of 20 MB,
//! 500 partitions. The bound is the one that the product states (`stream_memory_max`), the figure is the kernel's.

use e2e::agent::Agent;
use e2e::config::{self, PAYLOAD_SCHEMA, STREAM_NAME, TABLE_NAME, with, with_properties};
use e2e::kafka::kafka;
use e2e::limits::{STREAM_CATCHES_UP, STREAM_SETTLES};
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::spawn::peak_memory_mib;
use e2e::terraform::Workspace;
use e2e::transactions::{SCHEMA, Transactions};
use e2e::wait::wait_until;
use serde_json::{Value, json};
use stream_pipeline::limits::{AGENT_MEMORY, stream_memory_max};

use crate::rows::assert_each_exactly_once;
use crate::stage::{PARTITIONS, unique};

/// An agent with one stream on a new topic.
struct Scene {
    topic: String,
    agent: Agent,
    partitions: i32,
}

impl Scene {
    fn new(name: &str, partitions: i32, properties: &[(&str, &str)], schema: &str) -> Self {
        let topic = unique(name);
        kafka().create_topic_with(&topic, partitions, properties);
        let agent = Agent::start();
        let workspace = Workspace::new(agent.endpoint());
        let stream = with(&config::stream(&topic), PAYLOAD_SCHEMA, schema);
        workspace.write(&config::document(&config::connection(kafka().bootstrap()), &stream));
        workspace.apply_now().assert_success();
        Self { topic, agent, partitions }
    }

    /// Fails unless all is in the table, once, and the agent has never held more than its bound.
    fn check(&self, records: &[Acknowledged], message_bytes: usize) {
        wait_until("everything is committed", STREAM_CATCHES_UP, || {
            let record = self.agent.api().stream(STREAM_NAME).map_err(|status| status.to_string())?;
            let rows = record.status.unwrap_or_default().table.unwrap_or_default().rows;
            let all = usize::try_from(rows) == Ok(records.len());
            if all {
                Ok(())
            } else {
                Err(format!("{rows} rows of {}", records.len()))
            }
        });
        assert_each_exactly_once(&self.agent.table(TABLE_NAME), records);
        let bound = AGENT_MEMORY + stream_memory_max(usize::try_from(self.partitions).unwrap(), message_bytes);
        let bound = u64::try_from(bound >> 20).unwrap();
        let peak = peak_memory_mib(self.agent.pid());
        println!("{}: {peak} MiB at most, the bound is {bound} MiB", self.topic);
        assert!(peak <= bound, "{peak} MiB, the bound is {bound} MiB");
    }
}

/// More than every buffer of a stream holds together.
const FAST_RECORDS: usize = 400_000;
/// A usual message is about one kilobyte.
const USUAL_MESSAGE: usize = 2048;

#[test]
fn a_paused_disk_costs_no_more_memory_than_its_bound_and_no_record() {
    let scene = Scene::new("paused-disk", PARTITIONS, &[], SCHEMA);
    scene.agent.failpoints().arm("append.before_file hang\n");
    let producer = RecordingProducer::new();
    let mut events = Transactions::new(7);
    let mut records = Vec::new();
    let mut produce = |count: usize| {
        for _ in 0..count / 10_000 {
            for _ in 0..10_000 {
                producer.send(&scene.topic, &events.next_record());
            }
            records.extend(producer.flush().into_iter().map(without_bytes));
        }
    };
    produce(FAST_RECORDS / 2);
    wait_until("the disk hangs", STREAM_SETTLES, || {
        let hits = scene.agent.failpoints().hits();
        if hits.is_empty() { Err("no record is written") } else { Ok(()) }
    });
    produce(FAST_RECORDS / 2);
    scene.agent.failpoints().disarm();
    scene.check(&records, USUAL_MESSAGE);
}

/// Only where a record is counts here: hundreds of megabytes of values would be the test's own memory.
fn without_bytes(record: Acknowledged) -> Acknowledged {
    Acknowledged {
        key: None,
        value: None,
        ..record
    }
}

const LARGE_MESSAGE: usize = 20 << 20;
const LARGE_MESSAGES: i64 = 16;

#[test]
fn messages_of_twenty_megabytes_stay_under_the_bound() {
    let schema = with_properties(&config::order_schema(), &json!({"filler": {"type": "string"}})).to_string();
    let scene = Scene::new("large", PARTITIONS, &[("max.message.bytes", "33554432")], &schema);
    let producer = RecordingProducer::new();
    let mut records = Vec::new();
    for number in 0..LARGE_MESSAGES {
        let filler: Value = "x".repeat(LARGE_MESSAGE - 1024).into();
        let large = Outgoing {
            partition: Some(i32::try_from(number).unwrap() % PARTITIONS),
            ..Outgoing::new("large", json!({"order_id": number, "filler": filler}).to_string())
        };
        records.extend(producer.send_all(&scene.topic, &[large]).into_iter().map(without_bytes));
    }
    scene.check(&records, LARGE_MESSAGE);
}

const MANY_PARTITIONS: i32 = 500;
const RECORDS_OF_EACH: i32 = 400;

#[test]
fn five_hundred_partitions_stay_under_the_bound() {
    let scene = Scene::new("many", MANY_PARTITIONS, &[], SCHEMA);
    let producer = RecordingProducer::new();
    let mut events = Transactions::new(7);
    let mut records = Vec::new();
    for _ in 0..RECORDS_OF_EACH {
        for partition in 0..MANY_PARTITIONS {
            let event = Outgoing {
                partition: Some(partition),
                ..events.next_record()
            };
            producer.send(&scene.topic, &event);
        }
        records.extend(producer.flush().into_iter().map(without_bytes));
    }
    scene.check(&records, USUAL_MESSAGE);
}
