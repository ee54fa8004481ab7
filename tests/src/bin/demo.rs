//! `make demo`: the product's main job in front of your eyes, on this machine, in a folder of its own. A broker, an agent
//! and a real Terraform run `examples/quickstart`. Invariant: it leaves nothing running, and ends with success or says why.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a demonstration stops at the first surprise"
)]

use std::fs;
use std::time::Duration;

use e2e::agent::Agent;
use e2e::kafka::kafka;
use e2e::paths::repository;
use e2e::plan::Run;
use e2e::producer::{Outgoing, RecordingProducer};
use e2e::tables;
use e2e::terraform::Workspace;
use e2e::transactions::Transactions;
use e2e::wait::wait_until;

const TOPIC: &str = "card-transactions";
const TABLE: &str = "main.payments.card_transactions_raw";
const STREAM: &str = "main.payments.card_transactions";
const SCHEMA_FILE: &str = "transaction.schema.json";
/// A row is visible about a second after it was sent; this is for a machine under heavy load.
const ROWS_VISIBLE: Duration = Duration::from_secs(60);

fn main() {
    say("starting a Kafka broker and an agent on free loopback ports");
    kafka().create_topic(TOPIC, 4);
    let agent = Agent::start();
    let mut workspace = Workspace::new(agent.endpoint());
    workspace.copy_from(&repository().join("examples/quickstart"));
    workspace.set_environment("TF_VAR_bootstrap_servers", kafka().bootstrap());
    println!(
        "  broker {}, agent {}, warehouse {}",
        kafka().bootstrap(),
        agent.endpoint(),
        agent.warehouse().display()
    );

    say("terraform plan: what would be made");
    expect(&terraform(&workspace, &["plan", "-no-color"]), 0);
    say("terraform apply: the stream and its table are there when it returns");
    expect(&terraform(&workspace, &["apply", "-no-color", "-auto-approve"]), 0);

    say("sending 1,000 card transactions to the topic");
    let producer = RecordingProducer::new();
    producer.send_all(TOPIC, &Transactions::new(7).take(1_000).collect::<Vec<Outgoing>>());
    show_rows(&agent, 1_000);

    say("terraform plan again: nothing to do");
    expect(&terraform(&workspace, &["plan", "-no-color", "-detailed-exitcode"]), 0);

    say("a new optional field in the schema: changed in place");
    let schema = read_schema(&workspace);
    edit_schema(
        &workspace,
        &schema.replace("\"memo\"", "\"channel\": { \"type\": \"string\" },\n    \"memo\""),
    );
    expect(&terraform(&workspace, &["apply", "-no-color", "-auto-approve"]), 0);
    producer.send_all(TOPIC, &Transactions::new(8).take(500).collect::<Vec<Outgoing>>());
    show_rows(&agent, 1_500);

    say("an incompatible schema (amount becomes a string): refused in the plan, path by path");
    let evolved = read_schema(&workspace);
    edit_schema(
        &workspace,
        &evolved.replace("\"amount\": { \"type\": \"number\" }", "\"amount\": { \"type\": \"string\" }"),
    );
    expect(&terraform(&workspace, &["plan", "-no-color"]), 1);
    edit_schema(&workspace, &evolved);

    say("another topic: the plan says that the stream would be replaced, and what that would cost");
    expect(
        &terraform(&workspace, &["plan", "-no-color", "-var", "topic=other-transactions"]),
        0,
    );

    say("someone deletes the stream behind Terraform's back: drift, which apply repairs");
    assert!(agent.api().delete_stream(STREAM).unwrap(), "the stream goes on being deleted");
    expect(&terraform(&workspace, &["plan", "-no-color", "-detailed-exitcode"]), 2);
    expect(&terraform(&workspace, &["apply", "-no-color", "-auto-approve"]), 0);

    say("terraform destroy: stream and table go (the table rests in the warehouse's trash for seven days)");
    expect(&terraform(&workspace, &["destroy", "-no-color", "-auto-approve"]), 0);
    assert!(!agent.table(TABLE).exists(), "the table is still there");

    println!("\nThat was all; broker and agent are stopped. By hand:");
    println!("  featurestore-agent serve --insecure-local");
    println!("  cd examples/quickstart && terraform apply -var bootstrap_servers=HOST:PORT");
}

fn say(what: &str) {
    println!("\n=== {what}");
}

/// Runs Terraform as a user does, and shows what it prints.
fn terraform(workspace: &Workspace, arguments: &[&str]) -> Run {
    println!("$ terraform {}", arguments.join(" "));
    let run = workspace.run(arguments);
    for line in run.output.lines() {
        println!("  {line}");
    }
    run
}

fn expect(run: &Run, code: i32) {
    assert_eq!(
        run.code,
        Some(code),
        "{} ended otherwise than the demonstration expects",
        run.command
    );
}

/// Waits until DuckDB sees that many rows, and shows where they came from.
fn show_rows(agent: &Agent, count: usize) {
    let table = agent.table(TABLE);
    let rows = wait_until("the rows are visible", ROWS_VISIBLE, || {
        match tables::rows("duckdb", &table, &["kafka_partition", "kafka_offset"]) {
            Ok(rows) if rows.len() == count => Ok(rows),
            Ok(rows) => Err(format!("{} rows", rows.len())),
            Err(error) => Err(error),
        }
    });
    println!("  DuckDB reads {count} rows of {}:", table.display());
    for partition in 0..4 {
        let offsets: Vec<i64> = rows
            .iter()
            .filter(|row| row["kafka_partition"] == partition)
            .filter_map(|row| row["kafka_offset"].as_i64())
            .collect();
        let (first, last) = (offsets.iter().min().unwrap(), offsets.iter().max().unwrap());
        println!("    partition {partition}: {} rows, offsets {first} to {last}", offsets.len());
    }
    let record = agent.api().stream(STREAM).unwrap();
    for partition in record.status.unwrap().partitions {
        let shown = |figure: Option<i64>| figure.map_or("not known".to_owned(), |figure| figure.to_string());
        println!(
            "    partition {}: position {}, end {}, lag {}",
            partition.partition,
            shown(partition.position),
            shown(partition.end),
            shown(partition.lag)
        );
    }
}

fn read_schema(workspace: &Workspace) -> String {
    fs::read_to_string(workspace.folder().join(SCHEMA_FILE)).unwrap()
}

fn edit_schema(workspace: &Workspace, text: &str) {
    fs::write(workspace.folder().join(SCHEMA_FILE), text).unwrap();
}
