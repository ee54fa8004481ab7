//! Texts of an edition: what features say, and what the rewriting leaves alone.

use super::*;
use crate::schema::protobuf::tree::{ProtoDefault, ProtoField, ProtoKind, ProtoLabel};

fn fields(text: &str) -> Vec<ProtoField> {
    let parsed = protobuf::parse_as_spark(text, "M").unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    tree(&parsed).fields.clone()
}

const EXPLICIT: ProtoLabel = ProtoLabel::Explicit { default: None };

#[test]
fn presence_is_the_nearest_features_word() {
    for (body, expected) in [
        ("message M { int32 a = 1; }", EXPLICIT),
        (
            "message M { int32 a = 1 [features.field_presence = IMPLICIT]; }",
            ProtoLabel::Implicit,
        ),
        (
            "message M { int32 a = 1 [json_name = \"x\", features.field_presence = LEGACY_REQUIRED]; }",
            ProtoLabel::Required,
        ),
        (
            "option features.field_presence = IMPLICIT; message M { int32 a = 1; }",
            ProtoLabel::Implicit,
        ),
        (
            "option features.field_presence = IMPLICIT; message M { int32 a = 1 [features.field_presence = EXPLICIT]; }",
            EXPLICIT,
        ),
        (
            "option features = { field_presence: IMPLICIT, utf8_validation: NONE }; message M { int32 a = 1; }",
            ProtoLabel::Implicit,
        ),
        (
            "option features.field_presence = IMPLICIT; message M { message N { int32 x = 1; } N a = 1; }",
            EXPLICIT,
        ),
        (
            "option features.field_presence = IMPLICIT; message M { oneof o { int32 a = 1; } }",
            EXPLICIT,
        ),
        (
            "option features.field_presence = IMPLICIT; message M { repeated int32 a = 1; }",
            ProtoLabel::Repeated,
        ),
    ] {
        for edition in ["2023", "2024"] {
            let text = format!("edition = \"{edition}\"; {body}");
            assert_eq!(fields(&text)[0].label, expected, "{text}");
        }
    }
}

#[test]
fn defaults_are_read_as_in_proto2() {
    for (field, expected) in [
        ("int32 a = 1 [default = 9];", ProtoDefault::Integer(9)),
        ("int64 a = 1 [deprecated = true, default = -9];", ProtoDefault::Integer(-9)),
        ("uint64 a = 1 [default=0x10];", ProtoDefault::Integer(16)),
        ("double a = 1 [default = 1e300];", ProtoDefault::Double(1e300)),
        ("float a = 1 [default = 0.1];", ProtoDefault::Double(f64::from(0.1_f32))),
        ("float a = 1 [default = - inf];", ProtoDefault::Double(f64::NEG_INFINITY)),
        ("float a = 1 [default = inf];", ProtoDefault::Double(f64::INFINITY)),
        ("bool a = 1 [default = true];", ProtoDefault::Bool(true)),
        (r#"string a = 1 [default = "-i"];"#, ProtoDefault::Text("-i".into())),
        (r#"string a = 1 [default = "a\\b\n"];"#, ProtoDefault::Text("a\\b\n".into())),
        (
            r#"bytes a = 1 [default = "a\\b\x00\xff"];"#,
            ProtoDefault::Bytes(b"a\\b\x00\xff".to_vec()),
        ),
        ("enum E { Z = 0; X = 1; } E a = 1 [default = X];", ProtoDefault::Text("X".into())),
    ] {
        let label = fields(&format!("edition = \"2023\"; message M {{ {field} }}"))[0].label.clone();
        assert_eq!(label, ProtoLabel::Explicit { default: Some(expected) }, "{field}");
    }
}

#[test]
fn other_features_decide_enums_strings_and_messages() {
    let kind = |body: &str| fields(&format!("edition = \"2023\"; {body}"))[0].kind.clone();
    let text = |verified| ProtoKind::String { verified };
    assert_eq!(kind("message M { string a = 1; }"), text(true));
    assert_eq!(kind("message M { string a = 1 [features.utf8_validation = NONE]; }"), text(false));
    assert_eq!(
        kind("option features.utf8_validation = NONE; message M { string a = 1; }"),
        text(false)
    );
    for (body, closed) in [
        ("enum E { Z = 0; }", false),
        ("enum E { option features.enum_type = CLOSED; F = 5; }", true),
        ("option features.enum_type = CLOSED; enum E { F = 5; }", true),
        (
            "option features.enum_type = CLOSED; enum E { option features.enum_type = OPEN; Z = 0; }",
            false,
        ),
    ] {
        let found = kind(&format!("{body} message M {{ E a = 1; }}"));
        assert!(
            matches!(&found, ProtoKind::Enum(found) if found.closed == closed),
            "{body}: {found:?}"
        );
    }
    let nested = "message M { message N { int32 x = 1; } N a = 1 [features.message_encoding = DELIMITED]; }";
    assert!(matches!(kind(nested), ProtoKind::Group(_)));
    let map = "option features.message_encoding = DELIMITED; message M { message N { int32 x = 1; } map<string, N> a = 1; }";
    assert!(matches!(kind(map), ProtoKind::Map { value, .. } if matches!(*value, ProtoKind::Message(_))));
    assert!(matches!(
        kind("message M { reserved foo, bar; reserved 2 to 5; string a = 1; }"),
        ProtoKind::String { .. }
    ));
}

#[test]
fn what_an_edition_does_not_have_is_refused_where_it_stands() {
    for (text, location, expected) in [
        ("edition = \"2022\"; message M { int32 a = 1; }", "", "the edition is not supported"),
        (
            "edition = \"2023\";\nmessage M {\n  optional int32 a = 1;\n}",
            "3:3",
            "`M.a` is labelled `optional`",
        ),
        (
            "edition = \"2023\";\nmessage M {\n  int32 a = 1 [features.field_presence = SOMETIMES];\n}",
            "3:3",
            "the feature `field_presence` cannot be `SOMETIMES`",
        ),
        (
            "edition = \"2023\";\noption features.surprise = YES;\nmessage M { int32 a = 1; }",
            "1:1",
            "the feature `surprise`",
        ),
        (
            "edition = \"2023\";\nmessage M {\n  int32 a = 1 [features.field_presence = IMPLICIT, default = 5];\n}",
            "3:3",
            "`M.a` has a default and no presence",
        ),
        (
            "edition = \"2023\";\nenum E { F = 5; }\nmessage M { E e = 1; }",
            "2:1",
            "the first value of the open enum `E` is not 0",
        ),
        ("edition=\"2023\";\nmessage M {\n  int32 a = ;\n}", "3:13", "expected"),
        (
            "edition = \"2023\";\nmessage M {\n  int32 a = 1 [default = 2, x = ];\n}",
            "3:33",
            "expected",
        ),
    ] {
        check_refused(protobuf::parse_as_spark(text, "M"), location, expected, text);
    }
}
