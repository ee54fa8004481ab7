//! Memory of a real agent where it is tempted to take more: a disk that hangs while records keep coming, messages of 20 MB,
//! 500 partitions. The bound is the one that the product states (`stream_memory_max`), the figure is the kernel's. Invariant:
//! twice the bound is sent, so an agent that held what is there, instead of what it may, would fail.

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
    /// The most bytes of memory that the agent may hold.
    bound: usize,
}

impl Scene {
    fn new(name: &str, partitions: i32, message_bytes: usize, schema: &str) -> Self {
        let topic = unique(name);
        kafka().create_topic_with(&topic, partitions, &[("max.message.bytes", "33554432")]);
        let agent = Agent::start();
        let workspace = Workspace::new(agent.endpoint());
        let stream = with(&config::stream(&topic), PAYLOAD_SCHEMA, schema);
        workspace.write(&config::document(&config::connection(kafka().bootstrap()), &stream));
        workspace.apply_now().assert_success();
        let bound = AGENT_MEMORY + stream_memory_max(usize::try_from(partitions).unwrap(), message_bytes);
        Self { topic, agent, bound }
    }

    /// Lets the disk hang until twice the bound is sent, in two halves of which the second one comes while nothing goes on.
    fn send_while_the_disk_hangs(&self, mut next: impl FnMut() -> Outgoing) -> Vec<Acknowledged> {
        self.agent.failpoints().arm("append.before_file hang\n");
        let producer = RecordingProducer::new();
        let mut records = Vec::new();
        self.send_as_much_as_the_bound(&producer, &mut next, &mut records);
        wait_until("the disk hangs", STREAM_SETTLES, || {
            let hits = self.agent.failpoints().hits();
            if hits.is_empty() { Err("no record is written") } else { Ok(()) }
        });
        self.send_as_much_as_the_bound(&producer, &mut next, &mut records);
        self.agent.failpoints().disarm();
        records
    }

    fn send_as_much_as_the_bound(
        &self,
        producer: &RecordingProducer,
        next: &mut impl FnMut() -> Outgoing,
        records: &mut Vec<Acknowledged>,
    ) {
        let (mut sent, mut unflushed) = (0, 0);
        while sent <= self.bound {
            let record = next();
            let bytes = record.value.as_ref().map_or(0, Vec::len);
            producer.send(&self.topic, &record);
            sent += bytes;
            unflushed += bytes;
            if unflushed >= FLUSHED_EVERY || sent > self.bound {
                records.extend(producer.flush().into_iter().map(without_bytes));
                unflushed = 0;
            }
        }
    }

    /// Fails unless all is in the table, once, and the agent has never held more than its bound.
    fn check(&self, records: &[Acknowledged]) {
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
        let bound = u64::try_from(self.bound >> 20).unwrap();
        let peak = peak_memory_mib(self.agent.pid());
        println!("{}: {peak} MiB at most, the bound is {bound} MiB", self.topic);
        assert!(peak <= bound, "{peak} MiB, the bound is {bound} MiB");
        // The other tests need the broker's disk too.
        kafka().delete_topic(&self.topic);
    }
}

/// So many bytes of records are in the test's own memory at most.
const FLUSHED_EVERY: usize = 64 << 20;
/// Usual messages are about one kilobyte, and every other one is padded to this size: half a million rows would cost the test
/// more time than they tell.
const PADDED_MESSAGE: usize = 16 << 10;

/// Only where a record is counts here: hundreds of megabytes of values would be the test's own memory.
fn without_bytes(record: Acknowledged) -> Acknowledged {
    Acknowledged {
        key: None,
        value: None,
        ..record
    }
}

/// With blanks after the JSON value: they are read and held as everything else, and make no columns.
fn padded(record: Outgoing) -> Outgoing {
    let mut value = record.value.unwrap();
    value.resize(PADDED_MESSAGE, b' ');
    Outgoing {
        value: Some(value),
        ..record
    }
}

/// Transactions over so many partitions, every other one padded.
fn transactions(partitions: i32) -> impl FnMut() -> Outgoing {
    let mut events = Transactions::new(7);
    let mut number = 0;
    move || {
        number += 1;
        let record = Outgoing {
            // Two in a row, so that each partition has both sizes.
            partition: Some(number / 2 % partitions),
            ..events.next_record()
        };
        if number % 2 == 0 { padded(record) } else { record }
    }
}

#[test]
fn a_paused_disk_costs_no_more_memory_than_its_bound_and_no_record() {
    let scene = Scene::new("paused-disk", PARTITIONS, PADDED_MESSAGE, SCHEMA);
    let records = scene.send_while_the_disk_hangs(transactions(PARTITIONS));
    scene.check(&records);
}

const LARGE_MESSAGE: usize = 20 << 20;

#[test]
fn messages_of_twenty_megabytes_stay_under_the_bound() {
    let schema = with_properties(&config::order_schema(), &json!({"filler": {"type": "string"}})).to_string();
    let scene = Scene::new("large", PARTITIONS, LARGE_MESSAGE, &schema);
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
    let records = scene.send_while_the_disk_hangs(large);
    scene.check(&records);
}

const MANY_PARTITIONS: i32 = 500;

#[test]
fn five_hundred_partitions_stay_under_the_bound() {
    let scene = Scene::new("many", MANY_PARTITIONS, PADDED_MESSAGE, SCHEMA);
    let records = scene.send_while_the_disk_hangs(transactions(MANY_PARTITIONS));
    scene.check(&records);
}
