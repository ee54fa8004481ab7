//! Updates of Protobuf schemas beyond the published cases: history, nesting, what is only read otherwise, and the words of each finding.

use super::*;

fn proto(text: &str) -> DirectSchemas {
    let schema_text = match text.starts_with("syntax") || text.starts_with("edition") {
        true => text.to_owned(),
        false => format!("syntax = \"proto3\"; {text}"),
    };
    DirectSchemas {
        key: None,
        payload: Some(SchemaText::Proto {
            schema_text,
            message_name: "M".into(),
        }),
    }
}

fn ask_texts(versions: &[&str]) -> Verdict {
    let (new, history) = versions.split_last().expect("a new schema");
    let history: Vec<DirectSchemas> = history.iter().map(|text| proto(text)).collect();
    let none = BTreeSet::new();
    let answer = verdict(&UpdateQuestion {
        history: &history,
        table_columns: None,
        deduplication_columns: &none,
        record_type_filter: None,
        excluded: &none,
        new_schemas: &proto(new),
        new_excluded: &none,
    });
    let side = |schemas: &DirectSchemas| schemas.payload.clone().expect("payload");
    let same = schema::same_meaning(&side(history.last().expect("history")), &side(&proto(new)));
    assert_eq!(
        answer == Verdict::Unchanged,
        same,
        "unchanged and the same meaning are one thing: {versions:?}"
    );
    answer
}

fn check_texts(versions: &[&str], expected: &str) {
    assert_eq!(shown(&ask_texts(versions)), expected, "{versions:?}");
}

/// Messages with these fields.
fn check_fields(versions: &[&str], expected: &str) {
    let texts: Vec<String> = versions.iter().map(|fields| format!("message M {{ {fields} }}")).collect();
    check_texts(&texts.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn what_decoding_does_not_see_changes_nothing() {
    for versions in [
        [
            "int32 a = 1; int32 b = 2;",
            "int32 b = 2; /* moved */ int32 a = 1 [json_name = \"x\", deprecated = true];",
        ],
        ["optional int32 a = 1;", "oneof o { int32 a = 1; }"],
        ["repeated int32 a = 1;", "repeated int32 a = 1 [packed = false];"],
        [
            "int32 a = 1;",
            "reserved 5, 7 to 9; reserved \"old\"; int32 a = 1; message Unused { int32 x = 1; }",
        ],
        [
            "oneof o { int32 a = 1; int32 b = 2; } oneof p { int32 c = 3; int32 d = 4; }",
            "oneof q { int32 c = 3; int32 d = 4; } oneof r { int32 b = 2; int32 a = 1; }",
        ],
        [
            "enum E { Z = 0; B = 2; A = 1; } E e = 1;",
            "enum E { Z = 0; A = 1; B = 2; } E e = 1;",
        ],
        ["message N { int32 x = 1; } N n = 1;", "message Other { int32 x = 1; } Other n = 1;"],
    ] {
        check_fields(&versions, "unchanged");
    }
    check_texts(
        &[
            "syntax = \"proto2\"; message M { optional bytes a = 1; }",
            "message M { optional bytes a = 1; }",
        ],
        "unchanged",
    );
    check_texts(
        &[
            "message M { int32 a = 1; }",
            "edition = \"2023\"; message M { int32 a = 1 [features.field_presence = IMPLICIT]; }",
        ],
        "unchanged",
    );
    check_texts(
        &[
            "import \"google/protobuf/timestamp.proto\"; message M { google.protobuf.Timestamp t = 1; }",
            "message Timestamp { int64 seconds = 1; int32 nanos = 2; } message M { Timestamp t = 1; }",
        ],
        "unchanged",
    );
}

#[test]
fn what_is_read_otherwise_is_a_change() {
    for (versions, expected) in [
        (
            ["int32 a = 1;", "optional int32 a = 1;"],
            "value.a: gets presence: zeros are no longer null",
        ),
        (
            ["optional int32 a = 1;", "int32 a = 1;"],
            "value.a: loses its presence: zeros become null",
        ),
        (
            ["uint32 a = 1;", "int64 a = 1;"],
            "value.a: uint32 → int64: the same column, and negative numbers too",
        ),
        (
            ["repeated uint32 a = 1;", "repeated int64 a = 1;"],
            "value.a[]: uint32 → int64: the same column, and negative numbers too",
        ),
        (
            [
                "enum E { Z = 0; } map<string, E> a = 1;",
                "enum E { Z = 0; A = 1; B = 2; } map<string, E> a = 1;",
            ],
            "value.a{}: the enum gets the values A, B",
        ),
        (
            ["enum E { Z = 0; } E a = 1;", "enum Colour { Z = 0; } Colour a = 1;"],
            "value.a: numbers that the enum does not name show its new name, `Colour`",
        ),
        (
            [
                "oneof o { int32 a = 1; int32 b = 2; }",
                "optional int32 a = 1; optional int32 b = 2;",
            ],
            "value.a: the oneof around it changes: of its members only the last in a message has a value\n\
             value.b: the oneof around it changes: of its members only the last in a message has a value",
        ),
        (
            [
                "message N { int32 x = 1; } N n = 1;",
                "message N { optional int32 x = 1; } N n = 1;",
            ],
            "value.n.x: gets presence: zeros are no longer null",
        ),
        (
            ["message N {} int32 a = 1; N n = 2;", "int32 a = 1;"],
            "value: messages that do not fit the schema may be read otherwise",
        ),
        (
            ["int32 a = 1;", "int32 b = 1;"],
            "value.b: added, INT: null in rows that are already in the table\nvalue.a: removed: its column stays and is null in new rows",
        ),
        (["sint32 a = 1;", "sint64 a = 1;"], "value.a: INT → BIGINT widens"),
    ] {
        check_fields(&versions, &format!("in place\n{expected}"));
    }
    let syntax = |rest: &str| format!("syntax = \"proto2\"; {rest}");
    for (old, new, expected) in [
        (
            syntax("message M { optional int32 a = 1 [default = 5]; }"),
            syntax("message M { optional int32 a = 1 [default = 6]; }"),
            "value.a: the default changes: it is what a message without the field shows",
        ),
        (
            syntax("message M { optional string a = 1; }"),
            "message M { optional string a = 1; }".to_owned(),
            "value.a: a text that is no UTF-8 makes the whole message null instead of being mended",
        ),
        (
            syntax("enum E { Z = 0; } message M { optional E a = 1; }"),
            "enum E { Z = 0; } message M { optional E a = 1; }".to_owned(),
            "value.a: the enum shows numbers that it does not name",
        ),
        (
            syntax("message M { required int32 a = 1; }"),
            syntax("message M { optional int32 a = 1 [default = 1]; }"),
            "value.a: required → optional: decodes as before; gets a default: it is what a message without the field shows",
        ),
    ] {
        check_texts(&[&old, &new], &format!("in place\n{expected}"));
    }
    let Verdict::InPlace { changes } = ask_texts(&["message M { int32 a = 1; }", "message M { optional int32 a = 1; }"]) else {
        panic!("in place")
    };
    assert_eq!(changes[0].kinds, [FindingKind::ReadOtherwise]);
}

#[test]
fn bytes_that_would_mean_something_else_are_refused() {
    for (versions, expected) in [
        (
            ["int32 a = 1;", "int32 a = 7;"],
            "value.a: the number changes from 1 to 7: messages hold the values under the old one",
        ),
        (
            ["int32 a = 1; int32 b = 2;", "int32 a = 2; int32 b = 1;"],
            "value.a: the number changes from 1 to 2: messages hold the values under the old one\n\
             value.b: the number changes from 2 to 1: messages hold the values under the old one",
        ),
        (
            ["int32 a = 1;", "bool b = 1;"],
            "value.b: number 1 was `a`, int32: messages that hold it would be misread as bool",
        ),
        (
            ["int32 a = 1;", "sint64 a = 1;"],
            "value.a: int32 → sint64 changes what the bytes mean",
        ),
        (["int64 a = 1;", "int32 a = 1;"], "value.a: int64 → int32 narrows"),
        (
            ["int64 a = 1;", "uint32 a = 1;"],
            "value.a: int64 → uint32 changes what the bytes mean",
        ),
        (
            ["int32 a = 1;", "repeated int32 a = 1;"],
            "value.a: int32 → repeated int32 changes what the bytes mean",
        ),
        (
            ["map<string, sint32> a = 1;", "map<string, int64> a = 1;"],
            "value.a: map<string, sint32> → map<string, int64> changes what the bytes mean",
        ),
        (
            [
                "message N { int32 x = 1; } repeated N n = 1;",
                "message N { int32 y = 2; bool x = 3; } repeated N n = 1;",
            ],
            "value.n[].x: the number changes from 1 to 3: messages hold the values under the old one",
        ),
        (
            ["enum E { Z = 0; A = 1; } E e = 1;", "enum E { Z = 0; ALPHA = 1; } E e = 1;"],
            "value.e: the enum value `A` is renamed to `ALPHA`: rows that are in the table keep the old name",
        ),
        (
            ["enum E { Z = 0; A = 1; } E e = 1;", "enum E { Z = 0; } E e = 1;"],
            "value.e: the enum value `A` is removed, and messages may hold it",
        ),
        (
            [
                "enum E { Z = 0; A = 1; } repeated E e = 1;",
                "enum E { Z = 0; A = 2; } repeated E e = 1;",
            ],
            "value.e[]: the enum value `A` changes its number from 1 to 2",
        ),
        (
            [
                "enum E { Z = 0; A = 1; } E e = 1;",
                "enum E { option allow_alias = true; Z = 0; B = 1; A = 1; } E e = 1;",
            ],
            "value.e: the enum number 1 shows as `B` instead of `A`",
        ),
        (
            ["int32 a = 1; int32 b = 2;", "oneof o { int32 a = 1; int32 b = 2; int32 c = 3; }"],
            "value.b: moves into one oneof with `a`: messages that hold both would lose one",
        ),
        (
            ["int32 userId = 1;", "int32 userid = 1;"],
            "value.userid: differs only in case from `userId`, and a table has one column for both",
        ),
    ] {
        check_fields(&versions, &format!("refused\n{expected}"));
    }
    for (old, new, expected) in [
        (
            "optional int32 a = 1;",
            "required int32 a = 1;",
            "value.a: optional → required tightens",
        ),
        (
            "optional int32 a = 1;",
            "optional int32 a = 1; required int32 b = 2;",
            "value.b: added as required",
        ),
        (
            "optional group G = 1 { optional int32 x = 1; }",
            "message G { optional int32 x = 1; } optional G g = 1;",
            "value.g: group → message changes what the bytes mean",
        ),
    ] {
        let text = |fields: &str| format!("syntax = \"proto2\"; message M {{ {fields} }}");
        check_texts(&[&text(old), &text(new)], &format!("refused\n{expected}"));
    }
}

#[test]
fn every_earlier_schema_counts() {
    for (versions, expected) in [
        (
            ["int32 a = 1; int32 b = 2;", "int32 a = 1;", "int32 a = 1; string c = 2;"],
            "refused\nvalue.c: number 2 was `b`, int32: messages that hold it would be misread as string",
        ),
        (
            ["int32 a = 1; int32 b = 2;", "int32 a = 1;", "int32 a = 1; int32 b = 3;"],
            "refused\nvalue.b: the number changes from 2 to 3: messages hold the values under the old one",
        ),
        (
            ["int32 a = 1; int32 b = 2;", "int32 a = 1;", "int32 a = 1; int64 b = 2;"],
            "in place\nvalue.b: added again, BIGINT: fills the column it had",
        ),
        (
            ["int32 a = 1; int32 b = 2;", "int32 a = 1;", "oneof o { int32 a = 1; int32 b = 2; }"],
            "refused\nvalue.b: moves into one oneof with `a`: messages that hold both would lose one",
        ),
        (
            [
                "enum E { Z = 0; A = 1; } E e = 1; int32 b = 2;",
                "int32 b = 2;",
                "enum E { Z = 0; B = 1; } E e = 1; int32 b = 2;",
            ],
            "refused\nvalue.e: the enum value `A` is renamed to `B`: rows that are in the table keep the old name",
        ),
        (
            ["uint32 a = 1;", "int64 a = 1;", "uint32 a = 1;"],
            "refused\nvalue.a: int64 → uint32 changes what the bytes mean",
        ),
    ] {
        check_fields(&versions, expected);
    }
}

#[test]
fn a_schema_that_is_refused_says_so_at_its_field() {
    check_fields(
        &["int32 a = 1;", "int32 a = 1; message N { fixed32 x = 1; } repeated N n = 2;"],
        "refused\nvalue.n[].x: the new schema is refused: the type fixed32 is not supported at `1:57`",
    );
    check_fields(
        &["int32 a = 1;", "int32 b = 1"],
        "refused\nvalue: the new schema is refused: expected ';' or '[', but found '}' at `1:44`",
    );
}
