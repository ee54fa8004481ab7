//! `make bench`: what the product costs and how fast it is, beside peers, in one run on one machine. Prints Markdown tables.
//! `BENCH` names the measurements (`BENCH=latency,ages`), without it all but the long ones run. Invariant: nothing is asserted
//! about a figure; a run fails only when a measurement could not be made.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a measurement stops at the first surprise, and its figures are far below 2^52"
)]

mod ages;
mod commits;
mod fetch_bytes;
mod handshake;
mod latency;
mod load;
mod many;
mod partitions;
mod patterns;
mod peers;
mod registry;
mod report;
mod scene;
mod steady;
mod throughput;

/// A measurement by its name.
type Measurement = (&'static str, fn());

const MEASUREMENTS: &[Measurement] = &[
    ("throughput", throughput::measure),
    ("latency", latency::measure),
    ("ages", ages::measure),
    ("handshake", handshake::measure),
    ("many", many::measure),
    ("partitions", partitions::measure),
    ("patterns", patterns::measure),
    ("registry", registry::measure),
    ("fetch-bytes", fetch_bytes::measure),
    ("peers", peers::measure),
    ("steady", steady::measure),
];
/// What `make bench` runs.
const USUAL: &str = "throughput,latency,ages,handshake";

fn main() {
    let mut arguments = std::env::args().skip(1);
    if let (Some("commits"), Some(warehouse)) = (arguments.next().as_deref(), arguments.next()) {
        return commits::serve(&warehouse);
    }
    let chosen = std::env::var("BENCH").unwrap_or_else(|_| USUAL.to_owned());
    let chosen: Vec<&Measurement> = chosen.split(',').map(measurement).collect();
    report::print_circumstances();
    for (_, measure) in chosen {
        measure();
    }
}

fn measurement(name: &str) -> &'static Measurement {
    let known = || MEASUREMENTS.iter().map(|(name, _)| *name).collect::<Vec<&str>>().join(", ");
    MEASUREMENTS
        .iter()
        .find(|(known, _)| *known == name)
        .unwrap_or_else(|| panic!("no measurement `{name}`; there are {}", known()))
}
