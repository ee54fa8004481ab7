//! What someone changed by another way shows in the next plan, at the attribute that it is, and applying that plan repairs it.

use featurestore_proto::v1;
use featurestore_proto::v1::StreamState;
use serde_json::json;
use tfplugin::testing::core::Action;

use super::bench::Bench;
use super::configs::{SCHEMA_WIDER, kafka_stream, plain_stream, with};
use super::fake_agent::{World, json_payload};
use tfplugin::value::Value;

const NAME: &str = "main.payments.cards";

type Change = fn(&mut World);

#[tokio::test]
async fn drift_of_a_field_is_planned_back() {
    let rows: [(&str, Change, Action); 8] = [
        (
            "excluded_columns",
            |world| world.change(NAME, |stream| stream.excluded_columns.push("value.id".to_owned())),
            Action::Update,
        ),
        (
            "excluded_columns",
            |world| world.change(NAME, |stream| stream.excluded_columns.clear()),
            Action::Update,
        ),
        (
            "operations.paused",
            |world| world.operate(NAME, |operations| operations.paused = Some(true)),
            Action::Update,
        ),
        (
            "operations.flush_interval",
            |world| {
                world.operate(NAME, |operations| {
                    operations.flush_interval = Some(prost_types::Duration { seconds: 9, nanos: 0 })
                })
            },
            Action::Update,
        ),
        (
            "operations.on_data_loss",
            |world| world.operate(NAME, |operations| operations.on_data_loss = v1::OnDataLoss::Latest.into()),
            Action::Update,
        ),
        (
            "description",
            |world| world.change(NAME, |stream| stream.description = None),
            Action::Replace,
        ),
        (
            "record_type_filter",
            |world| world.change(NAME, |stream| stream.record_type_filter = None),
            Action::Replace,
        ),
        (
            "ingestion_config.tags",
            |world| world.change(NAME, |stream| stream.ingestion_config.as_mut().expect("a config").tags.clear()),
            Action::Replace,
        ),
    ];
    for (path, change, action) in rows {
        let bench = Bench::start().await;
        let stored = bench.applied(&kafka_stream()).await;
        change(&mut bench.agent.world());
        let refreshed = bench.refreshed(&stored).await;
        assert_ne!(
            refreshed.state.dig(path),
            stored.state.dig(path),
            "the state shows the drift of {path}"
        );
        let planned = bench.plan(Some(&refreshed), &kafka_stream()).await;
        assert_eq!(planned.action(), action, "{path}: {}", planned.words());
        if action == Action::Update {
            let repaired = bench.applied_over(&refreshed, &kafka_stream()).await;
            assert_eq!(repaired.state.dig(path), stored.state.dig(path), "{path} is as it was");
            assert_eq!(
                bench.plan(Some(&bench.refreshed(&repaired).await), &kafka_stream()).await.action(),
                Action::NoOp
            );
        }
    }
}

#[tokio::test]
async fn a_schema_that_someone_widened_cannot_be_taken_back_silently() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    {
        let mut world = bench.agent.world();
        world.change(NAME, |stream| stream.schema_config = Some(json_payload(SCHEMA_WIDER)));
    }
    let refreshed = bench.refreshed(&stored).await;
    let planned = bench.plan(Some(&refreshed), &plain_stream()).await;
    assert_eq!(
        planned.action(),
        Action::Update,
        "removing a field is compatible: {}",
        planned.words()
    );
}

#[tokio::test]
async fn what_a_state_plans() {
    let rows = [
        (StreamState::Active, Action::NoOp),
        (StreamState::Provisioning, Action::NoOp),
        (StreamState::Degraded, Action::NoOp),
        (StreamState::Paused, Action::NoOp),
        (StreamState::Failed, Action::Update),
        (StreamState::TableAltered, Action::Update),
        (StreamState::TableGone, Action::Replace),
        (StreamState::Deleting, Action::Create),
    ];
    for (state, action) in rows {
        let bench = Bench::start().await;
        let stored = bench.applied(&plain_stream()).await;
        bench.agent.world().set_state(NAME, state);
        let refreshed = bench.refresh(&stored).await;
        let planned = bench.plan(refreshed.as_ref(), &plain_stream()).await;
        assert_eq!(planned.action(), action, "{state:?}: {}", planned.words());
        if action == Action::Replace {
            assert_eq!(planned.requires_replace, ["state"]);
            assert!(planned.words().contains("are lost"), "{}", planned.words());
        }
    }
}

#[tokio::test]
async fn a_failed_pipeline_is_repaired_by_a_restart_and_by_nothing_else() {
    for state in [StreamState::Failed, StreamState::TableAltered] {
        let bench = Bench::start().await;
        let stored = bench.applied(&plain_stream()).await;
        bench.agent.world().set_state(NAME, state);
        let refreshed = bench.refreshed(&stored).await;
        let repaired = bench.applied_over(&refreshed, &plain_stream()).await;
        assert_eq!(repaired.state.get("state"), &Value::string("ACTIVE"));
        assert_eq!(bench.agent.count("RestartStream"), 1);
        assert_eq!(bench.agent.count("UpdateStream") + bench.agent.count("SetStreamOperations"), 0);
    }
}

#[tokio::test]
async fn a_repair_goes_along_with_a_change() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    bench.agent.world().set_state(NAME, StreamState::Failed);
    let refreshed = bench.refreshed(&stored).await;
    let changed = with(plain_stream(), "/excluded_columns", json!(["value.card"]));
    bench.applied_over(&refreshed, &changed).await;
    assert_eq!((bench.agent.count("UpdateStream"), bench.agent.count("RestartStream")), (1, 1));
}

#[tokio::test]
async fn a_stream_deleted_elsewhere_is_planned_for_creation() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    bench.agent.world().streams.clear();
    assert!(bench.refresh(&stored).await.is_none());
    assert_eq!(bench.plan(None, &plain_stream()).await.action(), Action::Create);
}

#[tokio::test]
async fn a_stream_that_another_one_replaced_is_not_taken_for_ours() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    bench.agent.world().streams.clear();
    bench.applied(&plain_stream()).await;
    assert!(bench.refresh(&stored).await.is_none(), "another uid is another stream");
}
