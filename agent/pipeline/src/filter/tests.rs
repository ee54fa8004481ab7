//! Every predicate of the corpus on every record of it, beside what the real Spark answered (`tests/python/spark_filter.py`).
//!
//! A record where Spark raised must not be kept, but for the predicates that are listed here with a reason.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow_schema::{Field as ArrowField, Schema};
use serde_json::Value;
use stream_decode::arrow_types::arrow_field;
use stream_decode::decoder::Decoder;
use stream_decode::plan::Plan;
use stream_spec::filter;
use stream_spec::types::Field;

use super::Predicate;

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
        .map_err(|error| format!("NOT EVALUATED: {error}"))?;
    let letter = |row: usize| match kept.is_valid(row).then(|| kept.value(row)) {
        Some(true) => 't',
        Some(false) => 'f',
        None => 'n',
    };
    Ok((0..kept.len()).map(letter).collect())
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
