//! The demonstration, step by step. Each step says what happens, does it, and fails when it turns out otherwise.

use std::path::{Path, PathBuf};
use std::time::Instant;

use e2e::producer::{Outgoing, RecordingProducer};
use e2e::transactions::Transactions;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::by_hand;
use crate::folder::{Folder, SCHEMA_FILE};
use crate::rows::{self, Watch};
use crate::terraform::{CHANGES, Terraform};

const STREAM: &str = "main.payments.card_transactions";
const STEPS: usize = 12;

/// Runs the whole demonstration.
pub(crate) fn run(terraform: PathBuf, folder: &Path) {
    let start = Instant::now();
    let folder = Folder::make(folder);
    step(1, "starting the agent, with a Kafka broker inside that keeps its records in memory");
    let agent = Agent::start(&folder);
    let terraform = Terraform::new(terraform, &folder, &agent.endpoint, &agent.bootstrap);
    let watch = Watch::new(&agent.endpoint, STREAM, &folder);
    let producer = RecordingProducer::to(&agent.bootstrap, &[]);

    create(&terraform);
    ingest(&producer, &watch);
    nothing_to_do(&terraform);
    evolve(&folder, &terraform, &producer, &watch);
    refusals(&folder, &terraform, &watch);
    drift(&terraform, &producer, &watch);

    step(
        11,
        "terraform destroy: stream and table go; the table rests in the warehouse's trash for seven days",
    );
    terraform.run(&["destroy", "-auto-approve"], 0, &["Destroy complete! Resources: 2 destroyed."]);
    let table = watch.table_folder();
    assert!(!table.exists(), "{} is still there", table.display());

    step(12, "stopping agent and broker");
    drop(producer);
    agent.stop();
    println!(
        "\n=== That was all, in {} s. Nothing is running any more.",
        start.elapsed().as_secs()
    );
    by_hand::print_commands(&folder, terraform.program());
}

fn create(terraform: &Terraform) {
    step(2, "terraform init: takes the provider of this build from a mirror in a folder");
    terraform.run(&["init"], 0, &["has been successfully initialized"]);
    step(3, "terraform plan: what would be made");
    terraform.run(&["plan", "-out=tfplan"], 0, &["Plan: 2 to add, 0 to change, 0 to destroy."]);
    step(4, "terraform apply: stream and table are there when it returns");
    terraform.run(&["apply", "tfplan"], 0, &["Apply complete! Resources: 2 added"]);
}

fn ingest(producer: &RecordingProducer, watch: &Watch) {
    step(
        5,
        "sending 1,000 card transactions little by little; rows arrive in the table every second",
    );
    watch.send_and_show(producer, Transactions::new(7).take(1_000).collect());
    watch.show_table();
}

fn nothing_to_do(terraform: &Terraform) {
    step(6, "terraform plan again: there is nothing to do, whatever was ingested meanwhile");
    terraform.run(&["plan", "-detailed-exitcode"], 0, &["No changes."]);
}

fn evolve(folder: &Folder, terraform: &Terraform, producer: &RecordingProducer, watch: &Watch) {
    step(
        7,
        "an optional field is added to the schema: the stream changes in place and goes on where it was",
    );
    println!("  {}: \"channel\": {{ \"type\": \"string\" }} is added", SCHEMA_FILE);
    folder.edit_schema("\"memo\"", "\"channel\": { \"type\": \"string\" },\n    \"memo\"");
    terraform.run(&["plan", "-out=tfplan"], 0, &["Plan: 0 to add, 1 to change, 0 to destroy."]);
    terraform.run(
        &["apply", "tfplan"],
        0,
        &["Apply complete! Resources: 0 added, 1 changed, 0 destroyed."],
    );
    println!("  Sending 400 transactions that have the field:");
    let records = Transactions::new(8)
        .take(400)
        .map(|record| with_field(record, "channel", &json!("app")));
    watch.send_and_show(producer, records.collect());
    watch.show_table();
}

fn refusals(folder: &Folder, terraform: &Terraform, watch: &Watch) {
    step(
        8,
        "an incompatible schema, `amount` becomes a string: refused in the plan, path by path",
    );
    let (number, string) = ("\"amount\": { \"type\": \"number\" }", "\"amount\": { \"type\": \"string\" }");
    folder.edit_schema(number, string);
    terraform.run(&["plan"], 1, &["Error:", "value.amount"]);
    folder.edit_schema(string, number);

    step(
        9,
        "another topic: the plan says that the stream would be replaced, and how many rows that would cost",
    );
    let rows = format!("holds {} rows", rows::counted(watch.rows()));
    let variable = ["plan", "-var", "topic=other-transactions"];
    terraform.run(
        &variable,
        0,
        &["# forces replacement", "Plan: 1 to add, 0 to change, 1 to destroy.", &rows],
    );
}

fn drift(terraform: &Terraform, producer: &RecordingProducer, watch: &Watch) {
    step(
        10,
        "someone deletes the stream behind Terraform's back: the plan shows it, and apply repairs it",
    );
    watch.delete_stream();
    println!("  `{STREAM}` was deleted through the agent's API, and its table with it.");
    terraform.run(
        &["plan", "-refresh-only", "-detailed-exitcode"],
        CHANGES,
        &["# featurestore_stream.transactions has been deleted"],
    );
    terraform.run(
        &["plan", "-detailed-exitcode", "-out=tfplan"],
        CHANGES,
        &["Plan: 1 to add, 0 to change, 0 to destroy."],
    );
    terraform.run(&["apply", "tfplan"], 0, &["Apply complete! Resources: 1 added"]);
    println!("  Sending 300 transactions; the new stream starts with what arrives after it was made:");
    watch.send_and_show(producer, Transactions::new(9).take(300).collect());
}

fn step(number: usize, what: &str) {
    println!("\n=== {number} of {STEPS}: {what}");
}

fn with_field(record: Outgoing, name: &str, value: &Value) -> Outgoing {
    let mut transaction: Value = serde_json::from_slice(record.value.as_ref().unwrap()).unwrap();
    transaction[name] = value.clone();
    Outgoing {
        value: Some(transaction.to_string().into_bytes()),
        ..record
    }
}
