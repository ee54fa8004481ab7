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
use serde_json::json;
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

    /// Lets the disk hang until that many records are sent, in two halves of which the second one comes while nothing goes on.
    fn send_while_the_disk_hangs(&self, mut next: impl FnMut() -> Outgoing, count: usize) -> Vec<Acknowledged> {
        self.agent.failpoints().arm("append.before_file hang\n");
        let producer = RecordingProducer::new();
        let mut records = Vec::new();
        let mut send = |count: usize| {
            for sent in 1..=count {
                producer.send(&self.topic, &next());
                if sent % FLUSHED_EVERY == 0 || sent == count {
                    records.extend(producer.flush().into_iter().map(without_bytes));
                }
            }
        };
        send(count / 2);
        wait_until("the disk hangs", STREAM_SETTLES, || {
            let hits = self.agent.failpoints().hits();
            if hits.is_empty() { Err("no record is written") } else { Ok(()) }
        });
        send(count - count / 2);
        self.agent.failpoints().disarm();
        records
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
const FAST_RECORDS: usize = 300_000;
/// So many records, or large messages, are in the test's own memory at most.
const FLUSHED_EVERY: usize = 5_000;
/// A usual message is about one kilobyte.
const USUAL_MESSAGE: usize = 2048;

#[test]
fn a_paused_disk_costs_no_more_memory_than_its_bound_and_no_record() {
    let scene = Scene::new("paused-disk", PARTITIONS, &[], SCHEMA);
    let mut events = Transactions::new(7);
    let records = scene.send_while_the_disk_hangs(|| events.next_record(), FAST_RECORDS);
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
const LARGE_MESSAGES: usize = 16;

#[test]
fn messages_of_twenty_megabytes_stay_under_the_bound() {
    let schema = with_properties(&config::order_schema(), &json!({"filler": {"type": "string"}})).to_string();
    let scene = Scene::new("large", PARTITIONS, &[("max.message.bytes", "33554432")], &schema);
    let filler = "x".repeat(LARGE_MESSAGE - 1024);
    let mut number = 0;
    let large = || {
        number += 1;
        let text = json!({"order_id": number, "filler": filler}).to_string();
        Outgoing {
            partition: Some(number % PARTITIONS),
            ..Outgoing::new("large", text)
        }
    };
    let records = scene.send_while_the_disk_hangs(large, LARGE_MESSAGES);
    scene.check(&records, LARGE_MESSAGE);
}

const MANY_PARTITIONS: i32 = 500;
/// One hundred of each: some fifty megabytes, more than is fetched ahead.
const THEIR_RECORDS: usize = 50_000;

#[test]
fn five_hundred_partitions_stay_under_the_bound() {
    let scene = Scene::new("many", MANY_PARTITIONS, &[], SCHEMA);
    let mut events = Transactions::new(7);
    let mut number = 0;
    let next = || {
        number += 1;
        Outgoing {
            partition: Some(number % MANY_PARTITIONS),
            ..events.next_record()
        }
    };
    let records = scene.send_while_the_disk_hangs(next, THEIR_RECORDS);
    scene.check(&records, USUAL_MESSAGE);
}
