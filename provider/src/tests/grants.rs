//! Grants: drift, and what a refresh of many costs.

use featurestore_proto::v1::SecurableType;
use serde_json::json;
use tfplugin::testing::core::Action;
use tfplugin::value::Value;

use super::bench::Bench;
use super::configs::with;
use super::entities::kinds::grants;

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
