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
    ask_filtered(versions, None)
}

fn ask_filtered(versions: &[&str], filter: Option<&str>) -> Verdict {
    let (new, history) = versions.split_last().expect("a new schema");
    let history: Vec<DirectSchemas> = history.iter().map(|text| proto(text)).collect();
    let none = BTreeSet::new();
    let answer = verdict(&UpdateQuestion {
        history: &history,
        table_columns: None,
        deduplication_columns: &none,
        record_type_filter: filter,
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

/// The answer to an update with a record filter.
fn shown_filtered(old: &str, new: &str, filter: &str) -> String {
    let text = |fields: &str| match fields.starts_with("syntax") {
        true => fields.to_owned(),
        false => format!("message M {{ {fields} }}"),
    };
    shown(&ask_filtered(&[&text(old), &text(new)], Some(filter)))
}

#[test]
fn what_a_record_filter_reads_is_not_read_otherwise() {
    let proto2 = |fields: &str| format!("syntax = \"proto2\"; message M {{ {fields} }}");
    let five = proto2("optional int32 a = 1 [default = 5]; optional int32 b = 2;");
    let six = proto2("optional int32 a = 1 [default = 6]; optional int32 b = 2;");
    let open = "enum E { Z = 0; } E a = 1; map<string, E> m = 2; int32 b = 3;";
    let closed = format!(
        "syntax = \"proto2\"; message M {{ {} }}",
        "enum E { Z = 0; } optional E a = 1; optional int32 b = 3;"
    );
    let opened = "enum E { Z = 0; } optional E a = 1; optional int32 b = 3;";
    let inner = |kind: &str| format!("message N {{ {kind} x = 1; int32 y = 2; }} N n = 1; repeated N l = 2; repeated {kind} r = 3;");
    let (old, new) = (inner("uint32"), inner("int64"));
    for (old, new, filter, refused) in [
        (five.as_str(), six.as_str(), "value.a = 5", "value.a: the default changes"),
        (&five, &six, "value.a IS NULL", "value.a: the default changes"),
        (&five, &six, "value.b = 5", ""),
        ("int32 a = 1;", "optional int32 a = 1;", "value.a = 0", "value.a: gets presence"),
        (
            "optional int32 a = 1;",
            "int32 a = 1;",
            "value.a = 0",
            "value.a: loses its presence",
        ),
        (&old, &new, "value.n.x > 0", "value.n.x: uint32"),
        (&old, &new, "value.n.y > 0", ""),
        (&old, &new, "value.n IS NULL", ""),
        (&old, &new, "value.l[0].x > 0", "value.l[].x: uint32"),
        (&old, &new, "size(value.r) > 0", ""),
        (&old, &new, "array_contains(value.r, 1L)", "value.r[]: uint32"),
        (&closed, opened, "value.a = 'Z'", "value.a: the enum shows numbers"),
        (&closed, opened, "value.b = 1", ""),
        // A value more is none of those that were read.
        (open, &open.replace("Z = 0;", "Z = 0; Y = 1;"), "value.a = 'Z'", ""),
        (open, &open.replace("E", "F"), "value.m['k'] = 'Z'", "value.m{}: numbers that"),
        (
            "message N { int32 x = 1; } oneof o { N n = 1; int32 b = 2; }",
            "message N { int32 x = 1; } N n = 1; optional int32 b = 2;",
            "value.n.x = 1",
            "value.n: the oneof around it changes",
        ),
    ] {
        let answer = shown_filtered(old, new, filter);
        if refused.is_empty() {
            assert!(answer.starts_with("in place\n"), "{filter}: {answer}");
        } else {
            let lines: Vec<&str> = answer.lines().collect();
            assert_eq!((lines.len(), lines[0]), (2, "refused"), "{filter}: {answer}");
            assert!(lines[1].starts_with(refused), "{filter}: {answer}");
            assert!(
                lines[1].ends_with(&format!(", and the record filter `{filter}` reads it")),
                "{answer}"
            );
        }
    }
    let unread = "from_another_version(value.a)";
    assert!(shown_filtered(&five, &six, unread).starts_with("refused\nvalue.a: the default changes"));
    assert!(shown_filtered(open, &open.replace("Z = 0;", "Z = 0; Y = 1;"), unread).starts_with("in place"));
}

#[test]
fn of_the_fields_there_are_the_first_that_was_apart_is_named() {
    let ab = "oneof o { int32 a = 1; int32 b = 2; } int32 c = 3; int32 d = 4;";
    for (old, new, expected) in [
        (
            ab,
            "oneof o { int32 a = 1; int32 b = 2; int32 c = 3; int32 d = 4; }",
            "value.c: moves into one oneof with `a`: messages that hold both would lose one\n\
             value.d: moves into one oneof with `a`: messages that hold both would lose one",
        ),
        (
            "oneof o { int32 a = 1; int32 c = 3; } oneof p { int32 b = 2; int32 d = 4; }",
            "oneof o { int32 d = 4; int32 c = 3; int32 b = 2; int32 a = 1; }",
            "value.d: moves into one oneof with `a`: messages that hold both would lose one\n\
             value.c: moves into one oneof with `b`: messages that hold both would lose one\n\
             value.b: moves into one oneof with `a`: messages that hold both would lose one",
        ),
    ] {
        check_fields(&[old, new], &format!("refused\n{expected}"));
    }
}

#[test]
fn a_oneof_of_many_members_is_compared_in_no_time() {
    let members = |kind: &str| -> String { (1..=10_000).map(|number| format!("{kind} f{number} = {number};")).collect() };
    let oneof = |kind: &str, more: &str| format!("oneof o {{ {} {more} }}", members(kind));
    check_fields(&[&oneof("int32", ""), &oneof("int32", "")], "unchanged");
    let answer = ask_texts(&[
        &format!("message M {{ {} }}", oneof("int32", "")),
        &format!("message M {{ {} }}", oneof("int32", "int32 g = 20000;")),
    ]);
    assert!(shown(&answer).contains("value.f7: the oneof around it changes"));
    let answer = ask_texts(&[
        &format!("message M {{ {} }}", members("optional int32")),
        &format!("message M {{ {} }}", oneof("int32", "")),
    ]);
    assert!(shown(&answer).starts_with("refused\nvalue.f2: moves into one oneof with `f1`"));
}
