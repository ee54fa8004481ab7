//! An agent that is encrypted and asks who calls, under a real Terraform and its own command line.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use e2e::agent::Agent;
use e2e::config::{self, CONNECTION_NAME, STREAM, with};
use e2e::kafka::kafka;
use e2e::limits::{SHORT_COMMAND, STREAM_SETTLES};
use e2e::paths::binary;
use e2e::spawn::output;
use e2e::terraform::Workspace;
use e2e::wait::wait_until;
use featurestore_proto::v1::SecurableType;
use serde_json::{Value, json};

use crate::rows::{assert_rows, order_value};
use crate::stage::Stage;

/// The standard configuration with a provider block.
fn document(stage: &Stage, provider: &Value) -> Value {
    let mut document = config::document(&config::connection(kafka().bootstrap()), &stage.stream());
    document["provider"] = json!({ "featurestore": provider });
    document
}

/// The agent's command line, as the one whom the token speaks for.
fn command(agent: &Agent, token: &str, arguments: &[&str]) -> (bool, String, String) {
    let mut command = Command::new(binary("featurestore-agent"));
    command
        .args(arguments)
        .arg("--endpoint")
        .arg(agent.endpoint())
        .arg("--ca-file")
        .arg(agent.certificates().authority())
        .env("FEATURESTORE_TOKEN", token);
    let done = output(command, &format!("featurestore-agent {arguments:?}"), SHORT_COMMAND);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (done.status.success(), text(&done.stdout), text(&done.stderr))
}

fn secured() -> (Stage, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.toml");
    fs::write(&file, "[groups]\nadmins = ['grace']\n").unwrap();
    let agent = Agent::start_secured(&["ada", "grace"], &["--config", file.to_str().unwrap()]);
    (Stage::with_agent("secure", agent), folder)
}

fn show(file: &Path) -> Value {
    json!(file.to_str().unwrap())
}

#[test]
fn terraform_works_over_tls_for_those_who_may_and_tells_others_why_not() {
    let (stage, _folder) = secured();
    let (agent, workspace) = (&stage.agent, &stage.workspace);
    let certificates = agent.certificates();
    let token_file = agent.data_folder().join("admin.token");
    assert_eq!(token_file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let authority = show(&certificates.authority());
    let ada = agent.api().create_token("ada").unwrap();
    let by_certificate = |name: &str| {
        json!({
            "ca_file": authority,
            "client_cert_file": show(&certificates.certificate(name)),
            "client_key_file": show(&certificates.key(name)),
        })
    };
    let refused = [
        (json!({ "ca_file": authority }), "Not Authenticated"),
        (json!({ "ca_file": authority, "token": "fst_0" }), "Not Authenticated"),
        (json!({ "ca_file": authority, "token": ada }), "Permission Denied"),
        (by_certificate("ada"), "Permission Denied"),
        (json!({ "token": ada }), "UnknownIssuer"),
    ];
    for (mut provider, said) in refused {
        provider["max_retries"] = json!(0);
        workspace.write(&document(&stage, &provider));
        let run = workspace.apply_now();
        assert_ne!(run.code, Some(0), "{provider}");
        assert!(run.output.contains(said), "{said}: {}", run.output);
        assert!(!run.output.contains(&ada), "a token in the output");
    }
    workspace.write(&document(&stage, &by_certificate("grace")));
    workspace.apply_now().assert_success();
    workspace.plan().assert_empty();
    stage.await_active();
    let records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);
    // The same state, by a token that is found in the agent's data folder.
    let mut found = Workspace::new(agent.endpoint());
    found.set_environment("FEATURESTORE_AGENT_DATA_DIR", agent.data_folder().to_str().unwrap());
    found.write(&document(&stage, &json!({ "ca_file": authority })));
    fs::copy(
        workspace.folder().join("terraform.tfstate"),
        found.folder().join("terraform.tfstate"),
    )
    .unwrap();
    found.plan().assert_empty();
    found.destroy().assert_success();
    assert_eq!(found.resource(STREAM), Value::Null);
    assert!(!agent.log().contains(&ada), "a token in the log");
}

#[test]
fn a_stream_of_one_who_is_no_admin_takes_what_was_granted_and_nothing_less() {
    let (stage, _folder) = secured();
    let (api, workspace) = (stage.agent.api(), &stage.workspace);
    api.create_kafka_connection(CONNECTION_NAME, kafka().bootstrap()).unwrap();
    let token = api.create_token("ada").unwrap();
    let stream = with(&stage.stream(), "/connection_config/uc_connection_name", CONNECTION_NAME);
    let document = json!({
        "terraform": {"required_providers": {"featurestore": {"source": "featurestore/featurestore"}}},
        "provider": {"featurestore": {"ca_file": show(&stage.agent.certificates().authority()), "token": token}},
        "resource": {"featurestore_stream": {"subject": stream}},
    });
    workspace.write(&document);
    let needed: [(SecurableType, &str, &[&str]); 3] = [
        (SecurableType::Catalog, "main", &["USE CATALOG"]),
        (SecurableType::Schema, "main.payments", &["USE SCHEMA", "CREATE TABLE"]),
        (SecurableType::Connection, CONNECTION_NAME, &["USE CONNECTION"]),
    ];
    for (securable, name, privileges) in needed {
        let run = workspace.apply_now();
        assert_ne!(run.code, Some(0), "before {privileges:?}");
        assert!(run.output.contains("Permission Denied"), "{}", run.output);
        api.set_grants(securable, name, &[("ada", privileges)]).unwrap();
    }
    workspace.apply_now().assert_success();
    workspace.plan().assert_empty();
    stage.await_active();
    let mut records = stage.produce_orders(0, 8);
    assert_rows(&stage.table(), &records, order_value);
    assert_eq!(workspace.resource(STREAM)["created_by"], "ada");
    // What it runs as loses a privilege under way, and gets it back.
    api.set_grants(SecurableType::Connection, CONNECTION_NAME, &[]).unwrap();
    wait_until("the stream says what is missing", STREAM_SETTLES, || {
        let status = format!("{:?}", stage.record().status);
        let told = status.contains("PrivilegeMissing") && status.contains("USE CONNECTION");
        if told { Ok(()) } else { Err(status) }
    });
    api.set_grants(SecurableType::Connection, CONNECTION_NAME, &[("ada", &["USE CONNECTION"])])
        .unwrap();
    stage.await_active();
    records.extend(stage.produce_orders(8, 8));
    assert_rows(&stage.table(), &records, order_value);
    // Terraform plans what is gone once more before it destroys the rest, and that needs what nobody can hold any more.
    assert!(api.delete_stream(config::STREAM_NAME).unwrap());
    api.delete_connection(CONNECTION_NAME).unwrap();
    workspace.destroy().assert_success();
    assert_eq!(workspace.resource(STREAM), Value::Null);
}

#[test]
fn tokens_are_made_listed_and_revoked_on_the_command_line() {
    let (stage, _folder) = secured();
    let agent = &stage.agent;
    let admin = fs::read_to_string(agent.data_folder().join("admin.token")).unwrap();
    let admin = admin.trim();
    let (made, token, said) = command(agent, admin, &["token", "create", "--principal", "ada", "--lifetime", "1h"]);
    assert!(made && token.starts_with("fst_") && said.contains("ada"), "{said}");
    let token = token.trim();
    let (listed, own, _) = command(agent, token, &["token", "list"]);
    assert!(listed && own.lines().count() == 1 && own.contains("ada"), "{own}");
    let (listed, all, _) = command(agent, admin, &["token", "list"]);
    assert!(listed && all.lines().count() == 2, "{all}");
    let id = own.split_whitespace().next().unwrap();
    let (denied, _, said) = command(agent, token, &["token", "create", "--principal", "admin"]);
    assert!(!denied && said.contains("permission denied"), "{said}");
    assert!(command(agent, token, &["token", "revoke", id]).0);
    let (known, _, said) = command(agent, token, &["token", "list"]);
    assert!(!known && said.contains("was revoked") && !said.contains(token), "{said}");
}

#[test]
fn another_life_of_the_agent_knows_its_tokens_and_makes_a_new_one_for_a_file_that_is_gone() {
    let (mut stage, _folder) = secured();
    let file = stage.agent.data_folder().join("admin.token");
    let first = fs::read_to_string(&file).unwrap();
    assert!(stage.agent.terminate().success());
    stage.agent.start_again();
    assert_eq!(fs::read_to_string(&file).unwrap(), first);
    assert!(stage.agent.api().agent().is_ok());
    fs::remove_file(&file).unwrap();
    assert!(stage.agent.terminate().success());
    stage.agent.start_again();
    assert_ne!(fs::read_to_string(&file).unwrap(), first);
    let (known, _, said) = command(&stage.agent, first.trim(), &["token", "list"]);
    assert!(!known && said.contains("none of this agent's"), "{said}");
}
