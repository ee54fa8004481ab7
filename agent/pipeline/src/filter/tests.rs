//! Every predicate of the corpus on every record of it, beside what the real Spark answered (`tests/python/spark_filter.py`).
//!
//! A record where Spark raised must not be kept, but for the predicates that are listed here with a reason.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_arith::boolean::{and_kleene, or_kleene};
use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow_schema::{ArrowError, Field as ArrowField, Schema};
use serde_json::Value;
use stream_decode::arrow_types::arrow_field;
use stream_decode::decoder::Decoder;
use stream_decode::plan::Plan;
use stream_spec::filter;
use stream_spec::types::{DataType, Field};

use super::Predicate;
use super::limits::RLIKE_STEPS_MAX;
use super::work::Work;

const CORPUS: &str = include_str!("../../tests/data/filter.jsonl");

/// Where Spark raises for a record and ours keeps it: what raised is null here, and the predicate is true of a null.
const TRUE_OF_NULL: &[(&str, &str)] = &[
    ("value.tags[0] IS NULL", "an element out of bounds is a null"),
    ("value.items[0] IS NULL", "an element out of bounds is a null"),
    ("value.items[1].qty IS NULL", "an element out of bounds is a null"),
    ("value.i IN (1 / 0, 42)", "another member is equal"),
    ("value.day IN ('2024-01-31', '1970-01-01', 'nonsense')", "another member is equal"),
    ("coalesce(value.i / value.i8, 1) = 1", "a division by zero is a null"),
];

struct Corpus {
    columns: Vec<Field>,
    batch: RecordBatch,
    predicates: Vec<Value>,
}

fn corpus() -> Corpus {
    let mut lines = CORPUS
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    let head = lines.next().expect("a head");
    let columns: Vec<Field> = serde_json::from_value(head["columns"].clone()).expect("columns");
    let (records, predicates): (Vec<Value>, Vec<Value>) = lines.partition(|line| line.get("record").is_some());
    let records: Vec<&Value> = records.iter().map(|line| &line["record"]).collect();
    Corpus {
        batch: decoded(&columns, &records),
        columns,
        predicates,
    }
}

/// The records as the agent has them once they are decoded.
fn decoded(columns: &[Field], records: &[&Value]) -> RecordBatch {
    let arrays: Vec<ArrayRef> = columns
        .iter()
        .map(|column| -> ArrayRef {
            let cells = records.iter().map(|record| &record[&column.name]);
            let numbers = cells.clone().map(Value::as_i64);
            match column.name.as_str() {
                "value" => {
                    let plan = Plan::json(&column.data_type).expect("a plan");
                    let mut decoder = Decoder::new(vec![plan]).expect("a decoder");
                    let payloads: Vec<Option<&[u8]>> = cells.map(|cell| cell.as_str().map(str::as_bytes)).collect();
                    decoder.decode(&payloads, &[]).expect("decoded").array
                }
                "key" | "kafka_topic" => Arc::new(cells.map(Value::as_str).collect::<StringArray>()),
                "kafka_partition" => Arc::new(
                    numbers
                        .map(|number| number.map(|number| i32::try_from(number).expect("small")))
                        .collect::<Int32Array>(),
                ),
                "stream_record_timestamp" => Arc::new(numbers.collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
                _ => Arc::new(numbers.collect::<Int64Array>()),
            }
        })
        .collect();
    let fields: Vec<ArrowField> = columns.iter().map(arrow_field).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("a batch")
}

fn answers(corpus: &Corpus, text: &str) -> Result<String, String> {
    let checked = filter::check(text, &corpus.columns).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        problems.join("; ")
    })?;
    let predicate = Predicate::compile(&checked, &corpus.batch.schema()).map_err(|error| format!("NOT COMPILED: {error}"))?;
    let kept = predicate
        .evaluate(&corpus.batch)
        .map_err(|error| format!("NOT EVALUATED: {error}"))?
        .kept;
    let letter = |row: usize| match kept.is_valid(row).then(|| kept.value(row)) {
        Some(true) => 't',
        Some(false) => 'f',
        None => 'n',
    };
    Ok((0..kept.len()).map(letter).collect())
}

/// One text column of such rows.
fn texts(rows: impl Iterator<Item = String>) -> (Vec<Field>, RecordBatch) {
    let columns = vec![Field::new("key", DataType::String)];
    let schema = Schema::new(columns.iter().map(arrow_field).collect::<Vec<_>>());
    let texts: ArrayRef = Arc::new(rows.map(Some).collect::<StringArray>());
    (columns, RecordBatch::try_new(Arc::new(schema), vec![texts]).expect("a batch"))
}

fn compiled(text: &str, columns: &[Field], batch: &RecordBatch) -> Predicate {
    let checked = filter::check(text, columns).expect("checked");
    Predicate::compile(&checked, &batch.schema()).expect("compiled")
}

#[test]
fn all_patterns_of_a_filter_and_all_texts_of_a_batch_share_a_bounded_work() {
    let hopeless = "a".repeat(60);
    let (columns, batch) = texts((0..10_000).map(|row| if row == 0 { "b".to_owned() } else { hopeless.clone() }));
    let catastrophic = r"key RLIKE r'^b|(a|aa)+c\1'";
    for (text, unanswered) in [
        (catastrophic.to_owned(), 9_999),
        (format!("{catastrophic} OR {catastrophic}"), 19_999),
    ] {
        let predicate = compiled(&text, &columns, &batch);
        let work = Work::of(0, 12_000_000);
        let said = predicate.evaluate_within(&batch, &work).expect("evaluated");
        assert_eq!(work.left().1, 0, "it would take more");
        assert!(said.kept.is_valid(0) && said.kept.value(0));
        assert_eq!(said.unanswered, unanswered, "of {text}");
    }
    // What an ordinary pattern takes, on either way of matching, is far from it.
    let (columns, batch) = texts((0..10_000).map(|row| format!("user-{row}@example.org is at the café")));
    for text in [r"key RLIKE r'\w+@[a-z]+\.org'", r"key RLIKE r'(?!root)(\w+)-\d+.*\bat\b.*é$'"] {
        let (predicate, work) = (compiled(text, &columns, &batch), Work::new());
        let said = predicate.evaluate_within(&batch, &work).expect("evaluated");
        assert_eq!((said.kept.true_count(), said.unanswered), (10_000, 0), "{text}");
        assert!(work.left().1 > RLIKE_STEPS_MAX / 10 * 9, "{text} left {:?}", work.left());
    }
}

#[test]
fn what_the_left_side_has_decided_is_not_asked_of_the_right() {
    let (columns, batch) = texts((0..1000).map(|row| row.to_string()));
    let steps = |text: &str| {
        let (predicate, work) = (compiled(text, &columns, &batch), Work::new());
        let said = predicate.evaluate_within(&batch, &work).expect("evaluated");
        (said.kept.true_count(), RLIKE_STEPS_MAX - work.left().1)
    };
    // A short text takes one step of a regular pattern: the steps are the rows that were asked of.
    for (text, expected) in [
        ("key RLIKE '9'", (271, 1000)),
        ("length(key) > 9 AND key RLIKE '9'", (0, 0)),
        ("length(key) < 9 OR key RLIKE '9'", (1000, 0)),
        ("key = '999' AND key RLIKE '9'", (1, 1)),
        ("length(key) = 2 AND key RLIKE '9' AND key RLIKE '8'", (2, 90 + 18)),
        ("length(key) != 2 OR key RLIKE '9' OR key RLIKE '8'", (910 + 34, 90 + 90)),
        ("length(key) = 3 AND key RLIKE '9'", (252, 1000)),
        ("nullif(key, '7') IS NULL AND key RLIKE '7'", (1, 1)),
        ("nullif(key, '7') < '0' AND key RLIKE '9'", (0, 1)),
        ("nullif(key, '7') >= '0' OR key RLIKE '7'", (1000, 1)),
    ] {
        assert_eq!(steps(text), expected, "{text}");
    }
}

type Join = fn(&BooleanArray, &BooleanArray) -> Result<BooleanArray, ArrowError>;

#[test]
fn narrowed_or_not_every_row_has_the_answer_of_all_operands() {
    let all = [Some(true), Some(false), None];
    // Each of the combinations once, beside so many rows that one value decides.
    for decided in [true, false] {
        let mut operands: [Vec<Option<bool>>; 3] = std::array::from_fn(|_| vec![Some(decided); 500]);
        for combination in 0..27 {
            for (place, operand) in operands.iter_mut().enumerate() {
                operand.insert(
                    combination * 17,
                    all[combination / 3_usize.pow(u32::try_from(place).expect("small")) % 3],
                );
            }
        }
        let columns: Vec<Field> = ["a", "b", "c"].map(|name| Field::new(name, DataType::Boolean)).into();
        let [a, b, c] = operands.map(BooleanArray::from);
        let fields: Vec<ArrowField> = columns.iter().map(arrow_field).collect();
        let arrays: Vec<ArrayRef> = [&a, &b, &c].map(|operand| Arc::new(operand.clone()) as ArrayRef).into();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("a batch");
        let joins: [(&str, Join); 2] = [("AND", and_kleene), ("OR", or_kleene)];
        for (word, join) in joins {
            let predicate = compiled(&format!("a {word} b {word} c"), &columns, &batch);
            let said = predicate.evaluate(&batch).expect("evaluated").kept;
            let expected = join(&join(&a, &b).expect("joined"), &c).expect("joined");
            assert!(said.iter().eq(expected.iter()), "{word} beside {decided}");
        }
    }
}

fn agrees(spark: char, ours: char, may_keep: bool) -> bool {
    match spark {
        'e' => ours != 't' || may_keep,
        spark => spark == ours,
    }
}

#[test]
fn predicates_keep_the_records_that_spark_keeps() {
    let corpus = corpus();
    let (mut differences, mut compared, mut refused) = (String::new(), 0, 0);
    for case in &corpus.predicates {
        let text = case["predicate"].as_str().expect("a predicate");
        let answer = answers(&corpus, text);
        let complaint = match (case["expected"].as_str(), case["refused"].as_str(), answer) {
            (Some(expected), None, Ok(answer)) => {
                compared += 1;
                let may_keep = TRUE_OF_NULL.iter().any(|(listed, _)| *listed == text);
                let same = expected
                    .chars()
                    .zip(answer.chars())
                    .all(|(spark, ours)| agrees(spark, ours, may_keep));
                let needed = !may_keep
                    || expected
                        .chars()
                        .zip(answer.chars())
                        .any(|(spark, ours)| !agrees(spark, ours, false));
                (!same || !needed || expected.len() != answer.len()).then(|| format!("spark {expected}\n    ours  {answer}"))
            }
            (Some(_), Some(_), Err(_)) | (None, _, Err(_)) => {
                refused += 1;
                None
            }
            // A bare NULL is no predicate for Spark; it is typed here, and keeps nothing.
            (None, _, Ok(answer)) if text == "NULL" && answer.chars().all(|letter| letter == 'n') => None,
            (None, _, Ok(answer)) => Some(format!("spark refuses: {}\n    ours  {answer}", case["spark_refuses"])),
            (Some(_), Some(reason), Ok(_)) => Some(format!("is not refused, though the corpus says: {reason}")),
            (Some(_), None, Err(error)) => Some(format!("refused: {error}")),
        };
        if let Some(complaint) = complaint {
            let written = writeln!(differences, "{text}\n    {complaint}");
            assert!(written.is_ok());
        }
    }
    assert!(differences.is_empty(), "compared {compared}, refused {refused}:\n{differences}");
    assert!(compared > 700, "{compared} predicates compared");
}
