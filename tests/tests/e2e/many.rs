//! Many streams of one cluster in one agent: they share a client, and one that takes nothing slows no other. Invariant: what is
//! counted are the kernel's threads and connections; what the agent says of itself must be the same.

use std::process::Command;
use std::thread;

use e2e::agent::Agent;
use e2e::api::numbered_stream;
use e2e::config::{CONNECTION_NAME, STREAM_NAME, TABLE_NAME, order_schema};
use e2e::kafka::kafka;
use e2e::limits::STREAM_SETTLES;
use e2e::producer::{Outgoing, RecordingProducer};
use e2e::spawn::{self, connections, threads};
use e2e::tables;
use e2e::wait::wait_until;
use featurestore_proto::v1::{Condition, StreamState};

use crate::rows::{assert_rows, order_value};
use crate::stage::{new_topic, order};

const STREAMS: usize = 30;
/// The name of the thread that each client has one of.
const CLIENT_THREAD: &str = "kafka-events";
/// To a cluster of one broker, one of them until the client knows that.
const CONNECTIONS_MAX: usize = 2;
/// Threads beside one for each core: those of one client, and work that blocks.
const OTHER_THREADS_MAX: usize = 32;
/// More than the queue of the stream and the batches that are on their way take together.
const MORE_THAN_IS_TAKEN: usize = 192 << 20;
const LARGE: usize = 768 << 10;

/// An agent with streams on topics of their own.
struct Scene {
    agent: Agent,
    topics: Vec<String>,
}

impl Scene {
    fn new() -> Self {
        Self::of(Agent::start())
    }

    fn of(agent: Agent) -> Self {
        agent.api().create_kafka_connection(CONNECTION_NAME, kafka().bootstrap()).unwrap();
        Self { agent, topics: Vec::new() }
    }

    fn add(&mut self) {
        let (number, topic) = (self.topics.len(), new_topic("many"));
        let stream = numbered_stream(number, &topic, &order_schema().to_string());
        self.agent.api().create_stream(stream, &topic).unwrap();
        self.topics.push(topic);
    }

    fn await_active(&self) {
        for number in 0..self.topics.len() {
            let name = format!("{STREAM_NAME}_{number}");
            self.agent.api().await_state(&name, &[StreamState::Active]);
        }
    }

    /// Waits for clients and threads that were needed for a moment only to end.
    fn assert_one_client(&self) {
        let most = thread::available_parallelism().unwrap().get() + OTHER_THREADS_MAX;
        wait_until("the streams have one client", STREAM_SETTLES, || {
            let (threads, connections) = (threads(self.agent.pid()), connections(self.agent.pid(), kafka().port()));
            let clients = threads.iter().filter(|name| *name == CLIENT_THREAD).count();
            let said = self.agent.api().agent().map_err(|status| status.to_string())?.usage.unwrap();
            if clients == 1 && said.kafka_clients == 1 && (1..=CONNECTIONS_MAX).contains(&connections) && threads.len() <= most {
                assert!(
                    (threads.len() / 2..threads.len() * 2).contains(&usize::try_from(said.threads).unwrap()),
                    "{said:?}"
                );
                let memory_mib = said.memory_bytes >> 20;
                assert!(
                    (memory_mib / 2..memory_mib * 2).contains(&spawn::memory_mib(self.agent.pid())),
                    "{said:?}"
                );
                Ok(())
            } else {
                Err(format!(
                    "{clients} clients, {connections} connections, {} threads; the agent says {said:?}",
                    threads.len()
                ))
            }
        });
    }

    fn produce_orders(&self, number: usize) {
        let records = RecordingProducer::new().send_all(&self.topics[number], &(0..40).map(order).collect::<Vec<Outgoing>>());
        assert_rows(&self.agent.table(&format!("{TABLE_NAME}_{number}")), &records, order_value);
    }
}

#[test]
fn thirty_streams_share_one_client_also_after_a_restart_and_one_that_takes_nothing_slows_no_other() {
    let mut scene = Scene::new();
    while scene.topics.len() < STREAMS {
        scene.add();
    }
    scene.await_active();
    scene.assert_one_client();
    scene.agent.terminate();
    scene.agent.start_again();
    scene.await_active();
    scene.assert_one_client();

    // Whoever opens a pipe for reading waits for somebody who writes: the next entry of the log cannot be read, nor made.
    let table = scene.agent.table(&format!("{TABLE_NAME}_0"));
    let pipe = table.join(format!("_delta_log/{:020}.json", tables::version(&table) + 1));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let producer = RecordingProducer::new();
    for number in 0..MORE_THAN_IS_TAKEN / LARGE {
        let mut record = order(i64::try_from(number).unwrap());
        record.value.as_mut().unwrap().resize(LARGE, b' ');
        producer.send(&scene.topics[0], &record);
        if number % 64 == 63 {
            drop(producer.flush());
        }
    }
    drop(producer.flush());
    for number in [1, STREAMS - 1] {
        scene.produce_orders(number);
    }
    kafka().delete_topic(&scene.topics[0]);
}

#[test]
fn a_stream_that_needs_one_client_more_than_may_be_open_waits_for_one_and_names_the_setting() {
    let mut scene = Scene::of(Agent::start_with(&["--kafka-clients-max", "2"]));
    let topic = new_topic("many");
    let stream = |number| numbered_stream(number, &topic, &order_schema().to_string());
    for number in [0, 1] {
        scene.agent.api().create_stream(stream(number), &number.to_string()).unwrap();
        scene.topics.push(topic.clone());
    }
    scene.await_active();
    scene.agent.api().declare_stream(stream(2)).unwrap();
    let name = format!("{STREAM_NAME}_2");
    wait_until("the third stream says what it waits for", STREAM_SETTLES, || {
        let status = scene.agent.api().stream(&name).unwrap().status.unwrap_or_default();
        let said = |condition: &Condition| condition.message.contains("`kafka_clients_max`");
        if status.conditions.iter().any(said) {
            Ok(())
        } else {
            Err(format!("{:?}", status.conditions))
        }
    });
    assert_eq!(scene.agent.api().agent().unwrap().usage.unwrap().kafka_clients_max, 2);
    scene.produce_orders(1);
    scene.agent.api().delete_stream(&format!("{STREAM_NAME}_0")).unwrap();
    scene.agent.api().await_state(&name, &[StreamState::Active]);
}
