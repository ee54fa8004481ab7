//! Any text has an answer: no panic, no stack that runs out, no work without bound.

use proptest::prelude::*;

use super::*;
use crate::limits::{FILTER_PARTS_MAX, FILTER_TEXT_BYTES_MAX};

/// Pieces of SQL, sound and broken.
const PIECES: &[&str] = &[
    "value.n",
    "value.name",
    "key",
    "value.items[0].sku",
    "value.labels['a']",
    "value.day",
    "value.at",
    "value.dec",
    "value.flag",
    "NULL",
    "1",
    "2.5",
    "-3",
    "1e3",
    "1L",
    "5BD",
    "'a'",
    "'it''s'",
    "\"b\"",
    "r'\\d'",
    "X'1f'",
    "'",
    "\"",
    "`",
    "`a b`",
    "TRUE",
    "DATE '2026-01-01'",
    "TIMESTAMP '2026-01-01 00:00:00'",
    "INTERVAL 1 DAY",
    "INTERVAL '1-2' YEAR TO MONTH",
    "INTERVAL",
    "+",
    "-",
    "*",
    "/",
    "%",
    "DIV",
    "=",
    "==",
    "<=>",
    "!=",
    "<>",
    "<",
    ">=",
    "AND",
    "OR",
    "NOT",
    "!",
    "IN",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    ";",
    ":",
    "::",
    "||",
    "|",
    "&",
    "~",
    "?",
    "BETWEEN",
    "LIKE",
    "ILIKE",
    "RLIKE",
    "ESCAPE",
    "ANY",
    "ALL",
    "IS",
    "IS NOT NULL",
    "IS TRUE",
    "IS DISTINCT FROM",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CAST",
    "TRY_CAST",
    "AS",
    "INT",
    "DECIMAL(5,2)",
    "STRUCT<a: INT>",
    "ARRAY",
    "MAP",
    "lower(",
    "trim(BOTH",
    "FROM",
    "substring(",
    "extract(YEAR",
    "coalesce(",
    "round(",
    "if(",
    "nullif(",
    "array_contains(",
    "element_at(",
    "to_date(",
    "date_trunc(",
    "exists(",
    "x -> x",
    "SELECT",
    "(SELECT 1)",
    "OVER",
    "DISTINCT",
    "--",
    "/*",
    "*/",
    "\\",
    "\n",
    "é",
    "\u{1F600}",
    "$1",
    ":p",
    "@",
    "#",
    "=>",
    "->",
    "COLLATE",
    "AT TIME ZONE",
];

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    let joined = (prop::collection::vec((piece, prop::sample::select(vec![" ", " ", " ", ""])), 0..24))
        .prop_map(|pieces| pieces.into_iter().map(|(piece, gap)| piece + gap).collect());
    prop_oneof![joined, ".{0,60}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]
    #[test]
    fn every_text_has_an_answer(text in any_text()) {
        let columns = asked_columns();
        match check(&text, &columns) {
            Ok(filter) => {
                prop_assert!(same_meaning(&text, &format!("({text}\n)"), Some(&columns)), "{text}");
                prop_assert!(filter.reads.len() <= footprint::of(&filter).len());
            }
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                for problem in problems {
                    prop_assert_eq!(&problem.field, FIELD);
                    prop_assert!(!problem.problem.is_empty() && !problem.remedy.is_empty(), "{}", problem);
                }
            }
        }
        prop_assert!(check_form(&text).is_ok() || check(&text, &columns).is_err());
    }
}

/// What a text of `count` repetitions comes to.
fn outcome(open: &str, middle: &str, close: &str, count: usize) -> String {
    let text = format!("{}{middle}{}", open.repeat(count), close.repeat(count));
    match check(&text, &asked_columns()) {
        Ok(_) => "sound".into(),
        Err(problems) => problems[0].problem.clone(),
    }
}

#[test]
fn deep_and_long_texts_are_bounded() {
    for count in [1, 10, 30, 70, 200, 1_000, 1_990, 20_000] {
        for (open, middle, close) in [
            ("(", "value.flag", ")"),
            ("NOT ", "value.flag", ""),
            ("- ", "value.n", ""),
            ("lower(", "value.name", ")"),
            ("CASE WHEN value.flag THEN ", "1", " END"),
            ("CAST(", "1", " AS INT)"),
            ("value.flag AND (", "value.flag", ")"),
            ("value.flag OR ", "value.flag", ""),
            ("value.flag = (", "value.flag", ")"),
            ("1 + ", "1", ""),
            ("1 * (2 + ", "1", ")"),
            ("'a' || ", "'b'", ""),
            ("", "value.tags", "[0]"),
            ("", "value.n", "::INT"),
            ("", "value.name", " LIKE 'a'"),
            ("", "value.n", " DIV 2"),
            ("", "value.customer", ".id"),
            ("value.n IN (", "1", ")"),
            ("value.n BETWEEN 1 AND ", "2", ""),
            ("if(value.flag, ", "1", ", 2)"),
            ("INTERVAL ", "1", " DAY"),
            ("case ", "x", ""),
            ("[", "1", "]"),
            ("{", "1", "}"),
            ("/*", "1", "*/"),
            ("'", "", ""),
            ("ARRAY<", "INT", ">"),
            ("CAST(1 AS ARRAY<", "INT", ">)"),
        ] {
            assert!(!outcome(open, middle, close, count).is_empty());
        }
    }
    assert_eq!(outcome("(", "value.flag", ")", 20), "sound");
    assert_eq!(outcome("(", "value.flag", ")", 200), "the filter nests too deeply");
    assert!(outcome("1 + ", "1", "", 150).starts_with("the expression is more than 100 operators deep"));
    assert_eq!(outcome("value.flag OR ", "value.flag", "", 400), "sound");
    assert!(outcome("value.flag OR ", "value.flag", "", FILTER_PARTS_MAX).ends_with("names and operators"));
    assert!(outcome(" ", "true", "", FILTER_TEXT_BYTES_MAX).ends_with("bytes"));
}

#[test]
fn a_list_of_thousands_of_values_is_sound() {
    let numbers: Vec<String> = (0..8_000).map(|number| number.to_string()).collect();
    let text = format!("value.n IN ({})", numbers.join(", "));
    check(&text, &asked_columns()).expect("a long list");
}

#[test]
fn operands_that_are_compared_twice_do_not_double_at_every_level() {
    const MANY: &str = "operands that are compared more than once come to more than 10000 parts";
    for (open, middle, close) in [
        ("(", "value.flag", " BETWEEN false AND true)"),
        ("CASE ", "value.flag", " WHEN true THEN true WHEN false THEN false END"),
        ("nullif(", "value.n", ", 5L)"),
    ] {
        let nested = |count: usize| {
            let compare = if middle == "value.n" { " > 1" } else { "" };
            let text = format!("{}{middle}{}{compare}", open.repeat(count), close.repeat(count));
            let problems = check(&text, &asked_columns()).err().unwrap_or_default();
            problems.into_iter().map(|problem| problem.problem).collect::<Vec<_>>()
        };
        assert_eq!(nested(5), Vec::<std::string::String>::new(), "{open}");
        let problems = nested(25);
        assert_eq!(problems.len(), 1, "{open}: {problems:?}");
        assert!(problems[0].starts_with(MANY), "{open}: {problems:?}");
    }
    let many = vec!["value.n BETWEEN 1 AND 2"; 300].join(" OR ");
    check(&many, &asked_columns()).expect("side by side they add up slowly");
    let whens: std::string::String = (0..600).map(|number| format!(" WHEN {number} THEN true")).collect();
    check(&format!("CASE value.n{whens} END"), &asked_columns()).expect("a long CASE");
}
