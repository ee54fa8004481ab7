//! `make bench`: what a million records cost from Kafka to a Delta table, beside consuming alone and writing alone; and how
//! long the provider takes to its handshake. Prints a table in Markdown. Invariant: CPU-seconds of the process that does the
//! work are counted, not wall time: broker, producer and reader share the same cores.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a measurement stops at the first surprise, and its figures are far below 2^52"
)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio, id};
use std::time::{Duration, Instant};

use e2e::agent::Agent;
use e2e::config::{CONNECTION_NAME, STREAM_NAME, TABLE_NAME};
use e2e::kafka::{client_config, kafka};
use e2e::paths::{binary, repository, test_parts};
use e2e::producer::RecordingProducer;
use e2e::spawn::{cpu_seconds, peak_memory_mib, spawn};
use e2e::transactions::{SCHEMA, Transactions};
use e2e::wait::wait_until;
use featurestore_proto::v1::{
    ConnectionConfig, DeltaTable, DirectSchema, DirectSchemas, IngestionConfig, KafkaStreamConfig, SchemaConfig, SourceConfig, Stream,
    SubscriptionMode, connection_config, direct_schema, schema_config, source_config, subscription_mode,
};
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P521_SHA512};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::{Offset, TopicPartitionList};

const RECORDS_DEFAULT: u64 = 1_000_000;
const PARTITIONS: i32 = 4;
const TOPIC: &str = "bench-transactions";
/// A million records take less than a minute; this is for a machine ten times slower.
const DEADLINE: Duration = Duration::from_secs(900);
const HANDSHAKES: usize = 21;

/// One row of the answer.
struct Figure {
    what: &'static str,
    cpu_seconds: f64,
    wall: Duration,
    peak_mib: Option<u64>,
}

fn main() {
    let records = std::env::var("BENCH_RECORDS").map_or(RECORDS_DEFAULT, |text| text.parse().expect("a number"));
    let handshake = handshake_median();
    let bytes = produce(records);
    let consumed = consume_alone(records);
    let (ingested, agent) = ingest(records);
    let written = write_alone(&agent);
    println!(
        "\n{records} records of {:.0} bytes on average, {PARTITIONS} partitions\n",
        bytes as f64 / records as f64
    );
    println!("| what | CPU-seconds per million records | wall time | peak memory |\n| --- | --- | --- | --- |");
    for figure in [&consumed, &written, &ingested] {
        println!(
            "| {} | {:.2} | {:.1} s | {} |",
            figure.what,
            figure.cpu_seconds * 1e6 / records as f64,
            figure.wall.as_secs_f64(),
            figure.peak_mib.map_or_else(|| "–".to_owned(), |mib| format!("{mib} MiB"))
        );
    }
    println!(
        "\nprovider's handshake: {:.1} ms (median of {HANDSHAKES})",
        handshake.as_secs_f64() * 1000.0
    );
}

/// Fills the topic; returns the bytes of all values.
fn produce(records: u64) -> u64 {
    kafka().create_topic(TOPIC, PARTITIONS);
    let producer = RecordingProducer::new();
    let mut events = Transactions::new(7);
    let mut bytes = 0;
    for number in 0..records {
        let event = events.next_record();
        bytes += event.value.as_ref().unwrap().len() as u64;
        producer.send(TOPIC, &event);
        if number % 50_000 == 0 {
            // Takes the reports out; a million of them would be a gigabyte.
            drop(producer.flush());
        }
    }
    drop(producer.flush());
    bytes
}

/// librdkafka's own cost: every record handed over and looked at, one at a time.
fn consume_alone(records: u64) -> Figure {
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
    while count < records {
        assert!(start.elapsed() < DEADLINE, "consumed {count} of {records}");
        if let Some(message) = consumer.poll(Duration::from_millis(100)) {
            bytes += message.unwrap().payload().map_or(0, <[u8]>::len);
            count += 1;
        }
    }
    assert!(bytes > 0);
    Figure {
        what: "consuming alone (librdkafka)",
        cpu_seconds: cpu_seconds(id()) - cpu,
        wall: start.elapsed(),
        peak_mib: None,
    }
}

/// The whole way, by the agent.
fn ingest(records: u64) -> (Figure, Agent) {
    let agent = Agent::start();
    agent.api().create_kafka_connection(CONNECTION_NAME, kafka().bootstrap()).unwrap();
    let (start, cpu) = (Instant::now(), cpu_seconds(agent.pid()));
    agent.api().create_stream(stream(), "bench").unwrap();
    wait_until("everything is in the table", DEADLINE, || {
        let record = agent.api().stream(STREAM_NAME).map_err(|status| status.to_string())?;
        let rows = record.status.unwrap_or_default().table.unwrap_or_default().rows;
        if rows == i64::try_from(records).unwrap() {
            Ok(())
        } else {
            Err(format!("{rows} rows"))
        }
    });
    let figure = Figure {
        what: "Kafka → Delta (the agent)",
        cpu_seconds: cpu_seconds(agent.pid()) - cpu,
        wall: start.elapsed(),
        peak_mib: Some(peak_memory_mib(agent.pid())),
    };
    (figure, agent)
}

/// The same rows written to Parquet by software that is not ours.
fn write_alone(agent: &Agent) -> Figure {
    let output = Command::new(&test_parts().python)
        .arg(repository().join("tests/python/write_alone.py"))
        .arg(agent.table(TABLE_NAME))
        .arg(agent.warehouse().join("written-alone.parquet"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let figures: Vec<f64> = text.split_whitespace().map(|figure| figure.parse().unwrap()).collect();
    let wall = Duration::from_secs_f64(figures[1]);
    Figure {
        what: "writing alone (Polars, zstd 1)",
        cpu_seconds: figures[0],
        wall,
        peak_mib: None,
    }
}

fn stream() -> Stream {
    let schema = DirectSchema {
        schema: Some(direct_schema::Schema::JsonSchema(SCHEMA.to_owned())),
    };
    let schemas = DirectSchemas {
        key_schema: None,
        payload_schema: Some(schema),
    };
    let source = KafkaStreamConfig {
        subscription_mode: Some(SubscriptionMode {
            mode: Some(subscription_mode::Mode::Subscribe(TOPIC.to_owned())),
        }),
        extra_options: [("startingOffsets".to_owned(), "earliest".to_owned())].into(),
    };
    let connection = connection_config::Connection::UcConnectionName(CONNECTION_NAME.to_owned());
    Stream {
        name: STREAM_NAME.to_owned(),
        source_config: Some(SourceConfig {
            source: Some(source_config::Source::KafkaStreamConfig(source)),
        }),
        connection_config: Some(ConnectionConfig {
            connection: Some(connection),
        }),
        schema_config: Some(SchemaConfig {
            config: Some(schema_config::Config::DirectSchemas(schemas)),
        }),
        ingestion_config: Some(IngestionConfig {
            ingestion_destination: Some(DeltaTable {
                delta_table_name: TABLE_NAME.to_owned(),
            }),
            ..IngestionConfig::default()
        }),
        ..Stream::default()
    }
}

/// From the start of the process to its handshake line, as Terraform would see it.
fn handshake_median() -> Duration {
    let certificate = client_certificate();
    let mut times: Vec<Duration> = (0..HANDSHAKES).map(|_| handshake(&certificate)).collect();
    times.sort();
    times[HANDSHAKES / 2]
}

fn handshake(certificate: &str) -> Duration {
    let mut command = Command::new(binary("terraform-provider-featurestore"));
    command
        .env(
            "TF_PLUGIN_MAGIC_COOKIE",
            "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
        )
        .env("PLUGIN_PROTOCOL_VERSIONS", "5,6")
        .env("PLUGIN_CLIENT_CERT", certificate)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let start = Instant::now();
    let mut provider = spawn(command).unwrap();
    let mut line = String::new();
    BufReader::new(provider.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let elapsed = start.elapsed();
    assert!(line.starts_with("1|6|"), "{line}");
    provider.kill().unwrap();
    provider.wait().unwrap();
    elapsed
}

/// Self-signed on P-521, as Terraform's is.
fn client_certificate() -> String {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512).unwrap();
    CertificateParams::new(vec!["localhost".to_owned()])
        .unwrap()
        .self_signed(&key)
        .unwrap()
        .pem()
}
