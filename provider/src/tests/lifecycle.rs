//! Create, import and destroy, from the first plan to the last.

use featurestore_proto::v1::StreamState;
use serde_json::json;
use tfplugin::testing::core::Action;
use tfplugin::value::Value;

use super::bench::Bench;
use super::configs::{kafka_stream, plain_stream, with};

const NAME: &str = "main.payments.cards";

#[tokio::test]
async fn a_created_stream_plans_nothing_and_is_imported_to_the_same() {
    for config in [plain_stream(), kafka_stream()] {
        let bench = Bench::start().await;
        let stored = bench.applied(&config).await;
        assert_eq!(stored.state.get("state"), &Value::string("ACTIVE"));
        assert_eq!(stored.state.get("id"), &Value::string("uid-1"));
        let refreshed = bench.refreshed(&stored).await;
        assert_eq!(bench.plan(Some(&refreshed), &config).await.action(), Action::NoOp);
        let imported = bench.import(NAME).await.expect("the stream is there");
        assert_eq!(
            bench.plan(Some(&imported), &config).await.action(),
            Action::NoOp,
            "an import plans nothing"
        );
    }
}

#[tokio::test]
async fn importing_what_is_not_there_is_an_error() {
    let bench = Bench::start().await;
    for (id, words) in [
        ("main.payments.none", "no stream"),
        ("cards", "three"),
        ("Main.payments.cards", "upper-case"),
    ] {
        let refused = bench.import(id).await.expect_err("nothing to import");
        assert!(refused.contains(words), "{id}: {refused}");
    }
}

#[tokio::test]
async fn creating_what_exists_is_an_error_with_a_ready_import_block() {
    let bench = Bench::start().await;
    bench.applied(&plain_stream()).await;
    let outcome = bench.apply(None, &plain_stream()).await;
    assert!(outcome.stored.is_none());
    let words = outcome.words();
    assert!(
        words.contains("import {\n  to = featurestore_stream.cards\n  id = \"main.payments.cards\"\n}"),
        "{words}"
    );
}

#[tokio::test]
async fn creating_waits_for_a_stream_of_that_name_to_be_gone() {
    let bench = Bench::start().await;
    bench.applied(&plain_stream()).await;
    bench.agent.world().set_state(NAME, StreamState::Deleting);
    bench.agent.world().looks_until_gone = Some(1);
    let outcome = bench.apply(None, &plain_stream()).await;
    assert!(outcome.stored.is_some(), "{}", outcome.words());
    assert_eq!(
        bench.agent.count("CreateStream"),
        3,
        "the first stream, the refused one, the repeated one"
    );
}

#[tokio::test]
async fn a_create_waits_until_the_stream_runs() {
    let bench = Bench::start().await;
    bench.agent.world().looks_until_ready = 2;
    let stored = bench.applied(&plain_stream()).await;
    assert_eq!(stored.state.get("state"), &Value::string("ACTIVE"));
    assert!(bench.agent.count("GetStream") >= 2);
}

#[tokio::test]
async fn a_stream_that_is_not_ready_in_time_is_kept_with_a_warning_that_says_why() {
    let bench = Bench::start().await;
    bench.agent.world().looks_until_ready = 1000;
    let config = with(plain_stream(), "/timeouts/create", json!("1s"));
    let outcome = bench.apply(None, &config).await;
    assert!(!outcome.has_errors(), "an error would taint it");
    let words = outcome.words();
    assert!(
        words.contains("Stream Not Ready Yet") && words.contains("broker:9092 refuses connections"),
        "{words}"
    );
    let stored = outcome.stored.expect("it is kept");
    assert_eq!(stored.state.get("state"), &Value::string("PROVISIONING"));
    assert_eq!(
        bench.plan(Some(&bench.refreshed(&stored).await), &config).await.action(),
        Action::NoOp
    );
}

#[tokio::test]
async fn a_stop_during_create_keeps_the_stream_with_a_warning() {
    let bench = Bench::start().await;
    bench.agent.world().looks_until_ready = 1000;
    let planned = bench.plan(None, &plain_stream()).await;
    let (outcome, ()) = tokio::join!(bench.apply_planned(planned), bench.stop_when_called("GetStream"));
    assert!(!outcome.has_errors(), "{}", outcome.words());
    assert!(outcome.words().contains("as you asked"), "{}", outcome.words());
    assert!(outcome.stored.is_some());
}

#[tokio::test]
async fn a_stream_that_fails_for_good_is_kept_with_an_error() {
    let bench = Bench::start().await;
    bench.agent.world().first_state = Some(StreamState::Failed);
    let outcome = bench.apply(None, &plain_stream()).await;
    assert!(outcome.has_errors() && outcome.stored.is_some());
    assert!(outcome.words().contains("FAILED"), "{}", outcome.words());
}

#[tokio::test]
async fn a_paused_stream_is_ready_at_once() {
    let bench = Bench::start().await;
    bench.agent.world().first_state = Some(StreamState::Paused);
    let config = with(plain_stream(), "/operations/paused", json!(true));
    let stored = bench.applied(&config).await;
    assert_eq!(stored.state.get("state"), &Value::string("PAUSED"));
}

#[tokio::test]
async fn a_destroy_warns_with_figures_and_deletes() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    let planned = bench.plan_destroy(&stored).await;
    let words = planned.words();
    for part in ["1,234 rows", "Delta version 9", "7 days", "on_destroy = \"retain\""] {
        assert!(words.contains(part), "no {part:?} in: {words}");
    }
    let outcome = bench.apply_planned(planned).await;
    assert!(outcome.stored.is_none() && !outcome.has_errors(), "{}", outcome.words());
    assert_eq!(bench.agent.world().retained, [false]);
}

#[tokio::test]
async fn a_retained_table_is_retained_without_a_warning() {
    let bench = Bench::start().await;
    let stored = bench.applied(&with(plain_stream(), "/on_destroy", json!("retain"))).await;
    let planned = bench.plan_destroy(&stored).await;
    assert_eq!(planned.words(), "");
    bench.apply_planned(planned).await;
    assert_eq!(bench.agent.world().retained, [true]);
}

#[tokio::test]
async fn destroying_what_is_gone_is_success() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    bench.agent.world().streams.clear();
    let planned = bench.plan_destroy(&stored).await;
    let outcome = bench.apply_planned(planned).await;
    assert!(outcome.stored.is_none() && !outcome.has_errors(), "{}", outcome.words());
}

#[tokio::test]
async fn a_deletion_that_goes_on_is_waited_for() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    bench.agent.world().looks_until_gone = Some(2);
    let planned = bench.plan_destroy(&stored).await;
    let outcome = bench.apply_planned(planned).await;
    assert!(outcome.stored.is_none(), "{}", outcome.words());
    assert!(bench.agent.world().streams.is_empty());
}

#[tokio::test]
async fn an_update_waits_until_the_new_definition_is_in_force() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    bench.agent.world().looks_until_ready = 2;
    let looks = bench.agent.count("GetStream");
    bench
        .applied_over(&stored, &with(plain_stream(), "/excluded_columns", json!(["value.card"])))
        .await;
    assert!(bench.agent.count("GetStream") >= looks + 2);
}

#[tokio::test]
async fn a_deletion_that_is_not_finished_in_time_stays_in_the_state() {
    let bench = Bench::start().await;
    let stored = bench.applied(&with(plain_stream(), "/timeouts/delete", json!("1s"))).await;
    bench.agent.world().looks_until_gone = Some(1000);
    let planned = bench.plan_destroy(&stored).await;
    let outcome = bench.apply_planned(planned).await;
    assert!(outcome.words().contains("Deletion Goes On"), "{}", outcome.words());
    assert_eq!(outcome.stored, Some(stored), "values and private state");
}
