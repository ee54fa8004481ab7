//! That the benchmark runs and prints its figures, with few records: no figure is looked at.

use std::process::Command;
use std::time::Duration;

use e2e::paths::binary;
use e2e::spawn::output;

/// It takes a minute; this is for a machine that runs every other test beside it.
const BENCH_ENDS: Duration = Duration::from_secs(600);

#[test]
fn the_benchmark_runs_and_prints_a_figure_for_each_thing_it_measures() {
    let mut command = Command::new(binary("bench"));
    command
        .env(
            "BENCH",
            "throughput,latency,handshake,steady,ages,many,partitions,registry,fetch-bytes,patterns",
        )
        .env("BENCH_RECORDS", "3000")
        .env("BENCH_RATE", "500")
        .env("BENCH_SECONDS", "2")
        .env("BENCH_WARM_UP_SECONDS", "1")
        .env("STEADY_SECONDS", "3")
        .env("BENCH_STREAMS", "3")
        .env("BENCH_ROUNDS", "1")
        .env("BENCH_TOPICS", "20")
        .env("BENCH_PARTITIONS", "8")
        .env("BENCH_COMMITS", "8")
        .env("BENCH_ENTRIES", "2000");
    let output = output(command, "the benchmark", BENCH_ENDS);
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}\n{errors}");
    for row in [
        "| consuming alone",
        "| writing the same",
        "| **Kafka → Delta (the agent)** |",
        "| p50 |",
        "| p99 |",
        "| memory, peak since the agent's start |",
        "| from the start of the process to the handshake line",
        "each in the table",
        "| 10 and 10 |",
        "| 2000 and 1000 |",
        "| 3, after a restart | 1 |",
        "| peak to bound |",
        "| a registry, 20 writers' schemas in turn |",
        "| Confluent's deserializer for Python, 20 writers' schemas in turn, no table |",
        "| 16 KiB |",
        "A list of all topics has ",
    ] {
        assert!(text.contains(row), "no `{row}` in\n{text}");
    }
}
