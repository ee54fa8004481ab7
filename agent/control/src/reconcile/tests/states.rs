//! What a stream says in each state of the world, and how it gets out of it.

use super::*;

#[tokio::test]
async fn provisioning_that_may_succeed_later_is_tried_again_and_says_why_it_waits() {
    let bench = Bench::new().await;
    bench.engine.world.lock().unwrap().refuse_provision = Some(("BrokerUnreachable", Retry::Later));
    assert_eq!(bench.look().await.unwrap().unwrap(), Next::Retry);
    assert_eq!(bench.state().await, StreamState::Provisioning);
    assert_eq!(bench.condition(START_POSITIONS).await, (false, "BrokerUnreachable".into()));
    bench.engine.world.lock().unwrap().refuse_provision = None;
    assert_eq!(bench.look().await.unwrap().unwrap(), Next::Settled);
    assert_eq!(bench.state().await, StreamState::Active);
    assert!(bench.condition(START_POSITIONS).await.0);
}

#[tokio::test]
async fn provisioning_that_cannot_succeed_fails_until_a_restart_is_asked_for() {
    let bench = Bench::new().await;
    bench.engine.world.lock().unwrap().refuse_provision = Some(("Refused", Retry::No));
    assert_eq!(bench.look().await.unwrap().unwrap(), Next::Settled);
    assert_eq!(bench.state().await, StreamState::Failed);
    bench.engine.world.lock().unwrap().refuse_provision = None;
    bench.declare(|declared| declared.restart_generation += 1).await;
    assert_eq!(bench.look().await.unwrap().unwrap(), Next::Settled);
    assert_eq!(bench.state().await, StreamState::Active);
}

#[tokio::test]
async fn a_table_that_was_dropped_is_never_made_anew() {
    let mut bench = Bench::new().await;
    bench.settle().await;
    bench.engine.world.lock().unwrap().tables.clear();
    bench.restart();
    bench.settle().await;
    assert_eq!(bench.state().await, StreamState::TableGone);
    assert_eq!(bench.condition(TABLE_HEALTHY).await, (false, "TableGone".into()));
    assert_eq!(bench.engine.world.lock().unwrap().tables_made, 1);
    let rows = bench.record().await.unwrap().observed.table.map(|table| table.rows);
    assert_eq!(rows, Some(4), "what was in it is still known");
}

#[tokio::test]
async fn a_table_that_was_away_is_taken_up_again_by_the_next_look() {
    for noticed_by_pipeline in [false, true] {
        let mut bench = Bench::new().await;
        bench.settle().await;
        let tables = std::mem::take(&mut bench.engine.world.lock().unwrap().tables);
        if noticed_by_pipeline {
            bench.restart();
        } else {
            bench.shared.slots.ask_for_probe(UID);
        }
        assert_eq!(bench.look().await.unwrap().unwrap(), Next::TableAway);
        assert_eq!(bench.look().await.unwrap().unwrap(), Next::TableAway, "nobody asked");
        assert_eq!(bench.state().await, StreamState::TableGone);
        bench.engine.world.lock().unwrap().tables = tables;
        assert_eq!(bench.look().await.unwrap().unwrap(), Next::Settled);
        assert_eq!(
            bench.state().await,
            StreamState::Active,
            "noticed by the pipeline: {noticed_by_pipeline}"
        );
    }
}

/// What happens to a table, and what the stream says then.
type Damage = (fn(&FakeEngine), StreamState, &'static str);

#[tokio::test]
async fn a_look_at_the_table_stops_a_pipeline_that_has_not_noticed() {
    let cases: [Damage; 3] = [
        (
            |engine| engine.world.lock().unwrap().tables.clear(),
            StreamState::TableGone,
            "TableGone",
        ),
        (
            |engine| engine.world.lock().unwrap().tables.get_mut(&table()).unwrap().columns.truncate(1),
            StreamState::TableAltered,
            "TableAltered",
        ),
        (
            |engine| engine.world.lock().unwrap().tables.get_mut(&table()).unwrap().uid = "somebody".into(),
            StreamState::TableAltered,
            "TableAltered",
        ),
    ];
    for (damage, state, reason) in cases {
        let mut bench = Bench::new().await;
        bench.settle().await;
        bench.settle().await;
        damage(&bench.engine);
        bench.settle().await;
        assert_eq!(bench.state().await, StreamState::Active, "nobody has looked yet");
        bench.shared.slots.ask_for_probe(UID);
        bench.settle().await;
        assert_eq!(bench.state().await, state);
        assert_eq!(bench.condition(TABLE_HEALTHY).await, (false, reason.into()));
        assert_eq!(bench.engine.running(), 0);
        bench.settle().await;
        assert_eq!(bench.state().await, state, "it stays that way until someone acts");
    }
}

#[tokio::test]
async fn deleting_a_stream_leaves_a_table_that_is_not_its_own() {
    let mut bench = Bench::new().await;
    bench.settle().await;
    bench.engine.world.lock().unwrap().tables.get_mut(&table()).unwrap().uid = "somebody".into();
    bench
        .declare(|declared| declared.presence = Presence::Deleted { retain_table: false })
        .await;
    bench.settle().await;
    assert!(bench.record().await.is_none());
    assert_eq!(bench.engine.table(&table()).unwrap().uid, "somebody");
}

#[tokio::test]
async fn a_failed_pipeline_starts_again_when_its_operations_change() {
    let mut bench = Bench::new().await;
    bench.settle().await;
    bench.engine.say(UID, |status| {
        status.phase = Phase::Failed {
            reason: "ClusterChanged".into(),
            message: "another cluster".into(),
        }
    });
    bench.settle().await;
    assert_eq!(bench.state().await, StreamState::Failed);
    bench.declare(|declared| declared.operations_generation = 2).await;
    bench.settle().await;
    assert_eq!(bench.state().await, StreamState::Active);
}

#[tokio::test]
async fn the_running_reconciler_follows_what_pipelines_say_and_stops_them_at_the_end() {
    let bench = Bench::new().await;
    let reconciler = Reconciler::start(bench.store.clone(), Arc::new(bench.engine.clone()), settings());
    wait_until("the stream is active", async || bench.state().await == StreamState::Active).await;
    bench.engine.say(UID, |status| {
        status.conditions = vec![PipelineCondition {
            condition_type: "SourceReachable",
            reason: "Down".into(),
            message: "b:9092 refused".into(),
        }];
    });
    wait_until("the stream is degraded", async || bench.state().await == StreamState::Degraded).await;
    bench.engine.say(UID, |status| status.conditions.clear());
    wait_until("the stream is active again", async || bench.state().await == StreamState::Active).await;
    bench.declare(|declared| declared.generation = 2).await;
    reconciler.handle().wake(UID);
    wait_until("the change is in force", async || {
        bench.record().await.unwrap().observed.generation == 2
    })
    .await;
    assert!(reconciler.shut_down().await);
    assert_eq!(bench.engine.running(), 0);
}

#[tokio::test]
async fn a_shutdown_says_when_a_last_commit_failed() {
    let bench = Bench::new().await;
    let reconciler = Reconciler::start(bench.store.clone(), Arc::new(bench.engine.clone()), settings());
    wait_until("the stream is active", async || bench.state().await == StreamState::Active).await;
    bench.engine.world.lock().unwrap().fail_last_commits = true;
    assert!(!reconciler.shut_down().await);
    assert_eq!(bench.engine.running(), 0);
}

#[tokio::test]
async fn a_pipeline_that_a_step_stops_counts_if_that_comes_to_its_end_during_the_shutdown() {
    for during_shutdown in [false, true] {
        let mut bench = Bench::new().await;
        if during_shutdown {
            assert!(bench.shared.slots.stop_all().await, "nothing runs yet");
        }
        bench.settle().await;
        bench.engine.world.lock().unwrap().fail_last_commits = true;
        bench.shared.slots.stop(UID).await;
        assert_eq!(bench.shared.slots.stop_all().await, !during_shutdown);
    }
}

#[tokio::test]
async fn the_running_reconciler_retries_until_the_source_is_there() {
    let bench = Bench::new().await;
    bench.engine.world.lock().unwrap().refuse_provision = Some(("TopicMissing", Retry::Later));
    let reconciler = Reconciler::start(bench.store.clone(), Arc::new(bench.engine.clone()), settings());
    wait_until("the stream says why it waits", async || {
        !bench.record().await.unwrap().observed.conditions.is_empty()
    })
    .await;
    bench.engine.world.lock().unwrap().refuse_provision = None;
    wait_until("the stream is active", async || bench.state().await == StreamState::Active).await;
    reconciler.shut_down().await;
}

#[tokio::test]
async fn a_step_that_is_under_way_while_the_agent_stops_starts_no_pipeline() {
    let mut bench = Bench::new().await;
    bench.shared.stopping.cancel();
    bench.settle().await;
    assert!(bench.record().await.unwrap().observed.provisioned, "what was begun is done");
    assert_eq!(bench.engine.running(), 0);
}
