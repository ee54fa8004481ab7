//! Verdicts on excluded columns.

use super::*;

#[test]
fn exclusions_change_forward_only() {
    let both = r#""a":{"type":"integer"},"n":{"type":"object","properties":{"x":{},"y":{}}}"#;
    let update = |excluded, new_excluded| Update {
        old: both,
        new: both,
        excluded,
        new_excluded,
        ..Update::default()
    };
    let from_now = "excluded from now on: null in new rows, kept in rows that are already in the table";
    let included = "included from now on: fills in new rows, stays null in rows that are already in the table";
    check(&update(&["value.a"], &["value.a"]), "unchanged");
    check(&update(&[], &["value.a"]), &format!("in place\nvalue.a: {from_now}"));
    check(&update(&["value.a"], &[]), &format!("in place\nvalue.a: {included}"));
    check(
        &update(&["value.n"], &["value.n.x"]),
        &format!("in place\nvalue.n.x: stays excluded\nvalue.n: {included}"),
    );
    check(
        &update(&["value.n.x"], &["value.n"]),
        &format!("in place\nvalue.n: {from_now}\nvalue.n.x: stays excluded"),
    );
    // Leaving nothing of a struct that has columns is fine: the columns stay.
    check(
        &update(&["value.n.x"], &["value.n.x", "value.n.y"]),
        &format!("in place\nvalue.n.y: {from_now}"),
    );
}

#[test]
fn exclusions_are_checked_against_the_new_schema() {
    let update = |new, excluded, new_excluded| Update {
        old: r#""a":{"type":"integer"},"b":{}"#,
        new,
        excluded,
        new_excluded,
        ..Update::default()
    };
    let with_secret = r#""a":{"type":"integer"},"b":{},"secret":{}"#;
    check(
        &update(with_secret, &[], &["value.secret"]),
        "in place\nvalue.secret: added, STRING: null in rows that are already in the table; excluded from the start: no row ever holds it",
    );
    check(
        &update(INT_A, &["value.b"], &["value.b"]),
        "refused\nvalue.b: removed, but is in `excluded_columns`",
    );
    check(
        &update(with_secret, &[], &["value.secrets"]),
        "refused\nvalue.secrets: cannot be excluded: `value` has no field `secrets`",
    );
    check(
        &update(INT_A, &[], &["kafka_offset"]),
        "refused\nkafka_offset: the path starts with `kafka_offset`",
    );
    check(
        &update(
            r#""a":{"type":"integer"},"b":{},"n":{"type":"object","properties":{"x":{},"y":{}}}"#,
            &[],
            &["value.n.x", "value.n.y"],
        ),
        "refused\nvalue.n.y: nothing is left of `value.n`",
    );
    check(
        &Update {
            old: INT_A,
            new: INT_A,
            deduplication: &["value.a"],
            new_excluded: &["value.a"],
            ..Update::default()
        },
        "refused\nvalue.a: cannot be excluded: overlaps the deduplication column `value.a`",
    );
}
