//! Whole texts: what the root may be, how much one may hold, and when two mean the same.

use super::*;

#[test]
fn a_root_is_an_object_or_a_plain_scalar() {
    for (text, expected, root) in [
        (r#"{"type":"string"}"#, DataType::String, Root::Scalar),
        (r#"{"type":["string","null"]}"#, DataType::String, Root::Scalar),
        (r#"{"type":"integer"}"#, DataType::Int, Root::Scalar),
        (r#"{"type":"integer","format":"int64"}"#, DataType::BigInt, Root::Scalar),
        (r#"{"type":"number"}"#, DataType::Double, Root::Scalar),
        (r#"{"type":"boolean"}"#, DataType::Boolean, Root::Scalar),
        (r#"{"enum":["a","b"]}"#, DataType::String, Root::Scalar),
        (r#"{"oneOf":[{"type":"integer"},{"type":"null"}]}"#, DataType::Int, Root::Scalar),
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
        (r#"{"type":"binary"}"#, "a scalar that a message cannot be as a whole"),
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

/// Levels of a type as the decoder counts them: every type is one.
fn levels_of(data_type: &DataType) -> usize {
    1 + match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| levels_of(&field.data_type)).max().unwrap_or(0),
        DataType::Array(inside) | DataType::Map(_, inside) => levels_of(inside),
        _ => 0,
    }
}

#[test]
fn depth_and_size_are_bounded() {
    let nested = |levels: usize, inside: &str| {
        let open = r#"{"type":"object","properties":{"a":"#.repeat(levels);
        format!("{open}{inside}{}", "}}".repeat(levels))
    };
    // The value inside is a level, also where nothing is said of it: the decoder takes no type with more.
    for (inside, own_levels) in [
        (r#"{"type":"integer"}"#, 1),
        ("{}", 1),
        (r#"{"type":"array"}"#, 2),
        (r#"{"type":"object"}"#, 2),
        (r#"{"type":"array","items":{"type":"integer"}}"#, 2),
        (r#"{"type":"object","additionalProperties":{"type":"integer"}}"#, 2),
    ] {
        let parsed = parse(&nested(TYPE_DEPTH_MAX - own_levels, inside)).expect(inside);
        assert_eq!(levels_of(&parsed.data_type), TYPE_DEPTH_MAX, "{inside}");
        let problems = parse(&nested(TYPE_DEPTH_MAX - own_levels + 1, inside)).expect_err("one level more");
        assert!(
            problems[0].problem.contains("nested more than 100 levels deep"),
            "{inside}: {problems:?}"
        );
    }
    check_refused(&"[".repeat(100_000), "", &format!("nested more than {JSON_DEPTH_MAX} levels deep"));
    check_refused(&" ".repeat(SCHEMA_TEXT_BYTES_MAX + 1), "", "the schema text is too long");

    // As deep as the reader goes, by the keywords with the longest way down, on a thread of ordinary stack.
    let levels = JSON_DEPTH_MAX - 4;
    let deep = format!(r#"{}{{}}{}"#, r#"{"type":"array","items":"#.repeat(levels), "}".repeat(levels));
    let problems = parse(&object_with(&deep)).expect_err("too deep for a type");
    assert!(problems[0].problem.contains("nested more than 100 levels deep"), "{problems:?}");
    let chain = |index: usize| {
        format!(
            r##""D{index}":{{"type":"object","properties":{{"a":{{"$ref":"#/$defs/D{}"}}}}}}"##,
            index + 1
        )
    };
    let definitions: Vec<String> = (0..1000).map(chain).collect();
    let text = format!(
        r##"{{"$ref":"#/$defs/D0","$defs":{{{},"D1000":{{"type":"string"}}}}}}"##,
        definitions.join(",")
    );
    let problems = parse(&text).expect_err("a long chain of references");
    assert!(problems[0].problem.contains("nested more than"), "{problems:?}");

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
