//! One row per attribute of the stream: what a change of it plans. A test below proves that no attribute is left out.

mod rows;

use serde_json::{Value as Json, json};
use tfplugin::schema::Attributes;
use tfplugin::schema::attribute::{AttributeType, Mode};
use tfplugin::testing::core::Action::{self, Replace, Update};

use self::rows::Expected::{Fails, Plans};
use self::rows::rows;
use super::bench::Bench;
use super::configs::{SCHEMA_NARROWED, SCHEMA_WIDER, plain_stream, with};
use crate::resources::stream::schema::schema;

#[tokio::test]
async fn each_attributes_change_plans_what_it_should() {
    for (base, pointer, value, expected) in rows() {
        let bench = Bench::start().await;
        let stored = bench.applied(&base()).await;
        let planned = bench.plan(Some(&stored), &with(base(), pointer, value.clone())).await;
        match expected {
            Plans(action) => {
                assert!(!planned.has_errors(), "{pointer} = {value}: {}", planned.words());
                assert_eq!(planned.action(), action, "{pointer} = {value}");
                if action == Replace {
                    let attribute = pointer.trim_start_matches('/').replace('/', ".");
                    let named = |path: &String| path.starts_with(&attribute) || attribute.starts_with(path.as_str());
                    let paths = &planned.requires_replace;
                    assert!(
                        !paths.is_empty() && paths.iter().all(named),
                        "{pointer}: only what differs replaces, not {paths:?}"
                    );
                }
            }
            Fails(text) => {
                assert!(planned.has_errors(), "{pointer} = {value} is planned");
                assert!(planned.words().contains(text), "{pointer} = {value}: {}", planned.words());
            }
        }
    }
}

#[tokio::test]
async fn what_is_planned_in_place_is_applied_in_place_and_then_plans_nothing() {
    for (base, pointer, value, expected) in rows() {
        if expected != Plans(Update) {
            continue;
        }
        let bench = Bench::start().await;
        let stored = bench.applied(&base()).await;
        let changed = with(base(), pointer, value);
        let stored = bench.applied_over(&stored, &changed).await;
        let again = bench.plan(Some(&bench.refreshed(&stored).await), &changed).await;
        assert_eq!(again.action(), Action::NoOp, "{pointer} after its apply");
        assert_eq!(bench.agent.count("CreateStream"), 1, "{pointer} replaced nothing");
    }
}

#[tokio::test]
async fn settings_of_the_providers_own_change_without_a_call_to_the_agent() {
    for (pointer, value) in [
        ("/schema_update_policy", json!("replace")),
        ("/on_destroy", json!("retain")),
        ("/deletion_protection", json!(true)),
        ("/timeouts/create", json!("90s")),
    ] {
        let bench = Bench::start().await;
        let stored = bench.applied(&plain_stream()).await;
        let before = bench.agent.world().calls.len();
        bench.applied_over(&stored, &with(plain_stream(), pointer, value)).await;
        assert_eq!(bench.agent.world().calls.len(), before, "{pointer}");
    }
}

#[tokio::test]
async fn schema_and_exclusions_change_in_one_call() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    let changed = with(
        plain_stream(),
        "/schema_config/direct_schemas/payload_schema/json_schema",
        json!(SCHEMA_WIDER),
    );
    let changed = with(changed, "/excluded_columns", json!(["value.note"]));
    bench.applied_over(&stored, &changed).await;
    assert_eq!(bench.agent.count("UpdateStream"), 1);
    let masks = bench.agent.world().masks.clone();
    assert_eq!(masks, [["schema_config.direct_schemas.payload_schema", "excluded_columns"]]);
}

#[tokio::test]
async fn an_incompatible_schema_replaces_only_if_the_user_asked_for_it() {
    let bench = Bench::start().await;
    let base = with(plain_stream(), "/schema_update_policy", json!("replace"));
    let stored = bench.applied(&base).await;
    let narrowed = with(
        base,
        "/schema_config/direct_schemas/payload_schema/json_schema",
        json!(SCHEMA_NARROWED),
    );
    let planned = bench.plan(Some(&stored), &narrowed).await;
    assert_eq!(planned.action(), Replace, "{}", planned.words());
    assert!(planned.words().contains("1,234 rows"), "{}", planned.words());
}

#[test]
fn the_table_has_a_row_for_every_attribute_a_user_can_set() {
    let rows: Vec<String> = rows()
        .iter()
        .map(|(_, pointer, value, _)| all_paths(pointer.trim_start_matches("/"), value))
        .collect::<Vec<_>>()
        .concat();
    let mut settable = Vec::new();
    leaves(&schema().attributes, "", &mut settable);
    for path in settable {
        let pointer = path.replace('.', "/");
        assert!(
            rows.iter().any(|row| row == &pointer || row.starts_with(&format!("{pointer}/"))),
            "no row changes `{path}`"
        );
    }
}

/// A pointer and every pointer below it that the value sets.
fn all_paths(pointer: &str, value: &Json) -> Vec<String> {
    let mut paths = vec![pointer.to_owned()];
    for (name, inner) in value.as_object().into_iter().flatten() {
        paths.extend(all_paths(&format!("{pointer}/{name}"), inner));
    }
    paths
}

/// Paths of the attributes without attributes inside that a user can set.
fn leaves(attributes: &Attributes, prefix: &str, found: &mut Vec<String>) {
    for (name, attribute) in attributes {
        let path = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}.{name}")
        };
        match &attribute.attribute_type {
            AttributeType::Nested { attributes, .. } => leaves(attributes, &path, found),
            AttributeType::Plain(_) if attribute.mode != Mode::Computed => found.push(path),
            AttributeType::Plain(_) => {}
        }
    }
}
