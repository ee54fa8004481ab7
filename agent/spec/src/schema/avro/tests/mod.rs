//! Schemas to types as a table has them, and what is refused with which words.

mod normal;
mod refused;

use super::tree::Encoding;
use super::{Reading, UnionNames, parse_as_spark};
use crate::schema::{self, ParsedSchema, Root, SchemaProblem, Wire};
use crate::stream::SchemaText;

fn parse(text: &str) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    schema::parse(&SchemaText::Avro(text.to_owned()))
}

/// A record with a field `a` of that type.
fn record_of(schema: &str) -> String {
    format!(r#"{{"type":"record","name":"R","fields":[{{"name":"a","type":{schema}}}]}}"#)
}

fn check(schema: &str, expected: &str) {
    let parsed = parse(&record_of(schema)).unwrap_or_else(|problems| panic!("{schema}: {problems:?}"));
    assert_eq!(parsed.data_type.to_string(), format!("STRUCT<a: {expected}>"), "{schema}");
    assert_eq!(parsed.root, Root::Struct);
    assert!(parsed.required.is_empty());
}

#[test]
fn every_type_has_its_column() {
    for (schema, expected) in [
        (r#""boolean""#, "BOOLEAN"),
        (r#""int""#, "INT"),
        (r#"{"type":"int"}"#, "INT"),
        (r#""long""#, "BIGINT"),
        (r#""float""#, "FLOAT"),
        (r#""double""#, "DOUBLE"),
        (r#""string""#, "STRING"),
        (r#""bytes""#, "BINARY"),
        (r#"{"type":"fixed","name":"F","size":4}"#, "BINARY"),
        (r#"{"type":"enum","name":"E","symbols":["A"],"default":"A"}"#, "STRING"),
        (r#"{"type":"array","items":"int"}"#, "ARRAY<INT>"),
        (
            r#"{"type":"map","values":{"type":"array","items":"long"}}"#,
            "MAP<STRING, ARRAY<BIGINT>>",
        ),
        (
            r#"{"type":"record","name":"N","fields":[{"name":"x","type":"int"},{"name":"y","type":["null","string"]}]}"#,
            "STRUCT<x: INT, y: STRING>",
        ),
        (
            r#"{"type":"error","name":"N","fields":[{"name":"x","type":"int"}]}"#,
            "STRUCT<x: INT>",
        ),
    ] {
        check(schema, expected);
    }
}

#[test]
fn a_logical_type_counts_where_it_fits_its_base() {
    let logical = |base: &str, logical: &str| format!(r#"{{"type":"{base}","logicalType":"{logical}"}}"#);
    for (base, name, expected) in [
        ("int", "date", "DATE"),
        ("int", "time-millis", "INT"),
        ("long", "time-micros", "BIGINT"),
        ("long", "timestamp-millis", "TIMESTAMP"),
        ("long", "timestamp-micros", "TIMESTAMP"),
        ("long", "timestamp-nanos", "BIGINT"),
        ("long", "local-timestamp-millis", "TIMESTAMP_NTZ"),
        ("long", "local-timestamp-micros", "TIMESTAMP_NTZ"),
        ("long", "local-timestamp-nanos", "BIGINT"),
        ("string", "uuid", "STRING"),
        ("bytes", "big-decimal", "BINARY"),
        ("int", "timestamp-millis", "INT"),
        ("long", "date", "BIGINT"),
        ("string", "date", "STRING"),
        ("int", "decimal", "INT"),
        ("int", "my-type", "INT"),
        ("bytes", "decimal", "BINARY"),
    ] {
        check(&logical(base, name), expected);
    }
    let decimal = |members: &str| format!(r#"{{"logicalType":"decimal",{members}}}"#);
    for (members, expected) in [
        (r#""type":"bytes","precision":5,"scale":2"#, "DECIMAL(5,2)"),
        (r#""type":"bytes","precision":38,"scale":38"#, "DECIMAL(38,38)"),
        (r#""type":"bytes","precision":5"#, "DECIMAL(5,0)"),
        (r#""type":"bytes","precision":"5""#, "BINARY"),
        (r#""type":"bytes","precision":5.0"#, "BINARY"),
        (r#""type":"bytes","precision":0"#, "BINARY"),
        (r#""type":"bytes","precision":2,"scale":3"#, "BINARY"),
        (r#""type":"bytes","precision":2,"scale":-1"#, "BINARY"),
        (r#""type":"fixed","name":"F","size":1,"precision":2"#, "DECIMAL(2,0)"),
        (r#""type":"fixed","name":"F","size":1,"precision":3"#, "BINARY"),
        (r#""type":"fixed","name":"F","size":4,"precision":9"#, "DECIMAL(9,0)"),
        (r#""type":"fixed","name":"F","size":4,"precision":10"#, "BINARY"),
        (r#""type":"fixed","name":"F","size":8,"precision":18"#, "DECIMAL(18,0)"),
        (r#""type":"fixed","name":"F","size":8,"precision":19"#, "BINARY"),
        (r#""type":"fixed","name":"F","size":16,"precision":38"#, "DECIMAL(38,0)"),
        (r#""type":"fixed","name":"F","size":16,"precision":39"#, "BINARY"),
    ] {
        check(&decimal(members), expected);
    }
}

#[test]
fn a_union_is_its_value_or_a_struct_named_by_its_branches() {
    let click = r#"{"type":"record","name":"com.a.Click","fields":[{"name":"x","type":"int"}]}"#;
    let view = r#"{"type":"record","name":"View","fields":[{"name":"y","type":"string"}]}"#;
    for (schema, expected) in [
        (r#"["null","int"]"#.to_owned(), "INT"),
        (r#"["int","null"]"#.to_owned(), "INT"),
        (r#"["int"]"#.to_owned(), "INT"),
        (r#"["int","long"]"#.to_owned(), "BIGINT"),
        (r#"["long","null","int"]"#.to_owned(), "BIGINT"),
        (r#"[{"type":"int","logicalType":"date"},"long"]"#.to_owned(), "BIGINT"),
        (r#"["double","float"]"#.to_owned(), "DOUBLE"),
        (r#"["int","double"]"#.to_owned(), "STRUCT<int: INT, double: DOUBLE>"),
        (
            r#"["null","int","long","string"]"#.to_owned(),
            "STRUCT<int: INT, long: BIGINT, string: STRING>",
        ),
        (
            format!("[{click},{view}]"),
            "STRUCT<Click: STRUCT<x: INT>, View: STRUCT<y: STRING>>",
        ),
        (format!(r#"["null",{click}]"#), "STRUCT<x: INT>"),
        (
            r#"[{"type":"array","items":"int"},{"type":"map","values":"int"},{"type":"long","logicalType":"timestamp-millis"}]"#.to_owned(),
            "STRUCT<array: ARRAY<INT>, map: MAP<STRING, INT>, long: TIMESTAMP>",
        ),
    ] {
        check(&schema, expected);
    }
}

#[test]
fn names_are_followed_through_namespaces_before_and_after_their_definition() {
    let fields = |fields: &str| format!(r#"{{"type":"record","name":"a.b.R","fields":[{fields}]}}"#);
    let n = r#"{"type":"record","name":"N","fields":[{"name":"x","type":"int"}]}"#;
    for (text, expected) in [
        (
            fields(&format!(
                r#"{{"name":"p","type":{n}}},{{"name":"q","type":"N"}},{{"name":"r","type":"a.b.N"}}"#
            )),
            "STRUCT<p: STRUCT<x: INT>, q: STRUCT<x: INT>, r: STRUCT<x: INT>>",
        ),
        (
            fields(&format!(r#"{{"name":"q","type":"N"}},{{"name":"p","type":{n}}}"#)),
            "STRUCT<q: STRUCT<x: INT>, p: STRUCT<x: INT>>",
        ),
        (
            fields(
                r#"{"name":"p","type":{"type":"enum","name":"E","namespace":"","symbols":["A"]}},{"name":"q","type":["null",{"type":"E"}]}"#,
            ),
            "STRUCT<p: STRING, q: STRING>",
        ),
    ] {
        let parsed = parse(&text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        assert_eq!(parsed.data_type.to_string(), expected, "{text}");
    }
}

#[test]
fn a_root_may_be_one_value() {
    for (text, expected) in [
        (r#""string""#, "STRING"),
        (r#"{"type":"long","logicalType":"timestamp-millis"}"#, "TIMESTAMP"),
        (r#"{"type":"enum","name":"E","symbols":["A","B"]}"#, "STRING"),
        (r#"["null","string"]"#, "STRING"),
        (r#"["bytes","null"]"#, "BINARY"),
        (r#"["null",{"type":"int","logicalType":"date"}]"#, "DATE"),
        (r#"["int","null","long"]"#, "BIGINT"),
        (r#"["double"]"#, "DOUBLE"),
    ] {
        let parsed = parse(text).expect("legal");
        assert_eq!((parsed.root, parsed.data_type.to_string()), (Root::Scalar, expected.to_owned()));
    }
}

#[test]
fn what_decoding_does_not_use_is_not_looked_at() {
    let text = r#"{"type":"record","name":"R","doc":1,"aliases":["Old"],"fields":[
        {"name":"a","type":"int","default":"not an int","order":"Ignore","aliases":["z"],"logicalType":"date","extra":{}}]}"#;
    let parsed = parse(text).expect("legal");
    assert_eq!(parsed.data_type.to_string(), "STRUCT<a: INT>");
    let Wire::Avro(tree) = parsed.wire else { panic!("not Avro") };
    let Encoding::Record { name, fields } = tree.encoding else {
        panic!("no record")
    };
    assert_eq!((name.short(), name.aliases.as_slice()), ("R", ["Old".to_owned()].as_slice()));
    assert_eq!(fields[0].aliases, ["z"]);
    assert_eq!(fields[0].default, Some("not an int".into()));
}

#[test]
fn read_as_spark_null_is_a_column_and_recursion_ends_where_it_is_told_to() {
    let numbered = |recursive_levels| Reading {
        recursive_levels,
        union_names: UnionNames::Numbered,
    };
    let node = r#"{"type":"record","name":"Node","fields":[{"name":"v","type":"int"},{"name":"next","type":["null","Node"]}]}"#;
    let tree = r#"{"type":"record","name":"T","fields":[{"name":"v","type":"int"},{"name":"kids","type":{"type":"array","items":"T"}}]}"#;
    for (text, levels, expected) in [
        (node, 1, "STRUCT<v: INT>"),
        (node, 2, "STRUCT<v: INT, next: STRUCT<v: INT>>"),
        (tree, 2, "STRUCT<v: INT, kids: ARRAY<STRUCT<v: INT>>>"),
        (r#"{"type":"map","values":["null"]}"#, 0, "MAP<STRING, STRUCT<>>"),
        (r#"["null","int","string"]"#, 0, "STRUCT<member0: INT, member1: STRING>"),
        (&record_of(r#""null""#), 0, "STRUCT<a: STRING>"),
    ] {
        let parsed = parse_as_spark(text, &numbered(levels)).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
        assert_eq!(parsed.data_type.to_string(), expected, "{text}");
    }
    let problems = parse_as_spark(node, &numbered(0)).expect_err("recursive");
    assert_eq!(problems[0].problem, "the record `Node` contains itself");
}
