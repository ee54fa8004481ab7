//! The words of refusals: the part, its place, and the nearest that is supported.

use super::*;

/// Each problem as `line:column part: problem; remedy`.
fn problems(text: &str) -> Vec<String> {
    let problems = check(text, &asked_columns()).err().unwrap_or_default();
    problems
        .iter()
        .map(|problem| format!("{}: {}; {}", problem.value, problem.problem, problem.remedy))
        .collect()
}

#[test]
fn a_refusal_names_the_part_its_place_and_the_nearest_form() {
    for (text, expected) in [
        (
            "regexp_extract(value.name, 'a', 1) = 'a'",
            "\"regexp_extract(value.name, 'a', 1)\": `regexp_extract` is not supported at line 1, column 1; nearest: `regexp_like`",
        ),
        (
            "value.flag\n  AND lowr(value.name) = 'a'",
            "\"lowr(value.name)\": `lowr` is not supported at line 2, column 7; nearest: `lower`",
        ),
        (
            "value.nam = 'a'",
            "\"nam\": `value` has no field `nam` at line 1, column 7; did you mean `name`?",
        ),
        (
            "name = 'a'",
            "\"name\": there is no column `name` at line 1, column 1; did you mean `value.name`?",
        ),
        (
            "kafka_ofset > 1",
            "\"kafka_ofset\": there is no column `kafka_ofset` at line 1, column 1; did you mean `kafka_offset`?",
        ),
        (
            "value.twin.a = 1",
            "\"a\": `a` may be `a` or `A`: the case of a name does not matter at line 1, column 12; filter by another field, or rename one \
             of them",
        ),
        (
            "value.n = value.day",
            "\"value.n = value.day\": INT and DATE cannot be compared at line 1, column 1; convert one of the two with CAST",
        ),
        (
            "value.n + value.flag > 1",
            "\"value.n + value.flag\": `+` does not take INT and BOOLEAN at line 1, column 1; use numbers, or a date or time and an INTERVAL; \
             texts are joined by `||`",
        ),
        (
            "value.n",
            "\"value.n\": a filter is a predicate, and this is INT at line 1, column 1; compare it with something, as in `value.amount > 0`",
        ),
        (
            "value.n = 1 value.n = 2",
            "\"value\": a filter is one expression, and cannot go on with `value` here at line 1, column 13; join predicates with AND or OR, \
             and take out what follows",
        ),
        (
            "value.n IS NULL = true",
            "\"value.n IS NULL = true\": a predicate is an operand here without parentheses at line 1, column 1; put parentheses around it",
        ),
        (
            "value.customer = value.customer",
            "\"value.customer = value.customer\": STRUCT values are not compared at line 1, column 1; compare the fields or elements inside, \
             as in `value.customer.id = 5`",
        ),
        (
            "value.at > now()",
            "\"now\": `now` is not supported at line 1, column 12; a record is kept or not whenever it is read: compare with \
             `stream_record_timestamp` or a literal",
        ),
        (
            "count(1) > 1",
            "\"count(1)\": `count` is not supported at line 1, column 1; a filter sees one record at a time: compare its own fields",
        ),
        (
            "lower(value.tags) = 'a'",
            "\"lower(value.tags)\": argument 1 of `lower` is ARRAY<STRING>, and STRING is needed at line 1, column 1; give STRING, or convert \
             with CAST",
        ),
        (
            "substring(value.name) = 'a'",
            "\"value.name\": `substring` takes two or three arguments, and not 1 at line 1, column 11; give the arguments that it takes",
        ),
        (
            "DATE '2026-02-30' = value.day",
            "\"'2026-02-30'\": the text is no DATE at line 1, column 6; write it as in DATE '2026-01-31'; zones are UTC or an offset",
        ),
        (
            "value.name LIKE ANY ('a', 'b')",
            "\"value.name LIKE ANY ('a', 'b')\": LIKE ANY is not supported at line 1, column 1; write one LIKE for each pattern, joined with OR",
        ),
        (
            "value.name RLIKE value.other",
            "\"value.name RLIKE value.other\": the pattern is not a literal at line 1, column 1; write the pattern in quotes",
        ),
        (
            "value.id IN (SELECT 1)",
            "\"value.id IN (SELECT 1)\": a query is not supported in a filter at line 1, column 1; write the values out, as in \
             `value.id IN (1, 2)`",
        ),
        ("to_date(value.name, 'yyyy-QQ') = value.day", ""),
    ] {
        let found = problems(text);
        assert_eq!(found.len(), 1, "{text}: {found:#?}");
        assert!(expected.is_empty() || found[0] == expected, "{text}\n{}\n{expected}", found[0]);
    }
}

#[test]
fn every_problem_of_a_filter_is_told_at_once() {
    let found = problems("value.nobody = 1 AND lower(value.n, 2) = 'a' AND (value.flag OR value.n = DATE 'x') AND value.id > foo(1)");
    let starts = ["\"nobody\": ", "\"lower(value.n, 2)\": ", "\"'x'\": ", "\"foo(1)\": "];
    assert_eq!(found.len(), starts.len(), "{found:#?}");
    for (problem, start) in found.iter().zip(starts) {
        assert!(problem.starts_with(start), "{problem}");
    }
}
