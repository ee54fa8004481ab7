//! A name that someone deleted and created again is another thing: nothing that was planned on ours may touch it.

use featurestore_proto::v1::StreamState;
use serde_json::json;
use tfplugin::testing::core::Stored;
use tfplugin::value::Value;

use super::bench::Bench;
use super::configs::{connection, plain_stream, with};

const NAME: &str = "main.payments.cards";

#[tokio::test]
async fn a_change_planned_on_another_life_of_a_stream_overwrites_nothing() {
    for (pointer, value, state) in [
        ("/excluded_columns", json!(["value.card"]), StreamState::Active),
        ("/operations/paused", json!(true), StreamState::Active),
        ("/timeouts/update", json!("90s"), StreamState::Failed),
    ] {
        let bench = Bench::start().await;
        let stored = bench.applied(&plain_stream()).await;
        bench.agent.world().set_state(NAME, state);
        let refreshed = bench.refreshed(&stored).await;
        let planned = bench.plan(Some(&refreshed), &with(plain_stream(), pointer, value)).await;
        bench.agent.world().begin_another_life(NAME);
        let theirs = bench.agent.world().stream(NAME).record.clone();
        let outcome = bench.apply_planned(planned).await;
        assert!(outcome.words().contains("Changed Since The Plan"), "{pointer}: {}", outcome.words());
        assert_eq!(bench.agent.world().stream(NAME).record, theirs, "{pointer}");
    }
}

#[tokio::test]
async fn a_change_planned_on_another_life_of_a_connection_overwrites_nothing() {
    let bench = Bench::start().await;
    let stored = bench.applied_connection(None, &connection()).await;
    let update = bench
        .plan_connection(Some(&stored), &with(connection(), "/comment", json!("ours")))
        .await;
    let destroy = bench.plan_destroy(&stored).await;
    bench.agent.world().connections.get_mut("kafka").expect("it is there").uid = "theirs".to_owned();
    let outcome = bench.apply_planned(update).await;
    assert!(outcome.words().contains("Changed Since The Plan"), "{}", outcome.words());
    let outcome = bench.apply_planned(destroy).await;
    assert!(
        !outcome.has_errors() && outcome.stored.is_none(),
        "ours is gone: {}",
        outcome.words()
    );
    assert_eq!(bench.agent.world().connections["kafka"].comment.as_deref(), Some("the brokers"));
}

#[tokio::test]
async fn a_change_whose_planned_version_is_lost_is_not_made() {
    let bench = Bench::start().await;
    let without_notes = |stored: Stored| Stored {
        private: Vec::new(),
        ..stored
    };
    let stored = without_notes(bench.applied(&plain_stream()).await);
    for (pointer, value) in [("/excluded_columns", json!(["value.card"])), ("/operations/paused", json!(true))] {
        let outcome = bench.apply(Some(&stored), &with(plain_stream(), pointer, value)).await;
        assert!(outcome.words().contains("Planned Version Not Known"), "{}", outcome.words());
    }
    let stored = without_notes(bench.applied_connection(None, &connection()).await);
    let planned = bench
        .plan_connection(Some(&stored), &with(connection(), "/comment", json!("ours")))
        .await;
    let outcome = bench.apply_planned(planned).await;
    assert!(outcome.words().contains("Planned Version Not Known"), "{}", outcome.words());
    assert_eq!(
        bench
            .agent
            .world()
            .stream(NAME)
            .record
            .status
            .as_ref()
            .expect("a status")
            .generation,
        1
    );
}

#[tokio::test]
async fn a_stream_that_takes_the_name_of_ours_during_a_wait_is_not_taken_over() {
    let bench = Bench::start().await;
    bench.agent.world().looks_until_ready = 1000;
    let planned = bench.plan(None, &plain_stream()).await;
    let swap = bench.when_called("GetStream", |world| world.begin_another_life(NAME));
    let (outcome, ()) = tokio::join!(bench.apply_planned(planned), swap);
    assert!(outcome.words().contains("another one under its name"), "{}", outcome.words());
    let stored = outcome.stored.expect("what was last seen of ours");
    assert_eq!(stored.state.get("id"), &Value::string("uid-1"));
}

#[tokio::test]
async fn a_stream_that_someone_deletes_during_a_wait_is_said_to_be_gone() {
    let bench = Bench::start().await;
    bench.agent.world().looks_until_ready = 1000;
    let planned = bench.plan(None, &plain_stream()).await;
    let delete = bench.when_called("GetStream", |world| world.streams.clear());
    let (outcome, ()) = tokio::join!(bench.apply_planned(planned), delete);
    let words = outcome.words();
    assert!(outcome.has_errors() && words.contains("someone deleted it"), "{words}");
    assert!(!words.contains("goes on"), "nobody goes on with it: {words}");
}
