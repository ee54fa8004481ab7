//! Names that are given anew, under a real Terraform: what was granted on a replaced stream or connection, and the secrets of a
//! replaced scope, are there again after the same apply; what somebody else made under a name is not touched. And what a plan
//! says of names that are not there, or that others have.

use e2e::agent::Agent;
use e2e::config::{self, CONNECTION, CONNECTION_NAME, STREAM, STREAM_NAME, TABLE_NAME, with};
use e2e::kafka::kafka;
use e2e::plan::Action;
use e2e::terraform::Workspace;
use featurestore_proto::v1::SecurableType;
use serde_json::{Value, json};
use tonic::Code;

use crate::stage::{Stage, new_topic};

const SCOPE: &str = "featurestore_secret_scope.payments";
const SECRET: &str = "featurestore_secret.password";
const GRANTS: &str = "featurestore_grants.subject";

fn document(resources: &Value) -> Value {
    json!({
        "terraform": {"required_providers": {"featurestore": {"source": "featurestore/featurestore"}}},
        "resource": resources,
    })
}

fn grants(securable_type: &str, name: &str, privilege: &str) -> Value {
    json!({
        "securable_type": securable_type,
        "securable_name": name,
        "grants": [{"principal": "payments-team", "privileges": [privilege]}],
    })
}

fn held(privilege: &str) -> Vec<(String, Vec<String>)> {
    vec![("payments-team".to_owned(), vec![privilege.to_owned()])]
}

/// A scope with a secret.
fn scope(value: &str) -> Value {
    json!({
        "featurestore_secret_scope": {"payments": {"name": "payments"}},
        "featurestore_secret": {"password": {
            "scope": format!("${{{SCOPE}.name}}"), "key": "password", "value_wo": value, "value_wo_version": 1,
        }},
    })
}

#[test]
fn what_is_granted_on_a_replaced_connection_and_kept_in_a_replaced_scope_is_there_again() {
    let agent = Agent::start();
    let workspace = Workspace::new(agent.endpoint());
    let mut resources = scope("first");
    resources["featurestore_connection"] = json!({"kafka": config::connection("localhost:9092")});
    resources["featurestore_grants"] = json!({
        "subject": grants("connection", &format!("${{{CONNECTION}.name}}"), "USE CONNECTION"),
        "scope": grants("secret_scope", &format!("${{{SCOPE}.name}}"), "READ"),
    });
    workspace.write(&document(&resources));
    workspace.apply_now().assert_success();
    workspace.plan().assert_empty();
    let before = [SCOPE, SECRET, GRANTS].map(|address| workspace.resource(address));
    assert_eq!(before[1]["scope_id"], before[0]["id"]);

    let plan = workspace.plan_with(&[&format!("-replace={CONNECTION}"), &format!("-replace={SCOPE}")]);
    for address in [SECRET, GRANTS, "featurestore_grants.scope"] {
        plan.assert_action(address, Action::Update);
    }
    assert!(plan.is_unknown(GRANTS, "/securable_id") && plan.is_unknown(SECRET, "/scope_id"));
    workspace.apply(&plan).assert_success();
    let api = agent.api();
    assert_eq!(
        api.grants(SecurableType::Connection, CONNECTION_NAME).unwrap(),
        held("USE CONNECTION")
    );
    assert_eq!(api.grants(SecurableType::SecretScope, "payments").unwrap(), held("READ"));
    assert_eq!(api.list_secrets("payments").unwrap().len(), 1);
    workspace.plan().assert_empty();
    assert_ne!(workspace.resource(GRANTS)["securable_id"], before[2]["securable_id"]);

    // What somebody else makes anew between the plan and the apply is somebody else's.
    resources["featurestore_grants"]["subject"]["grants"][0]["privileges"] = json!(["USE CONNECTION", "MANAGE"]);
    workspace.write(&document(&resources));
    let plan = workspace.plan();
    api.delete_connection(CONNECTION_NAME).unwrap();
    api.create_kafka_connection(CONNECTION_NAME, "localhost:9092").unwrap();
    workspace.apply(&plan).assert_error(&["Changed Since The Plan", "plan again"]);
    assert_eq!(api.grants(SecurableType::Connection, CONNECTION_NAME).unwrap(), []);
}

#[test]
fn what_is_granted_on_the_table_of_a_replaced_stream_is_there_again() {
    let stage = Stage::new("granted");
    let mut document = config::document(&config::connection(kafka().bootstrap()), &stage.stream());
    let table = format!("${{{STREAM}.ingestion_config.ingestion_destination.delta_table_name}}");
    document["resource"]["featurestore_grants"] = json!({"subject": grants("table", &table, "SELECT")});
    stage.workspace.write(&document);
    stage.workspace.apply_now().assert_success();
    stage.workspace.plan().assert_empty();
    let uid = stage.uid();
    assert_eq!(stage.workspace.resource(GRANTS)["securable_id"], uid);

    document["resource"]["featurestore_stream"]["subject"]["description"] = json!("another");
    stage.workspace.write(&document);
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Replace).assert_action(GRANTS, Action::Update);
    stage.workspace.apply(&plan).assert_success();
    assert_ne!(stage.uid(), uid);
    let granted = stage.agent.api().grants(SecurableType::Table, TABLE_NAME).unwrap();
    assert_eq!(granted, held("SELECT"));
    stage.workspace.plan().assert_empty();
    stage.workspace.destroy().assert_success();
}

#[test]
fn two_workspaces_do_not_overwrite_each_others_secret() {
    let agent = Agent::start();
    let (ours, theirs) = (Workspace::new(agent.endpoint()), Workspace::new(agent.endpoint()));
    let of_theirs = |value: &str| {
        let mut resources = scope(value);
        resources["featurestore_secret"]["password"]["scope"] = json!("payments");
        resources.as_object_mut().unwrap().remove("featurestore_secret_scope");
        document(&resources)
    };
    agent.api().create_secret_scope("payments").unwrap();
    theirs.write(&of_theirs("theirs"));
    ours.write(&of_theirs("ours"));
    // Both plan to create it, and see nothing of each other.
    let (plan, late) = (theirs.plan(), ours.plan());
    theirs.apply(&plan).assert_success();
    let revision = || agent.api().list_secrets("payments").unwrap()[0].revision.clone();
    let first = revision();
    ours.apply(&late).assert_error(&["Secret Already Exists", "import {"]);
    assert_eq!(revision(), first, "theirs is as it was");
    theirs.plan().assert_empty();

    // Deleted and made again by somebody: what was planned before touches nothing.
    theirs.write(&with(
        &of_theirs("rotated"),
        "/resource/featurestore_secret/password/value_wo_version",
        2,
    ));
    let plan = theirs.plan();
    let destroy = theirs.plan_with(&["-destroy"]);
    agent.api().delete_secret_scope("payments").unwrap();
    agent.api().create_secret_scope("payments").unwrap();
    agent.api().put_secret("payments", "password", "another life").unwrap();
    let another = revision();
    theirs.apply(&plan).assert_error(&["Changed Since The Plan"]);
    theirs.apply(&destroy).assert_success();
    assert_eq!(revision(), another);
}

#[test]
fn a_scope_that_is_destroyed_says_how_many_secrets_go() {
    let agent = Agent::start();
    let workspace = Workspace::new(agent.endpoint());
    workspace.write(&document(&scope("first")));
    workspace.apply_now().assert_success();
    agent.api().put_secret("payments", "by-hand", "1").unwrap();
    let plan = workspace.plan_with(&["-destroy"]);
    plan.run
        .assert_warning(&["Destroy Deletes Secrets", "2 secrets, `by-hand`, `password`"]);
    workspace.apply(&plan).assert_success();
    assert_eq!(agent.api().list_secrets("payments").unwrap_err().code(), Code::NotFound);
}

#[test]
fn a_plan_tells_of_a_connection_that_is_not_there_and_of_a_table_that_another_stream_has() {
    let stage = Stage::new("not-there");
    let lost = with(&stage.stream(), "/connection_config/uc_connection_name", "no-such");
    stage.write(&lost);
    let plan = stage.workspace.plan();
    plan.assert_action(STREAM, Action::Create);
    plan.run.assert_warning(&["Not Ready Yet", "no-such"]);
    // The same plan makes it first, where the stream refers to it.
    stage.write(&stage.stream());
    let plan = stage.workspace.plan();
    plan.run.assert_no_warning_but(config::PLAINTEXT_WARNING);
    stage.workspace.apply(&plan).assert_success();

    let mut document = config::document(&config::connection(kafka().bootstrap()), &stage.stream());
    let mut other = config::stream(&new_topic("not-there-other"));
    other["name"] = json!("main.payments.others");
    other["ingestion_config"]["ingestion_destination"]["delta_table_name"] = json!("main.payments.others_raw");
    document["resource"]["featurestore_stream"]["other"] = other;
    stage.workspace.write(&document);
    stage.workspace.apply_now().assert_success();
    let subject = &mut document["resource"]["featurestore_stream"]["subject"];
    subject["name"] = json!("main.payments.renamed");
    stage.workspace.write(&document);
    stage.workspace.plan().assert_action(STREAM, Action::Replace);
    let subject = &mut document["resource"]["featurestore_stream"]["subject"];
    subject["ingestion_config"]["ingestion_destination"]["delta_table_name"] = json!("main.payments.others_raw");
    stage.workspace.write(&document);
    let refused = stage.workspace.plan();
    refused.run.assert_error(&["`main.payments.others` writes to that table"]);
    assert!(stage.agent.api().stream(STREAM_NAME).is_ok());
}

#[test]
fn a_plan_tells_of_volumes_secrets_and_credentials_that_are_not_there_and_of_none_that_it_makes() {
    let agent = Agent::start();
    let workspace = Workspace::new(agent.endpoint());
    let secret = |key: &str| json!({"scope": "payments", "key": key});
    let kafka = json!({
        "bootstrap_servers": "localhost:9093", "sasl_mechanism": "SCRAM-SHA-256", "user": "ada", "password_secret": secret("password"),
        "schema_registry_url": "https://localhost:8081", "schema_registry_api_key": "ada",
        "schema_registry_api_secret_secret": secret("registry"),
    });
    let iam = json!({"bootstrap_servers": "localhost:9098", "credential": "reader"});
    let store = |name: &str| format!("/Volumes/main/payments/keys/{name}.jks");
    let mtls = json!({
        "keystore_location": store("client"), "truststore_location": store("trust"),
        "keystore_password_ref": secret("keystore"), "key_password_ref": secret("key"), "truststore_password_ref": secret("trust"),
    });
    let direct = json!({"direct_mtls_config": {"bootstrap_servers": "localhost:9094", "mtls_config": mtls}});
    let mut resources = json!({
        "featurestore_connection": {"scram": {"name": "scram", "kafka": kafka}, "iam": {"name": "iam", "kafka": iam}},
        "featurestore_stream": {"subject": with(&config::stream("none"), "/connection_config", direct)},
    });
    workspace.write(&document(&resources));
    let plan = workspace.plan();
    for missing in [
        "no secret `payments/password`",
        "no secret `payments/registry`",
        "no service credential of that name",
        "no volume `main.payments.keys`",
        "no secret `payments/keystore`",
        "no secret `payments/key`",
        "no secret `payments/trust`",
    ] {
        plan.run.assert_warning(&["Not Ready Yet", missing, "refer to its resource"]);
    }

    // What the same plan makes first, because it is referred to, is there when it comes to it.
    resources["featurestore_secret_scope"] = json!({"payments": {"name": "payments"}});
    resources["featurestore_volume"] = json!({"keys": {"name": "main.payments.keys", "storage_location": "/srv/none"}});
    resources["featurestore_service_credential"] = json!({"reader": {"name": "reader", "ambient": true}});
    for key in ["password", "registry", "keystore", "key", "trust"] {
        resources["featurestore_secret"][key] = json!({
            "scope": format!("${{{SCOPE}.name}}"), "key": key, "value_wo": "a secret", "value_wo_version": 1,
        });
    }
    let made =
        |key: &str| json!({"scope": format!("${{featurestore_secret.{key}.scope}}"), "key": format!("${{featurestore_secret.{key}.key}}")});
    let connections = &mut resources["featurestore_connection"];
    connections["scram"]["kafka"]["password_secret"] = made("password");
    connections["scram"]["kafka"]["schema_registry_api_secret_secret"] = made("registry");
    connections["iam"]["kafka"]["credential"] = json!("${featurestore_service_credential.reader.name}");
    let mtls = &mut resources["featurestore_stream"]["subject"]["connection_config"]["direct_mtls_config"]["mtls_config"];
    for (attribute, key) in [
        ("keystore_password_ref", "keystore"),
        ("key_password_ref", "key"),
        ("truststore_password_ref", "trust"),
    ] {
        mtls[attribute] = made(key);
    }
    for (attribute, file) in [("keystore_location", "client.jks"), ("truststore_location", "trust.jks")] {
        let folder = "${replace(featurestore_volume.keys.name, \".\", \"/\")}";
        mtls[attribute] = json!(format!("/Volumes/{folder}/{file}"));
    }
    workspace.write(&document(&resources));
    workspace.plan().run.assert_success().assert_no_warning_but("");
}
