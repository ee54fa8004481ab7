//! The example provider driven by the stand-in for Terraform's core: whole lives of a resource, and properties over them.
//!
//! Invariant: after every apply the next plan is empty, whatever the configuration was.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of a test stop at the first surprise, as the test does"
)]

#[path = "../../examples/corner/file.rs"]
mod file;
mod misbehaving;
mod properties;
#[path = "../../examples/corner/provider.rs"]
mod provider;
mod world;

use std::sync::Arc;

use tfplugin::path::AttributePath;
use tfplugin::testing::core::{Action, Core};
use tfplugin::value::Value;

use world::{FILE, config, summaries, world};

#[tokio::test]
async fn each_change_does_what_its_attribute_declares() {
    let owner = |team: &str| Value::object([("team", Value::from(team))]);
    let lines = |text: &str| Value::List(vec![Value::object([("text", Value::from(text))])]);
    let badges = |name: &str| Value::Set(vec![Value::object([("name", Value::from(name))])]);
    let cases = [
        ("nothing", config(&[]), config(&[]), Action::NoOp),
        (
            "json reformatted",
            config(&[("content", "{\"a\":1,\"b\":2}".into())]),
            config(&[("content", " {\"b\":2, \"a\":1}".into())]),
            Action::NoOp,
        ),
        (
            "json changed",
            config(&[("content", "{}".into())]),
            config(&[("content", "[]".into())]),
            Action::Update,
        ),
        (
            "set reordered",
            config(&[("tags", Value::string_set(["a", "b"]))]),
            config(&[("tags", Value::string_set(["b", "a"]))]),
            Action::NoOp,
        ),
        (
            "map changed",
            config(&[("options", Value::map([("k", Value::from("v"))]))]),
            config(&[]),
            Action::Update,
        ),
        (
            "owner replaced",
            config(&[("owner", owner("x"))]),
            config(&[("owner", owner("y"))]),
            Action::Replace,
        ),
        ("owner gone", config(&[("owner", owner("x"))]), config(&[]), Action::Replace),
        (
            "line changed",
            config(&[("lines", lines("x"))]),
            config(&[("lines", lines("y"))]),
            Action::Update,
        ),
        (
            "badge changed",
            config(&[("badges", badges("x"))]),
            config(&[("badges", badges("y"))]),
            Action::Update,
        ),
        ("note changed", config(&[]), config(&[("note", "mine".into())]), Action::Update),
        ("note removed", config(&[("note", "mine".into())]), config(&[]), Action::Update),
        ("secret alone", config(&[]), config(&[("secret_wo", "s".into())]), Action::NoOp),
        (
            "secret sent again",
            config(&[]),
            config(&[("secret_wo", "s".into()), ("secret_wo_version", 2_i64.into())]),
            Action::Update,
        ),
    ];
    for (name, before, after, expected) in cases {
        let world = world().await;
        let (action, stored) = world.apply(None, &before).await;
        assert_eq!(action, Action::Create, "{name}");
        world.assert_settled(&stored, &before).await;
        let (action, stored) = world.apply(Some(&stored), &after).await;
        assert_eq!(action, expected, "{name}");
        world.assert_settled(&stored, &after).await;
    }
}

#[tokio::test]
async fn a_setting_that_stands_alone_leaves_the_revision_known() {
    let world = world().await;
    let (_, stored) = world.apply(None, &config(&[])).await;
    let plan = world
        .core
        .plan(FILE, Some(&stored), Some(config(&[("note", "mine".into())])))
        .await
        .unwrap();
    assert_eq!(plan.planned.get("revision").as_i64(), Some(1));
    let plan = world
        .core
        .plan(FILE, Some(&stored), Some(config(&[("amount", 1_i64.into())])))
        .await
        .unwrap();
    assert!(plan.planned.get("revision").is_unknown());
    assert_eq!(plan.planned.get("id").as_str(), Some("a"));
}

#[tokio::test]
async fn a_write_only_value_reaches_the_provider_and_no_state_or_file() {
    let world = world().await;
    let (_, stored) = world.apply(None, &config(&[("secret_wo", "hunter2".into())])).await;
    assert_eq!(stored.state.get("secret_length").as_i64(), Some(7));
    assert!(stored.state.get("secret_wo").is_null());
    let kept = std::fs::read_to_string(world.folder.path().join("a")).unwrap();
    assert!(!kept.contains("hunter2"));
}

#[tokio::test]
async fn drift_shows_as_the_remote_value_and_a_removed_file_as_a_create() {
    let world = world().await;
    let wanted = config(&[("content", "{\"a\":1}".into())]);
    let (_, stored) = world.apply(None, &wanted).await;
    let path = world.folder.path().join("a");
    let text = std::fs::read_to_string(&path).unwrap();

    std::fs::write(&path, text.replace(r#"{\"a\":1}"#, r#"{ \"a\" : 1 }"#)).unwrap();
    world.assert_settled(&stored, &wanted).await;

    std::fs::write(&path, text.replace(r#"{\"a\":1}"#, r#"{\"a\":2}"#)).unwrap();
    let (drifted, _) = world.core.refresh(&stored).await.unwrap();
    let drifted = drifted.unwrap();
    assert_eq!(drifted.state.get("content").as_str(), Some("{\"a\":2}"));
    assert_eq!(world.apply(Some(&drifted), &wanted).await.0, Action::Update);

    std::fs::remove_file(&path).unwrap();
    assert_eq!(world.core.refresh(&stored).await.unwrap().0, None);
    assert_eq!(world.apply(None, &wanted).await.0, Action::Create);
}

#[tokio::test]
async fn an_unreadable_file_is_an_error_and_never_gone() {
    let world = world().await;
    let (_, stored) = world.apply(None, &config(&[])).await;
    std::fs::write(world.folder.path().join("a"), "not JSON").unwrap();
    let failed = world.core.refresh(&stored).await.unwrap_err();
    assert_eq!(summaries(&failed), ["File Not Accessible"]);
}

#[tokio::test]
async fn an_import_needs_no_change_and_of_nothing_is_an_error() {
    let world = world().await;
    let wanted = config(&[("owner", Value::object([("team", Value::from("x"))]))]);
    world.apply(None, &wanted).await;
    let imported = world.core.import(FILE, "a").await.unwrap();
    world.assert_settled(&imported, &wanted).await;
    assert_eq!(summaries(&world.core.import(FILE, "b").await.unwrap_err()), ["No Such File"]);
}

#[tokio::test]
async fn a_deletion_warns_happens_and_may_happen_twice() {
    let world = world().await;
    let (_, stored) = world.apply(None, &config(&[])).await;
    for _ in 0..2 {
        let plan = world.core.plan(FILE, Some(&stored), None).await.unwrap();
        assert_eq!(plan.action, Action::Delete);
        assert_eq!(summaries(&plan.diagnostics), ["File Will Be Removed"]);
        let applied = world.core.apply(plan).await;
        assert_eq!((applied.stored, applied.diagnostics.is_empty()), (None, true));
    }
}

#[tokio::test]
async fn a_failed_deletion_keeps_state_and_private_state() {
    let world = world().await;
    let (_, stored) = world.apply(None, &config(&[])).await;
    let path = world.folder.path().join("a");
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let plan = world.core.plan(FILE, Some(&stored), None).await.unwrap();
    let applied = world.core.apply(plan).await;
    assert!(applied.diagnostics.has_errors());
    assert_eq!(applied.stored, Some(stored));
}

#[tokio::test]
async fn a_failed_create_leaves_nothing_behind() {
    let world = world().await;
    let plan = world.core.plan(FILE, None, Some(config(&[]))).await.unwrap();
    std::fs::create_dir(world.folder.path().join("a")).unwrap();
    let applied = world.core.apply(plan).await;
    assert!(applied.diagnostics.has_errors());
    assert_eq!((applied.stored, applied.tainted), (None, false));
}

#[tokio::test]
async fn mistakes_are_diagnostics_with_the_attribute_they_are_about() {
    let world = world().await;
    let failed = world
        .core
        .plan(FILE, None, Some(config(&[("name", "a/b".into())])))
        .await
        .unwrap_err();
    let message = failed.iter().next().unwrap();
    assert_eq!(message.summary, "Invalid File Name");
    assert_eq!(message.path, Some(AttributePath::root().attribute("name")));
}

#[tokio::test]
async fn a_panic_is_an_answer_that_calls_itself_a_bug() {
    let world = world().await;
    let failed = world.core.validate(FILE, config(&[("name", "panic".into())])).await;
    assert_eq!(summaries(&failed), ["Bug in the Provider"]);
    assert!(failed.iter().next().unwrap().detail.contains("the name is \"panic\""));
    // It goes on serving.
    assert!(world.core.validate(FILE, config(&[])).await.is_empty());
}

#[tokio::test]
async fn an_unknown_provider_configuration_plans_and_says_so_when_it_is_needed() {
    let core = Core::new(Arc::new(provider::Corner::default()));
    assert!(core.configure(Value::object([("folder", Value::UNKNOWN)])).await.is_empty());
    let plan = core.plan(FILE, None, Some(config(&[]))).await.unwrap();
    let applied = core.apply(plan).await;
    assert_eq!(summaries(&applied.diagnostics), ["Folder Not Known"]);
}

#[tokio::test]
async fn a_stop_ends_waiting_calls_and_only_those_of_its_run() {
    let world = world().await;
    world.core.stop().await;
    let plan = world
        .core
        .plan(FILE, None, Some(config(&[("name", "waits".into())])))
        .await
        .unwrap();
    let applied = world.core.apply(plan).await;
    assert_eq!(summaries(&applied.diagnostics), ["Interrupted"]);
    assert!(applied.stored.is_some() && !applied.tainted);

    let folder = Value::string(world.folder.path().display().to_string());
    world.core.configure(Value::object([("folder", folder)])).await;
    let plan = world
        .core
        .plan(FILE, None, Some(config(&[("name", "waits".into())])))
        .await
        .unwrap();
    let waiting = world.core.apply(plan);
    tokio::pin!(waiting);
    assert!(futures::poll!(&mut waiting).is_pending());
    world.core.stop().await;
    assert_eq!(summaries(&waiting.await.diagnostics), ["Interrupted"]);
}

#[tokio::test]
async fn a_data_source_reads_what_is_there() {
    let world = world().await;
    world.apply(None, &config(&[])).await;
    let (read, _) = world
        .core
        .read_data("corner_revision", Value::object([("name", Value::from("a"))]))
        .await
        .unwrap();
    assert_eq!(read.get("revision").as_i64(), Some(1));
    let failed = world
        .core
        .read_data("corner_revision", Value::object([("name", Value::from("b"))]))
        .await
        .unwrap_err();
    assert_eq!(summaries(&failed), ["No Such File"]);
    let failed = world.core.read_data("corner_nothing", Value::Null).await.unwrap_err();
    assert_eq!(summaries(&failed), ["Unknown Data Source Type"]);
}
