//! What it costs a stream that each message names its schema in a registry: messages of one writer's schema and of twenty in turn,
//! from Kafka to the table, beside the same messages without frames and a schema that the stream has itself; and beside Confluent's
//! own deserializer, which makes Python values of them and no table. The registry is the small one: each schema is asked for once.
//! Invariant: rows of all streams of a format have the same columns, and streams have turns, so that other work on the machine comes
//! upon all alike.

use std::process::Command;

use e2e::api::{registry_stream, stream_message_by};
use e2e::kafka::kafka;
use e2e::limits::BENCHMARK_PART;
use e2e::paths::{repository, test_parts};
use e2e::producer::{Outgoing, RecordingProducer};
use e2e::registry::{Schema, SmallRegistry};
use e2e::spawn::output;
use featurestore_proto::v1::{ProtoSchema, Stream, direct_schema};
use serde_json::Value;

use crate::report::{print_head, print_row};
use crate::scene::{PARTITIONS, agent_with_registry, setting};
use crate::throughput::{Content, Figure, RECORDS_PER_FLUSH, ingest_by};

const RECORDS_DEFAULT: u64 = 1_000_000;
const ROUNDS_DEFAULT: u64 = 5;
const WRITERS: [usize; 2] = [1, 20];
/// The peer's cost for a record is many times ours: fewer of them are enough.
const RECORDS_OF_PEER_MAX: u64 = 100_000;

/// A language of schemas, and orders in it.
struct Format {
    name: &'static str,
    /// The schema of a writer; that of number 0 is the table's, too. Each of the others has a field that no other one knows.
    schema: fn(usize) -> String,
    registered: fn(&str) -> Schema,
    direct: fn(String) -> direct_schema::Schema,
    /// An order by a writer's schema.
    message: fn(usize, u64) -> Vec<u8>,
    /// Between the schema's id and the message.
    indexes: &'static [u8],
}

const FORMATS: [Format; 2] = [
    Format {
        name: "Avro",
        schema: avro_schema,
        registered: Schema::avro,
        direct: direct_schema::Schema::AvroSchema,
        message: avro_message,
        indexes: &[],
    },
    Format {
        name: "Protobuf",
        schema: protobuf_schema,
        registered: Schema::protobuf,
        direct: |schema_text| {
            let message_name = "bench.Order".to_owned();
            direct_schema::Schema::ProtoSchema(ProtoSchema { schema_text, message_name })
        },
        message: protobuf_message,
        indexes: &[0],
    },
];

/// A stream that is measured again and again.
struct Contender {
    what: String,
    stream: Stream,
    content: Content,
    turns: Vec<Figure>,
}

/// Fills topics, has all streams take their turns, and prints a row for each.
pub(crate) fn measure() {
    let (records, rounds) = (setting("BENCH_RECORDS", RECORDS_DEFAULT), setting("BENCH_ROUNDS", ROUNDS_DEFAULT));
    let registry = SmallRegistry::start();
    for format in &FORMATS {
        let mut contenders = vec![direct(format, records)];
        contenders.extend(WRITERS.map(|writers| registered(format, &registry, writers, records)));
        for _ in 0..rounds {
            for contender in &mut contenders {
                let agent = agent_with_registry(registry.url());
                let turn = ingest_by(&agent, contender.stream.clone(), contender.content);
                contender.turns.push(turn);
            }
        }
        let peers: Vec<(String, f64)> = match format.name {
            "Avro" => WRITERS
                .map(|writers| peer(&registry, &topic(format, &writers.to_string()), writers, records))
                .into(),
            _ => Vec::new(),
        };
        print(format, &contenders, &peers);
    }
}

fn topic(format: &Format, what: &str) -> String {
    format!("bench-{}-{what}", format.name.to_lowercase())
}

/// A stream that has the schema itself.
fn direct(format: &Format, records: u64) -> Contender {
    let topic = topic(format, "direct");
    let content = fill(&topic, records, |number| (format.message)(0, number));
    Contender {
        what: "a schema of the stream's own".to_owned(),
        stream: stream_message_by(&topic, (format.direct)((format.schema)(0))),
        content,
        turns: Vec::new(),
    }
}

/// A stream that has its schema from the registry, and reads messages of so many writers in turn.
fn registered(format: &Format, registry: &SmallRegistry, writers: usize, records: u64) -> Contender {
    let topic = topic(format, &writers.to_string());
    let subject = format!("{topic}-value");
    // The first one last: the latest version of the subject is the table's schema.
    let mut ids: Vec<u32> = (0..writers)
        .rev()
        .map(|writer| registry.register(&subject, &(format.registered)(&(format.schema)(writer))))
        .collect();
    ids.reverse();
    let content = fill(&topic, records, |number| {
        let writer = usize::try_from(number).unwrap() % writers;
        let body = (format.message)(writer, number);
        [&[0], ids[writer].to_be_bytes().as_slice(), format.indexes, &body].concat()
    });
    Contender {
        what: match writers {
            1 => "a registry, one writer's schema".to_owned(),
            _ => format!("a registry, {writers} writers' schemas in turn"),
        },
        stream: registry_stream(&topic, &subject, &format!("FORMAT_{}", format.name.to_uppercase())),
        content,
        turns: Vec::new(),
    }
}

fn fill(topic: &str, records: u64, message: impl Fn(u64) -> Vec<u8>) -> Content {
    kafka().create_topic(topic, PARTITIONS);
    let producer = RecordingProducer::new();
    let mut bytes = 0;
    for number in 0..records {
        let value = message(number);
        bytes += value.len() as u64;
        let partition = Some(i32::try_from(number / 50).unwrap() % PARTITIONS);
        producer.send(
            topic,
            &Outgoing {
                partition,
                value: Some(value),
                ..Outgoing::default()
            },
        );
        if number % RECORDS_PER_FLUSH == 0 {
            drop(producer.flush());
        }
    }
    drop(producer.flush());
    Content { records, bytes }
}

/// CPU-seconds per million records of Confluent's consumer and deserializer for Python.
fn peer(registry: &SmallRegistry, topic: &str, writers: usize, records: u64) -> (String, f64) {
    let records = records.min(RECORDS_OF_PEER_MAX);
    let mut command = Command::new(&test_parts().python);
    command.arg(repository().join("tests/python/confluent_consume.py"));
    command.args([kafka().bootstrap(), registry.url(), topic, &records.to_string()]);
    let output = output(command, "Confluent's deserializer", BENCHMARK_PART);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["records"].as_u64(), Some(records));
    let writers = if writers == 1 {
        "one writer's schema".to_owned()
    } else {
        format!("{writers} writers' schemas in turn")
    };
    let what = format!("Confluent's deserializer for Python, {writers}, no table");
    (what, answer["cpu_seconds"].as_f64().unwrap() * 1e6 / records as f64)
}

fn print(format: &Format, contenders: &[Contender], peers: &[(String, f64)]) {
    print_head(
        &format!("{} from a schema registry", format.name),
        &[
            "what",
            "CPU-seconds per million records, best turn",
            "to its own schema",
            "peak memory",
        ],
    );
    let first = &contenders[0].turns;
    for contender in contenders {
        let per_million = 1e6 / contender.content.records as f64;
        let best = contender
            .turns
            .iter()
            .map(|turn| turn.cpu_seconds * per_million)
            .fold(f64::INFINITY, f64::min);
        // The median of what each round says: both turns of a round met the same other work.
        let mut ratios: Vec<f64> = contender
            .turns
            .iter()
            .zip(first)
            .map(|(turn, first)| turn.cpu_seconds / first.cpu_seconds)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let peak = contender.turns.iter().filter_map(|turn| turn.peak_mib).max().unwrap_or_default();
        print_row(&[
            contender.what.clone(),
            format!("{best:.2}"),
            format!("{:.2}", ratios[ratios.len() / 2]),
            format!("{peak} MiB"),
        ]);
    }
    for (what, cpu_seconds) in peers {
        print_row(&[what.clone(), format!("{cpu_seconds:.2}"), "–".to_owned(), "–".to_owned()]);
    }
    let content = contenders[0].content;
    println!(
        "\n{} records of {} bytes on average without their frames, {} rounds",
        content.records,
        content.bytes / content.records,
        first.len()
    );
}

fn avro_schema(writer: usize) -> String {
    let more = match writer {
        0 => String::new(),
        number => format!(r#",{{"name":"more_{number}","type":["null","string"],"default":null}}"#),
    };
    format!(
        r#"{{"type":"record","name":"Order","namespace":"bench","fields":[{{"name":"id","type":"long"}},{{"name":"amount","type":"double"}},
        {{"name":"name","type":"string"}},{{"name":"note","type":["null","string"]}}{more}]}}"#
    )
}

fn avro_message(writer: usize, number: u64) -> Vec<u8> {
    let mut message = varint(2 * number);
    message.extend(amount(number).to_le_bytes());
    for (branch, text) in [(&[][..], name(number)), (&[2], note(number))] {
        message.extend(branch);
        message.extend(varint(2 * text.len() as u64));
        message.extend(text.bytes());
    }
    // What only this writer has is null.
    message.extend((writer > 0).then_some(0));
    message
}

fn protobuf_schema(writer: usize) -> String {
    let more = match writer {
        0 => String::new(),
        number => format!("string more_{number} = {};", 100 + number),
    };
    format!(
        "syntax = \"proto3\"; package bench; message Order {{ int64 id = 1; double amount = 2; string name = 3; string note = 4; {more} }}"
    )
}

fn protobuf_message(_writer: usize, number: u64) -> Vec<u8> {
    let mut message = [&[0x08], varint(number).as_slice(), &[0x11]].concat();
    message.extend(amount(number).to_le_bytes());
    for (tag, text) in [(0x1a, name(number)), (0x22, note(number))] {
        message.push(tag);
        message.extend(varint(text.len() as u64));
        message.extend(text.bytes());
    }
    message
}

fn amount(number: u64) -> f64 {
    (number * 7_919 % 1_000_000) as f64 / 100.0
}

fn name(number: u64) -> String {
    format!("customer {:06}, Zürich", number * 31 % 999_983)
}

fn note(number: u64) -> String {
    ["paid by card", "paid in cash", "on account"][usize::try_from(number % 3).unwrap()].to_owned()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
