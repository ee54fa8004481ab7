//! Updates of a stream with a record filter: what it reads stays as it is, the rest goes its way.

use super::*;

fn with_filter<'a>(old: &'a str, new: &'a str, filter: &'a str) -> Update<'a> {
    Update {
        old,
        new,
        filter: Some(filter),
        ..Update::default()
    }
}

const REMOVED_B: &str = "in place\nvalue.b: removed: its column stays and is null in new rows";

#[test]
fn what_a_record_filter_reads_stays() {
    let two = format!("{INT_A},{TEXT_B}");
    check(
        &with_filter(&two, INT_A, "value.b = 'x'"),
        "refused\nvalue.b: removed, and the record filter `value.b = 'x'` reads it",
    );
    check(
        &with_filter(INT_A, LONG_A, "VALUE.A > 0"),
        "refused\nvalue.a: INT → BIGINT, and the record filter `VALUE.A > 0` reads it",
    );
    check(
        &with_filter(INT_A, LONG_A, "value.a IS NULL"),
        "refused\nvalue.a: INT → BIGINT, and the record filter `value.a IS NULL` reads it",
    );
    check(&with_filter(&two, INT_A, "value.a > 0"), REMOVED_B);
    check(&with_filter(&two, INT_A, "kafka_partition = 0 AND key LIKE 'a%'"), REMOVED_B);
    check(&with_filter(&two, INT_A, "kinesis_shard_id = 'a'"), REMOVED_B);
    check(
        &with_filter(INT_A, &two, "value.a > 0"),
        "in place\nvalue.b: added, STRING: null in rows that are already in the table",
    );
    check(
        &with_filter(r#""a":{"type":"integer","title":"x"}"#, INT_A, "value.a > 0"),
        "unchanged",
    );
}

#[test]
fn a_filter_reads_what_it_names_inside_structs_arrays_and_maps() {
    let items = |fields: &str| format!(r#""items":{{"type":"array","items":{{"type":"object","properties":{{{fields}}}}}}}"#);
    let full = items(r#""sku":{"type":"string"},"qty":{"type":"integer"}"#);
    let without_qty = items(r#""sku":{"type":"string"}"#);
    let wide = items(r#""sku":{"type":"string"},"qty":{"type":"integer","format":"int64"}"#);
    for (filter, new, expected) in [
        ("value.items[0].sku = 'a'", &without_qty, None),
        ("size(value.items) > 1", &without_qty, None),
        ("value.items IS NOT NULL", &without_qty, None),
        ("array_contains(value.items.sku, 'a')", &without_qty, None),
        ("element_at(value.items, -1).sku = 'a'", &wide, None),
        ("value.items.sku[0] = 'a'", &without_qty, None),
        ("element_at(value.items.sku, 1) = 'a'", &wide, None),
        ("value.items.qty[0] > 1", &without_qty, Some("removed")),
        ("element_at(value.items.qty, -1) > 1", &wide, Some("INT → BIGINT")),
        ("value.items[0].qty > 1", &without_qty, Some("removed")),
        ("element_at(value.items, 1).qty > 1", &without_qty, Some("removed")),
        ("array_contains(value.items.qty, 1)", &wide, Some("INT → BIGINT")),
        ("value.items[0].qty > 1", &wide, Some("INT → BIGINT")),
    ] {
        let shown = shown(&ask(&with_filter(&full, new, filter)));
        match expected {
            None => assert!(shown.starts_with("in place"), "{filter}: {shown}"),
            Some(what) => assert_eq!(
                shown,
                format!("refused\nvalue.items[].qty: {what}, and the record filter `{filter}` reads it"),
                "{filter}"
            ),
        }
    }
    let counts = |kind: &str| format!(r#""m":{{"type":"object","additionalProperties":{{{kind}}}}}"#);
    let (int, long) = (counts(r#""type":"integer""#), counts(r#""type":"integer","format":"int64""#));
    check(
        &with_filter(&int, &long, "value.m['a'] > 1"),
        "refused\nvalue.m{}: INT → BIGINT, and the record filter `value.m['a'] > 1` reads it",
    );
    // One value that does not fit makes the whole map null.
    for filter in ["array_contains(map_keys(value.m), 'a')", "value.m IS NULL", "size(value.m) > 1"] {
        check(
            &with_filter(&int, &long, filter),
            &format!("refused\nvalue.m: MAP<STRING, INT> → MAP<STRING, BIGINT>, and the record filter `{filter}` reads it"),
        );
    }
    let many = |kind: &str| format!(r#""l":{{"type":"array","items":{{"type":"array","items":{{{kind}}}}}}}"#);
    let (int, long) = (many(r#""type":"integer""#), many(r#""type":"integer","format":"int64""#));
    for filter in ["value.l IS NULL", "size(value.l) > 1"] {
        check(
            &with_filter(&int, &long, filter),
            &format!("refused\nvalue.l: ARRAY<ARRAY<INT>> → ARRAY<ARRAY<BIGINT>>, and the record filter `{filter}` reads it"),
        );
    }
    check(
        &with_filter(&int, &long, "value.l[0] IS NULL"),
        "refused\nvalue.l[]: ARRAY<INT> → ARRAY<BIGINT>, and the record filter `value.l[0] IS NULL` reads it",
    );
}

#[test]
fn a_field_of_structs_in_an_array_is_one_place_however_it_is_indexed() {
    let items = |fields: &str| {
        format!(
            r#""items":{{"type":"array","items":{{"type":"object","properties":{{"tags":{{"type":"array","items":{{"type":"string"}}}},"of":{{"type":"object","properties":{{"a":{{"type":"string"}}}}}}{fields}}}}}}}"#
        )
    };
    let (full, without) = (items(r#","b":{"type":"string"}"#), items(""));
    for filter in [
        "value.items.tags[0][0] = 'x'",
        "value.items.tags[0] IS NULL",
        "array_contains(value.items.tags[0], 'x')",
        "value.items.of.a[0] = 'x'",
        "value.items.of[0].a = 'x'",
        "array_contains(value.items.of.a, 'x')",
    ] {
        let shown = shown(&ask(&with_filter(&full, &without, filter)));
        assert!(shown.starts_with("in place"), "{filter}: {shown}");
    }
    check(
        &with_filter(&full, &without, "value.items.b[0] = 'x'"),
        "refused\nvalue.items[].b: removed, and the record filter `value.items.b[0] = 'x'` reads it",
    );
}

#[test]
fn a_struct_that_goes_is_named_once() {
    let nested = r#""n":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}}},"b":{"type":"string"}"#;
    check(
        &with_filter(nested, TEXT_B, "value.n.x > 0 OR value.n.y > 0"),
        "refused\nvalue.n: removed, and the record filter `value.n.x > 0 OR value.n.y > 0` reads it",
    );
    check(
        &with_filter(
            r#""n":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}"#,
            r#""n":{"type":"object","properties":{"x":{"type":"integer"}}}"#,
            "value.n.x > 0",
        ),
        "in place\nvalue.n.x: required → optional: decodes as before",
    );
}

#[test]
fn a_filter_that_cannot_be_read_may_read_anything() {
    check(
        &with_filter(INT_A, LONG_A, "from_another_version(value.a)"),
        "refused\nvalue.a: INT → BIGINT widens, and the record filter `from_another_version(value.a)` may read it",
    );
    check(
        &with_filter(INT_A, r#""a":{"type":"integer"},"b":{}"#, "from_another_version(value.a)"),
        "in place\nvalue.b: added, STRING: null in rows that are already in the table",
    );
}
