//! What no stream may be created with, each refusal at its place and with what to write instead.

use super::*;
use crate::limits::{PROTO_BRACKETS_MAX, SCHEMA_PARTS_MAX, SCHEMA_PROBLEMS_MAX, SCHEMA_TEXT_BYTES_MAX, TYPE_DEPTH_MAX};
use crate::schema::show_path;

fn parse(text: &str) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    parse_named(text, "M")
}

fn parse_named(text: &str, message_name: &str) -> Result<ParsedSchema, Vec<SchemaProblem>> {
    crate::schema::parse(&crate::stream::SchemaText::Proto {
        schema_text: text.to_owned(),
        message_name: message_name.to_owned(),
    })
}

#[test]
fn each_type_without_a_column_is_refused_where_it_stands() {
    for (imports, field, expected) in [
        (
            "",
            "fixed32 a = 1;",
            "the type fixed32 is not supported at `4:3` (found M.a); declare it sfixed32",
        ),
        ("", "repeated fixed64 a = 1;", "the type fixed64 is not supported at `4:3`"),
        (
            "",
            "map<string, fixed32> a = 1;",
            "the type fixed32 is not supported at `4:3` (found M.a)",
        ),
        (
            "",
            "map<int32, string> a = 1;",
            "a map with keys of the type int32 is not supported at `4:3` (found M.a); use string keys",
        ),
        ("", "map<bool, fixed32> a = 1;", "keys of the type bool"),
        (
            "duration",
            "google.protobuf.Duration a = 1;",
            "`google.protobuf.Duration` is not supported at `4:3` (found M.a); encode it as int64",
        ),
        (
            "struct",
            "google.protobuf.Struct a = 1;",
            "`google.protobuf.Struct` is not supported at `4:3` (found M.a); declare a message",
        ),
        ("struct", "google.protobuf.Value a = 1;", "`google.protobuf.Value` is not supported"),
        (
            "struct",
            "google.protobuf.ListValue a = 1;",
            "`google.protobuf.ListValue` is not supported",
        ),
        (
            "struct",
            "google.protobuf.NullValue a = 1;",
            "`google.protobuf.NullValue` is not supported",
        ),
        (
            "any",
            "google.protobuf.Any a = 1;",
            "`google.protobuf.Any` is not supported at `4:3` (found M.a); declare the message that it holds",
        ),
        (
            "field_mask",
            "google.protobuf.FieldMask a = 1;",
            "`google.protobuf.FieldMask` is not supported at `4:3` (found M.a); declare a repeated string",
        ),
        (
            "empty",
            "map<string, google.protobuf.Empty> a = 1;",
            "`google.protobuf.Empty` is not supported at `4:3` (found M.a); leave the field out",
        ),
        (
            "type",
            "google.protobuf.Type a = 1;",
            "`google.protobuf.Type` is not supported at `4:3` (found M.a); supported: google.protobuf.Timestamp",
        ),
        (
            "",
            "M a = 1;",
            "the message type `M` is recursive at `4:3` (found M.a); a column's type is finite",
        ),
        (
            "",
            "message A { repeated M m = 1; } map<string, A> a = 1;",
            "the message type `M` is recursive at `4:15` (found M.A.m)",
        ),
        (
            "",
            "message Duration { int64 seconds = 1; int32 nanos = 2; } Duration a = 1;",
            "`M.Duration` is read as an interval",
        ),
        (
            "",
            "message Timestamp { int64 seconds = 3; int32 nanos = 2; } Timestamp a = 1;",
            "`M.Timestamp` has the names of google.protobuf.Timestamp",
        ),
        (
            "",
            "message Timestamp { uint64 seconds = 1; int32 nanos = 2; } repeated Timestamp a = 1;",
            "`M.Timestamp` has the names",
        ),
        (
            "",
            "int32 userId = 1; int32 b = 2; string user_ID = 3; string user_id = 4;",
            "the names `user_ID` and `user_id` differ only in case",
        ),
        (
            "",
            "message N {} N a = 1;",
            "the message `M` has no field that a column could hold at `3:1` (found M); declare a field",
        ),
        ("", "", "the message `M` has no field that a column could hold"),
    ] {
        let import = if imports.is_empty() {
            String::new()
        } else {
            format!("import \"google/protobuf/{imports}.proto\";")
        };
        let text = format!("syntax = \"proto2\";\n{import}\nmessage M {{\n  {}\n}}", optional(field));
        let problems = parse(&text).expect_err(&text);
        let [problem] = problems.as_slice() else {
            panic!("{text}: {problems:?}")
        };
        assert!(problem.to_string().contains(expected), "{text}: {problem}, expected {expected}");
    }
}

/// The fields in proto2, where numbers of one name in two spellings are legal.
fn optional(fields: &str) -> String {
    let mut out = String::new();
    let mut begins = true;
    for word in fields.split_inclusive(' ') {
        let plain = word.trim_end();
        if begins && !matches!(plain, "message" | "repeated" | "}" | "" | "enum") && !plain.starts_with("map<") {
            out.push_str("optional ");
        }
        out.push_str(word);
        begins = plain.ends_with(';') || plain.ends_with('{') || plain.ends_with('}');
    }
    out
}

#[test]
fn the_message_is_named_in_full() {
    let text =
        "syntax = \"proto3\"; package shop.v1; message Order { message Line { int32 x = 1; } Line line = 1; map<string, int32> m = 2; }
        message Payment { int32 x = 1; }";
    for (name, expected) in [
        (
            "Order",
            "the message name `Order` is not fully qualified at `message_name` (found Order); write `shop.v1.Order`",
        ),
        (".shop.v1.Order", "did you mean `shop.v1.Order`?"),
        ("Line", "write `shop.v1.Order.Line`"),
        (
            "shop.v1.Ordr",
            "the text declares no message `shop.v1.Ordr` at `message_name` (found shop.v1.Ordr); did you mean `shop.v1.Order`? \
             the messages of the text are `shop.v1.Order`, `shop.v1.Order.Line`, `shop.v1.Payment`",
        ),
        ("shop.v1.Order.MEntry", "declares no message"),
        ("google.protobuf.Timestamp", "declares no message"),
        ("", "the messages of the text are"),
    ] {
        check_refused(parse_named(text, name), "message_name", expected, name);
    }
    for name in ["shop.v1.Order", "shop.v1.Order.Line", "shop.v1.Payment"] {
        assert!(parse_named(text, name).is_ok(), "{name}");
    }
    check_refused(parse("syntax = \"proto3\";"), "", "the text declares no message", "no message");
}

#[test]
fn a_text_that_is_no_protobuf_is_refused_where_it_breaks() {
    for (text, location, expected) in [
        ("message M {\n  int32 a = 1;\n}", "2:3", "fields must have a label"),
        (
            "message M {\n  optional int32 a = 1\n}",
            "3:1",
            "expected ';' or '[', but found '}'",
        ),
        (
            "syntax = \"proto3\";\nmessage M {\n  int32 a == 1;\n}",
            "3:12",
            "expected an integer, but found '='",
        ),
        (
            "syntax = \"proto3\";\nmessage M {\n  Nn a = 1;\n}",
            "3:3",
            "name 'Nn' is not defined at `3:3` (found Nn a = 1;)",
        ),
        (
            "syntax = \"proto3\";\nmessage M {\n  int32 a = 1;\n  int32 b = 1;\n}",
            "4:13",
            "field number '1' is already used",
        ),
        (
            "syntax = \"proto3\";\nmessage M {\n  google.protobuf.Timestamp a = 1;\n}",
            "3:3",
            "not defined",
        ),
        ("syntax = \"proto4\";", "1:10", "unknown syntax 'proto4'"),
        (
            "syntax = \"proto3\";\nimport \"shop/money.proto\";\nmessage M { int32 a = 1; }",
            "2:1",
            "the import `shop/money.proto` cannot be resolved",
        ),
        (
            "syntax = \"proto3\";\nimport \"schema.proto\";\nmessage M { int32 a = 1; }",
            "2:1",
            "the import `schema.proto` cannot be resolved",
        ),
        (
            "syntax = \"proto3\";\nimport \"google/protobuf/any.proto\"; import \"google/protobuf/any.proto\";\nmessage M { int32 a = 1; }",
            "2:37",
            "is imported twice",
        ),
        ("message M { ", "", "reached end of file"),
        ("<<<<", "1:1", "expected"),
    ] {
        check_refused(parse(text), location, expected, text);
    }
}

#[test]
fn everything_wrong_is_said_at_once_and_once() {
    let text = "syntax = \"proto3\"; import \"google/protobuf/any.proto\";
message N { fixed32 x = 1; google.protobuf.Any y = 2; }
message M { N a = 1; repeated N b = 2; map<int64, N> c = 3; int32 d = 4; }";
    let problems = parse(text).expect_err("refused");
    let shown: Vec<(&str, String)> = problems
        .iter()
        .map(|found| (found.location.as_str(), show_path("value", &found.path)))
        .collect();
    assert_eq!(
        shown,
        [
            ("2:13", "value.a.x".to_owned()),
            ("2:28", "value.a.y".to_owned()),
            ("3:40", "value.c".to_owned()),
        ]
    );
    let imports = "syntax = \"proto3\"; import \"a.proto\"; import \"b.proto\";";
    assert_eq!(parse(imports).expect_err("two").len(), 2);
    let many: String = (1..=50).map(|number| format!("fixed32 f{number} = {number};")).collect();
    let problems = parse(&format!("syntax = \"proto3\"; message M {{ {many} }}")).expect_err("many");
    assert_eq!(problems.len(), SCHEMA_PROBLEMS_MAX);
}

/// Messages `M0` … of which each uses the next one, `uses` times.
fn chain(length: usize, uses: usize) -> String {
    let mut text = String::from("syntax = \"proto3\";");
    for index in 0..length {
        let fields: String = (1..=uses).map(|number| format!("M{} f{number} = {number};", index + 1)).collect();
        text.push_str(&format!("message M{index} {{ {fields} }}\n"));
    }
    text.push_str(&format!("message M{length} {{ int32 x = 1; }}"));
    text
}

#[test]
fn depth_and_size_are_bounded() {
    let deepest = TYPE_DEPTH_MAX - 2;
    assert!(parse_named(&chain(deepest, 1), "M0").is_ok());
    check_refused(
        parse_named(&chain(deepest + 1, 1), "M0"),
        "100:15",
        "nested more than 100 levels deep",
        "a chain of messages",
    );
    let problems = parse_named(&chain(30, 2), "M0").expect_err("a billion columns");
    assert!(
        problems[0].problem.contains(&format!("more than {SCHEMA_PARTS_MAX} fields")),
        "{problems:?}"
    );
    let brackets = format!(
        "syntax = \"proto3\";\nmessage M {{ int32 a = 1 [(o) = {}",
        "{ a ".repeat(PROTO_BRACKETS_MAX)
    );
    check_refused(parse(&brackets), "2:280", "more than 64 brackets are open", "brackets");
    let package = format!("package {};\nmessage M {{ optional int32 a = 1; }}", ["a"; 501].join("."));
    check_refused(parse(&package), "1:1009", "a name is longer than 1000 bytes", "a long package");
    let fields: String = (1..=10_000).map(|number| format!("optional int32 a{number}={number};")).collect();
    let wide = format!("package {}; message M {{ {fields} }}", "a".repeat(999));
    let problems = parse_named(&wide, &format!("{}.M", "a".repeat(999)));
    assert!(problems.is_ok(), "{problems:?}");
    let outer = "x".repeat(999);
    let wider = format!("message {outer} {{ message {outer} {{ {fields} }} }}");
    check_refused(parse(&wider), "", "the full names in the text are longer", "long names around many");
    let default = format!("message M {{ optional string a = 1 [default = \"{}\"]; }}", "x".repeat(4097));
    check_refused(
        parse(&default),
        "1:13",
        "the default value is longer than 4096 bytes",
        "a long default",
    );
    let nested = format!("syntax = \"proto3\"; {} {}", "message M { ".repeat(40), "}".repeat(40));
    assert!(parse(&nested).is_err());
    let long = format!("// {}\nmessage M {{ optional int32 a = 1; }}", "x".repeat(SCHEMA_TEXT_BYTES_MAX));
    check_refused(parse(&long), "", "the schema text is too long", "a long comment");
}

#[test]
fn an_enum_may_be_used_often_but_not_without_end() {
    let values: String = (0..5000).map(|number| format!("V{number} = {number};")).collect();
    let with_uses = |uses: usize| {
        let fields: String = (1..=uses).map(|number| format!("E f{number} = {number};")).collect();
        format!("syntax = \"proto3\"; enum E {{ {values} }}\nmessage M {{ {fields} }}")
    };
    assert!(parse(&with_uses(40)).is_ok());
    assert!(
        parse(&with_uses(41)).expect_err("too many")[0]
            .problem
            .contains("200000 enum values")
    );
}

#[test]
fn names_that_differ_in_more_than_case_are_two_columns() {
    let parsed = parse("syntax = \"proto2\"; message M { optional int32 user_id = 1; optional int32 userId = 2; }").expect("legal");
    assert_eq!(parsed.data_type.to_string(), "STRUCT<user_id: INT, userId: INT>");
}
