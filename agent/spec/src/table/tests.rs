//! The columns of a stream's table, new and over its history.

use super::*;
use crate::stream::{KafkaSource, KinesisSource, KinesisStreams, SchemaText, SubscriptionMode};

fn kafka(options: &[(&str, &str)]) -> SourceConfig {
    let extra_options = options
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    SourceConfig::Kafka(KafkaSource {
        subscription: SubscriptionMode::Subscribe("orders".into()),
        extra_options,
    })
}

/// Schemas whose payload is an object with these members.
fn payload(members: &str) -> DirectSchemas {
    let text = format!(r#"{{"type":"object","properties":{{{members}}}}}"#);
    DirectSchemas {
        key: None,
        payload: Some(SchemaText::Json(text)),
    }
}

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

fn shown(columns: &[Field]) -> Vec<String> {
    columns
        .iter()
        .map(|column| format!("{} {}", column.name, column.data_type))
        .collect()
}

/// The `value` column after `history`, or the first violation.
fn value_after(history: &[&str], never_ingested: &[&str]) -> String {
    let history: Vec<DirectSchemas> = history.iter().map(|members| payload(members)).collect();
    match columns_of_history(&kafka(&[]), &history, &set(never_ingested)) {
        Ok(columns) => columns[1].data_type.to_string(),
        Err(violations) => violations[0].to_string(),
    }
}

const CUSTOMER: &str = r#""id":{"type":"integer"},"n":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"string"}}}"#;

#[test]
fn a_kafka_table_has_key_value_and_metadata_in_order() {
    let mut schemas = payload(r#""id":{"type":"integer"}"#);
    let columns = columns(&kafka(&[("includeHeaders", "true")]), &schemas, &BTreeSet::new()).expect("sound");
    let expected = [
        "key STRING",
        "value STRUCT<id: INT>",
        "stream_record_timestamp TIMESTAMP",
        "record_source STRING",
        "kafka_topic STRING",
        "kafka_partition INT",
        "kafka_offset BIGINT",
        "headers ARRAY<STRUCT<key: STRING, value: BINARY>>",
    ];
    assert_eq!(shown(&columns), expected);
    schemas.key = Some(SchemaText::Json(r#"{"type":"integer"}"#.into()));
    let columns = super::columns(&kafka(&[]), &schemas, &BTreeSet::new()).expect("sound");
    assert_eq!(shown(&columns).first().map(String::as_str), Some("key INT"));
    assert!(columns.iter().all(|column| column.name != HEADERS));
}

#[test]
fn a_kinesis_table_has_its_own_metadata() {
    let streams = KinesisStreams::Names(set(&["orders"]));
    let source = SourceConfig::Kinesis(KinesisSource {
        streams,
        extra_options: Default::default(),
    });
    let columns = columns(&source, &payload(r#""id":{"type":"integer"}"#), &BTreeSet::new()).expect("sound");
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let own = [KINESIS_STREAM, KINESIS_SHARD_ID, KINESIS_SEQUENCE_NUMBER];
    assert_eq!(
        names,
        [[KEY, VALUE, STREAM_RECORD_TIMESTAMP].as_slice(), &[RECORD_SOURCE], &own].concat()
    );
}

#[test]
fn excluded_paths_have_no_column() {
    for (excluded, expected) in [
        (&[][..], "STRUCT<id: INT, n: STRUCT<x: INT, y: STRING>>"),
        (&["value.id"], "STRUCT<n: STRUCT<x: INT, y: STRING>>"),
        (&["value.n"], "STRUCT<id: INT>"),
        (&["value.n.x"], "STRUCT<id: INT, n: STRUCT<y: STRING>>"),
        (&["value.n", "value.n.x"], "STRUCT<id: INT>"),
        (
            &["value.n.x", "value.n.y"],
            "excluded_columns: nothing is left of `value.n` (found \"value.n.y\"); exclude `value.n` itself, or keep one of its fields",
        ),
        (
            &["value.id", "value.n"],
            "excluded_columns: nothing is left of `value` (found \"value.n\"); keep at least one field of `value`",
        ),
        (
            &["value.m"],
            "excluded_columns: `value` has no field `m` (found \"value.m\"); did you mean `n`?",
        ),
    ] {
        assert_eq!(value_after(&[CUSTOMER], excluded), expected, "{excluded:?}");
    }
}

#[test]
fn columns_are_the_union_of_all_versions() {
    for (history, expected) in [
        (
            &[r#""a":{"type":"integer"}"#, r#""b":{"type":"string"}"#][..],
            "STRUCT<a: INT, b: STRING>",
        ),
        (
            &[
                r#""a":{"type":"integer"},"b":{}"#,
                r#""b":{},"a":{"type":"integer","format":"int64"}"#,
            ],
            "STRUCT<a: BIGINT, b: STRING>",
        ),
        (
            &[
                r#""a":{"type":"integer","format":"int64"}"#,
                r#""b":{}"#,
                r#""a":{"type":"integer"}"#,
            ],
            "STRUCT<a: BIGINT, b: STRING>",
        ),
        (
            &[
                r#""l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"}}}}"#,
                r#""l":{"type":"array","items":{"type":"object","properties":{"y":{"type":"integer"}}}}"#,
            ],
            "STRUCT<l: ARRAY<STRUCT<x: INT, y: INT>>>",
        ),
        (
            &[
                r#""m":{"type":"object","additionalProperties":{"type":"integer"}}"#,
                r#""m":{"type":"object","additionalProperties":{"type":"integer","format":"int64"}}"#,
            ],
            "STRUCT<m: MAP<STRING, BIGINT>>",
        ),
        (
            &[r#""a":{"type":"integer"}"#, r#""b":{}"#, r#""a":{"type":"string"}"#],
            "schema_config.direct_schemas: `value.a` was INT in an earlier schema and is STRING in a later one (found \"value.a\"); give the new field another name",
        ),
    ] {
        assert_eq!(value_after(history, &[]), expected, "{history:?}");
    }
}

#[test]
fn a_schema_that_cannot_be_parsed_names_its_attribute() {
    let schemas = DirectSchemas {
        key: Some(SchemaText::Json("[]".into())),
        payload: None,
    };
    let violations = columns(&kafka(&[]), &schemas, &BTreeSet::new()).expect_err("no schema");
    assert_eq!(violations[0].field, "schema_config.direct_schemas.key_schema.json_schema");
}

#[test]
fn a_path_has_no_column_only_while_it_was_never_included() {
    for (before, new, expected) in [
        // Excluded at creation, and still.
        (&["value.id"][..], &["value.id"][..], &["value.id"][..]),
        // Included by the update: a column from now on.
        (&["value.id"], &[], &[]),
        // Had a column, is excluded now: keeps it.
        (&[], &["value.id"], &[]),
        // Part of an excluded struct stays excluded.
        (&["value.n"], &["value.n.x"], &["value.n.x"]),
        (&["value.n.x"], &["value.n"], &["value.n.x"]),
        // Arrives with the update, excluded.
        (&[], &["value.secret"], &["value.secret"]),
    ] {
        let after = never_ingested(&set(before), &[payload(CUSTOMER)], &set(new)).expect("sound");
        assert_eq!(after, set(expected), "{before:?} {new:?}");
    }
}

#[test]
fn widened_columns_are_found_at_any_depth() {
    let old = payload(r#""a":{"type":"integer"},"l":{"type":"array","items":{"type":"integer"}},"s":{}"#);
    let new = payload(
        r#""a":{"type":"integer","format":"int64"},"l":{"type":"array","items":{"type":"integer","format":"int64"}},"n":{"type":"integer","format":"int64"}"#,
    );
    let before = columns(&kafka(&[]), &old, &BTreeSet::new()).expect("sound");
    let after = columns_of_history(&kafka(&[]), &[old, new], &BTreeSet::new()).expect("sound");
    assert_eq!(widened(&before, &after), ["value.a", "value.l[]"]);
    assert!(widened(&after, &after).is_empty());
}
