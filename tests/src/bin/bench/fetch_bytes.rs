//! What `kafka.max.partition.fetch.bytes` does to a stream that catches up: the same topic by several values of it, beside the default.
//! Invariant: everything else is the same, and each has an agent of its own.

use e2e::api::{kafka_source, stream_message};
use e2e::kafka::kafka;
use e2e::transactions::SCHEMA;
use featurestore_proto::v1::Stream;

use crate::scene::{agent_with_connection, setting};
use crate::throughput::{RECORDS_DEFAULT, fill, ingest_by, print_figures};

const TOPIC: &str = "bench-fetch-bytes";
const OPTION: &str = "kafka.max.partition.fetch.bytes";
/// Bytes that a fetch asks for of each partition; the default is 1 MiB.
const VALUES: [Option<usize>; 5] = [None, Some(16 << 10), Some(128 << 10), Some(4 << 20), Some(32 << 20)];

/// Ingests by each value, and prints the figures.
pub(crate) fn measure() {
    let content = fill(TOPIC, setting("BENCH_RECORDS", RECORDS_DEFAULT));
    let figures = VALUES.map(|value| {
        let mut figure = ingest_by(&agent_with_connection(), stream(value), content);
        figure.what = value.map_or_else(|| "not set".to_owned(), |bytes| format!("{} KiB", bytes >> 10));
        figure
    });
    print_figures(&format!("By {OPTION}"), content, &figures.each_ref());
    kafka().delete_topic(TOPIC);
}

fn stream(bytes: Option<usize>) -> Stream {
    let mut stream = stream_message(TOPIC, SCHEMA);
    let option = bytes.map(|bytes| (OPTION.to_owned(), bytes.to_string()));
    kafka_source(&mut stream).extra_options.extend(option);
    stream
}
