//! Grants: drift, and what a refresh of many costs.

use featurestore_proto::v1::SecurableType;
use serde_json::json;
use tfplugin::testing::core::Action;
use tfplugin::value::Value;
use tonic::Code;

use super::bench::Bench;
use super::configs::{connection, plain_stream, with};
use super::entities::kinds::grants;
use super::fake_agent::Fault;

const GRANTS: &str = "featurestore_grants";

#[tokio::test]
async fn what_is_granted_elsewhere_shows_and_is_taken_back() {
    for theirs in [
        vec![("payments-team", &["USE CONNECTION", "MANAGE"] as &[&str])],
        vec![
            ("payments-team", &["USE CONNECTION", "MANAGE"]),
            ("ops@shop.example", &["USE CONNECTION"]),
            ("guest", &["MANAGE"]),
        ],
        vec![("payments-team", &["USE CONNECTION"]), ("ops@shop.example", &["USE CONNECTION"])],
        vec![],
    ] {
        let bench = Bench::start().await;
        let stored = bench.applied_one(GRANTS, None, &grants()).await;
        bench.agent.world().grant(SecurableType::Connection, "payments-kafka", &theirs);
        let refreshed = bench.refreshed(&stored).await;
        let planned = bench.plan_one(GRANTS, Some(&refreshed), &grants()).await;
        assert_eq!(planned.action(), Action::Update, "{theirs:?}");
        let mended = bench.applied_one(GRANTS, Some(&refreshed), &grants()).await;
        assert_eq!(bench.refreshed(&mended).await.state, stored.state, "{theirs:?}");
    }
}

#[tokio::test]
async fn an_empty_set_is_a_set_and_plans_nothing_once_it_is_there() {
    let bench = Bench::start().await;
    let config = with(grants(), "/grants", json!([]));
    let stored = bench.applied_one(GRANTS, None, &config).await;
    let refreshed = bench.refreshed(&stored).await;
    assert_eq!(refreshed.state.get("grants"), &Value::Set(Vec::new()));
    assert_eq!(bench.plan_one(GRANTS, Some(&refreshed), &config).await.action(), Action::NoOp);
}

#[tokio::test]
async fn a_destroyed_set_takes_all_grants_back() {
    let bench = Bench::start().await;
    let stored = bench.applied_one(GRANTS, None, &grants()).await;
    bench.apply_planned(bench.plan_destroy(&stored).await).await;
    let world = bench.agent.world();
    let kept = world.governance.grants.values().next().expect("a record");
    assert!(kept.grants.is_empty());
}

#[tokio::test]
async fn a_destroy_that_was_planned_on_other_grants_takes_none_back() {
    let bench = Bench::start().await;
    let stored = bench.applied_one(GRANTS, None, &grants()).await;
    let destroy = bench.plan_destroy(&stored).await;
    bench
        .agent
        .world()
        .grant(SecurableType::Connection, "payments-kafka", &[("guest", &["MANAGE"])]);
    let outcome = bench.apply_planned(destroy).await;
    assert!(
        outcome.words().contains("Changed Since The Plan") && outcome.stored.is_some(),
        "{}",
        outcome.words()
    );
}

#[tokio::test]
async fn two_hundred_sets_are_refreshed_by_one_list_and_a_list_has_pages() {
    for (page_size, lists) in [(0, 1), (64, 4)] {
        let bench = Bench::start().await;
        bench.agent.world().governance.page_size = page_size;
        let mut stored = Vec::new();
        for number in 0..200 {
            let name = format!("kafka-{number:03}");
            bench
                .agent
                .world()
                .grant(SecurableType::Connection, &name, &[("team", &["MANAGE"])]);
            stored.push(bench.import_one(GRANTS, &format!("connection/{name}")).await.expect("it is there"));
        }
        // What the imports asked for must be no help: a change of this provider's own forgets it.
        bench
            .applied_one(GRANTS, None, &with(grants(), "/securable_name", json!("other")))
            .await;
        bench.agent.world().calls.clear();
        futures::future::join_all(stored.iter().map(|one| bench.refreshed(one))).await;
        assert_eq!((bench.agent.count("ListGrants"), bench.agent.count("GetGrants")), (lists, 0));
    }
}

#[tokio::test]
async fn each_type_of_securable_has_a_list_of_its_own() {
    let bench = Bench::start().await;
    let config = |kind: &str, name: &str| json!({ "securable_type": kind, "securable_name": name, "grants": [{ "principal": "team", "privileges": ["MANAGE"] }] });
    let mut stored = Vec::new();
    for (kind, name) in [
        ("catalog", "main"),
        ("schema", "main.payments"),
        ("table", "main.payments.cards"),
        ("connection", "kafka"),
        ("service_credential", "kafka"),
        ("secret_scope", "kafka"),
        ("volume", "main.payments.certificates"),
    ] {
        stored.push(bench.applied_one(GRANTS, None, &config(kind, name)).await);
    }
    bench.agent.world().calls.clear();
    for one in &stored {
        assert_eq!(bench.refreshed(one).await.state, one.state);
    }
    assert_eq!(bench.agent.count("ListGrants"), 7);
}

/// A bench with a securable that has lives.
async fn with_a_life(name: &str) -> Bench {
    let bench = Bench::start().await;
    bench.agent.world().begin_another_life_of(SecurableType::Connection, name);
    bench
}

fn kept(bench: &Bench) -> usize {
    let world = bench.agent.world();
    let kept = world.governance.grants.values().map(|kept| kept.grants.len());
    kept.sum()
}

#[tokio::test]
async fn grants_on_what_the_same_plan_makes_anew_are_set_on_the_new_one() {
    let bench = with_a_life("payments-kafka").await;
    let stored = bench.applied_one(GRANTS, None, &grants()).await;
    assert_eq!(bench.plan_one(GRANTS, Some(&stored), &grants()).await.action(), Action::NoOp);
    // The second half of the plan of a replacement: the connection has another life after it, and the same name.
    bench
        .plan_connection(None, &with(connection(), "/name", json!("payments-kafka")))
        .await;
    let planned = bench.plan_one(GRANTS, Some(&stored), &grants()).await;
    assert_eq!(planned.action(), Action::Update);
    assert!(planned.planned.get("securable_id").is_unknown());
    bench
        .agent
        .world()
        .begin_another_life_of(SecurableType::Connection, "payments-kafka");
    let mended = bench.apply_planned(planned).await;
    assert!(!mended.has_errors(), "{}", mended.words());
    assert_eq!(kept(&bench), 2);
    let mended = mended.stored.expect("a state");
    assert_ne!(mended.state.get("securable_id"), stored.state.get("securable_id"));
    bench.next_command().await;
    let refreshed = bench.refreshed(&mended).await;
    assert_eq!(bench.plan_one(GRANTS, Some(&refreshed), &grants()).await.action(), Action::NoOp);
}

#[tokio::test]
async fn a_stream_that_is_made_anew_is_one_of_its_table() {
    let table = "main.payments.cards_raw";
    let bench = with_a_life(table).await;
    let config = json!({ "securable_type": "table", "securable_name": table, "grants": [
        { "principal": "readers", "privileges": ["SELECT"] },
    ] });
    let stored = bench.applied_one(GRANTS, None, &config).await;
    bench.plan(None, &plain_stream()).await;
    assert_eq!(bench.plan_one(GRANTS, Some(&stored), &config).await.action(), Action::Update);
    // Another type of that name is another thing.
    let other = with(config, "/securable_type", json!("schema"));
    let other = with(other, "/securable_name", json!("main.payments"));
    let other = with(other, "/grants", json!([]));
    let stored = bench.applied_one(GRANTS, None, &other).await;
    assert_eq!(bench.plan_one(GRANTS, Some(&stored), &other).await.action(), Action::NoOp);
}

#[tokio::test]
async fn what_somebody_granted_on_the_new_one_is_not_taken_away() {
    let bench = with_a_life("payments-kafka").await;
    let stored = bench.applied_one(GRANTS, None, &grants()).await;
    bench
        .plan_connection(None, &with(connection(), "/name", json!("payments-kafka")))
        .await;
    let planned = bench.plan_one(GRANTS, Some(&stored), &grants()).await;
    {
        let mut world = bench.agent.world();
        world.begin_another_life_of(SecurableType::Connection, "payments-kafka");
        world.grant(SecurableType::Connection, "payments-kafka", &[("guest", &["MANAGE"])]);
    }
    let outcome = bench.apply_planned(planned).await;
    assert!(outcome.words().contains("Changed Since The Plan"), "{}", outcome.words());
    assert_eq!(kept(&bench), 1, "theirs");
}

#[tokio::test]
async fn grants_that_were_planned_on_another_life_are_neither_set_nor_taken_back() {
    let bench = with_a_life("payments-kafka").await;
    let stored = bench.applied_one(GRANTS, None, &grants()).await;
    let fewer = with(
        grants(),
        "/grants",
        json!([{ "principal": "payments-team", "privileges": ["MANAGE"] }]),
    );
    let update = bench.plan_one(GRANTS, Some(&stored), &fewer).await;
    let destroy = bench.plan_destroy(&stored).await;
    {
        let mut world = bench.agent.world();
        world.begin_another_life_of(SecurableType::Connection, "payments-kafka");
        // As many changes as ours has seen: the generation alone does not tell.
        world.grant(SecurableType::Connection, "payments-kafka", &[("guest", &["MANAGE"])]);
    }
    let outcome = bench.apply_planned(update).await;
    assert!(outcome.words().contains("Changed Since The Plan"), "{}", outcome.words());
    let outcome = bench.apply_planned(destroy).await;
    assert!(
        !outcome.has_errors() && outcome.stored.is_none(),
        "ours are gone: {}",
        outcome.words()
    );
    assert_eq!(kept(&bench), 1, "theirs are not");
}

#[tokio::test]
async fn a_set_is_looked_at_by_itself_where_the_list_fails() {
    let bench = Bench::with(json!({ "max_retries": 0 })).await;
    let stored = bench.applied_one(GRANTS, None, &grants()).await;
    for code in [Code::Internal, Code::Unimplemented, Code::PermissionDenied] {
        bench.agent.fail("ListGrants", [Fault::Refuse(code, "no")]);
        assert_eq!(bench.refreshed(&stored).await.state, stored.state, "{code:?}");
    }
    assert_eq!(bench.agent.count("ListGrants"), 3);
}
