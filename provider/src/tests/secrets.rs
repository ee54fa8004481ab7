//! Secret values: where they go, where they never are, and how it shows that someone else has written one.

use serde_json::{Value as Json, json};
use tfplugin::testing::core::{Action, Stored};

use super::bench::Bench;
use super::configs::with;
use super::entities::kinds::{scope, secret};

const SECRET: &str = "featurestore_secret";
const SCOPE: &str = "featurestore_secret_scope";
const CONNECTION: &str = "featurestore_connection";

fn sasl() -> Json {
    json!({ "name": "kafka", "secrets_wo_version": 1, "kafka": {
        "bootstrap_servers": "broker:9093", "sasl_mechanism": "PLAIN", "user": "app", "password_wo": "hunter2",
    } })
}

/// A bench with a scope.
async fn start() -> Bench {
    let bench = Bench::start().await;
    bench
        .agent
        .world()
        .governance
        .scopes
        .insert("payments".to_owned(), Default::default());
    bench
}

/// The password or secret that the agent has.
fn kept(bench: &Bench, type_name: &str) -> String {
    let world = bench.agent.world();
    match type_name {
        SECRET => world.governance.scopes["payments"]["kafka-password"].value.clone(),
        _ => world.passwords["kafka"].clone(),
    }
}

/// Someone else writes it.
fn write(bench: &Bench, type_name: &str, value: &str) {
    let mut world = bench.agent.world();
    if type_name == SECRET {
        world.put_secret("payments", "kafka-password", value);
    } else {
        world.passwords.insert("kafka".to_owned(), value.to_owned());
        let connection = world.connections.get_mut("kafka").expect("it is there");
        connection.generation += 1;
        connection.secrets_revision = "theirs".to_owned();
    }
}

#[tokio::test]
async fn a_value_is_in_no_plan_and_no_state_and_no_private_note() {
    for (type_name, config) in [(SECRET, secret()), (CONNECTION, sasl())] {
        let bench = start().await;
        let planned = bench.plan_one(type_name, None, &config).await;
        assert!(!format!("{:?}", planned.planned).contains("hunter2"));
        let stored = bench.applied_one(type_name, None, &config).await;
        assert_eq!(kept(&bench, type_name), "hunter2");
        for stored in [&stored, &bench.refreshed(&stored).await] {
            assert!(!format!("{:?}", stored.state).contains("hunter2"));
            assert!(!String::from_utf8_lossy(&stored.private).contains("hunter2"));
        }
    }
}

#[tokio::test]
async fn a_new_version_sends_the_value_again_and_a_new_value_alone_does_not() {
    let bench = start().await;
    let stored = bench.applied_one(SECRET, None, &secret()).await;
    let rotated = with(secret(), "/value_wo", json!("hunter3"));
    assert_eq!(bench.plan_one(SECRET, Some(&stored), &rotated).await.action(), Action::NoOp);
    let stored = bench
        .applied_one(SECRET, Some(&stored), &with(rotated.clone(), "/value_wo_version", json!(2)))
        .await;
    assert_eq!(kept(&bench, SECRET), "hunter3");
    let again = bench
        .plan_one(
            SECRET,
            Some(&bench.refreshed(&stored).await),
            &with(rotated, "/value_wo_version", json!(2)),
        )
        .await;
    assert_eq!(again.action(), Action::NoOp);
}

#[tokio::test]
async fn a_value_that_someone_else_wrote_shows_and_is_sent_again() {
    for (type_name, config, revision) in [(SECRET, secret(), "revision"), (CONNECTION, sasl(), "secrets_revision")] {
        let bench = start().await;
        let stored = bench.applied_one(type_name, None, &config).await;
        write(&bench, type_name, "theirs");
        // Twice, because a refresh must not take what it sees for what Terraform wrote.
        let refreshed = bench.refreshed(&bench.refreshed(&stored).await).await;
        let planned = bench.plan_one(type_name, Some(&refreshed), &config).await;
        assert_eq!(planned.action(), Action::Update, "{type_name}");
        assert!(planned.planned.get(revision).is_unknown());
        assert!(planned.words().contains("Secret Changed Elsewhere"), "{}", planned.words());
        assert!(!planned.words().contains("theirs") && !planned.words().contains("hunter2"));
        let mended = bench.applied_one(type_name, Some(&refreshed), &config).await;
        assert_eq!(kept(&bench, type_name), "hunter2");
        let again = bench.plan_one(type_name, Some(&bench.refreshed(&mended).await), &config).await;
        assert_eq!((again.action(), again.words().as_str()), (Action::NoOp, ""), "{type_name}");
    }
}

#[tokio::test]
async fn a_secret_of_a_scope_that_a_connection_refers_to_is_none_of_the_connections_drift() {
    let bench = Bench::start().await;
    let config = with(
        with(sasl(), "/kafka/password_wo", json!(null)),
        "/kafka/password_secret",
        json!({ "scope": "payments", "key": "kafka-password" }),
    );
    let stored = bench.applied_one(CONNECTION, None, &config).await;
    bench
        .agent
        .world()
        .connections
        .get_mut("kafka")
        .expect("it is there")
        .secrets_revision = "rotated".to_owned();
    let refreshed = bench.refreshed(&stored).await;
    assert_eq!(bench.plan_one(CONNECTION, Some(&refreshed), &config).await.action(), Action::NoOp);
}

#[tokio::test]
async fn an_imported_secret_takes_the_configured_value() {
    let bench = start().await;
    bench.agent.world().put_secret("payments", "kafka-password", "theirs");
    let imported = bench.import_one(SECRET, "payments/kafka-password").await.expect("it is there");
    assert_eq!(bench.plan_one(SECRET, Some(&imported), &secret()).await.action(), Action::Update);
    bench.applied_one(SECRET, Some(&imported), &secret()).await;
    assert_eq!(kept(&bench, SECRET), "hunter2");
}

#[tokio::test]
async fn a_password_that_someone_else_took_away_is_sent_again() {
    let bench = Bench::start().await;
    let stored = bench.applied_one(CONNECTION, None, &sasl()).await;
    let connection = |bench: &Bench| bench.agent.world().connections["kafka"].clone();
    let taken_away = featurestore_proto::v1::Connection {
        secrets_revision: String::new(),
        generation: 2,
        ..connection(&bench)
    };
    bench.agent.world().connections.insert("kafka".to_owned(), taken_away);
    let refreshed = bench.refreshed(&bench.refreshed(&stored).await).await;
    assert_eq!(bench.plan_one(CONNECTION, Some(&refreshed), &sasl()).await.action(), Action::Update);
    bench.applied_one(CONNECTION, Some(&refreshed), &sasl()).await;
    assert!(!connection(&bench).secrets_revision.is_empty());
}

/// A password goes along where it would be sent elsewhere from now on, and otherwise stays where it is.
#[tokio::test]
async fn a_password_is_sent_again_with_the_address_it_goes_to() {
    let ca = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
    for (pointer, value, sent) in [
        ("/kafka/bootstrap_servers", json!("other:9093"), true),
        ("/kafka/security_protocol", json!("SASL_PLAINTEXT"), true),
        ("/kafka/sasl_mechanism", json!("SCRAM-SHA-256"), true),
        ("/kafka/ca_pem", json!(ca), true),
        ("/kafka/user", json!("other"), false),
        ("/comment", json!("other"), false),
        ("/kafka/bootstrap_servers", json!("BROKER:9093"), false),
    ] {
        let bench = Bench::start().await;
        let stored: Stored = bench.applied_one(CONNECTION, None, &sasl()).await;
        let changed = with(with(sasl(), pointer, value), "/kafka/password_wo", json!("hunter3"));
        bench.applied_one(CONNECTION, Some(&stored), &changed).await;
        let masks = bench.agent.world().masks.concat();
        assert_eq!(masks.contains(&"kafka.password".to_owned()), sent, "{pointer}: {masks:?}");
    }
}

#[tokio::test]
async fn many_secrets_of_one_scope_are_refreshed_by_one_list() {
    let bench = start().await;
    let mut stored = Vec::new();
    for number in 0..20 {
        let config = with(secret(), "/key", json!(format!("key-{number}")));
        stored.push(bench.applied_one(SECRET, None, &config).await);
    }
    bench.agent.world().calls.clear();
    futures::future::join_all(stored.iter().map(|one| bench.refreshed(one))).await;
    assert_eq!(bench.agent.count("ListSecrets"), 1);
    // What the shared answer lacks is asked for again before it counts as gone.
    let late = bench.applied_one(SECRET, None, &with(secret(), "/key", json!("late"))).await;
    bench
        .agent
        .world()
        .governance
        .scopes
        .get_mut("payments")
        .expect("the scope")
        .remove("late");
    bench.refreshed(&stored[0]).await;
    bench.agent.world().put_secret("payments", "late", "x");
    bench.refreshed(&late).await;
}

/// The scope of the secrets becomes another one of the name.
fn begin_another_life(bench: &Bench) {
    let governance = &mut bench.agent.world().governance;
    governance.scopes.insert("payments".to_owned(), Default::default());
    governance.scope_uids.insert("payments".to_owned(), "another".to_owned());
}

#[tokio::test]
async fn a_secret_of_a_scope_that_the_same_plan_makes_anew_is_sent_to_the_new_one() {
    let bench = Bench::start().await;
    let of_scope = bench.applied_one(SCOPE, None, &scope()).await;
    bench.next_command().await;
    let stored = bench.applied_one(SECRET, None, &secret()).await;
    assert_eq!(stored.state.get("scope_id"), of_scope.state.get("id"));
    assert_eq!(bench.plan_one(SECRET, Some(&stored), &secret()).await.action(), Action::NoOp);
    bench.plan_one(SCOPE, None, &scope()).await;
    let planned = bench.plan_one(SECRET, Some(&stored), &secret()).await;
    assert_eq!(planned.action(), Action::Update);
    assert!(planned.planned.get("scope_id").is_unknown() && planned.planned.get("revision").is_unknown());
    begin_another_life(&bench);
    let mended = bench.apply_planned(planned).await;
    assert!(!mended.has_errors(), "{}", mended.words());
    assert_eq!(kept(&bench, SECRET), "hunter2");
    bench.next_command().await;
    let refreshed = bench.refreshed(&mended.stored.expect("a state")).await;
    assert_eq!(bench.plan_one(SECRET, Some(&refreshed), &secret()).await.action(), Action::NoOp);
}

#[tokio::test]
async fn what_was_planned_on_another_life_of_the_scope_touches_nothing() {
    let bench = Bench::start().await;
    bench.applied_one(SCOPE, None, &scope()).await;
    bench.next_command().await;
    let stored = bench.applied_one(SECRET, None, &secret()).await;
    let rotated = with(secret(), "/value_wo_version", json!(2));
    let update = bench.plan_one(SECRET, Some(&stored), &rotated).await;
    let destroy = bench.plan_destroy(&stored).await;
    begin_another_life(&bench);
    bench.agent.world().put_secret("payments", "kafka-password", "theirs");
    let outcome = bench.apply_planned(update).await;
    assert!(outcome.words().contains("Changed Since The Plan"), "{}", outcome.words());
    let outcome = bench.apply_planned(destroy).await;
    assert!(!outcome.has_errors() && outcome.stored.is_none(), "{}", outcome.words());
    assert_eq!(kept(&bench, SECRET), "theirs");
}

#[tokio::test]
async fn a_scope_that_goes_says_how_many_secrets_go_with_it() {
    let bench = Bench::start().await;
    let stored = bench.applied_one(SCOPE, None, &scope()).await;
    assert_eq!(bench.plan_destroy(&stored).await.words(), "");
    bench.agent.world().put_secret("payments", "a", "1");
    bench.next_command().await;
    let words = bench.plan_destroy(&stored).await.words();
    assert!(
        words.contains("Destroy Deletes Secrets") && words.contains("1 secret, `a`"),
        "{words}"
    );
    for number in 0..11 {
        bench.agent.world().put_secret("payments", &format!("b-{number:02}"), "1");
    }
    let renamed = with(scope(), "/name", json!("others"));
    let words = bench.plan_one(SCOPE, Some(&stored), &renamed).await.words();
    assert!(words.contains("12 secrets, `a`") && words.contains(" and 2 more"), "{words}");
}
