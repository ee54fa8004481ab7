//! How long a record takes from its producer's hand until a reader of the table could see it, at a steady rate; and what the
//! agent holds and uses meanwhile. Invariant: a record is visible when a log entry that moves its partition's position past it
//! is there under its name: nothing of the product is asked, only its log is read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use e2e::config::TABLE_NAME;
use e2e::kafka::kafka;
use e2e::spawn::{cpu_seconds, memory_mib, peak_memory_mib};
use serde_json::Value;

use crate::load::{Load, Stamp, Stamps};
use crate::report::{milliseconds, percentile, print_head, print_row};
use crate::scene::{PARTITIONS, agent_with_connection, await_rows, setting, start_stream};

const TOPIC: &str = "bench-latency";
/// Between two looks at the log: the error of every latency.
const LOOK: Duration = Duration::from_millis(1);
/// The client's own default.
const LINGER_MS: u64 = 5;
/// Records of the first seconds are not counted: client and table are being opened.
const WARM_UP_SECONDS_DEFAULT: u64 = 10;

/// When an entry of the log was there.
struct Arrival {
    version: u64,
    at_us: u64,
}

/// Runs the load and prints the figures.
pub(crate) fn measure() {
    let seconds = setting("BENCH_SECONDS", 60);
    let warm_up = Duration::from_secs(setting("BENCH_WARM_UP_SECONDS", WARM_UP_SECONDS_DEFAULT));
    let per_second = setting("BENCH_RATE", 10_000);
    kafka().create_topic(TOPIC, PARTITIONS);
    let agent = agent_with_connection();
    start_stream(&agent, TOPIC);
    let table = agent.table(TABLE_NAME);
    let load = Load::start(TOPIC, per_second, LINGER_MS, Stamps::Kept);
    let watch = Watch::start(&table, load.started());
    let mut memory = Vec::new();
    wait(warm_up);
    let (cpu, records, start) = (cpu_seconds(agent.pid()), load.records(), Instant::now());
    for _ in 0..seconds {
        wait(Duration::from_secs(1));
        memory.push(memory_mib(agent.pid()));
    }
    let (cpu, records, wall) = (cpu_seconds(agent.pid()) - cpu, load.records() - records, start.elapsed());
    let sent = load.stop();
    await_rows(&agent, sent.records);
    let arrivals = watch.stop();
    let latencies = latencies(&table, &arrivals, sent.stamps, warm_up);

    memory.sort_unstable();
    print_head(
        &format!("From produced to visible, {per_second} records a second, flush 1 s"),
        &["what", "figure"],
    );
    let row = |what: &str, figure: String| print_row(&[what.to_owned(), figure]);
    row("p50", milliseconds(percentile(&latencies, 0.5)));
    row("p99", milliseconds(percentile(&latencies, 0.99)));
    row("longest", milliseconds(percentile(&latencies, 1.0)));
    row("records counted", latencies.len().to_string());
    row("records a second, as sent", format!("{:.0}", records as f64 / wall.as_secs_f64()));
    row("CPU-seconds per million records", format!("{:.2}", cpu * 1e6 / records as f64));
    row(
        "memory, median and largest of one look a second",
        format!("{} and {} MiB", percentile(&memory, 0.5), percentile(&memory, 1.0)),
    );
    row(
        "memory, peak since the agent's start",
        format!("{} MiB", peak_memory_mib(agent.pid())),
    );
}

/// Waits without a state to wait for: the time is what is measured.
pub(crate) fn wait(time: Duration) {
    let (_keep, never) = channel::<()>();
    let _ = never.recv_timeout(time);
}

/// A thread that notes the arrival of log entries.
struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Arrival>>,
}

impl Watch {
    fn start(table: &Path, epoch: Instant) -> Self {
        let (stop, stopped) = channel();
        let table = table.to_owned();
        let thread = thread::spawn(move || {
            let mut arrivals = Vec::new();
            // Version 0 is there before the load starts.
            let mut version = 1;
            while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                while entry(&table, version).exists() {
                    let at_us = u64::try_from(epoch.elapsed().as_micros()).unwrap();
                    arrivals.push(Arrival { version, at_us });
                    version += 1;
                }
            }
            arrivals
        });
        Self { stop, thread }
    }

    fn stop(self) -> Vec<Arrival> {
        self.stop.send(()).unwrap();
        self.thread.join().unwrap()
    }
}

fn entry(table: &Path, version: u64) -> PathBuf {
    table.join(format!("_delta_log/{version:020}.json"))
}

/// Microseconds from sent to visible of every record after the warm-up, sorted. Every record must have become visible.
fn latencies(table: &Path, arrivals: &[Arrival], stamps: Vec<Stamp>, warm_up: Duration) -> Vec<u64> {
    let counted_from = u64::try_from(warm_up.as_micros()).unwrap();
    let mut partitions: BTreeMap<i32, Vec<Stamp>> = BTreeMap::new();
    for stamp in stamps {
        partitions.entry(stamp.partition).or_default().push(stamp);
    }
    for stamps in partitions.values_mut() {
        stamps.sort_unstable_by_key(|stamp| std::cmp::Reverse(stamp.offset));
    }
    let mut latencies = Vec::new();
    for arrival in arrivals {
        for (partition, position) in positions(&entry(table, arrival.version)) {
            let waiting = partitions.entry(partition).or_default();
            while let Some(stamp) = waiting.pop_if(|stamp| stamp.offset < position) {
                if stamp.sent_us >= counted_from {
                    latencies.push(arrival.at_us - stamp.sent_us);
                }
            }
        }
    }
    let left: usize = partitions.values().map(Vec::len).sum();
    assert_eq!(left, 0, "{left} records never became visible");
    latencies.sort_unstable();
    latencies
}

/// The positions that an entry records, by partition: transactions with the app id `fs/<stream>/<topic>/<partition>/<epoch>`.
fn positions(entry: &Path) -> Vec<(i32, i64)> {
    let text = fs::read_to_string(entry).unwrap();
    let actions = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let txns = actions.filter_map(|action| action.get("txn").cloned());
    txns.map(|txn| {
        let app_id = txn["appId"].as_str().unwrap();
        let partition = app_id.split('/').nth(3).unwrap_or_else(|| panic!("app id `{app_id}`"));
        (partition.parse().unwrap(), txn["version"].as_i64().unwrap())
    })
    .collect()
}
