//! Verdicts beyond the published cases: both sides, history, table, exclusions, and the words of each finding.

mod avro;
mod exclusions;
mod filter;
mod kinds;
mod protobuf;

use super::*;
use crate::path::VALUE;
use crate::stream::SchemaText;

/// An update in short: payload members before and after, and what else matters.
#[derive(Default)]
struct Update<'a> {
    earlier: &'a [&'a str],
    old: &'a str,
    new: &'a str,
    table: Option<&'a str>,
    deduplication: &'a [&'a str],
    filter: Option<&'a str>,
    excluded: &'a [&'a str],
    new_excluded: &'a [&'a str],
}

fn object(members: &str) -> String {
    format!(r#"{{"type":"object","properties":{{{members}}}}}"#)
}

fn payload(text: String) -> DirectSchemas {
    DirectSchemas {
        key: None,
        payload: Some(SchemaText::Json(text)),
    }
}

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

fn ask(update: &Update<'_>) -> Verdict {
    let history: Vec<DirectSchemas> = update
        .earlier
        .iter()
        .chain([&update.old])
        .map(|members| payload(object(members)))
        .collect();
    let table = update.table.map(|members| {
        let parsed = schema::parse(&SchemaText::Json(object(members))).expect("table type");
        vec![Field::new(VALUE, parsed.data_type)]
    });
    verdict(&UpdateQuestion {
        history: &history,
        table_columns: table.as_deref(),
        deduplication_columns: &set(update.deduplication),
        record_type_filter: update.filter,
        excluded: &set(update.excluded),
        new_schemas: &payload(object(update.new)),
        new_excluded: &set(update.new_excluded),
    })
}

/// One line per finding, `path: text`, below a line that says the outcome.
fn shown(verdict: &Verdict) -> String {
    let (outcome, findings) = match verdict {
        Verdict::Unchanged => return "unchanged".into(),
        Verdict::InPlace { changes } => ("in place", changes),
        Verdict::Refused { reasons } => ("refused", reasons),
    };
    assert!(
        findings.iter().all(|finding| finding.remedy.is_empty() == (outcome == "in place")),
        "{findings:?}"
    );
    assert!(
        findings
            .iter()
            .all(|finding| finding.kinds.contains(&FindingKind::Incompatible) == (outcome == "refused")),
        "{findings:?}"
    );
    findings.iter().fold(outcome.to_owned(), |lines, finding| {
        format!("{lines}\n{}: {}", finding.path, finding.text)
    })
}

fn check(update: &Update<'_>, expected: &str) {
    assert_eq!(shown(&ask(update)), expected);
}

const INT_A: &str = r#""a":{"type":"integer"}"#;
const LONG_A: &str = r#""a":{"type":"integer","format":"int64"}"#;
const TEXT_A: &str = r#""a":{"type":"string"}"#;
const TEXT_B: &str = r#""b":{"type":"string"}"#;

#[test]
fn each_change_in_place_is_named() {
    check(
        &Update {
            old: INT_A,
            new: r#""a":{"type":"integer","title":"A"}"#,
            ..Update::default()
        },
        "unchanged",
    );
    check(
        &Update {
            old: INT_A,
            new: r#""a":{"type":"integer"},"b":{"type":"object","properties":{"x":{}}}"#,
            ..Update::default()
        },
        "in place\nvalue.b: added, STRUCT: null in rows that are already in the table",
    );
    check(
        &Update {
            old: r#""a":{"type":"integer"},"b":{}"#,
            new: LONG_A,
            ..Update::default()
        },
        "in place\nvalue.a: INT → BIGINT widens\nvalue.b: removed: its column stays and is null in new rows",
    );
    check(
        &Update {
            earlier: &[INT_A],
            old: TEXT_B,
            new: r#""a":{"type":"integer"},"b":{}"#,
            ..Update::default()
        },
        "in place\nvalue.a: added again, INT: fills the column it had",
    );
}

#[test]
fn each_refusal_is_named_at_its_path() {
    check(
        &Update {
            old: LONG_A,
            new: INT_A,
            ..Update::default()
        },
        "refused\nvalue.a: BIGINT → INT narrows",
    );
    check(
        &Update {
            old: r#""l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"},"y":{}}}},"m":{"type":"object"}"#,
            new: r#""l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"number"},"Y":{}}}},"m":{"type":"object","additionalProperties":{"type":"integer"}}"#,
            ..Update::default()
        },
        "refused\nvalue.l[].x: INT → DOUBLE changes the type\n\
         value.l[].Y: differs only in case from `y`, and a table has one column for both\n\
         value.m{}: STRING → INT changes the type",
    );
    check(
        &Update {
            old: INT_A,
            new: r#""a":{"type":"object","properties":{"x":{}}}"#,
            ..Update::default()
        },
        "refused\nvalue.a: INT → STRUCT changes the type",
    );
    check(
        &Update {
            old: INT_A,
            new: r#""a":{"type":"string","format":"uuid"}"#,
            ..Update::default()
        },
        "refused\nvalue.a: the new schema is refused: unsupported string format 'uuid' at `/properties/a/format`",
    );
}

#[test]
fn a_field_that_comes_back_must_fit_every_version_and_the_table() {
    check(
        &Update {
            earlier: &[INT_A],
            old: TEXT_B,
            new: TEXT_A,
            ..Update::default()
        },
        "refused\nvalue.a: INT → STRING changes the type",
    );
    check(
        &Update {
            earlier: &[INT_A, LONG_A],
            old: TEXT_B,
            new: INT_A,
            ..Update::default()
        },
        "refused\nvalue.a: BIGINT → INT narrows, which the column already is",
    );
    check(
        &Update {
            earlier: &[INT_A],
            old: TEXT_B,
            new: r#""A":{"type":"integer"},"b":{}"#,
            ..Update::default()
        },
        "refused\nvalue.A: differs only in case from `a`, and a table has one column for both",
    );
    check(
        &Update {
            old: TEXT_B,
            new: r#""a":{"type":"integer"},"b":{}"#,
            table: Some(r#""a":{"type":"string"},"b":{}"#),
            ..Update::default()
        },
        "refused\nvalue.a: STRING → INT changes the type",
    );
    // The column is rewritten in the background: until then the table is behind the schema, and that is no conflict.
    check(
        &Update {
            earlier: &[INT_A],
            old: LONG_A,
            new: LONG_A,
            table: Some(INT_A),
            ..Update::default()
        },
        "unchanged",
    );
}

#[test]
fn requirements_are_compared_with_the_latest_schema_that_had_the_struct() {
    let member = |required: &str| format!(r#""n":{{"type":"object","properties":{{"x":{{}},"y":{{}}}},"required":[{required}]}}"#);
    let (none, x, xy) = (member(""), member(r#""x""#), member(r#""x","y""#));
    check(
        &Update {
            old: &x,
            new: &none,
            ..Update::default()
        },
        "in place\nvalue.n.x: required → optional: decodes as before",
    );
    check(
        &Update {
            old: &x,
            new: &xy,
            ..Update::default()
        },
        "refused\nvalue.n.y: optional → required tightens",
    );
    check(
        &Update {
            earlier: &[&none],
            old: TEXT_B,
            new: &format!("{TEXT_B},{x}"),
            ..Update::default()
        },
        "refused\nvalue.n.x: added as required",
    );
    check(
        &Update {
            old: TEXT_B,
            new: &format!("{TEXT_B},{x}"),
            ..Update::default()
        },
        "in place\nvalue.n: added, STRUCT: null in rows that are already in the table",
    );
}

#[test]
fn deduplication_columns_stay() {
    let update = |new, deduplication| Update {
        old: r#""a":{"type":"integer"},"b":{}"#,
        new,
        deduplication,
        ..Update::default()
    };
    check(
        &update(INT_A, &["value.b", "kafka_offset", "key"]),
        "refused\nvalue.b: removed, but is a deduplication column",
    );
    check(
        &update(INT_A, &["value.a"]),
        "in place\nvalue.b: removed: its column stays and is null in new rows",
    );
}

#[test]
fn a_side_keeps_having_its_schema_and_its_format() {
    let json = |text: &str| Some(SchemaText::Json(text.into()));
    let avro = |text: &str| Some(SchemaText::Avro(text.into()));
    let object = object(INT_A);
    for (old_key, new_key, expected) in [
        (None, json(r#"{"type":"string"}"#), "refused\nkey: gets its first schema"),
        (json(r#"{"type":"string"}"#), None, "refused\nkey: loses its schema"),
        (
            json(r#"{"type":"string"}"#),
            avro(r#""string""#),
            "refused\nkey: JSON Schema → Avro changes the format",
        ),
        (
            json(r#"{"type":"string"}"#),
            json(&object),
            "refused\nkey: STRING → STRUCT changes the type",
        ),
        (
            json(r#"{"type":"integer"}"#),
            json(r#"{"type":"integer","format":"int64"}"#),
            "in place\nkey: INT → BIGINT widens",
        ),
        (avro(r#""string""#), avro(r#""string""#), "unchanged"),
        (avro(r#""int""#), avro(r#""long""#), "in place\nkey: INT → BIGINT widens"),
    ] {
        let schemas = |key: &Option<SchemaText>| DirectSchemas {
            key: key.clone(),
            payload: Some(SchemaText::Json(object.clone())),
        };
        let none = BTreeSet::new();
        let answer = verdict(&UpdateQuestion {
            history: &[schemas(&old_key)],
            table_columns: None,
            deduplication_columns: &none,
            record_type_filter: None,
            excluded: &none,
            new_schemas: &schemas(&new_key),
            new_excluded: &none,
        });
        assert_eq!(shown(&answer), expected);
    }
}
