//! What a checked filter reads, and when two filters are the same.

use super::super::expr::{ExprKind, Literal};
use super::*;

fn reads(text: &str) -> Vec<String> {
    let filter = check(text, &asked_columns()).expect(text);
    filter.reads.iter().map(ToString::to_string).collect()
}

#[test]
fn reads_are_the_deepest_fields_of_structs() {
    for (text, expected) in [
        (
            "value.n > 5 AND VALUE.Customer.EMAIL = key",
            &["key", "value.customer.Email", "value.n"][..],
        ),
        ("value.items[0].sku = 'a' OR value.items.qty[1] > 1", &["value.items"]),
        ("value.labels['a'] = value.name", &["value.labels", "value.name"]),
        ("value.customer IS NULL", &["value.customer"]),
        ("kafka_offset % 2 = 0 AND headers IS NOT NULL", &["headers", "kafka_offset"]),
        (
            "CASE WHEN value.flag THEN value.day END = DATE '2026-01-01'",
            &["value.day", "value.flag"],
        ),
        ("true", &[]),
    ] {
        assert_eq!(reads(text), expected, "{text}");
    }
}

#[test]
fn two_filters_mean_the_same_when_they_keep_the_same_records() {
    let columns = asked_columns();
    for (left, right, by_tokens, by_columns) in [
        ("value.n > 5", "value.n  >  5 -- a comment", true, true),
        ("value.n > 5", "VALUE.n > 5", true, true),
        ("value.n > 5", "value.N > 5", false, true),
        ("lower(value.name) = key", "LOWER(value.name) = KEY", true, true),
        ("value.labels.color = 'x'", "value.labels.Color = 'x'", false, false),
        ("value.labels.color = 'x'", "value.labels. /* */ Color = 'x'", false, false),
        ("value.labels.`color` = 'x'", "value.labels.`Color` = 'x'", false, false),
        ("value.labels.color = 'x'", "value.labels.`color` = 'x'", true, true),
        ("value.n > 5 and value.flag", "value.n > 5 AND value.`flag`", true, true),
        ("value.n == 5", "value.n = 5", true, true),
        ("value.n = 5", "(value.n) = 5", false, true),
        ("value.n != 5", "NOT value.n = 5", false, true),
        ("value.name = 'it\\'s'", "value.name = \"it's\"", false, true),
        (
            "value.flag AND (value.n = 1 AND key = 'a')",
            "value.flag AND value.n = 1 AND key = 'a'",
            false,
            true,
        ),
        ("value.n IN (1, 2)", "value.n IN (1, 2, 3)", false, false),
        ("value.name = 'A'", "value.name = 'a'", false, false),
        ("value.n = 5", "value.n = 5L", false, false),
        ("value.name RLIKE 'a'", "regexp_like(value.name, 'a')", false, true),
        ("value.nobody = 1", "(value.nobody) = 1", false, false),
        ("", " ", true, true),
    ] {
        for (left, right) in [(left, right), (right, left)] {
            assert_eq!(same_meaning(left, right, None), by_tokens, "{left} | {right}");
            assert_eq!(same_meaning(left, right, Some(&columns)), by_columns, "{left} | {right}");
        }
    }
}

#[test]
fn chains_are_flat_and_between_is_two_comparisons() {
    let columns = asked_columns();
    let parts = |text: &str| match check(text, &columns).expect(text).predicate.kind {
        ExprKind::And(parts) | ExprKind::Or(parts) => parts.len(),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(parts("value.flag AND value.n = 1 AND (value.id = 2 AND key = 'a')"), 4);
    assert_eq!(parts("value.flag OR value.n = 1 OR value.id = 2"), 3);
    assert_eq!(parts("value.n BETWEEN 1 AND 2"), 2);
    let null = check("NULL", &columns).expect("a filter that keeps nothing");
    assert_eq!(null.predicate.kind, ExprKind::Literal(Literal::Null));
}

#[test]
fn columns_are_those_of_the_decoded_record_and_its_source() {
    use std::collections::{BTreeMap, BTreeSet};

    use crate::stream::{KafkaSource, KinesisSource, KinesisStreams, SchemaText, SubscriptionMode};
    let kafka = |headers: &str| {
        SourceConfig::Kafka(KafkaSource {
            subscription: SubscriptionMode::Subscribe("a".into()),
            extra_options: BTreeMap::from([("includeHeaders".to_owned(), headers.to_owned())]),
        })
    };
    let kinesis = SourceConfig::Kinesis(KinesisSource {
        streams: KinesisStreams::Names(BTreeSet::from(["a".to_owned()])),
        extra_options: BTreeMap::new(),
    });
    let schemas = DirectSchemas {
        key: None,
        payload: Some(SchemaText::Json(
            r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#.into(),
        )),
    };
    let sound = |source: &SourceConfig, text: &str| check(text, &columns_for(source, &schemas).expect("columns")).is_ok();
    for (text, with_headers, without, on_kinesis) in [
        (
            "value.n = 1 AND key = 'a' AND stream_record_timestamp > DATE '2026-01-01'",
            true,
            true,
            true,
        ),
        ("kafka_topic = 'a' AND kafka_partition = 1 AND kafka_offset > 1L", true, true, false),
        ("headers[0].key = 'a'", true, false, false),
        (
            "kinesis_stream = 'a' AND kinesis_shard_id = 'b' AND kinesis_sequence_number = 'c'",
            false,
            false,
            true,
        ),
        ("record_source = 'stream'", false, false, false),
    ] {
        assert_eq!(sound(&kafka("true"), text), with_headers, "{text}");
        assert_eq!(sound(&kafka("false"), text), without, "{text}");
        assert_eq!(sound(&kinesis, text), on_kinesis, "{text}");
    }
    let unreadable = DirectSchemas {
        payload: Some(SchemaText::Json("{".into())),
        ..schemas
    };
    let problems = columns_for(&kinesis, &unreadable).expect_err("not JSON");
    assert_eq!(problems[0].field, "schema_config.direct_schemas.payload_schema.json_schema");
}

fn expr(text: &str) -> Option<super::super::expr::Expr> {
    let columns = asked_columns();
    let parsed = parse::expression(text).expect(text);
    Checker::new(text, &columns).expression(&parsed)
}

#[test]
fn escapes_are_characters_with_both_halves_joined() {
    for (text, expected) in [
        (r"'\ud83d\ude00'", Some("\u{1F600}")),
        (r"'a\U0001F600b'", Some("a\u{1F600}b")),
        (r"'\u0041\u00e9'", Some("A\u{e9}")),
        (r"'\ud83d'", None),
        (r"'\ude00\ud83d'", None),
        (r"'\ud83d\\ude00'", None),
        (r"'\ud83dude00'", None),
        (r"'\ud83d\u0041'", None),
        (r"'\U00110000'", None),
        (r"'\u12'", Some("u12")),
    ] {
        let read = expr(text).map(|expr| expr.kind);
        assert_eq!(read, expected.map(|text| ExprKind::Literal(Literal::String(text.into()))), "{text}");
    }
    for text in [
        r"value.name = 'a\ud83d'",
        r"value.labels['a\ud83d'] = 'x'",
        r"value['a\ud83d'] = 'x'",
    ] {
        let problems = check(text, &asked_columns()).expect_err(text);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0]
                .problem
                .starts_with("the escape of D83D in the text is no character at line 1, column"),
            "{problems:?}"
        );
        assert!(problems[0].value.contains(r"'a\\ud83d'"), "{problems:?}");
    }
}

#[test]
fn a_sign_before_casts_of_a_number_is_the_numbers() {
    for (short, long) in [
        ("-128::TINYINT", "CAST(-128 AS TINYINT)"),
        ("-2147483648::INT", "CAST(-2147483648 AS INT)"),
        ("-128::SMALLINT::TINYINT", "CAST(CAST(-128 AS SMALLINT) AS TINYINT)"),
        ("-1.5::STRING", "CAST(-1.5 AS STRING)"),
        ("-(128::TINYINT)", "-CAST(128 AS TINYINT)"),
        ("-value.n::TINYINT", "-CAST(value.n AS TINYINT)"),
        ("-CAST(128 AS TINYINT)", "-(128::TINYINT)"),
    ] {
        assert!(expr(short).is_some(), "{short}");
        assert_eq!(expr(short), expr(long), "{short}");
    }
    assert_ne!(expr("-128::TINYINT"), expr("-(128::TINYINT)"));
}

#[test]
fn intervals_of_months_are_within_32_bits() {
    for (text, sound) in [
        ("INTERVAL 2147483647 MONTHS", true),
        ("INTERVAL -2147483648 MONTHS", true),
        ("INTERVAL '-178956970-8' YEAR TO MONTH", true),
        ("INTERVAL 2147483648 MONTHS", false),
        ("INTERVAL 178956971 YEARS", false),
        ("INTERVAL '178956970-8' YEAR TO MONTH", false),
        ("INTERVAL 9223372036854775807 YEARS", false),
        ("INTERVAL 2147483648 DAYS", false),
        ("INTERVAL 106751991 DAYS", true),
    ] {
        assert_eq!(expr(text).is_some(), sound, "{text}");
    }
}

#[test]
fn a_date_and_whole_days_is_a_date_however_the_days_are_summed() {
    let ty = |text: &str| expr(text).map(|expr| expr.ty.to_string());
    for (text, expected) in [
        ("value.day + (INTERVAL 1 DAY + INTERVAL 1 DAY)", Some("DATE")),
        ("(INTERVAL 1 WEEK - INTERVAL 1 DAY) + value.day", Some("DATE")),
        ("value.day + INTERVAL 1 DAY - INTERVAL 1 DAY", Some("DATE")),
        ("value.day + (INTERVAL 1 DAY + INTERVAL 1 HOUR)", Some("TIMESTAMP")),
        ("value.day + (INTERVAL 1 HOUR - INTERVAL 1 DAY)", Some("TIMESTAMP")),
        ("value.day - (INTERVAL 1 MONTH + INTERVAL 1 YEAR)", Some("DATE")),
        ("value.at + coalesce(INTERVAL 1 DAY, INTERVAL 2 DAYS)", Some("TIMESTAMP")),
        ("value.day + coalesce(INTERVAL 1 DAY, INTERVAL 2 DAYS)", None),
        ("value.day + (value.day - value.day)", None),
    ] {
        assert_eq!(ty(text).as_deref(), expected, "{text}");
    }
}
