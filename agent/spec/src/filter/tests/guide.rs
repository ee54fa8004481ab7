//! The guide for users, `docs/guides/record-filter.md`, says what the code does: its tables are the code's, its examples are filters.

use std::collections::BTreeSet;

use super::*;
use crate::filter::{casts, names};
use crate::limits;
use crate::stream::{KafkaSource, SchemaText, SubscriptionMode};

const GUIDE: &str = include_str!("../../../../../docs/guides/record-filter.md");

/// What stands between two lines.
fn between<'t>(begin: &str, end: &str) -> &'t str {
    let (_, behind) = GUIDE.split_once(begin).expect(begin);
    behind.split_once(end).expect(end).0
}

/// The cells of a table's rows, without its head.
fn rows(table: &str) -> Vec<Vec<&str>> {
    let lines = table.trim().lines().skip(2).take_while(|line| line.starts_with('|'));
    lines
        .map(|line| line.trim().trim_matches('|').split(" | ").map(str::trim).collect())
        .collect()
}

/// What stands in backticks.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn columns_of_the_guide() -> Vec<Field> {
    let source = SourceConfig::Kafka(KafkaSource {
        subscription: SubscriptionMode::Subscribe("orders".to_owned()),
        extra_options: Default::default(),
    });
    let schemas = DirectSchemas {
        key: None,
        payload: Some(SchemaText::Json(between("```json\n", "```").to_owned())),
    };
    columns_for(&source, &schemas).expect("the guide's schema")
}

#[test]
fn the_functions_of_the_guide_are_those_that_there_are() {
    let table = rows(between("<!-- functions -->", "<!-- end -->"));
    let listed: Vec<&str> = table.iter().flat_map(|row| code(row[0])).collect();
    let set: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(set.len(), listed.len(), "a function is there twice");
    let known: BTreeSet<&str> = names::all().filter(|name| !casts::is_function(name)).collect();
    let (converting, others): (BTreeSet<&str>, BTreeSet<&str>) = set.iter().partition(|name| casts::is_function(name));
    assert_eq!(others, known);
    assert_eq!(converting.len(), 12, "{converting:?}");
    for name in &set {
        assert!(names::unsupported(name).is_none(), "{name}");
    }
}

#[test]
fn what_the_guide_names_instead_is_what_a_refusal_names() {
    let listed: Vec<(&str, String)> = rows(between("<!-- nearest -->", "<!-- end -->"))
        .into_iter()
        .map(|row| (code(row[0])[0], row[1].replace("&#124;", "|")))
        .collect();
    let known: Vec<(&str, String)> = names::nearest().map(|(name, instead)| (name, instead.to_owned())).collect();
    assert_eq!(listed, known);
    let columns = columns_of_the_guide();
    let refused = rows(between("nothing random.\n\n", "\n\nFunctions of Spark"));
    assert!(refused.len() >= 10);
    for row in refused {
        let text = code(row[0])[0];
        let problems = check(text, &columns).expect_err(text);
        assert_eq!(problems[0].remedy, row[1], "{text}");
    }
}

#[test]
fn the_examples_of_the_guide_are_filters() {
    let columns = columns_of_the_guide();
    let examples: Vec<&str> = between("```sql\n", "```").lines().collect();
    assert!(examples.len() > 8);
    let written: Vec<String> = [
        "value.customer.name IS NULL",
        "value.items[0] IS NULL",
        "value.items.sku IS NULL",
        "value.labels['tier'] = value.labels.tier",
        "(value.id IS NULL) = value.active",
        "NOT (value.type <=> 'test')",
        "trim(BOTH 'x' FROM key) = 'a'",
        "extract(YEAR FROM value.at) = substring(key FROM 1 FOR 2)",
        "int(key) = 1",
    ]
    .map(str::to_owned)
    .into();
    for text in written.iter().map(String::as_str).chain(examples) {
        check(text, &columns).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
    }
    for literals in rows(between("| written | type |", "Times without")) {
        for literal in code(literals[0]).into_iter().filter(|literal| *literal != "\\") {
            check(&format!("{literal} IS NULL"), &columns).unwrap_or_else(|problems| panic!("{literal}: {problems:?}"));
        }
    }
}

#[test]
fn the_bounds_of_the_guide_are_those_of_the_code() {
    let thousands = |number: usize| match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{thousands},{:03}", number % 1000),
    };
    for bound in [
        format!(
            "at most {} characters, nests at most {} deep",
            thousands(limits::PATTERN_CHARS_MAX),
            limits::PATTERN_DEPTH_MAX
        ),
        format!("repetitions of more than {} characters", thousands(limits::PATTERN_COUNTED_MAX)),
        format!(
            "at most {} KiB and {} names and operators",
            limits::FILTER_TEXT_BYTES_MAX / 1024,
            thousands(limits::FILTER_PARTS_MAX)
        ),
        format!(
            "nest at most {} deep, and operators {}",
            limits::FILTER_NESTING_MAX,
            limits::FILTER_DEPTH_MAX
        ),
    ] {
        let unbroken = GUIDE.replace('\n', " ");
        assert!(unbroken.contains(&bound), "{bound}");
    }
}
