//! The agent cannot be reached: a clear error wherever Terraform needs its answer, and never "the stream is gone".

use e2e::config::{self, PAYLOAD_SCHEMA, STREAM, with, with_properties};
use e2e::kafka::kafka;
use e2e::plan::Action;
use e2e::terraform::Workspace;
use serde_json::{Value, json};

use crate::stage::Stage;

/// Fails at once, and not after the default's patience.
fn impatient(document: &Value, plan_checks: &str) -> Value {
    with(
        document,
        "/provider",
        json!({"featurestore": {"max_retries": 0, "plan_checks": plan_checks}}),
    )
}

#[test]
fn refresh_apply_and_destroy_fail_clearly_and_forget_nothing() {
    let mut stage = Stage::applied("away");
    let document = config::document(&config::connection(kafka().bootstrap()), &stage.stream());
    stage.workspace.write(&impatient(&document, "auto"));
    let endpoint = stage.agent.endpoint().to_owned();
    let changed = with(&stage.stream(), "/excluded_columns", json!(["value.amount"]));
    stage.workspace.write(&impatient(
        &with(&document, "/resource/featurestore_stream/subject", changed),
        "auto",
    ));
    let made_before = stage.workspace.plan();
    stage.agent.kill();

    stage.workspace.plan().run.assert_error(&[&endpoint]);
    stage.workspace.apply(&made_before).assert_error(&[&endpoint]);
    stage.workspace.destroy().assert_error(&[&endpoint]);
    let blind = ["destroy", "-json", "-input=false", "-auto-approve", "-refresh=false"];
    stage.workspace.run(&blind).assert_error(&[&endpoint]);
    assert_ne!(stage.workspace.resource(STREAM), Value::Null, "the state still holds the stream");

    stage.agent.start_again();
    stage.workspace.write(&document);
    stage.workspace.plan().assert_empty();
}

#[test]
fn a_plan_that_reads_nothing_goes_on_with_a_warning_or_stops_as_the_user_asked() {
    let workspace = Workspace::new("http://127.0.0.1:9");
    let document = config::document(&config::connection(kafka().bootstrap()), &config::stream("orders"));
    workspace.write(&impatient(&document, "auto"));
    let plan = workspace.plan();
    plan.assert_action(STREAM, Action::Create);
    plan.run.assert_warning(&["http://127.0.0.1:9"]);

    workspace.write(&impatient(&document, "required"));
    workspace.plan().run.assert_error(&["http://127.0.0.1:9"]);

    workspace.write(&impatient(&document, "off"));
    workspace
        .plan()
        .assert_action(STREAM, Action::Create)
        .run
        .assert_no_warning_but(config::PLAINTEXT_WARNING);
}

#[test]
fn an_offline_plan_of_a_change_decides_by_the_prior_state_and_says_so() {
    let mut stage = Stage::applied("offline");
    stage.agent.kill();
    let document = config::document(&config::connection(kafka().bootstrap()), &stage.stream());
    let pointer = format!("/resource/featurestore_stream/subject{PAYLOAD_SCHEMA}");
    let note = with_properties(&config::order_schema(), &json!({"note": {"type": "string"}})).to_string();
    stage.workspace.write(&impatient(&with(&document, &pointer, note), "auto"));
    let plan = stage.workspace.plan_with(&["-refresh=false"]);
    plan.assert_action(STREAM, Action::Update);
    plan.run.assert_warning(&[stage.agent.endpoint()]);

    let narrowed = with_properties(&config::order_schema(), &json!({"order_id": {"type": "integer"}})).to_string();
    stage.workspace.write(&impatient(&with(&document, &pointer, narrowed), "auto"));
    stage.workspace.plan_with(&["-refresh=false"]).run.assert_error(&["value.order_id"]);
}

#[test]
fn a_provider_configuration_that_is_unknown_at_plan_is_no_error() {
    let stage = Stage::new("unknown-endpoint");
    let document = config::document(&config::connection(kafka().bootstrap()), &stage.stream());
    let document = with(
        &document,
        "/resource/terraform_data",
        json!({"agent": {"input": stage.agent.endpoint()}}),
    );
    let provider = json!({"featurestore": {"endpoint": "${terraform_data.agent.output}"}});
    let mut workspace = Workspace::new("http://127.0.0.1:9");
    workspace.set_environment("FEATURESTORE_ENDPOINT", "");
    workspace.write(&with(&document, "/provider", provider));
    let plan = workspace.plan();
    plan.assert_action(STREAM, Action::Create);
    workspace.apply(&plan).assert_success();
    workspace.plan().assert_empty();
}
