//! `make soak-steady`: an hour of steady load, with the agent's memory looked at every ten seconds. Prints a row for every five
//! minutes as it goes. Invariant: at the end the table has every record that the broker has, each once.

use std::io::{Write, stdout};
use std::time::{Duration, Instant};

use e2e::kafka::kafka;
use e2e::spawn::{cpu_seconds, memory_mib, peak_memory_mib};

use crate::latency::wait;
use crate::load::{Load, Stamps};
use crate::report::{percentile, print_head, print_row};
use crate::scene::{PARTITIONS, agent_with_connection, await_rows, setting, start_stream, table_status};

const TOPIC: &str = "bench-steady";
const LOOK: Duration = Duration::from_secs(10);
const WINDOW: Duration = Duration::from_secs(300);
/// Few requests, so that the broker leaves the cores to the others for this hour.
const LINGER_MS: u64 = 50;
/// What the broker keeps of each partition: minutes, so that an hour needs room for the table and not for the topic too.
const RETENTION: [(&str, &str); 2] = [("retention.bytes", "536870912"), ("segment.bytes", "67108864")];

/// Runs the load and prints the figures.
pub(crate) fn measure() {
    let total = Duration::from_secs(setting("STEADY_SECONDS", 60 * setting("STEADY_MINUTES", 60)));
    let per_second = setting("BENCH_RATE", 10_000);
    kafka().create_topic_with(TOPIC, PARTITIONS, &RETENTION);
    let agent = agent_with_connection();
    start_stream(&agent, TOPIC);
    print_head(
        &format!("Steady load, {per_second} records a second"),
        &[
            "until minute",
            "memory: least, median, most",
            "records sent",
            "of them not in the table yet",
            "CPU-seconds per million records",
            "version",
            "live files",
            "table",
        ],
    );
    let load = Load::start(TOPIC, per_second, LINGER_MS, Stamps::Dropped);
    let start = Instant::now();
    while start.elapsed() < total {
        let window = WINDOW.min(total - start.elapsed());
        let (window_start, cpu, before) = (Instant::now(), cpu_seconds(agent.pid()), load.records());
        let mut memory = Vec::new();
        while window_start.elapsed() < window {
            wait(LOOK.min(window - window_start.elapsed()));
            memory.push(memory_mib(agent.pid()));
        }
        memory.sort_unstable();
        let sent = load.records();
        let table = table_status(&agent).unwrap();
        let cpu = cpu_seconds(agent.pid()) - cpu;
        print_row(&[
            format!("{:.0}", start.elapsed().as_secs_f64() / 60.0),
            format!(
                "{}, {}, {} MiB",
                percentile(&memory, 0.0),
                percentile(&memory, 0.5),
                percentile(&memory, 1.0)
            ),
            sent.to_string(),
            sent.saturating_sub(u64::try_from(table.rows).unwrap()).to_string(),
            format!("{:.2}", cpu * 1e6 / (sent - before) as f64),
            table.version.unwrap_or_default().to_string(),
            table.files.to_string(),
            format!("{} MB", table.bytes / 1_000_000),
        ]);
        stdout().flush().unwrap();
    }
    let sent = load.stop().records;
    await_rows(&agent, sent);
    println!(
        "\n{sent} records sent, each in the table; peak memory since the agent's start {} MiB",
        peak_memory_mib(agent.pid())
    );
}
