//! What a million records cost from Kafka to a Delta table, beside consuming alone and writing the same batches alone.
//! Invariant: CPU-seconds of the process that does the work are counted, not wall time: broker, producer and reader share the
//! same cores.

use std::process::{Command, id};
use std::time::{Duration, Instant};

use e2e::agent::Agent;
use e2e::api::stream_message;
use e2e::config::TABLE_NAME;
use e2e::kafka::{client_config, kafka};
use e2e::limits::BENCHMARK_PART;
use e2e::paths::{repository, test_parts};
use e2e::producer::RecordingProducer;
use e2e::spawn::{cpu_seconds, output, peak_memory_mib};
use e2e::transactions::{SCHEMA, Transactions};
use featurestore_proto::v1::Stream;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::{Offset, TopicPartitionList};

use crate::report::{print_head, print_row};
use crate::scene::{DEADLINE, PARTITIONS, agent_with_connection, await_rows, setting};

pub(crate) const RECORDS_DEFAULT: u64 = 1_000_000;
const TOPIC: &str = "bench-transactions";
/// Records between two looks at the acknowledgements: a million of them at once would be a gigabyte.
pub(crate) const RECORDS_PER_FLUSH: u64 = 50_000;

/// What a topic holds.
#[derive(Clone, Copy)]
pub(crate) struct Content {
    pub(crate) records: u64,
    /// Bytes of all values.
    pub(crate) bytes: u64,
}

/// One row of the answer.
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) cpu_seconds: f64,
    pub(crate) wall: Duration,
    pub(crate) peak_mib: Option<u64>,
}

/// Measures the three and prints them with the agent's share of the limit.
pub(crate) fn measure() {
    let content = fill(TOPIC, setting("BENCH_RECORDS", RECORDS_DEFAULT));
    let consumed = consume_alone(content);
    let (ingested, agent) = ingest(TOPIC, content);
    let written = write_alone(&agent);
    print_figures("Throughput", content, &[&consumed, &written, &ingested]);
    println!(
        "\nconsuming and writing alone are {:.2} of what the agent needs (its share of the limit)",
        (consumed.cpu_seconds + written.cpu_seconds) / ingested.cpu_seconds
    );
}

/// Prints figures for one content.
pub(crate) fn print_figures(title: &str, content: Content, figures: &[&Figure]) {
    let (records, bytes) = (content.records as f64, content.bytes as f64);
    print_head(
        title,
        &[
            "what",
            "CPU-seconds per million records",
            "MB per CPU-second",
            "wall time per million",
            "peak memory",
        ],
    );
    for figure in figures {
        print_row(&[
            figure.what.clone(),
            format!("{:.2}", figure.cpu_seconds * 1e6 / records),
            format!("{:.0}", bytes / 1e6 / figure.cpu_seconds),
            format!("{:.2} s", figure.wall.as_secs_f64() * 1e6 / records),
            figure.peak_mib.map_or_else(|| "–".to_owned(), |mib| format!("{mib} MiB")),
        ]);
    }
    println!(
        "\n{} records of {:.0} bytes on average, {PARTITIONS} partitions",
        content.records,
        bytes / records
    );
}

/// Makes a topic with these many records.
pub(crate) fn fill(topic: &str, records: u64) -> Content {
    kafka().create_topic(topic, PARTITIONS);
    let producer = RecordingProducer::new();
    let mut events = Transactions::new(7);
    let mut bytes = 0;
    for number in 1..=records {
        let event = events.next_record();
        bytes += event.value.as_ref().unwrap().len() as u64;
        producer.send(topic, &event);
        if number % RECORDS_PER_FLUSH == 0 {
            drop(producer.flush());
        }
    }
    drop(producer.flush());
    Content { records, bytes }
}

/// The whole way, by the agent.
pub(crate) fn ingest(topic: &str, content: Content) -> (Figure, Agent) {
    let agent = agent_with_connection();
    let figure = ingest_by(&agent, stream_message(topic, SCHEMA), content);
    (figure, agent)
}

/// The whole way of one stream.
pub(crate) fn ingest_by(agent: &Agent, stream: Stream, content: Content) -> Figure {
    let (start, cpu) = (Instant::now(), cpu_seconds(agent.pid()));
    agent.api().create_stream(stream, "bench").unwrap();
    await_rows(agent, content.records);
    Figure {
        what: "**Kafka → Delta (the agent)**".to_owned(),
        cpu_seconds: cpu_seconds(agent.pid()) - cpu,
        wall: start.elapsed(),
        peak_mib: Some(peak_memory_mib(agent.pid())),
    }
}

/// librdkafka's own cost: every record handed over and looked at, one at a time.
fn consume_alone(content: Content) -> Figure {
    let consumer: BaseConsumer = client_config(kafka().bootstrap())
        .set("group.id", "bench")
        .set("enable.auto.commit", "false")
        .set("isolation.level", "read_committed")
        .create()
        .unwrap();
    let mut assignment = TopicPartitionList::new();
    for partition in 0..PARTITIONS {
        assignment.add_partition_offset(TOPIC, partition, Offset::Beginning).unwrap();
    }
    let (start, cpu) = (Instant::now(), cpu_seconds(id()));
    consumer.assign(&assignment).unwrap();
    let (mut count, mut bytes) = (0, 0);
    while count < content.records {
        assert!(start.elapsed() < DEADLINE, "consumed {count} of {}", content.records);
        if let Some(message) = consumer.poll(Duration::from_millis(100)) {
            bytes += message.unwrap().payload().map_or(0, <[u8]>::len) as u64;
            count += 1;
        }
    }
    assert_eq!(bytes, content.bytes);
    Figure {
        what: "consuming alone (librdkafka, one message at a time)".to_owned(),
        cpu_seconds: cpu_seconds(id()) - cpu,
        wall: start.elapsed(),
        peak_mib: None,
    }
}

/// The same rows in the same batches, written to Parquet by software that is not ours.
fn write_alone(agent: &Agent) -> Figure {
    let mut command = Command::new(&test_parts().python);
    command
        .arg(repository().join("tests/python/write_alone.py"))
        .arg(agent.table(TABLE_NAME))
        .arg(agent.warehouse().join("written-alone"));
    let output = output(command, "Polars", BENCHMARK_PART);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let figures: Vec<f64> = text.split_whitespace().map(|figure| figure.parse().unwrap()).collect();
    Figure {
        what: format!("writing the same {:.0} batches alone (Polars, zstd 1)", figures[2]),
        cpu_seconds: figures[0],
        wall: Duration::from_secs_f64(figures[1]),
        peak_mib: None,
    }
}
