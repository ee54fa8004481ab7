//! Ways in which a command is not one quiet run of a started provider: Ctrl-C in a create, a provider under a debugger.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use e2e::agent::Agent;
use e2e::config::{self, STREAM, STREAM_NAME, with};
use e2e::limits::{AGENT_READY, STREAM_SETTLES};
use e2e::paths::binary;
use e2e::plan::Action;
use e2e::spawn::spawn;
use e2e::terraform::Workspace;
use e2e::wait::wait_until;
use serde_json::json;

use crate::rows::{assert_rows, order_value};
use crate::stage::Stage;

#[test]
fn ctrl_c_in_a_create_keeps_the_stream_untainted() {
    let agent = Agent::start();
    let workspace = Workspace::new(agent.endpoint());
    // No broker: the create would wait for its whole timeout.
    let stream = with(&config::stream("orders"), "/timeouts", json!({"create": "10m"}));
    workspace.write(&config::document(&config::connection("127.0.0.1:9"), &stream));
    let command = workspace.start(&["apply", "-json", "-input=false", "-auto-approve"]);
    wait_until("the agent has the stream", STREAM_SETTLES, || {
        agent.api().stream(STREAM_NAME).map(|_| ()).map_err(|status| status.to_string())
    });
    command.interrupt();
    let run = command.wait();
    run.assert_warning(&[STREAM_NAME]);
    assert!(run.errors().all(|error| !error.mentions(STREAM)), "{run}");
    assert!(!workspace.is_tainted(STREAM));
    assert_eq!(workspace.resource(STREAM)["state"], "PROVISIONING");
    workspace.plan().assert_empty();
}

#[test]
fn a_provider_started_by_hand_with_debug_serves_many_commands() {
    let mut stage = Stage::new("debugged");
    let mut command = Command::new(binary("terraform-provider-featurestore"));
    command.arg("-debug").stdin(Stdio::null()).stdout(Stdio::piped());
    command.env("FEATURESTORE_ENDPOINT", stage.agent.endpoint());
    let mut provider = spawn(command).expect("start the provider");
    let mut lines = BufReader::new(provider.stdout.take().unwrap()).lines();
    let reattach = wait_until("the provider says how to reattach", AGENT_READY, || {
        let line = lines.next().expect("the provider still runs").unwrap();
        let value = line.split_once("TF_REATTACH_PROVIDERS=").map(|(_, value)| value.trim().to_owned());
        value.ok_or(line)
    });
    stage
        .workspace
        .set_environment("TF_REATTACH_PROVIDERS", reattach.trim_matches('\''));

    stage.write(&stage.stream());
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Create);
    stage.workspace.apply(&plan).assert_success();
    stage.workspace.plan().assert_empty();
    let records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);
    stage.workspace.destroy().assert_success();
    assert!(provider.try_wait().unwrap().is_none(), "one process served them all");
    provider.kill().unwrap();
    provider.wait().unwrap();
}

#[test]
fn a_provider_started_by_hand_without_terraform_says_what_it_is() {
    let output = Command::new(binary("terraform-provider-featurestore"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("Terraform"));
}
