//! What a plan asks the agent, and what it says when there is no answer.

use featurestore_proto::v1;
use serde_json::json;
use tfplugin::testing::core::Action;
use tonic::Code;

use super::bench::Bench;
use super::configs::{SCHEMA_NARROWED, SCHEMA_WIDER, UNKNOWN, connection, plain_stream, with};
use super::fake_agent::Fault;

const JSON_SCHEMA: &str = "/schema_config/direct_schemas/payload_schema/json_schema";

fn silence() -> Vec<Fault> {
    vec![Fault::Refuse(Code::Unavailable, "starting"); 4]
}

#[tokio::test]
async fn silence_at_plan_is_a_warning_an_error_or_nothing_as_the_user_says() {
    for (plan_checks, warns, fails) in [("auto", true, false), ("required", true, true), ("off", false, false)] {
        let bench = Bench::with(json!({ "plan_checks": plan_checks })).await;
        let stored = bench.applied(&plain_stream()).await;
        bench.agent.fail("CheckStream", silence());
        let create = bench
            .plan(None, &with(plain_stream(), "/name", json!("main.payments.others")))
            .await;
        bench.agent.world().faults.clear();
        bench.agent.fail("CheckStream", silence());
        let update = bench
            .plan(Some(&stored), &with(plain_stream(), JSON_SCHEMA, json!(SCHEMA_WIDER)))
            .await;
        for planned in [&create, &update] {
            let words = planned.words();
            assert_eq!(words.contains("Plan Not Checked By The Agent"), warns, "{plan_checks}: {words}");
            assert_eq!(planned.has_errors(), fails, "{plan_checks}: {words}");
        }
        if warns && !fails {
            assert!(update.words().contains("earlier versions"), "{}", update.words());
        }
    }
}

#[tokio::test]
async fn a_plan_that_changes_nothing_asks_nobody() {
    let bench = Bench::with(json!({ "plan_checks": "required" })).await;
    let stored = bench.applied(&plain_stream()).await;
    let before = bench.agent.world().calls.len();
    assert_eq!(bench.plan(Some(&stored), &plain_stream()).await.action(), Action::NoOp);
    assert_eq!(bench.agent.world().calls.len(), before);
}

#[tokio::test]
async fn an_incompatible_schema_is_refused_offline_too() {
    let bench = Bench::with(json!({ "plan_checks": "off" })).await;
    let stored = bench.applied(&plain_stream()).await;
    let planned = bench
        .plan(Some(&stored), &with(plain_stream(), JSON_SCHEMA, json!(SCHEMA_NARROWED)))
        .await;
    assert!(planned.has_errors());
    assert!(
        planned.words().contains("value.amount: BIGINT → INT narrows"),
        "{}",
        planned.words()
    );
    let path = planned.error_path();
    assert_eq!(path, "schema_config.direct_schemas.payload_schema.json_schema");
}

#[tokio::test]
async fn the_agents_memory_of_earlier_schemas_decides() {
    let bench = Bench::start().await;
    let stored = bench.applied(&with(plain_stream(), JSON_SCHEMA, json!(SCHEMA_WIDER))).await;
    let stored = bench.applied_over(&stored, &plain_stream()).await;
    let other_type = SCHEMA_WIDER.replace(r#""note":{"type":"string"}"#, r#""note":{"type":"boolean"}"#);
    let planned = bench
        .plan(Some(&stored), &with(plain_stream(), JSON_SCHEMA, json!(other_type)))
        .await;
    assert!(
        planned.has_errors() && planned.words().contains("value.note"),
        "{}",
        planned.words()
    );
}

#[tokio::test]
async fn what_the_agent_cannot_do_yet_is_an_error_in_the_plan_at_its_attribute() {
    let bench = Bench::start().await;
    bench.agent.world().missing_capabilities = vec![v1::Violation {
        field: "record_type_filter".to_owned(),
        value: "\"value.amount > 0\"".to_owned(),
        problem: "this agent cannot filter records yet".to_owned(),
        remedy: "leave the filter out".to_owned(),
    }];
    let planned = bench
        .plan(None, &with(plain_stream(), "/record_type_filter", json!("value.amount > 0")))
        .await;
    assert!(planned.words().contains("Not Available On This Agent"), "{}", planned.words());
    assert_eq!(planned.error_path(), "record_type_filter");
}

#[tokio::test]
async fn excluding_a_column_says_that_old_rows_keep_it() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    let planned = bench
        .plan(Some(&stored), &with(plain_stream(), "/excluded_columns", json!(["value.card"])))
        .await;
    let words = planned.words();
    assert!(
        words.contains("`value.card`") && words.contains("1,234 rows") && words.contains("keep their values"),
        "{words}"
    );
}

#[tokio::test]
async fn an_unconfigured_provider_plans_without_a_word_what_needs_no_agent() {
    let bench = Bench::with(json!({ "endpoint": UNKNOWN })).await;
    let planned = bench.plan(None, &plain_stream()).await;
    assert_eq!((planned.action(), planned.words().as_str()), (Action::Create, ""));
}

#[tokio::test]
async fn a_schema_known_only_at_apply_is_planned_in_place_and_says_so() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    let planned = bench.plan(Some(&stored), &with(plain_stream(), JSON_SCHEMA, json!(UNKNOWN))).await;
    assert_eq!(planned.action(), Action::Update);
    assert!(planned.words().contains("plan again"), "{}", planned.words());
}

#[tokio::test]
async fn a_create_over_an_existing_stream_warns_with_figures_and_an_import_block() {
    let bench = Bench::start().await;
    bench.applied(&plain_stream()).await;
    let words = bench.plan(None, &plain_stream()).await.words();
    for part in ["Stream Exists", "1,234 rows", "id = \"main.payments.cards\""] {
        assert!(words.contains(part), "no {part:?} in: {words}");
    }
}

#[tokio::test]
async fn the_known_part_of_a_create_is_checked_beside_the_unknown() {
    let bench = Bench::start().await;
    let cannot = |field: &str| v1::Violation {
        field: field.to_owned(),
        problem: "this agent cannot do that yet".to_owned(),
        ..Default::default()
    };
    bench.agent.world().missing_capabilities = vec![cannot("record_type_filter"), cannot("ingestion_config.backfill_source")];
    let config = with(
        plain_stream(),
        "/ingestion_config/backfill_source/delta_table_name",
        json!("main.payments.old"),
    );
    let config = with(config, "/record_type_filter", json!(UNKNOWN));
    let planned = bench.plan(None, &config).await;
    assert_eq!(planned.error_path(), "ingestion_config.backfill_source");
}

#[tokio::test]
async fn privileges_that_are_missing_are_a_warning_because_the_same_plan_may_grant_them() {
    for (plan_checks, fails) in [("auto", false), ("required", true)] {
        let bench = Bench::with(json!({ "plan_checks": plan_checks })).await;
        let stored = bench.applied(&plain_stream()).await;
        let denied = || vec![Fault::Refuse(Code::PermissionDenied, "permission denied: `ada` may not do it")];
        bench.agent.fail("CheckStream", denied());
        let others = with(plain_stream(), "/name", json!("main.payments.others"));
        let create = bench.plan(None, &others).await;
        bench.agent.fail("CheckStream", denied());
        let wider = with(plain_stream(), JSON_SCHEMA, json!(SCHEMA_WIDER));
        let update = bench.plan(Some(&stored), &wider).await;
        bench.agent.fail("CheckConnection", denied());
        let connection = bench.plan_connection(None, &connection()).await;
        for planned in [create, update, connection] {
            let words = planned.words();
            assert!(
                words.contains("Privileges Are Missing") && words.contains("`ada` may not"),
                "{words}"
            );
            assert_eq!(planned.has_errors(), fails, "{plan_checks}: {words}");
        }
    }
}

#[tokio::test]
async fn a_connection_that_is_not_there_is_a_warning_unless_the_same_plan_makes_it_first() {
    let bench = Bench::start().await;
    bench.agent.world().scripted_warnings = vec![v1::Violation {
        field: "connection_config.uc_connection_name".to_owned(),
        value: "\"kafka\"".to_owned(),
        problem: "there is no connection of that name".to_owned(),
        remedy: "create it first".to_owned(),
    }];
    let words = bench.plan(None, &plain_stream()).await.words();
    assert!(words.contains("Not Ready Yet") && words.contains("(found \"kafka\")"), "{words}");
    bench.plan_connection(None, &connection()).await;
    assert_eq!(bench.plan(None, &plain_stream()).await.words(), "");
    bench.next_command().await;
    assert!(bench.plan(None, &plain_stream()).await.words().contains("Not Ready Yet"));
}

#[tokio::test]
async fn what_a_connection_refers_to_and_is_not_there_is_a_warning() {
    let bench = Bench::start().await;
    let warning = |field: &str| v1::Violation {
        field: field.to_owned(),
        value: "\"payments/password\"".to_owned(),
        problem: "there is no secret `payments/password`".to_owned(),
        remedy: "create it first".to_owned(),
    };
    bench.agent.world().scripted_warnings = vec![warning("kafka.password_secret"), warning("kafka.schema_registry_api_secret_ref")];
    let planned = bench.plan_connection(None, &connection()).await;
    let words = planned.words();
    assert!(!planned.has_errors(), "{words}");
    assert_eq!(words.matches("Not Ready Yet").count(), 2, "{words}");
}

#[tokio::test]
async fn another_name_is_checked_in_the_place_of_the_one_before() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    let renamed = with(plain_stream(), "/name", json!("main.payments.others"));
    bench.plan(Some(&stored), &renamed).await;
    assert!(bench.agent.world().replaced.contains(&"main.payments.cards".to_owned()));
}
