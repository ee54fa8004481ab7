//! What many idle streams on one cluster cost: 1, 20 and 200 of them in one agent, and all of them after it was started again.
//! Invariant: nothing is sent, so that all that is counted is what waiting costs.

use std::collections::BTreeMap;
use std::time::Duration;

use e2e::agent::Agent;
use e2e::api::numbered_stream;
use e2e::config::{CONNECTION_NAME, STREAM_NAME};
use e2e::kafka::Kafka;
use e2e::spawn::{connections, cpu_seconds, memory_mib, threads};
use e2e::transactions::SCHEMA;
use featurestore_proto::v1::StreamState;

use crate::latency::wait;
use crate::report::{print_head, print_row};
use crate::scene::setting;

pub(crate) const STREAMS_DEFAULT: u64 = 200;
/// Numbers of streams that are measured on the way.
const ON_THE_WAY: [usize; 2] = [1, 20];
/// Threads that were needed for the start only end after ten seconds without work.
const SETTLES_SECONDS_DEFAULT: u64 = 15;
/// How the agent's clients call themselves.
const CLIENT_ID: &str = "featurestore-agent";
/// The name of the thread that each client has one of.
const CLIENT_THREAD: &str = "kafka-events";

/// What is looked at, of so many streams.
pub(crate) struct Figures {
    what: String,
    clients: usize,
    connections: usize,
    threads: usize,
    memory_mib: u64,
    cpu_seconds: f64,
    requests: BTreeMap<String, f64>,
}

/// Makes the streams and prints a row for each number of them.
pub(crate) fn measure() {
    let total = usize::try_from(setting("BENCH_STREAMS", STREAMS_DEFAULT)).unwrap();
    let broker = Kafka::start_telling_requests();
    let mut agent = Agent::start();
    agent.api().create_kafka_connection(CONNECTION_NAME, broker.bootstrap()).unwrap();
    let mut rows = Vec::new();
    let mut made = 0;
    for count in ON_THE_WAY.into_iter().filter(|count| *count < total).chain([total]) {
        for number in made..count {
            let topic = format!("bench-many-{number}");
            broker.create_topic(&topic, 1);
            agent.api().create_stream(numbered_stream(number, &topic, SCHEMA), &topic).unwrap();
        }
        made = count;
        rows.push(look(&broker, &agent, count, count.to_string()));
    }
    agent.terminate();
    agent.start_again();
    rows.push(look(&broker, &agent, total, format!("{total}, after a restart")));
    print("Idle streams on one cluster, a topic of one partition each", &rows);
}

pub(crate) fn look(broker: &Kafka, agent: &Agent, count: usize, what: String) -> Figures {
    for number in 0..count {
        agent.api().await_state(&format!("{STREAM_NAME}_{number}"), &[StreamState::Active]);
    }
    wait(Duration::from_secs(setting("BENCH_WARM_UP_SECONDS", SETTLES_SECONDS_DEFAULT)));
    let seconds = setting("BENCH_SECONDS", 60);
    let per_minute = 60.0 / seconds as f64;
    let (cpu, before) = (cpu_seconds(agent.pid()), broker.requests(CLIENT_ID));
    wait(Duration::from_secs(seconds));
    let (cpu, after) = (cpu_seconds(agent.pid()) - cpu, broker.requests(CLIENT_ID));
    let threads = threads(agent.pid());
    let new = |(name, count): (String, u64)| {
        let count = count - before.get(&name).copied().unwrap_or_default();
        (count > 0).then_some((name, count as f64 * per_minute))
    };
    Figures {
        what,
        clients: threads.iter().filter(|name| *name == CLIENT_THREAD).count(),
        connections: connections(agent.pid(), broker.port()),
        threads: threads.len(),
        memory_mib: memory_mib(agent.pid()),
        cpu_seconds: cpu * per_minute,
        requests: after.into_iter().filter_map(new).collect(),
    }
}

pub(crate) fn print(title: &str, rows: &[Figures]) {
    print_head(
        title,
        &[
            "streams",
            "Kafka clients",
            "connections",
            "threads",
            "memory",
            "memory to one stream's",
            "CPU-seconds a minute",
            "CPU to one stream's",
            "requests a minute",
        ],
    );
    let first = &rows[0];
    for row in rows {
        let requests: Vec<String> = row.requests.iter().map(|(name, count)| format!("{name} {count:.0}")).collect();
        print_row(&[
            row.what.clone(),
            row.clients.to_string(),
            row.connections.to_string(),
            row.threads.to_string(),
            format!("{} MiB", row.memory_mib),
            format!("{:.2}", row.memory_mib as f64 / first.memory_mib as f64),
            format!("{:.2}", row.cpu_seconds),
            format!("{:.1}", row.cpu_seconds / first.cpu_seconds),
            requests.join(", "),
        ]);
    }
}
