//! Types that several keywords or several schemas say together.

use super::*;

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
fn a_member_is_required_when_every_alternative_requires_it() {
    let branch = |required: &str| format!(r#"{{"type":"object","required":[{required}],"properties":{{"x":{{}},"y":{{}}}}}}"#);
    let text = object_with(&format!(r#"{{"oneOf":[{},{}]}}"#, branch(r#""x","y""#), branch(r#""y""#)));
    let parsed = parse(&text).expect("legal");
    let paths: Vec<String> = parsed.required.iter().map(|path| show_path("value", path)).collect();
    assert_eq!(paths, ["value.a.y"]);
}

#[test]
fn a_broken_definition_is_reported_once() {
    let text = r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/M"},"b":{"$ref":"#/$defs/M"}},"$defs":{"M":{"type":"money"}}}"##;
    check_refused(text, "/$defs/M/type", "unsupported type 'money'");
}
