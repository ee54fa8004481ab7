//! Tables of JSON Schema texts: the type each gives, or the problem it has and where.

mod combined;
mod whole;

use crate::limits::{JSON_DEPTH_MAX, SCHEMA_PARTS_MAX, SCHEMA_PROBLEMS_MAX, SCHEMA_TEXT_BYTES_MAX, TYPE_DEPTH_MAX};
use crate::schema::{self, ParsedSchema, Root, SchemaProblem, show_path};
use crate::stream::SchemaText;
use crate::types::DataType;

fn parse(text: &str) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    schema::parse(&SchemaText::Json(text.to_owned()))
}

/// The schema `member` as the property `a` of an object.
fn object_with(member: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"a":{member}}}}}"#)
}

/// Checks that a property of schema `member` gets a column of type `expected`.
fn check_member(member: &str, expected: &str) {
    let parsed = parse(&object_with(member)).unwrap_or_else(|problems| panic!("{member}: {problems:?}"));
    assert_eq!(parsed.root, Root::Struct);
    assert_eq!(parsed.data_type.to_string(), format!("STRUCT<a: {expected}>"), "{member}");
}

/// Checks that `text` has exactly one problem, at `location`, whose message holds `expected`.
fn check_refused(text: &str, location: &str, expected: &str) {
    let problems = parse(text).err().unwrap_or_else(|| panic!("accepted: {text}"));
    let [problem] = problems.as_slice() else {
        panic!("{text}: {problems:?}")
    };
    assert_eq!(problem.location, location, "{text}: {problem}");
    assert!(problem.to_string().contains(expected), "{text}: {problem}, expected {expected}");
}

#[test]
fn each_kind_of_member_has_its_column_type() {
    for (member, expected) in [
        (r#"{"type":"string"}"#, "STRING"),
        (r#"{"type":"string","format":"date-time"}"#, "TIMESTAMP"),
        (r#"{"type":"string","format":"date"}"#, "DATE"),
        (r#"{"type":"string","contentEncoding":"base64"}"#, "STRING"),
        (r#"{"type":"integer"}"#, "INT"),
        (r#"{"type":"integer","format":"int32"}"#, "INT"),
        (r#"{"type":"integer","format":"int64"}"#, "BIGINT"),
        (r#"{"type":"number"}"#, "DOUBLE"),
        (r#"{"type":"number","format":"float"}"#, "DOUBLE"),
        (r#"{"type":"boolean"}"#, "BOOLEAN"),
        (r#"{"type":"timestamp"}"#, "TIMESTAMP"),
        (r#"{"type":"binary"}"#, "BINARY"),
        (r#"{"type":"object","properties":{"x":{"type":"integer"}}}"#, "STRUCT<x: INT>"),
        (
            r#"{"type":"object","properties":{"z":{"type":"string"},"b":{"type":"string"},"y":{"type":"string"}}}"#,
            "STRUCT<z: STRING, b: STRING, y: STRING>",
        ),
        (
            r#"{"type":"object","properties":{"x":{"type":"integer"}},"additionalProperties":{"type":"string"},"patternProperties":{"^y":{}}}"#,
            "STRUCT<x: INT>",
        ),
        (r#"{"type":"object","additionalProperties":{"type":"integer"}}"#, "MAP<STRING, INT>"),
        (
            r#"{"type":"object","additionalProperties":{"type":"array","items":{"type":"number"}}}"#,
            "MAP<STRING, ARRAY<DOUBLE>>",
        ),
        (r#"{"type":"object"}"#, "MAP<STRING, STRING>"),
        (r#"{"type":"object","additionalProperties":true}"#, "MAP<STRING, STRING>"),
        (r#"{"type":"object","additionalProperties":false}"#, "MAP<STRING, STRING>"),
        (r#"{"type":"object","additionalProperties":{}}"#, "MAP<STRING, STRING>"),
        (r#"{"type":"array","items":{"type":"integer"}}"#, "ARRAY<INT>"),
        (r#"{"type":"array"}"#, "ARRAY<STRING>"),
        (r#"{"type":"array","items":true}"#, "ARRAY<STRING>"),
        (r#"{"type":"array","items":[{"type":"integer"},{"type":"integer"}]}"#, "ARRAY<INT>"),
        (
            r#"{"type":"array","prefixItems":[{"type":"integer"},{"type":"integer"}],"items":false}"#,
            "ARRAY<INT>",
        ),
        (
            r#"{"type":"array","prefixItems":[{"type":"integer"},{"type":"number"}]}"#,
            "ARRAY<DOUBLE>",
        ),
        ("{}", "STRING"),
        ("true", "STRING"),
        // A format says nothing without the type that it refines.
        (r#"{"format":"date-time"}"#, "STRING"),
        (r#"{"type":"string","not":{"const":"x"},"if":{},"then":{"minLength":2}}"#, "STRING"),
        (r#"{"type":"number","format":"int32"}"#, "DOUBLE"),
        (r#"{"type":"boolean","format":"flag"}"#, "BOOLEAN"),
        (
            r#"{"type":"object","additionalProperties":{"type":"object"}}"#,
            "MAP<STRING, MAP<STRING, STRING>>",
        ),
        (r#"{"type":"array","items":{"type":"array"}}"#, "ARRAY<ARRAY<STRING>>"),
        (r#"{"description":"free form"}"#, "STRING"),
    ] {
        check_member(member, expected);
    }
}

#[test]
fn nullable_spellings_are_the_type_itself() {
    for (member, expected) in [
        (r#"{"type":["integer","null"]}"#, "INT"),
        (r#"{"type":["null","string"],"format":"date-time"}"#, "TIMESTAMP"),
        (r#"{"type":["string"]}"#, "STRING"),
        (
            r#"{"type":["object","null"],"properties":{"x":{"type":"integer"}}}"#,
            "STRUCT<x: INT>",
        ),
        (r#"{"oneOf":[{"type":"null"},{"type":"integer","format":"int64"}]}"#, "BIGINT"),
        (r#"{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]}"#, "DATE"),
        (
            r#"{"anyOf":[{"type":"array","items":{"type":"string"}},{"enum":[null]}]}"#,
            "ARRAY<STRING>",
        ),
        (r#"{"oneOf":[{},{"type":"null"}]}"#, "STRING"),
        (r#"{"type":["integer","null"],"format":"int64"}"#, "BIGINT"),
        (r#"{"type":["integer","number"]}"#, "DOUBLE"),
        (r#"{"type":["number","null","integer"]}"#, "DOUBLE"),
        (r#"{"anyOf":[{"type":"integer"},{"type":"number"}]}"#, "DOUBLE"),
    ] {
        check_member(member, expected);
    }
}

#[test]
fn a_member_without_a_column_type_is_refused_where_it_stands() {
    for (member, location, expected) in [
        (
            r#"{"type":"string","format":"uuid"}"#,
            "/properties/a/format",
            "unsupported string format 'uuid'",
        ),
        (
            r#"{"type":"string","format":"uuid"}"#,
            "/properties/a/format",
            "supported: date-time, date",
        ),
        (
            r#"{"type":"string","format":7}"#,
            "/properties/a/format",
            "`format` is not a string",
        ),
        (
            r#"{"type":"integer","format":"uint64"}"#,
            "/properties/a/format",
            "unsupported integer format 'uint64'",
        ),
        (r#"{"type":"decimal"}"#, "/properties/a/type", "unsupported type 'decimal'"),
        (
            r#"{"type":["string","null"],"format":"email"}"#,
            "/properties/a/format",
            "unsupported string format 'email'",
        ),
        (
            r#"{"type":"object","additionalProperties":5}"#,
            "/properties/a/additionalProperties",
            "a schema is an object or `true`",
        ),
        (
            r#"{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}"#,
            "/properties/a/prefixItems",
            "positions of two types",
        ),
        (
            r#"{"type":"array","items":false}"#,
            "/properties/a/items",
            "`false` allows no value",
        ),
        (
            r#"{"type":["string","integer"]}"#,
            "/properties/a/type",
            "several types, integer and string",
        ),
        (r#"{"type":[]}"#, "/properties/a/type", "`type` is not a list of names"),
        (r#"{"type":{}}"#, "/properties/a/type", "`type` is not a name"),
        (r#"{"type":"null"}"#, "/properties/a", "`null` alone says no type"),
        ("false", "/properties/a", "`false` allows no value"),
        (r#"{"not":{"type":"string"}}"#, "/properties/a", "`not` alone says no type"),
        ("5", "/properties/a", "a schema is an object or `true`"),
        (
            r#"{"properties":{"x":{"type":"string"}}}"#,
            "/properties/a",
            "add \"type\": \"object\"",
        ),
        (r#"{"items":{"type":"string"}}"#, "/properties/a", "add \"type\": \"array\""),
        (
            r#"{"type":"object","properties":{}}"#,
            "/properties/a",
            "an object with no property",
        ),
        (
            r#"{"type":"object","properties":[]}"#,
            "/properties/a/properties",
            "`properties` is not an object",
        ),
        (
            r#"{"type":"object","patternProperties":{"^x":{}}}"#,
            "/properties/a",
            "`patternProperties` without `properties`",
        ),
        (
            r#"{"type":"array","items":[{"type":"string"},{"type":"integer"}]}"#,
            "/properties/a/items",
            "positions of two types",
        ),
        (
            r#"{"type":"array","items":{"type":"money"}}"#,
            "/properties/a/items/type",
            "unsupported type 'money'",
        ),
    ] {
        check_refused(&object_with(member), location, expected);
    }
}

#[test]
fn every_format_but_the_supported_ones_is_refused_by_name() {
    for (kind, formats) in [
        (
            "string",
            "time decimal byte uuid email uri hostname ipv4 regex duration date_time DATE",
        ),
        ("integer", "int8 int16 uint8 uint16 uint32 uint64 Int64 long"),
    ] {
        for format in formats.split(' ') {
            let member = format!(r#"{{"type":"{kind}","format":"{format}"}}"#);
            let expected = format!("unsupported {kind} format '{format}'");
            check_refused(&object_with(&member), "/properties/a/format", &expected);
        }
    }
}

#[test]
fn names_that_a_table_cannot_hold_are_refused() {
    for bad in [' ', ',', ';', '{', '}', '(', ')', '='] {
        let text = format!(r#"{{"type":"object","properties":{{"a{bad}b":{{}}}}}}"#);
        check_refused(&text, &format!("/properties/a{bad}b"), &format!("holds {bad:?}"));
    }
    check_refused(r#"{"type":"object","properties":{"a\tb":{}}}"#, "/properties/a\tb", "holds '\\t'");
    for (names, location, expected) in [
        (r#""":{}"#, "/properties/", "an empty name"),
        (r#""a.b":{}"#, "/properties/a.b", "holds a dot"),
        (r#""a b":{}"#, "/properties/a b", "holds ' '"),
        (r#""a\nb":{}"#, "/properties/a\nb", "holds '\\n'"),
        (r#""a=b":{}"#, "/properties/a=b", "holds '='"),
        (
            r#""userId":{},"userid":{}"#,
            "/properties/userid",
            "`userId` and `userid` differ only in case",
        ),
        (r#""x":{},"x":{}"#, "/properties/x", "the key `x` appears twice"),
    ] {
        check_refused(&format!(r#"{{"type":"object","properties":{{{names}}}}}"#), location, expected);
    }
    check_refused(r#"{"type":"string","type":"string"}"#, "/type", "the key `type` appears twice");
    let legal = parse(r#"{"type":"object","properties":{"naïve-1":{},"a/b":{},"_":{}}}"#).expect("legal names");
    assert_eq!(legal.data_type.to_string(), "STRUCT<naïve-1: STRING, a/b: STRING, _: STRING>");
}
