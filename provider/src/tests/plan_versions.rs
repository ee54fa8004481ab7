//! What a plan says of the versions in a stream's schema registry.

use featurestore_proto::v1;
use serde_json::json;
use tonic::Code;

use super::bench::Bench;
use super::configs::{registry_stream, with};
use super::fake_agent::Fault;

fn subject(version: Option<i32>, latest: i32) -> v1::RegistrySubject {
    v1::RegistrySubject {
        side: "value".to_owned(),
        subject: "cards-value".to_owned(),
        version,
        schema_id: version.map(|version| u32::try_from(version).unwrap() + 10),
        latest_version: Some(latest),
        latest_schema_id: Some(u32::try_from(latest).unwrap() + 10),
    }
}

#[tokio::test]
async fn a_new_streams_plan_shows_the_latest_versions_and_the_columns_that_they_make() {
    let bench = Bench::start().await;
    bench.agent.world().scripted_subjects = vec![subject(None, 7)];
    bench.agent.world().scripted_columns = vec![v1::TableColumn {
        name: "value".to_owned(),
        r#type: format!("STRUCT<id: BIGINT, {}>", "x".repeat(2_000)),
    }];
    let words = bench.plan(None, &registry_stream()).await.words();
    for part in [
        "Columns By The Registry",
        "`cards-value`: version 7 (schema id 17)",
        "column `value`: STRUCT<id: BIGINT, xxx",
        "xxx…",
    ] {
        assert!(words.contains(part), "no {part:?} in: {words}");
    }
    bench.agent.world().scripted_subjects.clear();
    assert_eq!(bench.plan(None, &registry_stream()).await.words(), "", "the registry does not say");
}

#[tokio::test]
async fn a_version_that_is_not_in_force_is_told_with_both_numbers_also_where_nothing_changes() {
    let bench = Bench::start().await;
    let stored = bench.applied(&registry_stream()).await;
    bench.agent.world().scripted_subjects = vec![subject(Some(5), 5)];
    assert_eq!(
        bench.plan(Some(&stored), &registry_stream()).await.words(),
        "",
        "the latest is in force"
    );
    bench.agent.world().scripted_subjects = vec![subject(Some(5), 7)];
    let excluded = with(registry_stream(), "/excluded_columns", json!(["value.card"]));
    for config in [registry_stream(), excluded] {
        let planned = bench.plan(Some(&stored), &config).await;
        let words = planned.words();
        for part in [
            "A Later Schema Version Is Not In Force",
            "`cards-value`: version 5 is in force, version 7 (schema id 17) is the latest",
            "when its pipeline starts again",
        ] {
            assert!(words.contains(part), "no {part:?} in: {words}");
        }
        assert!(!words.contains("it could not"), "{words}");
        assert_eq!(words.matches("version 5 is in force").count(), 1, "{words}");
    }
    let refused = v1::Condition {
        r#type: "SchemasCurrent".to_owned(),
        status: v1::ConditionStatus::False.into(),
        reason: "VersionRefused".to_owned(),
        message: "`cards-value`: version 5 stays in force, because version 7 cannot be taken: value.id".to_owned(),
        since: None,
    };
    for kept in bench.agent.world().streams.values_mut() {
        kept.record.status.as_mut().unwrap().conditions.push(refused.clone());
    }
    let words = bench.plan(Some(&stored), &registry_stream()).await.words();
    assert!(words.contains("it could not: `cards-value`: version 5 stays in force"), "{words}");
    // Whoever plans nothing needs no answer.
    bench.agent.fail("CheckStream", [Fault::Refuse(Code::Internal, "broken")]);
    let planned = bench.plan(Some(&stored), &registry_stream()).await;
    assert!(!planned.has_errors() && planned.words().is_empty(), "{}", planned.words());
}
