//! What an apply waits for, and what it says when that does not come.

use featurestore_proto::v1::StreamState;
use serde_json::json;
use tfplugin::value::Value;
use tonic::Code;

use super::bench::Bench;
use super::configs::{plain_stream, with};
use super::fake_agent::Fault;

const NAME: &str = "main.payments.cards";

#[tokio::test]
async fn a_repair_is_done_when_the_pipeline_runs_and_failed_when_it_fails_again() {
    for (outcome, fails) in [(StreamState::Active, false), (StreamState::Failed, true)] {
        let bench = Bench::start().await;
        let stored = bench.applied(&plain_stream()).await;
        bench.agent.world().set_state(NAME, StreamState::Failed);
        let refreshed = bench.refreshed(&stored).await;
        bench.agent.world().restarts_as = Some((outcome, 2));
        let applied = bench.apply(Some(&refreshed), &plain_stream()).await;
        assert_eq!(applied.has_errors(), fails, "{}", applied.words());
        let state = applied.stored.expect("a state").state;
        assert_eq!(state.get("state"), &Value::string(if fails { "FAILED" } else { "ACTIVE" }));
    }
}

#[tokio::test]
async fn a_change_that_meets_a_starting_pipeline_waits_until_it_is_in_force() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    bench.agent.world().set_state(NAME, StreamState::Provisioning);
    bench.agent.world().looks_until_ready = 2;
    bench
        .applied_over(&stored, &with(plain_stream(), "/excluded_columns", json!(["value.card"])))
        .await;
    let status = bench.agent.world().stream(NAME).record.status.clone().expect("a status");
    assert_eq!(status.observed_generation, 2);
}

#[tokio::test]
async fn operations_are_waited_for_by_looking_and_not_by_one_long_call() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    bench.agent.world().operates_slowly = true;
    let paused = with(plain_stream(), "/operations/paused", json!(true));
    let stored = bench.applied_over(&stored, &paused).await;
    assert_eq!(stored.state.get("state"), &Value::string("PAUSED"));
    let stored = bench.applied_over(&stored, &plain_stream()).await;
    assert_eq!(stored.state.get("state"), &Value::string("ACTIVE"));
    assert_eq!(bench.agent.world().waits, [2, 2]);
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_asked_for_again() {
    let bench = Bench::with(json!({ "request_timeout": "100ms" })).await;
    bench.agent.fail("CreateStream", [Fault::Hang]);
    let outcome = bench.apply(None, &plain_stream()).await;
    assert!(!outcome.has_errors() && outcome.stored.is_some(), "{}", outcome.words());
}

#[tokio::test]
async fn a_refusal_after_a_silence_still_says_that_the_stream_may_exist() {
    let bench = Bench::with(json!({ "request_timeout": "100ms", "max_retries": 1 })).await;
    bench
        .agent
        .fail("CreateStream", [Fault::Hang, Fault::Refuse(Code::Unavailable, "starting")]);
    let words = bench.apply(None, &plain_stream()).await.words();
    assert!(words.contains("Agent Busy") && words.contains("Stream May Exist"), "{words}");
}

#[tokio::test]
async fn a_stop_before_anything_was_done_says_nothing_of_a_stream_that_may_exist() {
    let bench = Bench::start().await;
    bench
        .agent
        .fail("CreateStream", [Fault::RateLimit(std::time::Duration::from_secs(50))]);
    let planned = bench.plan(None, &plain_stream()).await;
    let (outcome, ()) = tokio::join!(bench.apply_planned(planned), bench.stop_when_called("CreateStream"));
    let words = outcome.words();
    assert!(words.contains("Interrupted") && !words.contains("May Exist"), "{words}");
}

#[tokio::test]
async fn a_stream_stuck_in_its_deletion_says_why_everywhere() {
    let bench = Bench::start().await;
    let config = with(plain_stream(), "/timeouts", json!({ "create": "1s", "delete": "1s" }));
    let stored = bench.applied(&config).await;
    bench.agent.world().looks_until_gone = Some(1000);
    let destroy = bench.plan_destroy(&stored).await;
    let destroyed = bench.apply_planned(destroy).await.words();
    let created = bench.apply(None, &config).await.words();
    let imported = bench.import(NAME).await.expect_err("it goes");
    for (words, title) in [
        (&destroyed, "Deletion Goes On"),
        (&created, "Stream Still Being Deleted"),
        (&imported, "is being deleted"),
    ] {
        assert!(
            words.contains(title) && words.contains("broker:9092 refuses connections"),
            "{words}"
        );
        assert!(!words.contains("import {"), "an import is no way out: {words}");
    }
}

#[tokio::test]
async fn a_protected_stream_that_was_never_well_can_be_replaced() {
    let bench = Bench::start().await;
    bench.agent.world().first_state = Some(StreamState::Failed);
    let outcome = bench.apply(None, &with(plain_stream(), "/deletion_protection", json!(true))).await;
    let stored = outcome.stored.expect("it is kept");
    let destroy = bench.plan_destroy(&stored).await;
    assert!(!destroy.has_errors(), "{}", destroy.words());
    assert!(bench.apply_planned(destroy).await.stored.is_none());
}
