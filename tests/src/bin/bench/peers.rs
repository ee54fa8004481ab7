//! `make bench-peers`: the agent and Spark Structured Streaming ingest the same topic, one after the other, in one run.
//! Invariant: Spark's figure after its first half is compared, when its compiler is warm, with the agent's whole run.

use std::process::Command;
use std::time::Duration;

use e2e::kafka::kafka;
use e2e::limits::BENCHMARK_PART;
use e2e::paths::{discard, fresh_folder, repository, test_parts};
use e2e::spawn::output;
use serde_json::Value;

use crate::scene::setting;
use crate::throughput::{Content, Figure, fill, ingest, print_figures};

const TOPIC: &str = "bench-peers";
/// Spark needs a million or two until its compiler is warm.
const RECORDS_DEFAULT: u64 = 4_000_000;

/// Runs both and prints their figures with the ratio.
pub(crate) fn measure() {
    let content = fill(TOPIC, setting("BENCH_RECORDS", RECORDS_DEFAULT));
    let (ours, agent) = ingest(TOPIC, content);
    drop(agent);
    let (whole, warm) = spark(content);
    print_figures("Beside a peer", content, &[&ours, &whole, &warm]);
    println!(
        "\nthe agent needs {:.2} of the CPU-seconds of Spark when it is warm, {:.2} of its whole run",
        ours.cpu_seconds / warm.cpu_seconds,
        ours.cpu_seconds / whole.cpu_seconds
    );
}

/// Spark's whole run, and its second half scaled to the whole content.
fn spark(content: Content) -> (Figure, Figure) {
    let folder = fresh_folder("spark");
    let python = &test_parts().spark;
    let home = python.ancestors().nth(2).expect("Spark's folder holds bin/python");
    let mut command = Command::new(python);
    command
        .arg(repository().join("tests/python/spark_ingest.py"))
        .arg(kafka().bootstrap())
        .arg(TOPIC)
        .arg(&folder)
        .arg(home.join("delta-jars"));
    let output = output(command, "Spark", BENCHMARK_PART);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    discard(&folder);
    let text = String::from_utf8(output.stdout).unwrap();
    let answer: Value = serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_else(|error| panic!("`{text}`: {error}"));
    let number = |name: &str| answer[name].as_f64().unwrap_or_else(|| panic!("no `{name}` in {answer}"));
    assert_eq!(answer["rows"].as_u64(), Some(content.records), "Spark has every record");
    let version = answer["spark"].as_str().unwrap();
    let scale = number("rows") / number("warm_rows");
    let peak_mib = answer["peak_mib"].as_u64();
    let whole = Figure {
        what: format!("Kafka → Delta (Spark {version}), from the query's start"),
        cpu_seconds: number("cpu_seconds"),
        wall: Duration::from_secs_f64(number("wall_seconds")),
        peak_mib,
    };
    let warm = Figure {
        what: format!("the same after the first {:.0} records", number("rows") - number("warm_rows")),
        cpu_seconds: number("warm_cpu_seconds") * scale,
        wall: Duration::from_secs_f64(number("warm_wall_seconds") * scale),
        peak_mib,
    };
    (whole, warm)
}
