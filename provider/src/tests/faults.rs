//! Busy, absent and forgetful agents: what is retried, what becomes an error, and that silence is never taken for absence.

use std::time::Duration;

use serde_json::json;
use tfplugin::value::Value;
use tonic::Code;

use super::bench::Bench;
use super::configs::{SCHEMA_WIDER, plain_stream, with};
use super::fake_agent::{FakeAgent, Fault};

const JSON_SCHEMA: &str = "/schema_config/direct_schemas/payload_schema/json_schema";

#[tokio::test]
async fn a_busy_agent_is_asked_again() {
    for fault in [
        Fault::Refuse(Code::Unavailable, "starting"),
        Fault::Refuse(Code::Aborted, "try again"),
        Fault::RateLimit(Duration::from_millis(20)),
        Fault::LoseAnswer,
    ] {
        let bench = Bench::start().await;
        bench.agent.fail("CreateStream", [fault.clone()]);
        let outcome = bench.apply(None, &plain_stream()).await;
        assert!(outcome.stored.is_some() && !outcome.has_errors(), "{fault:?}: {}", outcome.words());
        assert_eq!(bench.agent.count("CreateStream"), 2);
        assert_eq!(bench.agent.world().streams.len(), 1, "one request id, one stream");
    }
}

#[tokio::test]
async fn a_connection_that_the_agent_ends_is_made_again_and_no_call_is_lost() {
    let agent = FakeAgent::start_with_connections_of(Duration::from_millis(20)).await;
    let bench = Bench::on(agent, json!({})).await;
    let stored = bench.applied(&plain_stream()).await;
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    let mut looks = 0;
    while bench.agent.world().peers.len() < 5 {
        assert!(tokio::time::Instant::now() < deadline, "{looks} looks over too few connections");
        bench.refreshed(&stored).await;
        looks += 1;
    }
    let outcome = bench
        .apply(Some(&stored), &with(plain_stream(), "/operations/paused", json!(true)))
        .await;
    assert!(!outcome.has_errors(), "{}", outcome.words());
}

#[tokio::test]
async fn a_lost_answer_to_a_change_is_no_conflict() {
    let bench = Bench::start().await;
    let mut stored = bench.applied(&plain_stream()).await;
    for (call, pointer, value) in [
        ("UpdateStream", "/excluded_columns", json!(["value.card"])),
        ("SetStreamOperations", "/operations/paused", json!(true)),
    ] {
        bench.agent.fail(call, [Fault::LoseAnswer]);
        let outcome = bench.apply(Some(&stored), &with(plain_stream(), pointer, value)).await;
        assert!(!outcome.has_errors(), "{call}: {}", outcome.words());
        stored = outcome.stored.expect("it is there");
        stored = bench.applied_over(&bench.refreshed(&stored).await, &plain_stream()).await;
    }
}

#[tokio::test]
async fn a_conflict_is_a_clear_error_and_overwrites_nothing() {
    for (pointer, value) in [("/excluded_columns", json!(["value.card"])), ("/operations/paused", json!(true))] {
        let bench = Bench::start().await;
        let stored = bench.applied(&plain_stream()).await;
        {
            let mut world = bench.agent.world();
            world.change("main.payments.cards", |stream| stream.excluded_columns.push("value.id".to_owned()));
            world.operate("main.payments.cards", |operations| operations.on_data_loss = 2);
        }
        let outcome = bench.apply(Some(&stored), &with(plain_stream(), pointer, value)).await;
        assert!(outcome.words().contains("Changed Since The Plan"), "{}", outcome.words());
        assert!(outcome.words().contains("plan again"), "{}", outcome.words());
        let kept = bench.agent.world().stream("main.payments.cards").record.clone();
        assert_eq!(kept.stream.expect("a stream").excluded_columns, ["value.id"]);
    }
}

#[tokio::test]
async fn a_refresh_that_cannot_look_is_an_error_and_never_gone() {
    for (code, words) in [
        (Code::Unavailable, "Agent Busy"),
        (Code::PermissionDenied, "Permission Denied"),
        (Code::Unauthenticated, "Not Authenticated"),
        (Code::Internal, "fault of the agent"),
    ] {
        let bench = Bench::with(json!({ "max_retries": 1 })).await;
        let stored = bench.applied(&plain_stream()).await;
        bench
            .agent
            .fail("GetStream", [Fault::Refuse(code, "no"), Fault::Refuse(code, "no")]);
        let refused = bench.try_refresh(&stored).await.expect_err("it could not look");
        assert!(refused.contains(words), "{code:?}: {refused}");
    }
}

#[tokio::test]
async fn an_absent_agent_is_named_with_its_address_and_reason() {
    let bench = Bench::with(json!({ "max_retries": 0 })).await;
    let stored = bench.applied(&plain_stream()).await;
    let endpoint = bench.agent.endpoint().to_owned();
    let planned = bench
        .plan(Some(&stored), &with(plain_stream(), "/operations/paused", json!(true)))
        .await;
    let destroy = bench.plan_destroy(&stored).await;
    let bench = bench.without_agent().await;
    let mut refusals = vec![bench.try_refresh(&stored).await.expect_err("nobody there")];
    refusals.push(bench.apply_planned(planned).await.words());
    let destroyed = bench.apply_planned(destroy).await;
    assert!(destroyed.stored.is_some(), "what could not be deleted stays in the state");
    refusals.push(destroyed.words());
    for refused in refusals {
        assert!(refused.contains("Agent Unreachable") && refused.contains(&endpoint), "{refused}");
    }
}

#[tokio::test]
async fn retries_end_at_their_bound() {
    let bench = Bench::with(json!({ "max_retries": 2, "plan_checks": "off" })).await;
    bench
        .agent
        .fail("CreateStream", vec![Fault::Refuse(Code::Unavailable, "starting"); 9]);
    let outcome = bench.apply(None, &plain_stream()).await;
    assert!(outcome.has_errors() && outcome.stored.is_none());
    assert_eq!(bench.agent.count("CreateStream"), 3);
}

#[tokio::test]
async fn a_create_that_reached_nobody_made_nothing() {
    let bench = Bench::with(json!({ "max_retries": 0 })).await;
    let planned = bench.plan(None, &plain_stream()).await;
    let bench = bench.without_agent().await;
    let outcome = bench.apply_planned(planned).await;
    let words = outcome.words();
    assert!(outcome.stored.is_none() && words.contains("Agent Unreachable"), "{words}");
    assert!(!words.contains("May Exist"), "nothing was sent: {words}");
}

#[tokio::test]
async fn a_create_without_an_answer_says_that_the_stream_may_exist() {
    let bench = Bench::with(json!({ "max_retries": 0, "request_timeout": "100ms" })).await;
    bench.agent.fail("CreateStream", [Fault::Hang]);
    let outcome = bench.apply(None, &plain_stream()).await;
    let words = outcome.words();
    assert!(outcome.stored.is_none() && words.contains("Agent Did Not Answer"), "{words}");
    assert!(words.contains("Stream May Exist") && words.contains("import {"), "{words}");
}

#[tokio::test]
async fn an_agent_that_does_not_see_its_new_stream_yet_is_waited_for() {
    let bench = Bench::start().await;
    bench.agent.world().looks_until_ready = 1;
    bench.agent.fail("GetStream", vec![Fault::Refuse(Code::NotFound, "not yet"); 2]);
    let stored = bench.applied(&plain_stream()).await;
    assert_eq!(stored.state.get("state"), &Value::string("ACTIVE"));
}

#[tokio::test]
async fn an_answer_with_nothing_in_it_is_an_error_and_never_gone() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    bench.agent.fail("GetStream", [Fault::Hollow]);
    let refused = bench.try_refresh(&stored).await.expect_err("nothing in it");
    assert!(
        refused.contains("Unexpected Answer") && refused.contains("same version"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_refusal_at_apply_names_the_paths_and_says_plan_again() {
    let bench = Bench::with(json!({ "plan_checks": "off" })).await;
    let wider = with(plain_stream(), JSON_SCHEMA, json!(SCHEMA_WIDER));
    let stored = bench.applied_over(&bench.applied(&wider).await, &plain_stream()).await;
    // The state knows only the schema in force; the agent remembers that the field was a text before.
    let other_type = SCHEMA_WIDER.replace(r#""note":{"type":"string"}"#, r#""note":{"type":"boolean"}"#);
    let outcome = bench
        .apply(Some(&stored), &with(plain_stream(), JSON_SCHEMA, json!(other_type)))
        .await;
    assert!(
        outcome.words().contains("value.note") && outcome.words().contains("Plan again"),
        "{}",
        outcome.words()
    );
    assert_eq!(outcome.stored.expect("the state stays").state, stored.state);
}

#[tokio::test]
async fn a_stop_during_an_update_keeps_what_was_changed_with_a_warning() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    bench.agent.world().looks_until_ready = 1000;
    let changed = with(plain_stream(), "/excluded_columns", json!(["value.card"]));
    let planned = bench.plan(Some(&stored), &changed).await;
    bench.agent.world().calls.clear();
    let (outcome, ()) = tokio::join!(bench.apply_planned(planned), bench.stop_when_called("GetStream"));
    assert!(
        !outcome.has_errors() && outcome.words().contains("as you asked"),
        "{}",
        outcome.words()
    );
    assert_eq!(
        outcome.stored.expect("a state").state.get("excluded_columns"),
        &Value::string_set(["value.card"])
    );
}
