//! Java 17's own answers (`tests/data/java_regex.jsonl`, written by the programs in `tests/java`), each asked of both ways of matching;
//! and what the answers cannot hold: refusals by place, bounds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the panic is the test's failure"
)]

use std::collections::BTreeMap;

use serde::Deserialize;

use super::text::{Bases, Text, holds};
use super::tree::Assertion;
use super::{JavaPattern, PatternProblem, TooMuchWork, Work};
use crate::limits::{PATTERN_TRANSLATED_BYTES_MAX, PATTERN_WORK_MAX};

#[derive(Deserialize)]
struct Answer {
    pattern: String,
    error: Option<String>,
    #[serde(default)]
    subjects: Vec<String>,
    #[serde(default)]
    find: String,
    #[serde(default)]
    matches: String,
}

/// Java's answers, and how ours compare.
#[derive(Default)]
struct Tally {
    pairs: usize,
    refused_by_both: usize,
    refused_by_us: BTreeMap<String, Vec<String>>,
    gave_up: Vec<String>,
    wrong: Vec<String>,
}

impl Tally {
    fn compare(&mut self, answer: &Answer) {
        let pattern = match (JavaPattern::parse(&answer.pattern), &answer.error) {
            (Ok(pattern), None) => pattern,
            (Ok(_), Some(error)) => return self.wrong.push(format!("{:?} is refused by Java: {error}", answer.pattern)),
            (Err(_), Some(_)) => {
                self.refused_by_both += 1;
                return;
            }
            (Err(problem), None) => {
                self.refused_by_us
                    .entry(problem.construct)
                    .or_default()
                    .push(answer.pattern.clone());
                return;
            }
        };
        let expected = answer.find.chars().zip(answer.matches.chars());
        for (subject, (find, matches)) in answer.subjects.iter().zip(expected) {
            self.pairs += 1;
            self.one(&pattern, subject, "find", find, pattern.is_found_in(subject));
            self.one(
                &pattern,
                subject,
                "find, step by step",
                find,
                pattern.slow_find(subject, &mut Work::without_end()),
            );
            self.one(&pattern, subject, "matches", matches, pattern.matches_whole(subject));
            self.one(
                &pattern,
                subject,
                "matches, step by step",
                matches,
                pattern.slow_match(subject, &mut Work::without_end()),
            );
        }
    }

    fn one(&mut self, pattern: &JavaPattern, subject: &str, what: &str, expected: char, got: Result<bool, TooMuchWork>) {
        match got {
            // Java's own stack overflowed: there is no answer to compare with.
            _ if expected == 'x' => {}
            Ok(got) if got == (expected == '1') => {}
            Ok(got) => self.wrong.push(format!("{:?} on {subject:?}: {what} is {got}", pattern.text())),
            Err(TooMuchWork) => self.gave_up.push(format!("{:?} on {subject:?}", pattern.text())),
        }
    }
}

fn answers(text: &str) -> Tally {
    let mut tally = Tally::default();
    for line in text.lines() {
        tally.compare(&serde_json::from_str(line).expect("an answer"));
    }
    tally
}

#[test]
fn no_answer_differs_from_java_s() {
    // Answers to other questions may be named: `questions.py 5 20000` asks of the seed 5, see tests/java.
    let more = std::env::var("JAVA_REGEX_ANSWERS").map(|path| std::fs::read_to_string(path).expect("the named answers"));
    let tally = answers(more.as_deref().unwrap_or(include_str!("../../tests/data/java_regex.jsonl")));
    for (construct, patterns) in &tally.refused_by_us {
        println!("refused by us: {construct}: {patterns:?}");
    }
    println!(
        "{} pairs, {} patterns refused by both, gave up on {:?}",
        tally.pairs, tally.refused_by_both, tally.gave_up
    );
    assert!(tally.wrong.is_empty(), "{} wrong:\n{}", tally.wrong.len(), tally.wrong.join("\n"));
    assert!(tally.gave_up.is_empty(), "{:?}", tally.gave_up);
}

/// Java's answers about names of topics (`tests/data/topic_patterns.jsonl`, asked by `tests/java/topics.py`). `confluentinc/librdkafka#2361`
/// and others: a pattern that is matched by another engine than the user's means other topics.
#[test]
fn patterns_of_topics_mean_what_they_mean_to_java() {
    let tally = answers(include_str!("../../tests/data/topic_patterns.jsonl"));
    assert!(tally.wrong.is_empty(), "{} wrong:\n{}", tally.wrong.len(), tally.wrong.join("\n"));
    assert!(tally.gave_up.is_empty(), "{:?}", tally.gave_up);
    assert!(tally.pairs > 8_000 && tally.refused_by_both > 20, "{} pairs", tally.pairs);
    assert!(tally.refused_by_us.is_empty(), "{:?}", tally.refused_by_us);
}

#[test]
fn a_refusal_says_what_where_and_what_to_do() {
    let cases = [
        ("orders\\.(v1", "a group that is not closed", 8, "(v1"),
        ("a**", "a quantifier of nothing", 2, "*"),
        ("[z-a]", "a range that ends before it begins", 1, "z-a]"),
        ("é\\p{Greek}", "a character property that Java does not know", 1, "\\p{Greek}"),
        ("(?P<x>a)", "`(?P…)`", 0, "(?P<x>a)"),
        ("a\\", "a `\\` at the end", 1, "\\"),
        ("(?<!.*.*)😀", "a look-behind that is too long to count", 4, ".*.*)😀"),
        ("a\\N{NOPE}", "a name of no character, or of one that is not ASCII", 1, "\\N{NOPE}"),
    ];
    for (text, construct, place, found) in cases {
        let problem = JavaPattern::parse(text).expect_err(text);
        let PatternProblem {
            construct: said,
            place: at,
            found: seen,
            remedy,
        } = &problem;
        assert_eq!((said.as_str(), *at, seen.as_str()), (construct, place, found), "{problem}");
        assert!(!remedy.is_empty());
    }
}

#[test]
fn patterns_have_a_length_and_a_depth() {
    assert!(JavaPattern::parse(&"a".repeat(10_000)).is_ok());
    assert_eq!(
        JavaPattern::parse(&"a".repeat(10_001)).expect_err("long").construct,
        "a pattern this long"
    );
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert!(
        JavaPattern::parse(&nested(49))
            .expect("49 deep")
            .matches_whole("a")
            .expect("an answer")
    );
    assert_eq!(JavaPattern::parse(&nested(50)).expect_err("deep").construct, "nesting this deep");
}

#[test]
fn matching_without_end_is_cut_off_and_regular_patterns_never_are() {
    let long = "a".repeat(40);
    // Which of the two ways is decided by the reference back.
    assert_eq!(
        JavaPattern::parse("(a|aa)+b\\1").expect("read").is_found_in(&long),
        Err(TooMuchWork)
    );
    assert_eq!(JavaPattern::parse("(a|aa)+b").expect("read").is_found_in(&long), Ok(false));
    let text = "ab".repeat(500_000);
    assert_eq!(JavaPattern::parse("(?=x)(a|b)*c").expect("read").is_found_in(&text), Ok(false));
    assert_eq!(
        JavaPattern::parse("(?:(a)|b)*\\1c").expect("read").is_found_in(&text),
        Err(TooMuchWork)
    );
}

#[test]
fn long_counted_repetitions_are_matched_step_by_step() {
    for (pattern, fast) in [
        ("[ab]{1000}", true),
        ("[ab]{1001}", false),
        ("(?:ab{1,20}){40}", true),
        ("(?:ab{1,20}){60}", false),
        ("(?:ab){2,}[a-z]{1,255}@[a-z]{1,255}", true),
        ("(?:(?:a{0,100}){0,100}){0,100}", false),
    ] {
        let pattern = JavaPattern::parse(pattern).expect("read");
        let translated = super::translate::written_bytes(&pattern.compiled.pattern);
        assert_eq!(translated.is_some(), fast, "{}", pattern.text());
    }
    let long = JavaPattern::parse("^[ab]{2000}c").expect("read");
    assert_eq!(long.is_found_in(&format!("{}c", "ab".repeat(1000))), Ok(true));
    assert_eq!(long.is_found_in(&"ab".repeat(1000)), Ok(false));
    // A text that Rust's engine would be minutes about.
    let hopeless = JavaPattern::parse("a[ab]{20000}c").expect("read");
    let mut work = Work::of(PATTERN_WORK_MAX);
    assert_eq!(hopeless.find_within(&"ab".repeat(100_000), &mut work), Err(TooMuchWork));
    assert_eq!(work.left(), 0);
}

#[test]
fn many_texts_share_their_work_whatever_comes_of_each() {
    let hopeless = "a".repeat(60);
    let backtracking = JavaPattern::parse("(a|aa)+b\\1").expect("read");
    let given = 3 * PATTERN_WORK_MAX;
    let mut work = Work::of(given);
    let (mut before, mut begun) = (given, 0);
    for _ in 0..10_000 {
        assert_eq!(backtracking.find_within(&hopeless, &mut work), Err(TooMuchWork));
        begun += u32::from(work.left() < before);
        before = work.left();
    }
    // The third text has not all of its own bound, and no other has anything.
    assert_eq!((begun, work.left()), (3, 0));
    assert_eq!(
        backtracking.find_within("aabaa", &mut work),
        Err(TooMuchWork),
        "nor one that is easy"
    );

    // The same where the text as a whole is to match.
    let mut work = Work::of(given);
    assert_eq!(backtracking.matches_within(&hopeless, &mut work), Err(TooMuchWork));
    assert!(0 < work.left() && work.left() < given);
    assert_eq!(backtracking.matches_within("aabaa", &mut work), Ok(true));
    assert_eq!(backtracking.matches_within("aabaa", &mut Work::of(0)), Err(TooMuchWork));

    // What is not hopeless costs little, on both ways.
    let mut work = Work::of(10_000 * 100);
    let regular = JavaPattern::parse("(a|aa)+b").expect("read");
    for pattern in [&regular, &backtracking] {
        for _ in 0..10_000 {
            assert_eq!(pattern.find_within("xaabaa", &mut work), Ok(true));
        }
    }
    assert!(work.left() > 0);
    // Nor do clusters and look-behinds that go over the same text again and again.
    let marks = format!("a{}", "\u{301}".repeat(20_000));
    for pattern in ["\\Xb", "(?<=😀*)b"] {
        let pattern = JavaPattern::parse(pattern).expect("read");
        assert_eq!(pattern.find_within(&marks, &mut Work::of(PATTERN_WORK_MAX)), Err(TooMuchWork));
    }
    // A match that is given steps takes no more of them, even where one step is many.
    let stars = JavaPattern::parse("(?=x)a*+b|a*+(?<=q)").expect("read");
    let mut work = Work::of(1000);
    for _ in 0..3 {
        assert_eq!(stars.find_within(&"a".repeat(5000), &mut work), Err(TooMuchWork));
        assert_eq!(work.left(), 0);
    }
}

#[test]
fn word_boundaries_among_many_marks_are_found_without_looking_at_them_again_and_again() {
    let marks = "\u{301}".repeat(200_000);
    let text = format!("a{marks}");
    let find = |pattern: &str, text: &str| JavaPattern::parse(pattern).expect("read").is_found_in(text);
    assert_eq!(find("\\bfoo", &text), Ok(false));
    assert_eq!(find("\\bfoo", &format!("{text} foo")), Ok(true));
    assert_eq!(find("\\bfoo", &format!("{text}foo")), Ok(false));
    // Marks on nothing are no word, wherever the search comes from.
    assert_eq!(find("\\bfoo", &format!(" {marks}foo")), Ok(true));
    assert_eq!(find("\\bfoo", &format!("{marks}foo")), Ok(true));
    let backwards = JavaPattern::parse("(?s).*\\bfoo").expect("read");
    assert_eq!(backwards.matches_whole(&text), Ok(false));
    // What was looked at is said, to be taken from the work: each unit once.
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut bases = Bases::default();
    let boundary = Assertion::WordBoundary {
        negative: false,
        unicode: false,
    };
    let places = (0..=units.len()).filter(|at| holds(Text(&units), boundary, *at, &mut bases));
    assert_eq!(places.collect::<Vec<_>>(), [0, units.len()]);
    assert_eq!((bases.take_looked_at(), bases.take_looked_at()), (200_001, 0));
}

#[test]
fn a_pattern_of_large_classes_is_matched_step_by_step() {
    let written = |times: usize| {
        let pattern = JavaPattern::parse(&"\\pL".repeat(times)).expect("read");
        assert_eq!(pattern.matches_whole(&"x".repeat(times)), Ok(true));
        assert_eq!(pattern.matches_whole(&"x".repeat(times - 1)), Ok(false));
        super::translate::written_bytes(&pattern.compiled.pattern)
    };
    let one = written(2).expect("translated") / 2;
    assert!(written(PATTERN_TRANSLATED_BYTES_MAX / one - 1).is_some_and(|bytes| bytes > PATTERN_TRANSLATED_BYTES_MAX / 2));
    assert_eq!(written(3333), None, "the text of it would have 40 MB");
}
