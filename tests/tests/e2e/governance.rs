//! Credentials, scopes, secrets, volumes, grants and a connection that uses them, as `examples/governance` declares them: made,
//! planned empty, rotated, changed by others and mended, imported, destroyed. The password is in nothing that Terraform keeps.

use std::fs;
use std::path::{Path, PathBuf};

use e2e::agent::Agent;
use e2e::paths::{discard, fresh_folder, repository};
use e2e::plan::{Action, Plan};
use e2e::terraform::Workspace;
use featurestore_proto::v1::SecurableType;
use serde_json::json;
use tonic::Code;

const SCOPE: &str = "featurestore_secret_scope.payments";
const SECRET: &str = "featurestore_secret.kafka_password";
const CONNECTION: &str = "featurestore_connection.kafka";
const CREDENTIAL: &str = "featurestore_service_credential.reader";
const VOLUME: &str = "featurestore_volume.certificates";
const CONNECTION_GRANTS: &str = "featurestore_grants.payments[\"connection\"]";

/// Passwords that nothing else spells.
const PASSWORD: &str = "canary-6d1f0b52-first";
const NEXT_PASSWORD: &str = "canary-6d1f0b52-second";

struct Scene {
    agent: Agent,
    workspace: Workspace,
    certificates: PathBuf,
}

impl Scene {
    /// The example, applied to an agent of its own.
    fn applied() -> Self {
        let agent = Agent::start();
        let mut workspace = Workspace::new(agent.endpoint());
        workspace.copy_from(&repository().join("examples/governance"));
        let certificates = fresh_folder("certificates");
        workspace.set_environment("TF_VAR_certificates", certificates.to_str().unwrap());
        workspace.set_environment("TF_VAR_kafka_password", PASSWORD);
        let scene = Self {
            agent,
            workspace,
            certificates,
        };
        let plan = scene.workspace.plan();
        for address in [SCOPE, SECRET, CONNECTION, CREDENTIAL, VOLUME, CONNECTION_GRANTS] {
            plan.assert_action(address, Action::Create);
        }
        scene.apply(&plan);
        scene
    }

    /// Applies a plan, after which there is nothing to do.
    fn apply(&self, plan: &Plan) {
        assert_without_passwords(&plan.json.to_string(), "the plan");
        self.workspace.apply(plan).assert_success();
        self.workspace.plan().assert_empty();
    }

    fn revision(&self) -> String {
        self.agent.api().list_secrets("payments").unwrap()[0].revision.clone()
    }

    fn connection_grants(&self) -> Vec<(String, Vec<String>)> {
        self.agent.api().grants(SecurableType::Connection, "payments-kafka").unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        discard(&self.certificates);
    }
}

/// A plan's JSON is no file of the workspace: what is in the file of a plan is compressed.
fn assert_without_passwords(text: &str, of: &str) {
    for password in [PASSWORD, NEXT_PASSWORD] {
        assert!(!text.contains(password), "{of} holds {password}");
    }
}

/// The files of a folder and below that hold a password.
fn files_with_passwords(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with_passwords(&path));
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            if [PASSWORD, NEXT_PASSWORD].iter().any(|password| text.contains(password)) {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn the_governance_example_is_made_planned_empty_and_destroyed() {
    let scene = Scene::applied();
    let state = scene.workspace.resource(SECRET);
    assert_eq!((&state["value_wo"], &state["revision"]), (&json!(null), &json!(scene.revision())));
    assert_eq!(
        scene.connection_grants(),
        [("payments-team".to_owned(), vec!["USE CONNECTION".to_owned()])]
    );
    let outputs = scene.workspace.state()["values"]["outputs"]["connection"]["value"].clone();
    assert_eq!(
        outputs,
        "payments-kafka: SASL_SSL to broker-1.shop.example:9093,broker-2.shop.example:9093"
    );

    // The same configuration once more finds everything there, and says how to take it over.
    let other = Workspace::new(scene.agent.endpoint());
    other.write(&json!({
        "terraform": {"required_providers": {"featurestore": {"source": "featurestore/featurestore"}}},
        "resource": {"featurestore_secret_scope": {"theirs": {"name": "payments"}}},
    }));
    other.apply_now().assert_error(&["Secret Scope Already Exists", "import {"]);

    assert_eq!(files_with_passwords(&scene.agent.data_folder()), [] as [PathBuf; 0]);
    // The search itself finds what is there: a leak that was planted, and nothing else.
    let planted = scene.workspace.folder().join("planted");
    fs::write(&planted, format!("password = {PASSWORD}")).unwrap();
    assert_eq!(files_with_passwords(scene.workspace.folder()), [planted]);
    scene.workspace.destroy().assert_success();
    assert_eq!(scene.agent.api().list_secrets("payments").unwrap_err().code(), Code::NotFound);
    assert!(scene.certificates.is_dir(), "a volume's files are not touched");
}

#[test]
fn a_new_version_rotates_the_secret_and_touches_nothing_else() {
    let mut scene = Scene::applied();
    let before = scene.revision();
    scene.workspace.set_environment("TF_VAR_kafka_password", NEXT_PASSWORD);
    scene.workspace.plan().assert_empty();
    scene.workspace.set_environment("TF_VAR_kafka_password_version", "2");
    let plan = scene.workspace.plan();
    plan.assert_action(SECRET, Action::Update);
    for address in [SCOPE, CONNECTION, CREDENTIAL, VOLUME, CONNECTION_GRANTS] {
        plan.assert_action(address, Action::NoOp);
    }
    scene.apply(&plan);
    assert_ne!(scene.revision(), before);
    assert_eq!(files_with_passwords(scene.workspace.folder()), [] as [PathBuf; 0]);
    scene.workspace.destroy().assert_success();
}

#[test]
fn what_others_wrote_and_granted_shows_and_is_taken_back() {
    let scene = Scene::applied();
    let theirs = scene
        .agent
        .api()
        .put_secret("payments", "kafka-password", "theirs")
        .unwrap()
        .revision;
    let granted: [(&str, &[&str]); 2] = [("payments-team", &["USE CONNECTION"]), ("guest", &["MANAGE"])];
    scene
        .agent
        .api()
        .set_grants(SecurableType::Connection, "payments-kafka", &granted)
        .unwrap();
    let plan = scene.workspace.plan();
    plan.assert_action(SECRET, Action::Update)
        .assert_action(CONNECTION_GRANTS, Action::Update);
    plan.run.assert_warning(&["Secret Changed Elsewhere", "payments/kafka-password"]);
    assert!(plan.is_unknown(SECRET, "/revision"));
    scene.apply(&plan);
    assert_ne!(scene.revision(), theirs);
    assert_eq!(
        scene.connection_grants(),
        [("payments-team".to_owned(), vec!["USE CONNECTION".to_owned()])]
    );

    // A plan that somebody overtook overwrites nothing.
    scene.agent.api().put_secret("payments", "kafka-password", "theirs").unwrap();
    let plan = scene.workspace.plan();
    let latest = scene
        .agent
        .api()
        .put_secret("payments", "kafka-password", "theirs again")
        .unwrap()
        .revision;
    scene
        .workspace
        .apply(&plan)
        .assert_error(&["Changed Since The Plan", "payments/kafka-password"]);
    assert_eq!(scene.revision(), latest);
    scene.workspace.apply_now().assert_success();
    scene.workspace.destroy().assert_success();
}

#[test]
fn everything_is_imported_by_its_name() {
    let scene = Scene::applied();
    let grants = ["catalog", "schema", "connection", "secret_scope", "service_credential", "volume"];
    let names = [
        "main",
        "main.payments",
        "payments-kafka",
        "payments",
        "payments-reader",
        "main.payments.certificates",
    ];
    let mut imports: Vec<(String, String)> = [
        (SCOPE, "payments"),
        (SECRET, "payments/kafka-password"),
        (CONNECTION, "payments-kafka"),
        (CREDENTIAL, "payments-reader"),
        (VOLUME, "main.payments.certificates"),
    ]
    .map(|(address, id)| (address.to_owned(), id.to_owned()))
    .into();
    imports.extend(
        grants
            .iter()
            .zip(names)
            .map(|(kind, name)| (format!("featurestore_grants.payments[\"{kind}\"]"), format!("{kind}/{name}"))),
    );
    let blocks: String = imports
        .iter()
        .map(|(address, id)| format!("import {{\n  to = {address}\n  id = {id:?}\n}}\n"))
        .collect();
    fs::remove_file(scene.workspace.folder().join("terraform.tfstate")).unwrap();
    fs::write(scene.workspace.folder().join("imports.tf"), blocks).unwrap();
    let plan = scene.workspace.plan();
    for (address, _) in &imports {
        // Nobody can read back which version of the value it is: it is sent once more.
        let wanted = if address == SECRET { Action::Update } else { Action::NoOp };
        plan.assert_action(address, wanted);
    }
    scene.apply(&plan);
    scene.workspace.destroy().assert_success();
}

#[test]
fn two_hundred_sets_of_grants_are_planned_empty() {
    let agent = Agent::start();
    let workspace = Workspace::new(agent.endpoint());
    workspace.write(&json!({
        "terraform": {"required_providers": {"featurestore": {"source": "featurestore/featurestore"}}},
        "resource": {"featurestore_grants": {"many": {
            "count": 200,
            "securable_type": "schema",
            "securable_name": "main.team_${count.index}",
            "grants": [{"principal": "team-${count.index}", "privileges": ["USE SCHEMA", "CREATE TABLE"]}],
        }}},
    }));
    workspace.apply_now().assert_success();
    workspace.plan().assert_empty();
    agent.api().set_grants(SecurableType::Schema, "main.team_123", &[]).unwrap();
    let plan = workspace.plan();
    let changed: Vec<usize> = (0..200)
        .filter(|number| plan.action(&format!("featurestore_grants.many[{number}]")) != Action::NoOp)
        .collect();
    assert_eq!(changed, [123]);
    workspace.destroy().assert_success();
}
