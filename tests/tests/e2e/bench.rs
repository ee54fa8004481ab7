//! That the benchmark runs and prints its figures, with few records: no figure is looked at.

use std::process::Command;

use e2e::paths::binary;

#[test]
fn the_benchmark_runs_and_prints_a_figure_for_each_thing_it_measures() {
    let output = Command::new(binary("bench"))
        .env("BENCH", "throughput,latency,handshake,steady")
        .env("BENCH_RECORDS", "3000")
        .env("BENCH_RATE", "500")
        .env("BENCH_SECONDS", "2")
        .env("BENCH_WARM_UP_SECONDS", "1")
        .env("STEADY_SECONDS", "3")
        .output()
        .unwrap();
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
    ] {
        assert!(text.contains(row), "no `{row}` in\n{text}");
    }
}
