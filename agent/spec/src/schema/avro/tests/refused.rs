//! Refusals: the place, what is wrong there, and that something can be done about it.

use super::{parse, record_of};
use crate::limits::{SCHEMA_PARTS_MAX, SCHEMA_PROBLEMS_MAX, TYPE_DEPTH_MAX};

#[track_caller]
fn check(text: &str, location: &str, problem: &str) {
    let problems = parse(text).expect_err(text);
    let found = &problems[0];
    assert_eq!(
        (found.location.as_str(), found.problem.as_str()),
        (location, problem),
        "{text}\n{problems:?}"
    );
    assert!(!found.remedy.is_empty() && !found.found.is_empty(), "{problems:?}");
}

#[test]
fn what_is_no_avro_schema_is_refused_where_it_stands() {
    check("{", "", "the schema is not JSON");
    check(r#"{"type":"int","type":"long"}"#, "type", "the key `type` appears twice");
    check("1", "", "not a schema");
    check("{}", "", "a schema without `type`");
    check(r#""foo""#, "", "no type is named `foo`");
    check(r#"{"type":["null","int"]}"#, "", "the `type` of a schema is not a name");
    check(&record_of(r#"{"type":"array"}"#), "fields[0].type", "no `items`");
    check(&record_of(r#"{"type":"map"}"#), "fields[0].type", "no `values`");
    check(r#"{"type":"record","name":"R"}"#, "", "a record without a list of `fields`");
    check(r#"{"type":"record","fields":[]}"#, "", "a named type without `name`");
    check(
        r#"{"type":"record","name":"R","fields":[{"name":"a"}]}"#,
        "fields[0]",
        "a field without `name` or `type`",
    );
    check(
        r#"{"type":"record","name":"R","fields":[{"name":"a-b","type":"int"}]}"#,
        "fields[0]",
        "`a-b` is not a legal name",
    );
    check(
        r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}"#,
        "fields[1]",
        "two fields are named `a`",
    );
    check(
        r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int","order":"sideways"}]}"#,
        "fields[0]",
        "a field's `order` that Avro does not know",
    );
    check(
        r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int","aliases":"b"}]}"#,
        "fields[0]",
        "`aliases` that are no list of names",
    );
    check(r#"{"type":"fixed","name":"1F","size":1}"#, "", "`1F` is not a legal name");
    check(
        r#"{"type":"fixed","name":"a.int","size":1}"#,
        "",
        "a type named like the primitive `int`",
    );
    check(
        &record_of(r#"{"type":"fixed","name":"R","size":1}"#),
        "fields[0].type",
        "`R` is defined twice",
    );
    for size in ["", r#","size":-1"#, r#","size":1.5"#, r#","size":2147483648"#] {
        check(&format!(r#"{{"type":"fixed","name":"F"{size}}}"#), "", "a fixed without a `size`");
    }
    let symbols = |rest: &str| format!(r#"{{"type":"enum","name":"E"{rest}}}"#);
    check(&symbols(""), "", "an enum without a list of `symbols`");
    check(&symbols(r#","symbols":["A","A"]"#), "", "the symbol `A` is there twice");
    check(&symbols(r#","symbols":["a b"]"#), "", "a symbol that is not a legal name");
    check(
        &symbols(r#","symbols":["A"],"default":"Z""#),
        "",
        "the enum's default is none of its symbols",
    );
    check(&record_of(r#"["null",["int"]]"#), "fields[0].type[1]", "a union inside a union");
    check(
        &record_of(r#"["int",{"type":"int","logicalType":"date"}]"#),
        "fields[0].type[1]",
        "two branches of the union are `int`",
    );
    check(
        &record_of(r#"{"type":"bytes","logicalType":"decimal","precision":39}"#),
        "fields[0].type",
        "a decimal of 39 digits",
    );
}

#[test]
fn what_no_table_can_hold_is_refused_though_spark_reads_it() {
    for union in [
        r#"["null",{"type":"record","name":"R","fields":[]}]"#,
        r#"["null",{"type":"array","items":"int"}]"#,
        r#"["null",{"type":"map","values":"int"}]"#,
        r#"["null","int","string"]"#,
        r#"["null"]"#,
        "[]",
    ] {
        check(union, "", "the root is a union of anything but null and one value");
    }
    check(r#"{"type":"array","items":"int"}"#, "", "the root is an array");
    check(r#"{"type":"map","values":"int"}"#, "", "the root is a map");
    check(r#""null""#, "", "the root is only null");
    check(&record_of(r#""null""#), "fields[0].type", "`null` alone is no type");
    check(&record_of(r#"["null"]"#), "fields[0].type", "a union without a type");
    check(&record_of("[]"), "fields[0].type", "a union without a type");
    check(
        &record_of(r#"{"type":"array","items":{"type":"record","name":"N","fields":[]}}"#),
        "fields[0].type.items",
        "a record without fields",
    );
    check(
        &record_of(r#"{"type":"fixed","name":"F","size":0}"#),
        "fields[0].type",
        "a fixed of no bytes",
    );
    check(
        &record_of(r#"{"type":"map","values":["null","R"]}"#),
        "fields[0].type.values[1]",
        "the record `R` contains itself",
    );
    check(
        r#"{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"A","type":"int"}]}"#,
        "fields[1]",
        "the names `a` and `A` differ only in case",
    );
    let two = |left: &str, right: &str| {
        let fixed = |name: &str| format!(r#"{{"type":"fixed","name":"{name}","size":1}}"#);
        record_of(&format!("[{},{}]", fixed(left), fixed(right)))
    };
    check(
        &two("Click", "CLICK"),
        "fields[0].type[1]",
        "two branches of the union are named `Click` and `CLICK`",
    );
    check(
        &two("a.Click", "b.Click"),
        "fields[0].type[1]",
        "two branches of the union are named `Click` and `Click`",
    );
}

#[test]
fn a_problem_is_said_with_its_column_and_once_for_a_type_that_is_used_often() {
    let n = r#"{"type":"record","name":"N","fields":[{"name":"x","type":"foo"}]}"#;
    let text = format!(
        r#"{{"type":"record","name":"R","fields":[{{"name":"p","type":{{"type":"array","items":{n}}}}},{{"name":"q","type":"N"}}]}}"#
    );
    let problems = parse(&text).expect_err("unknown type");
    assert_eq!(problems.len(), 1, "{problems:?}");
    let shown = crate::schema::show_path("value", &problems[0].path);
    assert_eq!(
        (shown.as_str(), problems[0].location.as_str()),
        ("value.p[].x", "fields[0].type.items.fields[0].type")
    );

    let fields: Vec<String> = (0..100).map(|index| format!(r#"{{"name":"f{index}","type":"foo"}}"#)).collect();
    let text = format!(r#"{{"type":"record","name":"R","fields":[{}]}}"#, fields.join(","));
    assert_eq!(parse(&text).expect_err("unknown types").len(), SCHEMA_PROBLEMS_MAX);
}

/// `R0` holds `R1` and so on; each is named in the one before and defined in the union behind.
fn chain(levels: usize, uses: usize) -> String {
    let record = |index: usize| {
        let inner = if index + 1 < levels {
            format!("\"R{}\"", index + 1)
        } else {
            "\"int\"".into()
        };
        let fields: Vec<String> = (0..uses).map(|field| format!(r#"{{"name":"f{field}","type":{inner}}}"#)).collect();
        format!(r#"{{"type":"record","name":"R{index}","fields":[{}]}}"#, fields.join(","))
    };
    let rest: Vec<String> = (1..levels).map(record).collect();
    let fields = rest
        .iter()
        .enumerate()
        .map(|(index, schema)| format!(r#"{{"name":"d{index}","type":{schema}}}"#));
    let first = format!(r#"{{"name":"first","type":{}}}"#, record(0));
    let fields: Vec<String> = std::iter::once(first).chain(fields).collect();
    format!(r#"{{"type":"record","name":"Top","fields":[{}]}}"#, fields.join(","))
}

#[test]
fn depth_and_size_are_bounded_before_they_cost_anything() {
    // The record around them and the value inside are levels too.
    parse(&chain(TYPE_DEPTH_MAX - 2, 1)).expect("as deep as a type may be");
    let problems = parse(&chain(TYPE_DEPTH_MAX - 1, 1)).expect_err("too deep");
    assert!(problems[0].problem.contains("nested more than 100 levels deep"), "{problems:?}");
    let problems = parse(&chain(1000, 1)).expect_err("too deep");
    assert!(problems[0].problem.contains("nested more than 100 levels deep"), "{problems:?}");
    let problems = parse(&chain(40, 2)).expect_err("a trillion columns");
    assert!(
        problems[0].problem.contains(&format!("more than {SCHEMA_PARTS_MAX} parts")),
        "{problems:?}"
    );
    let problems = parse(&"[".repeat(100_000)).expect_err("too deep as JSON");
    assert!(problems[0].remedy.contains("levels deep"), "{problems:?}");
}

/// A record of so many fields of the type `T`, which the first defines.
fn uses_of(definition: &str, uses: usize) -> String {
    let fields: Vec<String> = (1..uses).map(|index| format!(r#",{{"name":"f{index}","type":"T"}}"#)).collect();
    format!(
        r#"{{"type":"record","name":"R","fields":[{{"name":"f0","type":{definition}}}{}]}}"#,
        fields.concat()
    )
}

#[test]
fn an_enum_may_be_used_often_but_not_without_end() {
    let symbols: Vec<String> = (0..5000).map(|index| format!("\"S{index}\"")).collect();
    let definition = format!(r#"{{"type":"enum","name":"T","symbols":[{}]}}"#, symbols.join(","));
    parse(&uses_of(&definition, 40)).expect("200,000 symbols");
    check(
        &uses_of(&definition, 41),
        "",
        "more than 200000 enum symbols once names are followed",
    );
}

#[test]
fn what_each_use_of_a_name_copies_is_bounded() {
    let text = "x".repeat(500_000);
    let problem = "more than 67108864 bytes of names, aliases, symbols and defaults once names are followed";
    let record = |field: &str| format!(r#"{{"type":"record","name":"T","fields":[{{"type":"int",{field}}}]}}"#);
    for (what, definition) in [
        ("default", record(&format!(r#""name":"a","default":"{text}""#))),
        (
            "default of many values",
            record(&format!(r#""name":"a","default":[{}0]"#, "0,".repeat(200_000))),
        ),
        (
            "default of many objects",
            record(&format!(r#""name":"a","default":[{}0]"#, "{\"\":0},".repeat(50_000))),
        ),
        ("field's name", record(&format!(r#""name":"{text}""#))),
        ("field's alias", record(&format!(r#""name":"a","aliases":["{text}"]"#))),
        ("symbol", format!(r#"{{"type":"enum","name":"T","symbols":["{text}"]}}"#)),
        ("alias", format!(r#"{{"type":"fixed","name":"T","size":1,"aliases":["{text}"]}}"#)),
        (
            "many aliases in a namespace",
            format!(
                r#"{{"type":"fixed","name":"{}.T","size":1,"aliases":[{}"a"]}}"#,
                "n".repeat(990),
                "\"a\",".repeat(100_000)
            ),
        ),
    ] {
        let problems = parse(&uses_of(&definition, 200)).expect_err(what);
        assert_eq!(
            (problems[0].location.as_str(), problems[0].problem.as_str()),
            ("", problem),
            "{what}"
        );
        if what != "many aliases in a namespace" {
            parse(&uses_of(&definition, 1)).unwrap_or_else(|problems| panic!("{what} once: {problems:?}"));
        }
    }
}

#[test]
fn a_full_name_is_not_endless() {
    let fixed = |name: &str| format!(r#"{{"type":"fixed","name":"{name}","size":1}}"#);
    parse(&record_of(&fixed(&"f".repeat(1000)))).expect("as long as a name may be");
    check(
        &record_of(&fixed(&"f".repeat(1001))),
        "fields[0].type",
        "a full name is longer than 1000 bytes",
    );
    // A long namespace is every name's inside it.
    let fields: Vec<String> = (0..10_000)
        .map(|index| format!(r#"{{"name":"f{index}","type":{}}}"#, fixed(&format!("F{index}"))))
        .collect();
    let text = format!(
        r#"{{"type":"record","name":"R","namespace":"{}","fields":[{}]}}"#,
        "n".repeat(400_000),
        fields.join(",")
    );
    check(&text, "", "a full name is longer than 1000 bytes");
}
