//! What the search for secrets that went astray is about: a broker that asks for passwords, an agent that asks who calls, a caller
//! who is no admin, and everything that they were told. Invariant: whatever a program printed or answered is kept in a file, and is
//! searched like the files that it wrote by itself.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use e2e::agent::Agent;
use e2e::config::{self, TABLE_NAME};
use e2e::kafka_secure::{Listener, SecureKafka};
use e2e::limits::SHORT_COMMAND;
use e2e::paths::{binary, discard, fresh_folder, test_parts};
use e2e::producer::{Acknowledged, Outgoing, RecordingProducer};
use e2e::spawn::output;
use e2e::terraform::Workspace;
use featurestore_proto::v1::connection::Options;
use featurestore_proto::v1::{Connection, KafkaConnection};
use serde_json::{Value, json};

use crate::canary_places::in_the_audit;
use crate::canary_search::{Canary, Findings, Search};
use crate::issuer::Issuer;
use crate::rows::assert_each_exactly_once;
use crate::stage::{PARTITIONS, order, unique};

/// How the user shows who it is.
pub(crate) const MECHANISM: &str = "SCRAM-SHA-256";
/// The user of the broker.
pub(crate) const USER: &str = "reader";

/// Files of an agent's folder that are there to hold a secret, and a part of what is found in each.
const DECLARED: [(&str, &str); 5] = [
    ("master.key", "master key"),
    ("data/admin.token", "admin token"),
    ("certificates/agent.key", "key of agent"),
    ("certificates/ada.key", "key of ada"),
    ("certificates/grace.key", "key of grace"),
];

/// The parts, and every secret that is in them.
pub(crate) struct Scene {
    pub(crate) kafka: SecureKafka,
    pub(crate) agent: Agent,
    pub(crate) workspace: Workspace,
    /// What commands, answers and plans said, beside what their programs wrote by themselves.
    said: PathBuf,
    canaries: Vec<Canary>,
    pub(crate) ada: String,
    pub(crate) issuer: Issuer,
    pub(crate) topic: String,
    sent: Vec<Acknowledged>,
}

/// The second line of a key's PEM, where the private number is.
fn key_part(pem: &Path) -> Vec<u8> {
    let text = fs::read_to_string(pem).unwrap();
    BASE64_STANDARD.decode(text.lines().nth(2).unwrap()).unwrap()[..18].to_vec()
}

impl Scene {
    pub(crate) fn new() -> Self {
        let kafka = SecureKafka::start();
        let topic = unique("canary");
        kafka.kafka().create_topic(&topic, PARTITIONS);
        let issuer = Issuer::new();
        let configuration = issuer.configuration();
        let flags = ["--log-level", "trace", "--audit-table", "--config", configuration.to_str().unwrap()];
        let agent = Agent::start_secured(&["ada", "grace"], &flags);
        let ada = agent.api().create_token("ada").unwrap();
        let mut workspace = Workspace::new(agent.endpoint());
        workspace.set_environment("FEATURESTORE_TOKEN", &ada);
        workspace.set_environment("TF_LOG", "TRACE");
        workspace.set_environment("TF_LOG_PATH", "trace.log");
        let mut scene = Self {
            kafka,
            agent,
            workspace,
            said: fresh_folder("said"),
            canaries: vec![Canary::of("token of ada", ada.as_bytes())],
            ada,
            issuer,
            topic,
            sent: Vec::new(),
        };
        let folder = scene.agent.folder().to_owned();
        scene.canaries.push(Canary::of("admin token", scene.admin().as_bytes()));
        scene.know_the_master_key("first master key");
        for name in ["agent", "ada", "grace"] {
            let part = key_part(&folder.join(format!("certificates/{name}.key")));
            scene.canaries.push(Canary::of(&format!("key of {name}"), &part));
        }
        scene
    }

    pub(crate) fn admin(&self) -> String {
        let file = self.agent.data_folder().join("admin.token");
        fs::read_to_string(file).unwrap().trim().to_owned()
    }

    pub(crate) fn know_the_master_key(&mut self, name: &str) {
        let text = fs::read_to_string(self.agent.master_key_file()).unwrap();
        let bytes = BASE64_STANDARD.decode(text.trim()).unwrap();
        self.canaries.push(Canary::of(name, text.trim().as_bytes()));
        self.canaries.push(Canary::of(&format!("{name}, its bytes"), &bytes));
    }

    pub(crate) fn know(&mut self, canary: Canary) {
        self.canaries.push(canary);
    }

    /// The secrets of that name.
    pub(crate) fn canaries_of(&self, name: &str) -> Vec<Canary> {
        let of = self.canaries.iter().filter(|canary| canary.name == name);
        of.cloned().collect()
    }

    pub(crate) fn know_key(&mut self, name: &str, pem: &Path) {
        self.canaries.push(Canary::of(name, &key_part(pem)));
    }

    /// A new secret.
    pub(crate) fn canary(&mut self, name: &str) -> String {
        let canary = Canary::new(name);
        self.canaries.push(canary.clone());
        canary.text
    }

    /// Keeps what somebody was told, for the search.
    pub(crate) fn note(&self, text: &str) {
        let file = self.said.join("said");
        let mut file = fs::File::options().create(true).append(true).open(file).unwrap();
        writeln!(file, "{text}").unwrap();
    }

    /// Runs the agent's command line as the one whom the token speaks for; whether it succeeded.
    pub(crate) fn command(&self, token: &str, arguments: &[&str], input: &str) -> bool {
        let mut process = Command::new(binary("featurestore-agent"))
            .args(arguments)
            .args(["--endpoint", self.agent.endpoint(), "--ca-file"])
            .arg(self.agent.certificates().authority())
            .env("FEATURESTORE_TOKEN", token)
            .env("RUST_BACKTRACE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        process.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let done = process.wait_with_output().unwrap();
        self.note(&String::from_utf8_lossy(&done.stdout));
        self.note(&String::from_utf8_lossy(&done.stderr));
        done.status.success()
    }

    /// A connection to a listener of the broker, or of what is not the broker.
    pub(crate) fn connection(&self, name: &str, bootstrap: &str, password: &str) -> Connection {
        let kafka = KafkaConnection {
            bootstrap_servers: bootstrap.to_owned(),
            security_protocol: "SASL_SSL".to_owned(),
            sasl_mechanism: Some(MECHANISM.to_owned()),
            user: Some(USER.to_owned()),
            password: Some(password.to_owned()),
            ca_pem: Some(self.kafka.authority().to_owned()),
            ..KafkaConnection::default()
        };
        Connection {
            name: name.to_owned(),
            options: Some(Options::Kafka(kafka)),
            ..Connection::default()
        }
    }

    /// The workspace of ada: a secret, a connection with a password of its own, and a stream on `connection`.
    pub(crate) fn write(&self, version: u32, connection: &str) {
        let mut stream = config::stream(&self.topic);
        stream["connection_config"]["uc_connection_name"] = json!(connection);
        let starting = &mut stream["source_config"]["kafka_stream_config"];
        starting["extra_options"] = json!({"startingOffsets": "earliest"});
        let literal = json!({"name": "literal", "secrets_wo_version": version, "kafka": {
            "bootstrap_servers": self.kafka.bootstrap(Listener::SaslSsl), "security_protocol": "SASL_SSL",
            "sasl_mechanism": MECHANISM, "user": USER, "password_wo": "${var.literal}", "ca_pem": self.kafka.authority(),
        }});
        let mut document = config::document(&literal, &stream);
        document["variable"] = json!({"literal": ephemeral(), "kept": ephemeral()});
        document["provider"] = json!({"featurestore": {"ca_file": self.agent.certificates().authority(), "max_retries": 0}});
        document["resource"]["featurestore_secret"] = json!({"kept": {
            "scope": "canaries", "key": "kept", "value_wo": "${var.kept}", "value_wo_version": version,
        }});
        self.workspace.write(&document);
    }

    /// Plans and applies; the plan's file is taken apart for the search.
    pub(crate) fn apply(&self) {
        let plan = self.workspace.plan();
        self.note(&plan.run.output);
        self.note(&plan.json.to_string());
        let mut unpack = Command::new(&test_parts().python);
        let parts = plan.file.with_extension("parts");
        unpack.args(["-m", "zipfile", "-e"]).args([&plan.file, &parts]);
        assert!(output(unpack, "unpack a plan", SHORT_COMMAND).status.success());
        assert!(parts.join("tfplan").is_file());
        let run = self.workspace.apply(&plan);
        self.note(&run.output);
        run.assert_success();
        self.note(&self.workspace.state().to_string());
    }

    pub(crate) fn produce(&mut self, count: i64) {
        let first = i64::try_from(self.sent.len()).unwrap();
        let orders: Vec<Outgoing> = (first..first + count).map(order).collect();
        let producer = RecordingProducer::to(self.kafka.kafka().bootstrap(), &[]);
        self.sent.extend(producer.send_all(&self.topic, &orders));
        assert_each_exactly_once(&self.agent.table(TABLE_NAME), &self.sent);
    }

    /// The files that hold a secret: of the agent, of Terraform, and of what was said.
    pub(crate) fn find(&self) -> Findings {
        let search = Search::new(&self.canaries);
        let folders = [self.agent.folder(), self.workspace.folder(), &self.said];
        folders.into_iter().flat_map(|folder| search.in_folder(folder)).collect()
    }

    /// Fails unless the files that are there to hold a secret hold theirs for their owner alone, and no other file holds one.
    pub(crate) fn search(&self, when: &str) {
        let mut found = self.find();
        for (file, holds) in DECLARED {
            let file = self.agent.folder().join(file);
            if file == self.agent.master_key_file() && self.agent.has_master_key_in_environment() {
                continue;
            }
            let place = found.iter().position(|(path, _)| *path == file);
            let (_, held) = found.remove(place.unwrap_or_else(|| panic!("{when}: no secret in {}", file.display())));
            assert!(
                held.iter().all(|canary| canary.contains(holds)),
                "{when}: {} holds {held:?}",
                file.display()
            );
        }
        assert_eq!(found, [], "{when}");
        let audited = in_the_audit(&self.agent, &Search::new(&self.canaries));
        assert_eq!(audited, [].into(), "{when}: in the audit");
        assert_mode_600(&self.agent.data_folder().join("admin.token"));
        if !self.agent.has_master_key_in_environment() {
            assert_mode_600(&self.agent.master_key_file());
        }
    }

    /// Fails unless a secret that is written by mistake is found: beside the agent's database, in a file of Terraform, in an answer.
    pub(crate) fn prove_that_leaks_show(&mut self) {
        let leak = self.canary("planted");
        for folder in [self.agent.data_folder(), self.workspace.folder().to_owned(), self.said.clone()] {
            let file = folder.join("planted");
            fs::write(&file, format!("2026 INFO refused password={leak:?}")).unwrap();
            let found = self.find().into_iter().find(|(path, _)| *path == file);
            assert_eq!(found.map(|(_, held)| held), Some(["planted, plain".to_owned()].into()));
            fs::remove_file(file).unwrap();
        }
    }
}

/// Fails unless a file is its owner's alone.
#[track_caller]
pub(crate) fn assert_mode_600(file: &Path) {
    let mode = file.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{}", file.display());
}

impl Drop for Scene {
    fn drop(&mut self) {
        discard(&self.said);
    }
}

fn ephemeral() -> Value {
    json!({"type": "string", "ephemeral": true, "sensitive": true})
}
