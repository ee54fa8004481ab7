//! A master key in AWS KMS: secrets are kept, used, and opened by the next life; rotations go there and back and may be killed; a KMS
//! that is away or refuses harms what needs it, and nothing else.

use std::process::Command;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use e2e::agent::{Agent, Environment};
use e2e::api::Target;
use e2e::aws::{Aws, AwsUser};
use e2e::limits::SHORT_COMMAND;
use e2e::paths::binary;
use e2e::spawn::{output, spawn};
use e2e::wait::wait_until;
use featurestore_proto::v1::connection::Options;
use featurestore_proto::v1::{Connection, KafkaConnection, SecretRef};

use crate::canary_search::{Canary, Search};

const MAY_USE_KEYS: &[(&str, &str)] = &[("kms:Encrypt", "*"), ("kms:Decrypt", "*")];

const MASTER_KEY_KMS: &str = "FEATURESTORE_AGENT_MASTER_KEY_KMS";
const MASTER_KEY_FILE: &str = "FEATURESTORE_AGENT_MASTER_KEY_FILE";
const FORMER_KEY_KMS: &str = "FEATURESTORE_AGENT_FORMER_MASTER_KEY_KMS";

struct Scene {
    aws: Aws,
    user: AwsUser,
    key: String,
}

impl Scene {
    fn new() -> Self {
        let mut aws = Aws::start();
        let (key, user) = (aws.key(), aws.user("agent", MAY_USE_KEYS));
        Self { aws, user, key }
    }

    /// The environment of an agent whose keys these variables name.
    fn environment(&self, keys: &[(&'static str, &str)]) -> Environment {
        let mut environment = self.aws.environment(&self.user);
        environment.extend(keys.iter().map(|(name, value)| (*name, (*value).to_owned())));
        environment
    }

    /// Starts an agent under the key in KMS.
    fn agent(&self) -> Agent {
        Agent::start_in(self.environment(&[(MASTER_KEY_KMS, &self.key), ("FEATURESTORE_AGENT_LOG_LEVEL", "trace")]))
    }
}

/// A connection that takes its password from a scope, to where nobody listens: an attempt gets as far as the broker, or not even
/// to the secret.
fn connection(scope: &str) -> Connection {
    let kafka = KafkaConnection {
        bootstrap_servers: "127.0.0.1:1".to_owned(),
        security_protocol: "SASL_PLAINTEXT".to_owned(),
        sasl_mechanism: Some("PLAIN".to_owned()),
        user: Some("ada".to_owned()),
        password_secret: Some(SecretRef {
            scope: scope.to_owned(),
            key: "password".to_owned(),
        }),
        ..KafkaConnection::default()
    };
    Connection {
        name: "broker".to_owned(),
        options: Some(Options::Kafka(kafka)),
        ..Connection::default()
    }
}

fn keep(agent: &Agent, scope: &str) {
    agent.api().create_secret_scope(scope).unwrap();
    agent.api().put_secret(scope, "password", "hunter2-of-a-test").unwrap();
}

/// What keeps a scope's secret from a connection that needs it, if anything does.
fn closed(agent: &Agent, scope: &str) -> Option<String> {
    let steps = agent.api().test_connection(Target::Connection(connection(scope))).unwrap();
    let said = steps.into_iter().map(|step| step.message);
    said.into_iter().find(|message| message.contains("master key"))
}

#[track_caller]
fn assert_open(agent: &Agent, scopes: &[&str]) {
    for scope in scopes {
        assert_eq!(closed(agent, scope), None, "{scope}");
    }
}

#[track_caller]
fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

/// `rotate-master-key` of a stopped agent, from the keys that `environment` names.
fn rotation(agent: &Agent, environment: &Environment, to: &[&str]) -> Command {
    let mut command = Command::new(binary("featurestore-agent"));
    command
        .args(["rotate-master-key", "--data-dir"])
        .arg(agent.data_folder())
        .args(to)
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .envs(environment.iter().map(|(name, value)| (name, value)));
    command
}

/// Runs it to its end; whether it succeeded, and all that it said.
fn rotate(agent: &Agent, environment: &Environment, to: &[&str]) -> (bool, String) {
    let done = output(rotation(agent, environment, to), "rotate-master-key", SHORT_COMMAND);
    let said = [done.stdout, done.stderr].concat();
    (done.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn secrets_under_a_key_in_kms_are_used_and_opened_by_the_next_life() {
    let mut scene = Scene::new();
    let mut agent = scene.agent();
    keep(&agent, "first");
    assert_open(&agent, &["first"]);
    agent.kill();
    agent.start_again();
    assert_open(&agent, &["first"]);
    assert!(!agent.folder().join("master.key").exists());
    // Data keys are in no file and no log, which says all that it can.
    let mut canaries = vec![Canary::of("key of the agent", scene.user.secret_access_key.as_bytes())];
    for (name, secret) in scene.aws.secrets() {
        canaries.push(Canary::of(&name, &BASE64_STANDARD.decode(&secret).unwrap()));
    }
    assert_eq!(canaries.len(), 2, "one scope was sealed");
    assert_eq!(Search::new(&canaries).in_folder(agent.folder()), []);

    // Away: what needs the key says so, and what to do; all else goes on, in the next life too.
    scene.aws.leave();
    assert!(agent.terminate().success());
    agent.start_again();
    let said = closed(&agent, "first").expect("KMS is away");
    assert_says(
        &said,
        &["connection `broker`", "scope `first`", &scene.key, "that AWS can be reached"],
    );
    agent.api().create_secret_scope("second").unwrap();
    let refused = agent.api().put_secret("second", "password", "hunter2-of-a-test").unwrap_err();
    assert_says(refused.message(), &["scope `second`", &scene.key, "that AWS can be reached"]);
    agent.api().create_kafka_connection("open", "127.0.0.1:1").unwrap();
    assert_eq!(agent.api().list_secrets("first").unwrap().len(), 1);
    scene.aws.come_back();
    assert_open(&agent, &["first"]);

    // Refused: the agent may no longer use the key, then it may again.
    scene.aws.allow(&scene.user, &[("kms:Encrypt", "*")]);
    assert_says(
        &closed(&agent, "first").expect("KMS refuses"),
        &["scope `first`", "403", "kms:Decrypt"],
    );
    scene.aws.allow(&scene.user, MAY_USE_KEYS);
    assert_open(&agent, &["first"]);

    // Another key, or one that is not there, opens nothing that this one sealed.
    let other = scene.aws.key();
    agent.kill();
    agent.set_environment(scene.environment(&[(MASTER_KEY_KMS, &other)]));
    agent.start_again();
    assert_says(
        &closed(&agent, "first").expect("another key"),
        &[&scene.key, &other, "--master-key-kms", "--former-master-key-kms"],
    );
    keep(&agent, "third");
    agent.kill();
    agent.set_environment(scene.environment(&[(MASTER_KEY_KMS, &other), (FORMER_KEY_KMS, &scene.key)]));
    agent.start_again();
    assert_open(&agent, &["first", "third"]);
    agent.kill();
    let nowhere = format!("{}0", &scene.key[..scene.key.len() - 1]);
    agent.set_environment(scene.environment(&[(MASTER_KEY_KMS, &nowhere)]));
    agent.start_again();
    let refused = agent.api().put_secret("second", "password", "hunter2-of-a-test").unwrap_err();
    assert_says(refused.message(), &[&nowhere, "NotFoundException", "that the key is there"]);
}

#[test]
fn a_rotation_to_kms_and_back_that_is_killed_leaves_every_scope_open_to_whoever_has_both_keys() {
    const SCOPES: [&str; 4] = ["a", "b", "c", "d"];
    let mut scene = Scene::new();
    let mut agent = Agent::start_in(scene.environment(&[]));
    for scope in SCOPES {
        keep(&agent, scope);
    }
    let file = agent.folder().join("master.key");
    let (file, key) = (file.to_str().unwrap(), scene.key.clone());
    let in_file = scene.environment(&[(MASTER_KEY_FILE, file)]);
    let in_kms = scene.environment(&[(MASTER_KEY_KMS, &key)]);
    let both = scene.environment(&[(MASTER_KEY_FILE, file), (FORMER_KEY_KMS, &key)]);
    let ways = [
        (&in_file, ["--new-master-key-kms", key.as_str()], &in_kms),
        (&in_kms, ["--new-master-key-file", file], &in_file),
    ];
    for (from, to, after) in ways {
        // Each scope takes one call. KMS hangs in the third, and the rotation is killed there.
        assert!(agent.terminate().success());
        scene.aws.hang_after(Some(2));
        let mut process = spawn(rotation(&agent, from, &to)).unwrap();
        wait_until("KMS hangs", SHORT_COMMAND, || match scene.aws.calls() {
            3.. => Ok(()),
            calls => Err(format!("{calls} calls")),
        });
        process.kill().unwrap();
        process.wait().unwrap();
        scene.aws.hang_after(None);
        for (environment, open, missing) in [(after, &SCOPES[..2], &SCOPES[2..]), (&both, &SCOPES, &[])] {
            agent.set_environment(environment.clone());
            agent.start_again();
            assert_open(&agent, open);
            for scope in missing {
                let said = closed(&agent, scope).expect("the other key is needed");
                assert_says(&said, &["--former-master-key-kms", "--former-master-key-file"]);
            }
            assert!(agent.terminate().success());
        }
        let (done, said) = rotate(&agent, from, &to);
        assert!(done, "{said}");
        assert_says(&said, &["sealed 2 scopes", "2 were already"]);
        agent.set_environment(after.clone());
        agent.start_again();
        assert_open(&agent, &SCOPES);
    }
    // With KMS away a rotation says so and what to do meanwhile, and changes nothing.
    assert!(agent.terminate().success());
    scene.aws.leave();
    let (done, said) = rotate(&agent, &in_file, &["--new-master-key-kms", &key]);
    assert!(!done, "{said}");
    assert_says(&said, &["run it again", &key, "--former-master-key-kms"]);
    agent.start_again();
    assert_open(&agent, &SCOPES);
}
