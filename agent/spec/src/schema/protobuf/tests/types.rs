//! The column type of each kind of field, and its tree.

use super::*;
use crate::schema::protobuf::tree::{ProtoDefault, ProtoKind, ProtoLabel};

#[test]
fn each_kind_of_field_has_its_column_type() {
    for (field, expected) in [
        ("int32 a = 1;", "a: INT"),
        ("sint32 a = 1;", "a: INT"),
        ("sfixed32 a = 1;", "a: INT"),
        ("fixed32 a = 1;", "a: INT"),
        ("int64 a = 1;", "a: BIGINT"),
        ("sint64 a = 1;", "a: BIGINT"),
        ("sfixed64 a = 1;", "a: BIGINT"),
        ("fixed64 a = 1;", "a: BIGINT"),
        ("uint32 a = 1;", "a: BIGINT"),
        ("uint64 a = 1;", "a: DECIMAL(20,0)"),
        ("float a = 1;", "a: FLOAT"),
        ("double a = 1;", "a: DOUBLE"),
        ("bool a = 1;", "a: BOOLEAN"),
        ("string a = 1;", "a: STRING"),
        ("bytes a = 1;", "a: BINARY"),
        ("enum E { Z = 0; } E a = 1;", "a: STRING"),
        ("repeated uint64 a = 1;", "a: ARRAY<DECIMAL(20,0)>"),
        ("map<string, uint32> a = 1;", "a: MAP<STRING, BIGINT>"),
        ("map<int32, bool> a = 1;", "a: MAP<INT, BOOLEAN>"),
        ("message N { int32 x = 1; } N a = 1;", "a: STRUCT<x: INT>"),
        ("message N { int32 x = 1; } repeated N a = 1;", "a: ARRAY<STRUCT<x: INT>>"),
        ("message N { int32 x = 1; } map<string, N> a = 1;", "a: MAP<STRING, STRUCT<x: INT>>"),
        ("int32 z = 3; int32 a = 1; int32 q = 2;", "z: INT, a: INT, q: INT"),
        ("int32 camelCase = 1 [json_name = \"other\"];", "camelCase: INT"),
        (
            "oneof o { int32 a = 1; string b = 2; } optional int32 c = 3;",
            "a: INT, b: STRING, c: INT",
        ),
        (
            "message Timestamp { int64 seconds = 1; int32 nanos = 2; } Timestamp a = 1;",
            "a: TIMESTAMP",
        ),
        ("message Timestamp { int64 sec = 1; } Timestamp a = 1;", "a: STRUCT<sec: BIGINT>"),
        (
            "message Duration { int64 seconds = 1; int32 nanos = 2; } Duration a = 1;",
            "a: BIGINT",
        ),
        ("message N {} N a = 1; int32 b = 2;", "b: INT"),
        (
            "message N { message O {} O o = 1; } repeated N a = 1; map<string, N> c = 3; int32 b = 2;",
            "b: INT",
        ),
    ] {
        check_type(&format!("syntax = \"proto3\"; message M {{ {field} }}"), expected);
    }
}

#[test]
fn well_known_messages_have_sparks_types() {
    for (file, name, expected) in [
        ("wrappers", "DoubleValue", "DOUBLE"),
        ("wrappers", "FloatValue", "FLOAT"),
        ("wrappers", "Int64Value", "BIGINT"),
        ("wrappers", "UInt64Value", "DECIMAL(20,0)"),
        ("wrappers", "Int32Value", "INT"),
        ("wrappers", "UInt32Value", "BIGINT"),
        ("wrappers", "BoolValue", "BOOLEAN"),
        ("wrappers", "StringValue", "STRING"),
        ("wrappers", "BytesValue", "BINARY"),
        ("timestamp", "Timestamp", "TIMESTAMP"),
        ("duration", "Duration", "BIGINT"),
        ("any", "Any", "STRUCT<type_url: STRING, value: BINARY>"),
        ("field_mask", "FieldMask", "STRUCT<paths: ARRAY<STRING>>"),
    ] {
        let head = format!("syntax = \"proto3\"; import \"google/protobuf/{file}.proto\";");
        check_type(
            &format!("{head} message M {{ google.protobuf.{name} a = 1; }}"),
            &format!("a: {expected}"),
        );
        check_type(
            &format!("{head} message M {{ repeated google.protobuf.{name} a = 1; }}"),
            &format!("a: ARRAY<{expected}>"),
        );
    }
}

#[test]
fn presence_and_defaults_are_the_languages_own() {
    let label = |text: &str| tree(&protobuf::parse_as_spark(text, "M").expect(text)).fields[0].label.clone();
    let explicit = |default| ProtoLabel::Explicit { default };
    for (field, expected) in [
        ("int32 a = 1;", ProtoLabel::Implicit),
        ("optional int32 a = 1;", explicit(None)),
        ("oneof o { int32 a = 1; }", explicit(None)),
        ("message N {} N a = 1;", explicit(None)),
        ("repeated int32 a = 1;", ProtoLabel::Repeated),
        ("map<string, int32> a = 1;", ProtoLabel::Repeated),
    ] {
        assert_eq!(label(&format!("syntax = \"proto3\"; message M {{ {field} }}")), expected, "{field}");
    }
    for (field, expected) in [
        ("required int32 a = 1;", ProtoLabel::Required),
        ("optional int32 a = 1;", explicit(None)),
        ("optional int32 a = 1 [default = -5];", explicit(Some(ProtoDefault::Integer(-5)))),
        (
            "optional uint64 a = 1 [default = 18446744073709551615];",
            explicit(Some(ProtoDefault::Integer(u64::MAX.into()))),
        ),
        (
            "optional float a = 1 [default = 0.1];",
            explicit(Some(ProtoDefault::Double(f64::from(0.1_f32)))),
        ),
        (
            "optional double a = 1 [default = -inf];",
            explicit(Some(ProtoDefault::Double(f64::NEG_INFINITY))),
        ),
        ("optional bool a = 1 [default = true];", explicit(Some(ProtoDefault::Bool(true)))),
        (
            r#"optional string a = 1 [default = "x\ny"];"#,
            explicit(Some(ProtoDefault::Text("x\ny".into()))),
        ),
        (
            r#"optional bytes a = 1 [default = "\x00\xff"];"#,
            explicit(Some(ProtoDefault::Bytes(vec![0, 255]))),
        ),
        (
            "enum E { F = 5; Z = 0; } optional E a = 1 [default = Z];",
            explicit(Some(ProtoDefault::Text("Z".into()))),
        ),
    ] {
        assert_eq!(label(&format!("syntax = \"proto2\"; message M {{ {field} }}")), expected, "{field}");
    }
}

#[test]
fn proto2_and_proto3_differ_in_enums_and_strings() {
    let kinds = |syntax: &str, body: &str| -> Vec<ProtoKind> {
        let parsed = protobuf::parse_as_spark(&format!("syntax = \"{syntax}\"; {body}"), "M").expect(body);
        tree(&parsed).fields.iter().map(|field| field.kind.clone()).collect()
    };
    let text = |verified| ProtoKind::String { verified };
    let body = "message M { optional string s = 1; map<string, string> m = 2; }";
    let map = ProtoKind::Map {
        key: text(true).into(),
        value: text(true).into(),
    };
    assert_eq!(kinds("proto2", body), [text(false), map.clone()]);
    assert_eq!(kinds("proto3", body), [text(true), map]);
    assert_eq!(
        kinds(
            "proto2",
            "option java_string_check_utf8 = true; message M { optional string s = 1; }"
        ),
        [text(true)]
    );
    for (syntax, closed) in [("proto2", true), ("proto3", false)] {
        let found = kinds(
            syntax,
            "enum E { option allow_alias = true; Z = 0; A = 1; B = 1; } message M { optional E e = 1; }",
        );
        let [ProtoKind::Enum(found)] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(found.closed, closed, "{syntax}");
        assert_eq!(found.values, [("Z".to_owned(), 0), ("A".to_owned(), 1), ("B".to_owned(), 1)]);
    }
    let group = kinds("proto2", "message M { optional group G = 1 { optional int32 x = 1; } }");
    assert!(
        matches!(group.as_slice(), [ProtoKind::Group(group)] if group.full_name == "M.G"),
        "{group:?}"
    );
}

#[test]
fn a_oneof_is_one_that_the_text_declares() {
    let parsed = as_spark("message M { optional int32 a = 1; oneof o { int32 b = 2; int32 c = 3; } int32 d = 4; }").expect("legal");
    let oneofs: Vec<Option<&str>> = tree(&parsed).fields.iter().map(|field| field.oneof.as_deref()).collect();
    assert_eq!(oneofs, [None, Some("o"), Some("o"), None]);
}

#[test]
fn required_fields_are_noted_where_they_have_a_column() {
    let text = "message N { required int32 x = 1; required E e = 2; } message E {}
        message M { required N a = 1; repeated N b = 2; map<string, N> c = 3; }";
    let parsed = protobuf::parse_as_spark(text, "M").expect("legal");
    let shown: Vec<String> = parsed.required.iter().map(|path| crate::schema::show_path("value", path)).collect();
    assert_eq!(shown, ["value.a", "value.a.x", "value.b[].x", "value.c{}.x"]);
}
