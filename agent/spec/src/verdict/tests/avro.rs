//! Updates of Avro schemas beyond the published cases: the words of each finding, history, the table, several changes at once.

use super::*;

fn record(fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, schema)| format!(r#"{{"name":"{name}","type":{schema}}}"#))
        .collect();
    format!(r#"{{"type":"record","name":"R","fields":[{}]}}"#, fields.join(","))
}

fn ask_avro(history: &[String], new: &str, table: Option<DataType>) -> String {
    let schemas = |text: &str| DirectSchemas {
        key: None,
        payload: Some(SchemaText::Avro(text.to_owned())),
    };
    let history: Vec<DirectSchemas> = history.iter().map(|text| schemas(text)).collect();
    let table = table.map(|data_type| vec![Field::new(VALUE, data_type)]);
    let none = BTreeSet::new();
    shown(&verdict(&UpdateQuestion {
        history: &history,
        table_columns: table.as_deref(),
        deduplication_columns: &none,
        record_type_filter: None,
        excluded: &none,
        new_schemas: &schemas(new),
        new_excluded: &none,
    }))
}

#[track_caller]
fn check_type(old: &str, new: &str, expected: &str) {
    let answer = ask_avro(
        &[record(&[("a", old), ("z", "\"int\"")])],
        &record(&[("a", new), ("z", "\"int\"")]),
        None,
    );
    assert_eq!(answer, expected, "{old} → {new}");
}

#[track_caller]
fn check_fields(old: &[&str], new: &[&str], expected: &str) {
    let of = |names: &[&str]| record(&names.iter().map(|name| (*name, "\"int\"")).collect::<Vec<_>>());
    assert_eq!(ask_avro(&[of(old)], &of(new), None), expected, "{old:?} → {new:?}");
}

#[test]
fn int_becomes_long_at_any_depth_where_the_bytes_stay() {
    let nested = |schema: &str| {
        format!(
            r#"{{"type":"array","items":{{"type":"map","values":["null",{{"type":"record","name":"N","fields":[{{"name":"x","type":{schema}}}]}}]}}}}"#
        )
    };
    check_type("\"int\"", "\"long\"", "in place\nvalue.a: INT → BIGINT widens");
    check_type(
        &nested("\"int\""),
        &nested("\"long\""),
        "in place\nvalue.a[]{}.x: INT → BIGINT widens",
    );
    check_type(
        &nested("\"long\""),
        &nested("\"int\""),
        "refused\nvalue.a[]{}.x: long → int narrows",
    );
    for (old, new, text) in [
        (
            r#"{"type":"int","logicalType":"date"}"#,
            "\"long\"",
            "int date → long changes what the bytes mean",
        ),
        (
            r#"{"type":"int","logicalType":"time-millis"}"#,
            "\"long\"",
            "int time-millis → long changes what the bytes mean",
        ),
        (
            "\"int\"",
            r#"{"type":"long","logicalType":"timestamp-millis"}"#,
            "int → long timestamp-millis changes what the bytes mean",
        ),
        (
            r#"{"type":"bytes","logicalType":"decimal","precision":5,"scale":2}"#,
            r#"{"type":"bytes","logicalType":"decimal","precision":7,"scale":2}"#,
            "bytes decimal(5,2) → bytes decimal(7,2) changes what the bytes mean",
        ),
        (
            r#"{"type":"fixed","name":"F","size":4}"#,
            r#"{"type":"fixed","name":"F","size":5}"#,
            "fixed(4) → fixed(5) changes what the bytes mean",
        ),
        ("\"int\"", "[\"null\",\"int\"]", "int → union changes what the bytes mean"),
        (
            "[\"int\",\"string\"]",
            "[\"long\",\"string\"]",
            "the union's branches change from [int, string] to [long, string]: values are stored with their place",
        ),
        (
            "[\"null\",\"int\"]",
            "[\"int\",\"null\"]",
            "the union's branches change from [null, int] to [int, null]: values are stored with their place",
        ),
        (
            r#"{"type":"enum","name":"E","symbols":["A"]}"#,
            r#"{"type":"enum","name":"E","symbols":["A","B"]}"#,
            "the symbol `B` is added at index 1: values are stored by their place among the symbols",
        ),
        (
            r#"{"type":"enum","name":"E","symbols":["A","B","C"]}"#,
            r#"{"type":"enum","name":"E","symbols":["A","C","B"]}"#,
            "the symbol at index 1 changes from `B` to `C`: values are stored by their place among the symbols",
        ),
        (
            r#"{"type":"enum","name":"E","symbols":["A","B"]}"#,
            r#"{"type":"enum","name":"E","symbols":["A"]}"#,
            "the symbol `B` at index 1 is removed: values are stored by their place among the symbols",
        ),
        // A logical type of what is inside is not the record's.
        (
            r#"{"type":"record","name":"N","fields":[{"name":"x","type":{"type":"int","logicalType":"date"}}]}"#,
            r#"{"type":"fixed","name":"F","size":12,"logicalType":"duration"}"#,
            "record → fixed(12) changes what the bytes mean",
        ),
    ] {
        check_type(old, new, &format!("refused\nvalue.a: {text}"));
    }
}

#[test]
fn only_the_last_fields_of_the_whole_can_go() {
    check_fields(
        &["a", "b", "c"],
        &["a"],
        "in place\nvalue.b: removed: its column stays and is null in new rows\nvalue.c: removed: its column stays and is null in new rows",
    );
    check_fields(
        &["a", "b"],
        &["b"],
        "refused\nvalue.a: removed, and the bytes of what is behind it in messages would be misread: only the last fields of the whole can go",
    );
    check_fields(
        &["a", "b"],
        &["a", "b", "c"],
        "refused\nvalue.c: added: messages without it, like all that are in the source now, would be misread",
    );
    check_fields(
        &["a", "b"],
        &["a", "B"],
        "refused\nvalue.B: differs only in case from `b`, and a table has one column for both",
    );
    check_fields(
        &["a", "b"],
        &["b", "a"],
        "refused\nvalue.a: moved: values are stored by their place",
    );
    let nested = |fields: &[(&str, &str)]| record(fields).replace("\"R\"", "\"N\"");
    check_type(
        &nested(&[("x", "\"int\""), ("y", "\"int\"")]),
        &nested(&[("x", "\"int\"")]),
        "refused\nvalue.a.y: removed, and the bytes that follow this record in messages would be misread: only the last fields of the whole can go",
    );
}

#[test]
fn every_earlier_schema_and_the_table_count() {
    let (int, long) = (record(&[("a", "\"int\"")]), record(&[("a", "\"long\"")]));
    let two = record(&[("a", "\"int\""), ("b", "\"int\"")]);
    assert_eq!(
        ask_avro(&[int.clone(), long.clone()], &int, None),
        "refused\nvalue.a: long → int narrows"
    );
    assert_eq!(
        ask_avro(&[two.clone(), int.clone()], &two, None),
        "refused\nvalue.b: added: messages without it, like all that are in the source now, would be misread"
    );
    assert_eq!(ask_avro(&[two, int.clone()], &long, None), "in place\nvalue.a: INT → BIGINT widens");
    let table = DataType::Struct(vec![Field::new("a", DataType::BigInt)]);
    assert_eq!(
        ask_avro(std::slice::from_ref(&int), &int, Some(table)),
        "refused\nvalue.a: BIGINT → INT narrows, which the column already is"
    );
    assert_eq!(
        ask_avro(std::slice::from_ref(&int), "\"int\"", None),
        "refused\nvalue: record → int changes what the bytes mean"
    );
    assert_eq!(
        ask_avro(std::slice::from_ref(&int), &int.replace("\"R\"", "\"com.x.Other\""), None),
        "unchanged"
    );
}
