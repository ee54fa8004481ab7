//! Any value may be unknown while planning: nothing panics, nothing is refused for it, and the known rest is still judged.

use serde_json::{Value as Json, json};
use tfplugin::testing::core::Action;

use super::bench::Bench;
use super::configs::{UNKNOWN, connection, kafka_stream, kinesis_stream, plain_stream, registry_stream, with};

/// Every pointer of a JSON value, objects included.
fn pointers(prefix: &str, json: &Json, found: &mut Vec<String>) {
    for (name, inner) in json.as_object().into_iter().flatten() {
        let pointer = format!("{prefix}/{name}");
        pointers(&pointer, inner, found);
        found.push(pointer);
    }
}

fn full(base: Json) -> Json {
    let own = [
        (
            "/operations",
            json!({ "paused": false, "flush_interval": "1s", "on_data_loss": "fail" }),
        ),
        ("/schema_update_policy", json!("reject")),
        ("/on_destroy", json!("delete")),
        ("/deletion_protection", json!(false)),
        ("/timeouts", json!({ "create": "60s", "update": "60s", "delete": "60s" })),
    ];
    own.into_iter().fold(base, |config, (pointer, value)| with(config, pointer, value))
}

#[tokio::test]
async fn every_attribute_may_be_unknown_in_a_create_and_in_an_update() {
    for base in [plain_stream(), kafka_stream(), kinesis_stream(), registry_stream()] {
        let base = full(base);
        let bench = Bench::start().await;
        let stored = bench.applied(&base).await;
        let mut all = Vec::new();
        pointers("", &base, &mut all);
        for pointer in all {
            let config = with(base.clone(), &pointer, json!(UNKNOWN));
            let said = bench.validate(&config).await;
            assert!(!said.has_errors(), "{pointer}: {}", said.words());
            let create = bench.plan(None, &config).await;
            assert!(!create.has_errors(), "{pointer}: {}", create.words());
            assert_eq!(create.action(), Action::Create);
            let update = bench.plan(Some(&stored), &config).await;
            assert!(!update.words().contains("bug"), "{pointer}: {}", update.words());
        }
    }
}

#[tokio::test]
async fn everything_may_be_unknown_at_once() {
    let bench = Bench::start().await;
    let mut config = json!({});
    for name in plain_stream().as_object().expect("an object").keys() {
        config[name] = json!(UNKNOWN);
    }
    assert_eq!(bench.validate(&config).await.words(), "");
    assert_eq!(bench.plan(None, &config).await.action(), Action::Create);
}

#[tokio::test]
async fn what_is_known_is_judged_beside_the_unknown() {
    let bench = Bench::start().await;
    let config = with(
        plain_stream(),
        "/schema_config/direct_schemas/payload_schema/json_schema",
        json!(UNKNOWN),
    );
    let config = with(config, "/excluded_columns", json!(["value.perhaps"]));
    assert_eq!(bench.validate(&config).await.words(), "", "the path may exist");
    let said = bench.validate(&with(config, "/name", json!("cards"))).await;
    assert_eq!(said.error_paths(), ["name"]);
}

#[tokio::test]
async fn every_attribute_of_a_connection_may_be_unknown() {
    let bench = Bench::start().await;
    let mut all = Vec::new();
    pointers("", &connection(), &mut all);
    for pointer in all {
        let config = with(connection(), &pointer, json!(UNKNOWN));
        assert!(!bench.validate_connection(&config).await.has_errors(), "{pointer}");
        assert_eq!(bench.plan_connection(None, &config).await.action(), Action::Create, "{pointer}");
    }
}

#[tokio::test]
async fn any_two_attributes_may_be_unknown_together() {
    let bench = Bench::start().await;
    for base in [kafka_stream(), registry_stream()] {
        let mut all = Vec::new();
        pointers("", &base, &mut all);
        for (index, one) in all.iter().enumerate() {
            for other in all
                .iter()
                .skip(index + 1)
                .filter(|other| !other.starts_with(one) && !one.starts_with(*other))
            {
                let config = with(with(base.clone(), one, json!(UNKNOWN)), other, json!(UNKNOWN));
                let said = bench.validate(&config).await;
                assert!(!said.has_errors(), "{one} and {other}: {}", said.words());
            }
        }
    }
}
