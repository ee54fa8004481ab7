//! Each folder under `examples/` is planned, applied, planned empty and destroyed: what a newcomer tries first works.

use std::fs;

use e2e::kafka::kafka;
use e2e::paths::{discard, fresh_folder, repository};
use e2e::plan::Action;
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::terraform::copy_example;
use e2e::transactions::Transactions;
use serde_json::{Value, json};

use crate::rows::assert_rows;
use crate::stage::Stage;

#[test]
fn the_quickstart_ingests_card_transactions() {
    let mut stage = Stage::new("card-transactions");
    stage.workspace.copy_from(&repository().join("examples/quickstart"));
    stage.workspace.set_environment("TF_VAR_bootstrap_servers", kafka().bootstrap());
    stage.workspace.set_environment("TF_VAR_topic", &stage.topic);
    let address = "featurestore_stream.transactions";
    stage.workspace.plan().assert_action(address, Action::Create);
    stage.workspace.apply_now().assert_success();
    stage.workspace.plan().assert_empty();

    let events: Vec<Outgoing> = Transactions::new(1).take(500).collect();
    let records = RecordingProducer::new().send_all(&stage.topic, &events);
    let table = stage.agent.table("main.payments.card_transactions_raw");
    assert_rows(&table, &records, expected);

    stage.workspace.destroy().assert_success();
    assert!(!table.exists());
}

/// The example's value column: the event without its memo, its creation time as a timestamp.
fn expected(record: &Acknowledged) -> Value {
    let mut event: Value = serde_json::from_slice(record.value.as_ref().unwrap()).unwrap();
    event.as_object_mut().unwrap().remove("memo");
    event["created_at"] = json!(microseconds(event["created_at"].as_str().unwrap()));
    event
}

/// Of a time in 2024, in the generator's own form.
fn microseconds(text: &str) -> i64 {
    let part = |from: usize, to: usize| text[from..to].parse::<i64>().unwrap();
    let days_before_2024 = 19_723;
    let days_before_month = [0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335];
    let month = usize::try_from(part(5, 7)).unwrap();
    let day = days_before_2024 + days_before_month[month - 1] + part(8, 10) - 1;
    let seconds = ((day * 24 + part(11, 13)) * 60 + part(14, 16)) * 60 + part(17, 19);
    (seconds * 1000 + part(20, 23)) * 1000
}

#[test]
fn every_example_is_one_that_a_test_applies() {
    let mut examples: Vec<String> = fs::read_dir(repository().join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let sources: String = fs::read_dir(repository().join("tests/tests/e2e"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    examples.retain(|example| !sources.contains(&format!("repository().join(\"examples/{example}\")")));
    assert_eq!(examples, [] as [String; 0], "examples that no test takes");
}

#[test]
fn what_somebody_left_in_an_example_is_not_part_of_it() {
    let (example, copy) = (fresh_folder("example"), fresh_folder("copy"));
    for name in [
        "main.tf",
        "transaction.schema.json",
        "terraform.tfstate",
        ".terraform.lock.hcl",
        "tfplan",
    ] {
        fs::write(example.join(name), "").unwrap();
    }
    fs::create_dir(example.join(".terraform")).unwrap();
    copy_example(&example, &copy);
    let mut names: Vec<_> = fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["main.tf", "transaction.schema.json"]);
    discard(&example);
    discard(&copy);
}
