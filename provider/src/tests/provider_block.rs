//! The provider block: what is refused, what falls back on the environment, and where a token may go.

use serde_json::{Value as Json, json};
use tfplugin::call::StopSignal;

use super::bench::Bench;
use super::configs::{UNKNOWN, plain_stream, value};
use crate::config::{Settings, schema};
use crate::session::Access;

fn refusal(block: &Json, environment: &[(&str, &str)]) -> Option<String> {
    let lookup = |name: &str| environment.iter().find(|(it, _)| *it == name).map(|(_, text)| (*text).to_owned());
    let problems = Settings::read(&value(&schema(), block), lookup).err()?;
    Some(problems.iter().map(|it| format!("{}: {}\n", it.summary, it.detail)).collect())
}

#[test]
fn what_a_provider_block_may_say() {
    let accepted = [
        json!({}),
        json!({ "endpoint": "http://agent.internal:7070" }),
        json!({ "endpoint": "http://localhost:7070", "token": "secret" }),
        json!({ "endpoint": "http://[::1]:7070", "token": "secret" }),
        json!({ "endpoint": "https://agent.internal:7070", "token": "secret", "ca_file": "/etc/ca.pem" }),
        json!({ "endpoint": "https://agent:7070", "client_cert_file": "/etc/c.pem", "client_key_file": "/etc/k.pem" }),
        json!({ "endpoint": "https://agent:7070", "client_cert_file": "/etc/c.pem", "client_key_file": UNKNOWN }),
        json!({ "endpoint": UNKNOWN, "ca_file": "/etc/ca.pem", "token": "secret" }),
        json!({ "request_timeout": "5s", "max_retries": 0, "plan_checks": "off" }),
        json!({ "endpoint": UNKNOWN, "token": UNKNOWN, "max_retries": UNKNOWN, "request_timeout": UNKNOWN, "plan_checks": UNKNOWN }),
    ];
    for block in accepted {
        assert_eq!(refusal(&block, &[]), None, "{block}");
    }
    let refused = [
        (
            json!({ "client_cert_file": "/etc/c.pem", "client_key_file": "/etc/k.pem" }),
            "plain HTTP",
        ),
        (json!({ "ca_file": "/etc/ca.pem" }), "plain HTTP"),
        (
            json!({ "endpoint": "https://agent:7070", "client_cert_file": "/etc/c.pem" }),
            "or neither",
        ),
        (
            json!({ "endpoint": "https://agent:7070", "client_key_file": "/etc/k.pem" }),
            "or neither",
        ),
        (json!({ "endpoint": "agent:7070" }), "does not start with"),
        (json!({ "endpoint": "http://user:secret@127.0.0.1:7070" }), "user name or password"),
        (json!({ "endpoint": "http://agent:7070/v1" }), "has a path"),
        (
            json!({ "endpoint": "http://agent.internal:7070", "token": "secret" }),
            "Token Over Plain HTTP",
        ),
        (
            json!({ "endpoint": "http://127.0.0.1.example.com", "token_command": ["pass"] }),
            "Token Over Plain HTTP",
        ),
        (json!({ "token": "a", "token_command": ["pass"] }), "not both"),
        (json!({ "token_command": [] }), "empty"),
        (json!({ "request_timeout": "1ms" }), "out of range"),
        (json!({ "request_timeout": "soon" }), "not a duration"),
        (json!({ "max_retries": 31 }), "out of range"),
        (json!({ "max_retries": -1 }), "out of range"),
        (json!({ "max_retries": 1.5 }), "out of range"),
        (json!({ "plan_checks": "maybe" }), "not known"),
    ];
    for (block, words) in refused {
        let said = refusal(&block, &[]).unwrap_or_default();
        assert!(said.contains(words), "{block}: {said:?}");
        assert!(!said.contains("secret"), "a token is in no message");
    }
}

#[test]
fn the_environment_fills_in_what_the_block_leaves_out() {
    let far = [
        ("FEATURESTORE_ENDPOINT", "http://agent.internal:7070"),
        ("FEATURESTORE_TOKEN", "secret"),
    ];
    assert!(refusal(&json!({}), &far).is_some_and(|said| said.contains("Token Over Plain HTTP")));
    assert_eq!(
        refusal(&json!({ "endpoint": "http://127.0.0.1:7070" }), &far),
        None,
        "the block wins"
    );
    assert_eq!(refusal(&json!({}), &[("FEATURESTORE_ENDPOINT", "")]), None, "empty is not set");
}

#[tokio::test]
async fn the_token_travels_as_a_bearer() {
    for block in [json!({ "token": "s3cret" }), json!({ "token_command": ["printf", "s3cret\\n"] })] {
        let bench = Bench::with(block).await;
        bench.applied(&plain_stream()).await;
        assert_eq!(bench.agent.world().authorization.as_deref(), Some("Bearer s3cret"));
    }
}

#[tokio::test]
async fn a_token_command_that_fails_is_an_error_without_its_output() {
    for command in [json!(["false"]), json!(["featurestore-no-such-program"]), json!(["true"])] {
        let said = Bench::refused(json!({ "token_command": command })).await;
        assert!(said.contains("Invalid Provider Configuration"), "{command}: {said}");
    }
}

#[tokio::test]
async fn a_token_command_is_neither_believed_nor_waited_for_without_end() {
    let chatty = ["sh", "-c", "while :; do echo secret; done"];
    let said = Bench::refused(json!({ "token_command": chatty })).await;
    assert!(said.contains("wrote more than a token") && !said.contains("secret;"), "{said}");
    let block = value(&schema(), &json!({ "token_command": ["sleep", "600"] }));
    let settings = Settings::read(&block, |_| None).expect("a sound block");
    let stop = StopSignal::new();
    stop.stop();
    let problems = settings.open("1.15.0", &stop).await.expect_err("it was stopped");
    assert!(problems.iter().any(|it| it.detail.contains("interrupted")));
}

#[tokio::test]
async fn the_admin_token_of_an_agent_on_this_machine_is_found_and_sent_nowhere_else() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("admin.token"), "s3cret\n").expect("a token file");
    let data_dir = folder.path().to_str().expect("a path").to_owned();
    let opened = async |block: &Json, token: Option<&str>| {
        let environment = |name: &str| match name {
            "FEATURESTORE_AGENT_DATA_DIR" => Some(data_dir.clone()),
            "FEATURESTORE_TOKEN" => token.map(str::to_owned),
            _ => None,
        };
        let settings = Settings::read(&value(&schema(), block), environment).expect("a sound block");
        match settings.open("1.15.0", &StopSignal::new()).await.expect("a client").0 {
            Access::Ready(client) => client.token_of_tests(),
            Access::Unknown { .. } => None,
        }
    };
    let local = json!({ "endpoint": "http://localhost:1" });
    assert_eq!(opened(&local, None).await.as_deref(), Some("Bearer s3cret"));
    assert_eq!(opened(&local, Some("other")).await.as_deref(), Some("Bearer other"));
    for far in ["http://agent.internal:1", "https://agent.internal:1"] {
        assert_eq!(opened(&json!({ "endpoint": far }), None).await, None, "{far}");
    }
    std::fs::remove_file(folder.path().join("admin.token")).expect("the file goes");
    assert_eq!(opened(&local, None).await, None, "an agent may ask for none");
}

#[tokio::test]
async fn files_for_tls_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("a path").to_owned()
    };
    let junk = file("junk.pem", "no certificate");
    let cases = [
        (json!({ "ca_file": "/nowhere/ca.pem" }), "/nowhere/ca.pem"),
        (json!({ "ca_file": file("long.pem", &"x".repeat(2 << 20)) }), "bytes"),
        (json!({ "client_cert_file": junk, "client_key_file": junk }), "cannot be used"),
    ];
    for (mut block, said) in cases {
        block["endpoint"] = json!("https://127.0.0.1:1");
        let settings = Settings::read(&value(&schema(), &block), |_| None).expect("a sound block");
        let problems = settings.open("1.15.0", &StopSignal::new()).await.expect_err("a file of no use");
        assert!(problems.iter().any(|it| it.detail.contains(said)), "{block}");
    }
}
