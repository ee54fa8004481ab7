//! Tables of JSON Schema texts: the type each gives, or the problem it has and where.

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
        (r#"{"type":["integer","number"]}"#, "DOUBLE"),
        (r#"{"type":["number","null","integer"]}"#, "DOUBLE"),
        (r#"{"anyOf":[{"type":"integer"},{"type":"number"}]}"#, "DOUBLE"),
    ] {
        check_member(member, expected);
    }
}

#[test]
fn listed_values_say_a_type_when_they_agree() {
    for (member, expected) in [
        (r#"{"type":"string","enum":["x","y"]}"#, "STRING"),
        (r#"{"type":"integer","const":5000000000}"#, "INT"),
        (r#"{"enum":["x","y",null]}"#, "STRING"),
        (r#"{"enum":[1,2]}"#, "INT"),
        (r#"{"enum":[1,2.5]}"#, "DOUBLE"),
        (r#"{"enum":[2.5,1]}"#, "DOUBLE"),
        (r#"{"const":true}"#, "BOOLEAN"),
    ] {
        check_member(member, expected);
    }
    for (member, location) in [
        (r#"{"enum":["x",1]}"#, "/properties/a/enum"),
        (r#"{"enum":[]}"#, "/properties/a/enum"),
        (r#"{"enum":[5000000000]}"#, "/properties/a/enum"),
        (r#"{"const":{"x":1}}"#, "/properties/a/const"),
        (r#"{"enum":"x"}"#, "/properties/a/enum"),
    ] {
        check_refused(&object_with(member), location, "");
    }
}

#[test]
fn combined_schemas_are_one_type() {
    for (member, expected) in [
        (
            r#"{"allOf":[{"type":"object","properties":{"x":{"type":"integer"}}},{"properties":{"y":{"type":"string"}}}]}"#,
            "STRUCT<x: INT, y: STRING>",
        ),
        (
            r#"{"type":"object","allOf":[{"properties":{"x":{"type":"integer"}}},{"properties":{"x":{"minimum":0}}}]}"#,
            "STRUCT<x: INT>",
        ),
        (r#"{"allOf":[{"type":"string"},{"minLength":3}]}"#, "STRING"),
        (
            r#"{"type":"object","properties":{"x":{"type":"integer"}},"oneOf":[{"required":["x"]},{"not":{}}]}"#,
            "",
        ),
        (
            r#"{"type":"object","properties":{"x":{"type":"integer"}},"anyOf":[{"required":["x"]},{"minProperties":2}]}"#,
            "STRUCT<x: INT>",
        ),
        (
            r#"{"oneOf":[{"type":"string","maxLength":3},{"type":"string","pattern":"^x"}]}"#,
            "STRING",
        ),
        (
            r#"{"anyOf":[{"type":"object","properties":{"x":{"type":"integer"}}},{"type":"object","properties":{"x":{"type":"integer"}}}]}"#,
            "STRUCT<x: INT>",
        ),
    ] {
        if expected.is_empty() {
            check_refused(&object_with(member), "/properties/a/oneOf/1", "`not` alone says no type");
        } else {
            check_member(member, expected);
        }
    }
    for (member, location, expected) in [
        (
            r#"{"oneOf":[{"type":"integer"},{"type":"string"}]}"#,
            "/properties/a/oneOf",
            "alternatives of two types, INT and STRING",
        ),
        (
            r#"{"anyOf":[{"type":"object","properties":{"x":{"type":"integer"}}},{"type":"object","properties":{"y":{"type":"integer"}}}]}"#,
            "/properties/a/anyOf",
            "alternatives of two types, STRUCT and STRUCT",
        ),
        (
            r#"{"allOf":[{"type":"integer"},{"type":"integer","format":"int64"}]}"#,
            "/properties/a/allOf/1",
            "two schemas for one value disagree, INT and BIGINT",
        ),
        (
            r#"{"type":"object","properties":{"x":{"type":"integer"}},"allOf":[{"properties":{"x":{"type":"string"}}}]}"#,
            "/properties/a/allOf/0/properties/x",
            "two schemas for one value disagree, INT and STRING",
        ),
        (r#"{"allOf":[]}"#, "/properties/a/allOf", "`allOf` is not a list of schemas"),
    ] {
        check_refused(&object_with(member), location, expected);
    }
}

#[test]
fn local_references_are_followed() {
    let text = r##"{"$ref":"#/$defs/Order","$defs":{
        "Order":{"type":"object","properties":{
            "buyer":{"$ref":"#/$defs/Party","description":"who pays"},
            "seller":{"$ref":"#/$defs/Party"},
            "first":{"$ref":"#/$defs/Order/properties/code"},
            "code":{"$ref":"#/definitions/odd~1na%20me"}}},
        "Party":{"type":"object","properties":{"id":{"type":"integer"}}}},
        "definitions":{"odd/na me":{"type":"boolean"}}}"##;
    let expected = "STRUCT<buyer: STRUCT<id: INT>, seller: STRUCT<id: INT>, first: BOOLEAN, code: BOOLEAN>";
    assert_eq!(parse(text).expect("legal").data_type.to_string(), expected);

    for (member, location, expected) in [
        (r##"{"$ref":"#/$defs/Nobody"}"##, "/properties/a/$ref", "`$ref` leads nowhere"),
        (r##"{"$ref":"#anchor"}"##, "/properties/a/$ref", "`$ref` leads nowhere"),
        (
            r#"{"$ref":"https://example.com/a.json"}"#,
            "/properties/a/$ref",
            "`$ref` leads out of the schema",
        ),
        (r#"{"$ref":5}"#, "/properties/a/$ref", "`$ref` is not a string"),
        (r##"{"$ref":"#/properties/a"}"##, "/properties/a/$ref", "`$ref` is recursive"),
        (r##"{"$ref":"#"}"##, "/properties/a/$ref", "`$ref` is recursive"),
        (
            r##"{"$ref":"#/$defs/X","type":"object"}"##,
            "/properties/a/$ref",
            "`type` beside `$ref`",
        ),
        (
            r##"{"$dynamicRef":"#x"}"##,
            "/properties/a/$dynamicRef",
            "`$dynamicRef` is not supported",
        ),
    ] {
        check_refused(&object_with(member), location, expected);
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
fn a_root_is_an_object_or_a_plain_scalar() {
    for (text, expected, root) in [
        (r#"{"type":"string"}"#, DataType::String, Root::Scalar),
        (r#"{"type":["string","null"]}"#, DataType::String, Root::Scalar),
        (r#"{"type":"integer"}"#, DataType::Int, Root::Scalar),
        (r#"{"type":"integer","format":"int64"}"#, DataType::BigInt, Root::Scalar),
        (r#"{"type":"number"}"#, DataType::Double, Root::Scalar),
        (r#"{"type":"boolean"}"#, DataType::Boolean, Root::Scalar),
    ] {
        let parsed = parse(text).expect(text);
        assert_eq!((parsed.data_type, parsed.root), (expected, root), "{text}");
    }
    let untyped = parse(r#"{"properties":{"x":{"type":"integer"}}}"#).expect("the root needs no type");
    assert_eq!(untyped.data_type.to_string(), "STRUCT<x: INT>");
    for (text, expected) in [
        (r#"{"type":"array","items":{"type":"string"}}"#, "the root is an array"),
        (r#"{"items":{"type":"string"}}"#, "the root is an array"),
        (r#"{"type":"object"}"#, "the root is an object without properties"),
        (r#"{"type":"object","properties":{}}"#, "an object with no property"),
        (r#"{"type":"null"}"#, "the root is only null"),
        (
            r#"{"type":"string","format":"date"}"#,
            "a scalar that a message cannot be as a whole",
        ),
        ("{}", "the root says no type"),
        ("[]", "the schema is not a JSON object"),
        ("true", "the schema is not a JSON object"),
        ("", "the schema is not JSON"),
        ("{", "the schema is not JSON"),
        ("{} {}", "the schema is not JSON"),
        ("type: object", "the schema is not JSON"),
    ] {
        check_refused(text, "", expected);
    }
}

#[test]
fn names_that_a_table_cannot_hold_are_refused() {
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

#[test]
fn every_problem_of_a_text_is_reported_at_once() {
    let text = r#"{"type":"object","properties":{
        "a":{"type":"string","format":"uuid"},"b c":{"type":"string"},"l":{"type":"array","items":{"type":"object","properties":{"d":{"type":"money"}}}}}}"#;
    let problems = parse(text).expect_err("three problems");
    let paths: Vec<String> = problems.iter().map(|problem| show_path("value", &problem.path)).collect();
    assert_eq!(paths, ["value.a", "value.l[].d", "value.b c"]);
    let members: Vec<String> = (0..SCHEMA_PROBLEMS_MAX * 2)
        .map(|index| format!(r#""f{index}":{{"type":"money"}}"#))
        .collect();
    let text = format!(r#"{{"type":"object","properties":{{{}}}}}"#, members.join(","));
    assert_eq!(parse(&text).expect_err("many problems").len(), SCHEMA_PROBLEMS_MAX);
}

#[test]
fn depth_and_size_are_bounded() {
    let nested = |levels: usize| {
        let open = r#"{"type":"object","properties":{"a":"#.repeat(levels);
        format!(r#"{open}{{"type":"integer"}}{}"#, "}}".repeat(levels))
    };
    assert!(parse(&nested(TYPE_DEPTH_MAX)).is_ok());
    let problems = parse(&nested(TYPE_DEPTH_MAX + 1)).expect_err("one level more");
    assert!(problems[0].problem.contains("nested more than 100 levels deep"), "{problems:?}");
    check_refused(&"[".repeat(100_000), "", &format!("nested more than {JSON_DEPTH_MAX} levels deep"));
    check_refused(&" ".repeat(SCHEMA_TEXT_BYTES_MAX + 1), "", "the schema text is too long");

    let doubling = |index: usize| {
        format!(
            r##""D{index}":{{"type":"object","properties":{{"l":{{"$ref":"#/$defs/D{0}"}},"r":{{"$ref":"#/$defs/D{0}"}}}}}}"##,
            index + 1
        )
    };
    let definitions: Vec<String> = (0..30).map(doubling).collect();
    let text = format!(
        r##"{{"$ref":"#/$defs/D0","$defs":{{{},"D30":{{"type":"string"}}}}}}"##,
        definitions.join(",")
    );
    let problems = parse(&text).expect_err("a billion columns");
    assert!(
        problems[0].problem.contains(&format!("more than {SCHEMA_PARTS_MAX} parts")),
        "{problems:?}"
    );
}

#[test]
fn required_members_are_kept_apart_from_the_type() {
    let text = r#"{"type":"object","required":["l","absent"],"properties":{
        "l":{"type":"array","items":{"type":"object","required":["x"],"properties":{"x":{"type":"integer"},"y":{"type":"integer"}}}},
        "m":{"type":"object","additionalProperties":{"type":"object","properties":{"z":{"type":"integer"}},"required":["z"]}}},
        "allOf":[{"required":["m"]}],"anyOf":[{"required":["n"]},{"required":["o"]}]}"#;
    let parsed = parse(text).expect("legal");
    let paths: Vec<String> = parsed.required.iter().map(|path| show_path("value", path)).collect();
    assert_eq!(paths, ["value.l", "value.l[].x", "value.m", "value.m{}.z"]);
}

#[test]
fn texts_of_one_meaning_have_one_normal_form() {
    let plain = r#"{"type":"object","properties":{"a":{"type":"integer"},"t":{"type":"string","format":"date-time"}},"required":["a"]}"#;
    let normal = r#"{"properties":{"a":{"type":"integer"},"t":{"format":"date-time","type":"string"}},"required":["a"],"type":"object"}"#;
    let json = |text: &str| SchemaText::Json(text.to_owned());
    assert_eq!(schema::normal_form(&json(plain)).as_deref(), Ok(normal));
    for (text, expected) in [
        (normal, true),
        (
            r#"{"required":["a"],"properties":{"t":{"type":["string","null"],"format":"date-time"},"a":{"type":"integer","format":"int32"}}}"#,
            true,
        ),
        (
            r##"{"$ref":"#/$defs/R","$defs":{"R":{"type":"object","title":"R","required":["a"],"properties":{
                "a":{"type":"integer","minimum":0,"description":"x"},"t":{"type":"timestamp"}}}}}"##,
            true,
        ),
        (
            r#"{"type":"object","properties":{"a":{"type":"integer"},"t":{"type":"string","format":"date-time"}}}"#,
            false,
        ),
        (
            r#"{"type":"object","properties":{"a":{"type":"integer"},"t":{"type":"string"}},"required":["a"]}"#,
            false,
        ),
        ("not JSON", false),
    ] {
        assert_eq!(schema::same_meaning(&json(plain), &json(text)), expected, "{text}");
    }
    assert!(schema::same_meaning(&json("not JSON"), &json("not JSON")));
    assert!(!schema::same_meaning(
        &json(r#"{"type":"string"}"#),
        &SchemaText::Avro(r#"{"type":"string"}"#.into())
    ));
}

#[test]
fn a_normal_form_means_what_its_text_means() {
    let text = r#"{"type":"object","properties":{
        "b":{"type":"binary"},"d":{"type":"string","format":"date"},"n":{"type":"number"},"o":{"type":"boolean"},
        "m":{"type":"object"},"l":{"type":"array","items":{"type":"object","required":["q\"uote"],
            "properties":{"q\"uote":{"type":"integer","format":"int64"}}}}}}"#;
    let json = SchemaText::Json(text.to_owned());
    let normal = SchemaText::Json(schema::normal_form(&json).expect("legal"));
    assert_ne!(json, normal);
    assert!(schema::same_meaning(&json, &normal));
    assert_eq!(schema::normal_form(&normal).map(SchemaText::Json), Ok(normal));
}

#[test]
fn other_languages_are_not_available_yet() {
    for text in [
        SchemaText::Avro("{}".into()),
        SchemaText::Proto {
            schema_text: "message A {}".into(),
            message_name: "A".into(),
        },
    ] {
        let problems = schema::parse(&text).expect_err("not available");
        assert!(problems[0].problem.contains("not available in this version"), "{problems:?}");
    }
}
