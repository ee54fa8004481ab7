//! What a topic of many partitions costs in memory while its table can take nothing: twice the bound is sent, so that every queue
//! is full. Invariant: at the end, in the agent's next life, the table has every record.

use std::fs;
use std::process::Command;
use std::time::Duration;

use e2e::config::{STREAM_NAME, TABLE_NAME};
use e2e::kafka::kafka;
use e2e::producer::{Outgoing, RecordingProducer};
use e2e::spawn::{memory_mib, peak_memory_mib, threads};
use e2e::tables;
use e2e::transactions::Transactions;
use featurestore_proto::v1::StreamState;
use stream_pipeline::limits::{AGENT_MEMORY, stream_memory_max};

use crate::latency::wait;
use crate::report::{print_head, print_row};
use crate::scene::{agent_with_connection, await_rows, setting, start_stream};

const TOPIC: &str = "bench-partitions";
const PARTITIONS_DEFAULT: u64 = 1_000;
/// Every record is padded to this size with blanks: they are read and held as everything else, and the rows stay few.
const MESSAGE_BYTES: usize = 16 << 10;
/// Records between two looks at the acknowledgements.
const RECORDS_PER_FLUSH: usize = 4_096;
/// What was sent last is fetched, or held back, by then.
const SETTLES_SECONDS_DEFAULT: u64 = 15;

/// Fills the queues and prints the figures.
pub(crate) fn measure() {
    let partitions = i32::try_from(setting("BENCH_PARTITIONS", PARTITIONS_DEFAULT)).unwrap();
    let bound = AGENT_MEMORY + stream_memory_max(usize::try_from(partitions).unwrap(), MESSAGE_BYTES);
    kafka().create_topic(TOPIC, partitions);
    let mut agent = agent_with_connection();
    start_stream(&agent, TOPIC);
    agent.api().await_state(STREAM_NAME, &[StreamState::Active]);
    let before = memory_mib(agent.pid());
    // Whoever opens a pipe for reading waits for somebody who writes: the next entry of the log cannot be read, nor made.
    let table = agent.table(TABLE_NAME);
    let pipe = table.join(format!("_delta_log/{:020}.json", tables::version(&table) + 1));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let records = usize::try_from(setting("BENCH_RECORDS", u64::try_from(2 * bound / MESSAGE_BYTES).unwrap())).unwrap();
    send(partitions, records);
    wait(Duration::from_secs(setting("BENCH_WARM_UP_SECONDS", SETTLES_SECONDS_DEFAULT)));
    let (peak, held, threads) = (peak_memory_mib(agent.pid()), memory_mib(agent.pid()), threads(agent.pid()).len());
    agent.kill();
    fs::remove_file(&pipe).unwrap();
    agent.start_again();
    await_rows(&agent, u64::try_from(records).unwrap());

    let bound = bound >> 20;
    print_head(
        &format!("{partitions} partitions, and a table that takes nothing"),
        &["what", "figure"],
    );
    let row = |what: &str, figure: String| print_row(&[what.to_owned(), figure]);
    row("sent", format!("{} MiB", (records * MESSAGE_BYTES) >> 20));
    row("memory before", format!("{before} MiB"));
    row("memory, peak, and its bound", format!("{peak} of {bound} MiB"));
    row("peak to bound", format!("{:.2}", peak as f64 / bound as f64));
    row("memory with all queues full", format!("{held} MiB"));
    row("threads", threads.to_string());
    row(
        "memory of the next life, which took everything, peak",
        format!("{} MiB", peak_memory_mib(agent.pid())),
    );
    kafka().delete_topic(TOPIC);
}

fn send(partitions: i32, records: usize) {
    let (producer, mut events) = (RecordingProducer::new(), Transactions::new(7));
    let partition_of = (0..partitions).cycle();
    for (number, partition) in (1..=records).zip(partition_of) {
        let mut record = Outgoing {
            partition: Some(partition),
            ..events.next_record()
        };
        record.value.as_mut().unwrap().resize(MESSAGE_BYTES, b' ');
        producer.send(TOPIC, &record);
        if number.is_multiple_of(RECORDS_PER_FLUSH) {
            drop(producer.flush());
        }
    }
    drop(producer.flush());
}
