//! What a plan says of what it costs: about the right table, with nothing left out, and without advice that does not help.

use featurestore_proto::v1;
use featurestore_proto::v1::StreamState;
use serde_json::json;
use tonic::Code;

use super::bench::Bench;
use super::configs::{SCHEMA_WIDER, UNKNOWN, kafka_stream, plain_stream, with};
use super::fake_agent::Fault;

const NAME: &str = "main.payments.cards";
const JSON_SCHEMA: &str = "/schema_config/direct_schemas/payload_schema/json_schema";

#[tokio::test]
async fn an_existing_stream_is_told_with_the_table_that_it_has() {
    let bench = Bench::start().await;
    bench.applied(&plain_stream()).await;
    for table in [json!("main.payments.cards_two"), json!(UNKNOWN)] {
        let config = with(plain_stream(), "/ingestion_config/ingestion_destination/delta_table_name", table);
        let words = bench.plan(None, &config).await.words();
        assert!(words.contains("`main.payments.cards_raw` holds 1,234 rows"), "{words}");
        assert!(!words.contains("cards_two"), "{words}");
    }
}

#[tokio::test]
async fn exclusions_that_cannot_change_are_not_told_to_set_a_policy_for_schemas() {
    let bench = Bench::start().await;
    let base = with(kafka_stream(), "/schema_update_policy", json!("replace"));
    let stored = bench.applied(&base).await;
    let reason = v1::Finding {
        path: "value.amount".to_owned(),
        text: "cannot be excluded".to_owned(),
        ..Default::default()
    };
    bench.agent.world().scripted_verdict = Some(v1::Verdict {
        kind: v1::VerdictKind::Refused.into(),
        findings: vec![reason],
    });
    let excluded = with(base, "/excluded_columns", json!(["value.card", "value.amount"]));
    let planned = bench.plan(Some(&stored), &excluded).await;
    assert!(planned.has_errors());
    let words = planned.words();
    assert!(words.contains("Exclusions Cannot Change So"), "{words}");
    assert!(!words.contains("schema_update_policy"), "it would change nothing: {words}");
}

#[tokio::test]
async fn a_field_that_goes_is_told_with_figures() {
    let bench = Bench::start().await;
    let stored = bench.applied(&with(plain_stream(), JSON_SCHEMA, json!(SCHEMA_WIDER))).await;
    let words = bench.plan(Some(&stored), &plain_stream()).await.words();
    for part in ["Values No Longer Stored", "value.note", "1,234 rows"] {
        assert!(words.contains(part), "no {part:?} in: {words}");
    }
}

#[tokio::test]
async fn a_column_that_arrives_excluded_is_told_from_one_that_is_there() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    let wider = with(plain_stream(), JSON_SCHEMA, json!(SCHEMA_WIDER));
    let arriving = bench
        .plan(Some(&stored), &with(wider, "/excluded_columns", json!(["value.note"])))
        .await
        .words();
    assert!(arriving.contains("`value.note`: excluded from the start"), "{arriving}");
    assert!(!arriving.contains("keep their values"), "{arriving}");
    let unknown = with(plain_stream(), JSON_SCHEMA, json!(UNKNOWN));
    let beside_unknown = bench
        .plan(Some(&stored), &with(unknown, "/excluded_columns", json!(["value.card"])))
        .await
        .words();
    assert!(beside_unknown.contains("keep their values"), "{beside_unknown}");
}

#[tokio::test]
async fn what_a_change_is_goes_by_its_kind_and_not_by_its_words() {
    let bench = Bench::start().await;
    let stored = bench.applied(&plain_stream()).await;
    let wider = with(plain_stream(), JSON_SCHEMA, json!(SCHEMA_WIDER));
    let excluded = with(wider, "/excluded_columns", json!(["value.note"]));
    let misleading = "removed: excluded from the start";
    for (kind, text, removed, arrives) in [
        (v1::FindingKind::FieldRemoved, "said otherwise", true, false),
        (v1::FindingKind::ExcludedFromTheStart, "said otherwise", false, true),
        (v1::FindingKind::Widened, misleading, false, false),
        (v1::FindingKind::Unspecified, misleading, false, false),
    ] {
        let change = v1::Finding {
            path: "value.note".to_owned(),
            text: text.to_owned(),
            kinds: vec![kind.into()],
            ..Default::default()
        };
        bench.agent.world().scripted_verdict = Some(v1::Verdict {
            kind: v1::VerdictKind::InPlace.into(),
            findings: vec![change],
        });
        let words = bench.plan(Some(&stored), &excluded).await.words();
        assert_eq!(words.contains("Values No Longer Stored"), removed, "{kind:?}: {words}");
        assert_eq!(words.contains("the table has no such column"), arrives, "{kind:?}: {words}");
    }
}

#[tokio::test]
async fn a_new_stream_is_said_to_start_where_its_options_say() {
    let options = "/source_config/kafka_stream_config/extra_options";
    for (config, start) in [
        (plain_stream(), "at the source's current end"),
        (
            with(plain_stream(), options, json!({ "startingOffsets": "earliest" })),
            "where `startingOffsets` says",
        ),
    ] {
        let bench = Bench::start().await;
        let stored = bench.applied(&config).await;
        bench.agent.world().set_state(NAME, StreamState::TableGone);
        let refreshed = bench.refreshed(&stored).await;
        let words = bench.plan(Some(&refreshed), &config).await.words();
        assert!(words.contains(start), "{words}");
    }
}

#[tokio::test]
async fn required_checks_want_an_answer_for_every_planned_change() {
    for (pointer, value, fails) in [
        ("/operations/paused", json!(true), true),
        (JSON_SCHEMA, json!(UNKNOWN), true),
        ("/on_destroy", json!("retain"), false),
    ] {
        let bench = Bench::with(json!({ "plan_checks": "required" })).await;
        let stored = bench.applied(&plain_stream()).await;
        bench.agent.fail("GetStream", vec![Fault::Refuse(Code::Unavailable, "starting"); 4]);
        let planned = bench.plan(Some(&stored), &with(plain_stream(), pointer, value)).await;
        assert_eq!(planned.has_errors(), fails, "{pointer}: {}", planned.words());
    }
}

#[tokio::test]
async fn a_replacement_that_only_the_apply_can_find_is_explained_beforehand() {
    for (policy, explained) in [("replace", true), ("reject", false)] {
        let bench = Bench::start().await;
        let base = with(plain_stream(), "/schema_update_policy", json!(policy));
        let stored = bench.applied(&base).await;
        let unknown = bench
            .plan(Some(&stored), &with(base.clone(), JSON_SCHEMA, json!(UNKNOWN)))
            .await
            .words();
        bench
            .agent
            .fail("CheckStream", vec![Fault::Refuse(Code::Unavailable, "starting"); 4]);
        let unasked = bench
            .plan(Some(&stored), &with(base, JSON_SCHEMA, json!(SCHEMA_WIDER)))
            .await
            .words();
        for words in [unknown, unasked] {
            assert_eq!(words.contains("inconsistent final plan"), explained, "{policy}: {words}");
        }
    }
}

#[tokio::test]
async fn an_agent_that_was_not_asked_is_not_blamed() {
    let bench = Bench::with(json!({ "plan_checks": "off" })).await;
    let stored = bench.applied(&plain_stream()).await;
    let words = bench.plan_destroy(&stored).await.words();
    assert!(words.contains("is not known") && !words.contains("did not say"), "{words}");
}
