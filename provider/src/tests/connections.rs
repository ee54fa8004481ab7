//! The connection resource: actions, secrets, kinds.

use featurestore_proto::v1;
use serde_json::{Value as Json, json};
use tfplugin::testing::core::Action;

use super::bench::Bench;
use super::configs::{UNKNOWN, connection, with};
use super::fake_agent::Fault;

fn sasl() -> Json {
    json!({ "name": "kafka", "secrets_wo_version": 1, "kafka": {
        "bootstrap_servers": "broker:9093", "sasl_mechanism": "PLAIN", "user": "app", "password_wo": "hunter2",
    } })
}

fn kinesis() -> Json {
    json!({ "name": "kinesis", "kinesis": { "aws_region": "eu-west-1", "credential": "aws" } })
}

#[tokio::test]
async fn each_attributes_change_plans_what_it_should() {
    let ca = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
    let secret = json!({ "scope": "kafka", "key": "password" });
    let by_reference = || {
        with(
            with(sasl(), "/kafka/password_wo", json!(null)),
            "/kafka/password_secret",
            json!({ "scope": "a", "key": "b" }),
        )
    };
    let registry = || with(sasl(), "/kafka/schema_registry_url", json!("http://registry:8081"));
    let rows: Vec<(Json, &str, Json, Action)> = vec![
        (connection(), "/name", json!("other"), Action::Replace),
        (connection(), "/comment", json!("other"), Action::Update),
        (connection(), "/comment", json!(null), Action::Update),
        (connection(), "/kafka/bootstrap_servers", json!("other:9092"), Action::Update),
        (connection(), "/kafka/bootstrap_servers", json!("LOCALHOST:9092"), Action::NoOp),
        (connection(), "/kafka/security_protocol", json!("SSL"), Action::Update),
        (sasl(), "/kafka/sasl_mechanism", json!("SCRAM-SHA-512"), Action::Update),
        (sasl(), "/kafka/user", json!("other"), Action::Update),
        (sasl(), "/kafka/ca_pem", json!(ca), Action::Update),
        (by_reference(), "/kafka/password_secret", secret.clone(), Action::Update),
        (sasl(), "/kafka/schema_registry_url", json!("http://registry:8081"), Action::Update),
        (registry(), "/kafka/schema_registry_api_key", json!("key"), Action::Update),
        (
            with(registry(), "/kafka/schema_registry_api_key", json!("key")),
            "/kafka/schema_registry_api_secret_secret",
            secret,
            Action::Update,
        ),
        (sasl(), "/secrets_wo_version", json!(2), Action::Update),
        (kinesis(), "/kinesis/aws_region", json!("eu-west-2"), Action::Update),
        (kinesis(), "/kinesis/credential", json!("other"), Action::Update),
        (kinesis(), "/kinesis/endpoint", json!("http://localhost:4567"), Action::Update),
    ];
    for (base, pointer, value, action) in rows {
        let bench = Bench::start().await;
        let stored = bench.applied_connection(None, &base).await;
        let changed = with(base, pointer, value.clone());
        let planned = bench.plan_connection(Some(&stored), &changed).await;
        assert_eq!(planned.action(), action, "{pointer} = {value}: {}", planned.words());
        if action == Action::Update {
            let stored = bench.applied_connection(Some(&stored), &changed).await;
            let again = bench.plan_connection(Some(&bench.refreshed(&stored).await), &changed).await;
            assert_eq!(again.action(), Action::NoOp, "{pointer} after its apply");
        }
    }
}

#[tokio::test]
async fn another_kind_is_another_connection() {
    let bench = Bench::start().await;
    let stored = bench.applied_connection(None, &connection()).await;
    let other = with(kinesis(), "/name", json!("kafka"));
    assert_eq!(bench.plan_connection(Some(&stored), &other).await.action(), Action::Replace);
}

#[tokio::test]
async fn only_the_options_that_changed_are_sent() {
    let bench = Bench::start().await;
    let stored = bench.applied_connection(None, &connection()).await;
    let changed = with(
        with(connection(), "/kafka/bootstrap_servers", json!("other:9092")),
        "/comment",
        json!("new"),
    );
    let stored = bench.applied_connection(Some(&stored), &changed).await;
    assert_eq!(bench.agent.world().masks, [["comment", "kafka.bootstrap_servers"]]);
    assert_eq!(bench.plan_connection(Some(&stored), &changed).await.action(), Action::NoOp);
}

#[tokio::test]
async fn a_password_reaches_the_agent_and_nothing_else() {
    let bench = Bench::start().await;
    let planned = bench.plan_connection(None, &sasl()).await;
    assert!(!format!("{:?}", planned.planned).contains("hunter2"));
    let stored = bench.applied_connection(None, &sasl()).await;
    assert!(!format!("{:?}", stored.state).contains("hunter2"));
    assert_eq!(bench.agent.world().passwords["kafka"], "hunter2");
    let changed = with(sasl(), "/kafka/password_wo", json!("hunter3"));
    assert_eq!(
        bench.plan_connection(Some(&stored), &changed).await.action(),
        Action::NoOp,
        "nobody can see that it changed"
    );
    bench
        .applied_connection(Some(&stored), &with(changed, "/secrets_wo_version", json!(2)))
        .await;
    assert_eq!(bench.agent.world().passwords["kafka"], "hunter3");
}

#[tokio::test]
async fn what_this_agent_cannot_do_is_an_error_in_the_plan() {
    let bench = Bench::start().await;
    bench.agent.world().missing_capabilities = vec![v1::Violation {
        field: "kafka.security_protocol".to_owned(),
        value: "\"SASL_SSL\"".to_owned(),
        problem: "this agent connects in plain text only".to_owned(),
        remedy: "use PLAINTEXT".to_owned(),
    }];
    let planned = bench.plan_connection(None, &sasl()).await;
    assert_eq!(planned.error_path(), "kafka.security_protocol");
}

#[tokio::test]
async fn plain_text_warns_when_it_is_chosen() {
    let bench = Bench::start().await;
    assert!(
        bench
            .plan_connection(None, &connection())
            .await
            .words()
            .contains("Connection Without Encryption")
    );
    let stored = bench.applied_connection(None, &connection()).await;
    assert_eq!(bench.plan_connection(Some(&stored), &connection()).await.words(), "");
}

#[tokio::test]
async fn bad_connections_are_refused_at_their_attribute() {
    let bench = Bench::start().await;
    let rows = [
        (json!({ "name": "kafka" }), "kafka"),
        (
            with(connection(), "/kinesis", json!({ "aws_region": "eu-west-1", "credential": "aws" })),
            "kinesis",
        ),
        (with(connection(), "/name", json!("no space")), "name"),
        (with(sasl(), "/kafka/password_wo", json!(null)), "kafka.password_secret"),
        (
            with(connection(), "/kafka/security_protocol", json!("TLS")),
            "kafka.security_protocol",
        ),
        (
            with(connection(), "/kafka/bootstrap_servers", json!("localhost")),
            "kafka.bootstrap_servers",
        ),
        (
            with(sasl(), "/kafka/password_secret", json!({ "scope": "a", "key": "b" })),
            "kafka.password_secret",
        ),
        (with(connection(), "/kafka/password_wo", json!("x")), "kafka.password_wo"),
        (
            with(connection(), "/kafka/schema_registry_api_secret_wo", json!("x")),
            "kafka.schema_registry_api_secret_wo",
        ),
    ];
    for (config, path) in rows {
        let said = bench.validate_connection(&config).await;
        assert!(
            said.error_paths().contains(&path.to_owned()),
            "{config}: {:?} {}",
            said.error_paths(),
            said.words()
        );
    }
}

#[tokio::test]
async fn a_lost_answer_to_a_change_is_no_conflict() {
    let bench = Bench::start().await;
    let stored = bench.applied_connection(None, &connection()).await;
    bench.agent.fail("UpdateConnection", [Fault::LoseAnswer]);
    bench
        .applied_connection(Some(&stored), &with(connection(), "/comment", json!("new")))
        .await;
}

#[tokio::test]
async fn a_connection_is_imported_to_an_empty_plan() {
    let bench = Bench::start().await;
    bench.applied_connection(None, &connection()).await;
    let imported = bench.import_connection("kafka").await.expect("it is there");
    assert_eq!(bench.plan_connection(Some(&imported), &connection()).await.action(), Action::NoOp);
}

#[tokio::test]
async fn drift_is_planned_back_and_a_deleted_connection_is_planned_anew() {
    let bench = Bench::start().await;
    let stored = bench.applied_connection(None, &connection()).await;
    {
        let mut world = bench.agent.world();
        let kept = world.connections.get_mut("kafka").expect("it is there");
        kept.comment = None;
        kept.generation += 1;
    }
    let refreshed = bench.refreshed(&stored).await;
    assert_eq!(
        bench.plan_connection(Some(&refreshed), &connection()).await.action(),
        Action::Update
    );
    bench.applied_connection(Some(&refreshed), &connection()).await;
    bench.agent.world().connections.clear();
    assert!(bench.refresh(&stored).await.is_none());
}

#[tokio::test]
async fn a_conflict_is_a_clear_error() {
    let bench = Bench::start().await;
    let stored = bench.applied_connection(None, &connection()).await;
    bench.agent.world().connections.get_mut("kafka").expect("it is there").generation += 1;
    let planned = bench
        .plan_connection(Some(&stored), &with(connection(), "/comment", json!("new")))
        .await;
    let outcome = bench.apply_planned(planned).await;
    assert!(outcome.words().contains("Changed Since The Plan"), "{}", outcome.words());
    assert_eq!(outcome.stored, Some(stored));
}

#[tokio::test]
async fn a_literal_secret_is_checked_in_the_plan_without_its_value() {
    for password in ["hunter2", UNKNOWN] {
        let bench = Bench::start().await;
        bench.agent.world().missing_capabilities = vec![v1::Violation {
            field: "kafka.password".to_owned(),
            problem: "this agent cannot keep secrets yet".to_owned(),
            ..Default::default()
        }];
        let config = with(
            with(sasl(), "/kafka/password_wo", json!(password)),
            "/kafka/bootstrap_servers",
            json!(UNKNOWN),
        );
        let planned = bench.plan_connection(None, &config).await;
        assert_eq!(planned.error_path(), "kafka.password_wo");
        assert_eq!(bench.agent.world().checked_passwords, [Some(String::new())]);
    }
    let bench = Bench::start().await;
    bench.plan_connection(None, &connection()).await;
    assert_eq!(bench.agent.world().checked_passwords, [None]);
}

#[tokio::test]
async fn a_connection_in_use_that_would_be_replaced_warns() {
    let bench = Bench::start().await;
    let stored = bench.applied_connection(None, &connection()).await;
    let renamed = with(connection(), "/name", json!("other"));
    let cards = || vec!["main.payments.cards".to_owned()];
    for (changed, used_by, others, said) in [
        (with(kinesis(), "/name", json!("kafka")), cards(), 0, "`main.payments.cards`."),
        (renamed.clone(), cards(), 0, "`main.payments.cards`."),
        (renamed.clone(), cards(), 2, "and 2 more that you may not see"),
        (renamed, Vec::new(), 3, "3 of them that you may not see"),
    ] {
        bench.agent.world().used_by = used_by;
        bench.agent.world().used_by_others = others;
        let words = bench.plan_connection(Some(&stored), &changed).await.words();
        assert!(words.contains("Connection Is In Use") && words.contains(said), "{words}");
    }
    let update = bench
        .plan_connection(Some(&stored), &with(connection(), "/comment", json!("new")))
        .await;
    assert!(!update.words().contains("In Use"), "{}", update.words());
}

#[tokio::test]
async fn a_create_without_an_answer_says_that_the_connection_may_exist() {
    let bench = Bench::with(json!({ "max_retries": 0, "request_timeout": "100ms" })).await;
    bench.agent.fail("CreateConnection", [Fault::Hang]);
    let planned = bench.plan_connection(None, &connection()).await;
    let words = bench.apply_planned(planned).await.words();
    assert!(words.contains("Connection May Exist") && words.contains("import {"), "{words}");
}
