//! The ingestion table's columns (product part T1): from schemas, source and exclusions, and over a stream's whole history.
//!
//! A column once in the table stays in it: types only widen, removed fields keep their column. Nothing here knows Delta.

mod prune;
mod registry;
mod union;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::options::kafka::INCLUDE_HEADERS;
use crate::path::{self, ColumnPath, KEY, PathError, VALUE};
use crate::schema;
use crate::stream::{DirectSchemas, Side, SourceConfig};
use crate::types::{DataType, Field};
use crate::violation::Violation;

pub use registry::{columns_of_versions, grown, never_ingested_beside};

/// The source's own timestamp of a record.
pub const STREAM_RECORD_TIMESTAMP: &str = "stream_record_timestamp";
/// Where a row came from: `stream` or `backfill`.
pub const RECORD_SOURCE: &str = "record_source";
/// Kafka topic of a record.
pub const KAFKA_TOPIC: &str = "kafka_topic";
/// Kafka partition of a record.
pub const KAFKA_PARTITION: &str = "kafka_partition";
/// Kafka offset of a record.
pub const KAFKA_OFFSET: &str = "kafka_offset";
/// Kafka record headers, where the stream asks for them.
pub const HEADERS: &str = "headers";
/// Kinesis stream of a record.
pub const KINESIS_STREAM: &str = "kinesis_stream";
/// Kinesis shard of a record.
pub const KINESIS_SHARD_ID: &str = "kinesis_shard_id";
/// Kinesis sequence number of a record.
pub const KINESIS_SEQUENCE_NUMBER: &str = "kinesis_sequence_number";

/// All columns of a new stream's table, in order.
///
/// Errors: a schema that cannot be parsed, an excluded path that does not exist, a struct of which nothing is left.
pub fn columns(source: &SourceConfig, schemas: &DirectSchemas, excluded: &BTreeSet<String>) -> Result<Vec<Field>, Vec<Violation>> {
    columns_of_history(source, std::slice::from_ref(schemas), excluded)
}

/// All columns of a stream's table after every accepted schema, oldest first.
///
/// `never_ingested` are the paths that were excluded when they appeared and have been ever since (see
/// [`never_ingested`]): they have no column. Errors: as [`columns`], and two schemas that no column can hold both of.
pub fn columns_of_history(
    source: &SourceConfig,
    history: &[DirectSchemas],
    never_ingested: &BTreeSet<String>,
) -> Result<Vec<Field>, Vec<Violation>> {
    let (key, value) = union_of_sides(history)?;
    let mut columns = with_metadata(source, key, value);
    let refused = without(&mut columns, never_ingested);
    let violation = |(text, error): (String, PathError)| Violation::new("excluded_columns", &text, error.problem, error.remedy);
    let violations: Vec<Violation> = refused.into_iter().map(violation).collect();
    if violations.is_empty() { Ok(columns) } else { Err(violations) }
}

/// The paths that have no column after an update: those that had none before and stay excluded, and those that arrive
/// excluded (product part X3). A path that is included once has a column forever.
///
/// `before` is the set in force, `history` every schema before the update.
pub fn never_ingested(
    before: &BTreeSet<String>,
    history: &[DirectSchemas],
    new_excluded: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Vec<Violation>> {
    let known: Vec<Field> = Side::BOTH
        .into_iter()
        .map(|side| union_of_side(history, side).map(|data_type| Field::new(side.column(), data_type)))
        .collect::<Result<_, _>>()?;
    Ok(never_ingested_of(before, &known, new_excluded))
}

fn never_ingested_of(before: &BTreeSet<String>, known: &[Field], new_excluded: &BTreeSet<String>) -> BTreeSet<String> {
    let parsed =
        |texts: &BTreeSet<String>| -> Vec<ColumnPath> { texts.iter().filter_map(|text| ColumnPath::parse_excluded(text).ok()).collect() };
    let before = parsed(before);
    let mut after = BTreeSet::new();
    for path in parsed(new_excluded) {
        if path::resolve(&path, known).is_err() {
            after.insert(path.to_string());
        }
        // What two sets of paths have in common is, pair by pair, the inner one.
        for old in &before {
            if path.contains(old) {
                after.insert(old.to_string());
            } else if old.contains(&path) {
                after.insert(path.to_string());
            }
        }
    }
    after
}

/// Paths whose column must be widened from INT to BIGINT to hold `after`, as messages show them.
pub fn widened(before: &[Field], after: &[Field]) -> Vec<String> {
    let mut paths = Vec::new();
    for new in after {
        if let Some(old) = before.iter().find(|old| old.name == new.name) {
            union::collect_widened(&old.data_type, &new.data_type, &new.name, &mut paths);
        }
    }
    paths
}

/// Takes paths out of columns; answers the paths that cannot be taken out, and why.
pub(crate) fn without(columns: &mut [Field], excluded: &BTreeSet<String>) -> Vec<(String, PathError)> {
    let mut refused = Vec::new();
    let mut paths: Vec<ColumnPath> = Vec::new();
    for text in excluded {
        match ColumnPath::parse_excluded(text) {
            // Sorted texts bring a struct before what is inside it: that is gone with the struct.
            Ok(path) if paths.iter().any(|outer| outer.contains(&path)) => {}
            Ok(path) => paths.push(path),
            Err(error) => refused.push((text.clone(), error)),
        }
    }
    for path in paths {
        if let Err(error) = prune::remove(columns, &path) {
            refused.push((path.to_string(), error));
        }
    }
    refused
}

/// For each side, one type that holds every version's values.
fn union_of_sides(history: &[DirectSchemas]) -> Result<(DataType, DataType), Vec<Violation>> {
    match (union_of_side(history, Side::Key), union_of_side(history, Side::Payload)) {
        (Ok(key), Ok(value)) => Ok((key, value)),
        (key, value) => Err([key.err(), value.err()].into_iter().flatten().flatten().collect()),
    }
}

/// One type that holds every version's values of a side.
pub(crate) fn union_of_side(history: &[DirectSchemas], side: Side) -> Result<DataType, Vec<Violation>> {
    let mut versions = history.iter().map(|schemas| side_type(schemas, side));
    let mut union = versions.next().unwrap_or(Ok(DataType::String))?;
    for version in versions {
        union = union::union(&union, &version?, side.column()).map_err(|violation| vec![violation])?;
    }
    Ok(union)
}

fn side_type(schemas: &DirectSchemas, side: Side) -> Result<DataType, Vec<Violation>> {
    let Some(text) = schemas.side(side) else {
        return Ok(DataType::String);
    };
    schema::parse(text).map(|parsed| parsed.data_type).map_err(|problems| {
        let field = format!("{}.{}", side.attribute(), text.attribute());
        problems.iter().map(|problem| problem.violation(field.clone())).collect()
    })
}

/// Key and value with the columns that the source and the agent add.
pub(crate) fn with_metadata(source: &SourceConfig, key: DataType, value: DataType) -> Vec<Field> {
    let mut columns = vec![
        Field::new(KEY, key),
        Field::new(VALUE, value),
        Field::new(STREAM_RECORD_TIMESTAMP, DataType::Timestamp),
        Field::new(RECORD_SOURCE, DataType::String),
    ];
    match source {
        SourceConfig::Kafka(kafka) => {
            columns.push(Field::new(KAFKA_TOPIC, DataType::String));
            columns.push(Field::new(KAFKA_PARTITION, DataType::Int));
            columns.push(Field::new(KAFKA_OFFSET, DataType::BigInt));
            if kafka
                .extra_options
                .get(INCLUDE_HEADERS)
                .is_some_and(|text| text.eq_ignore_ascii_case("true"))
            {
                columns.push(Field::new(HEADERS, headers_type()));
            }
        }
        SourceConfig::Kinesis(_) => {
            columns.push(Field::new(KINESIS_STREAM, DataType::String));
            columns.push(Field::new(KINESIS_SHARD_ID, DataType::String));
            columns.push(Field::new(KINESIS_SEQUENCE_NUMBER, DataType::String));
        }
    }
    columns
}

/// [`with_metadata`] of Kafka with headers and of Kinesis at once.
pub(crate) fn with_any_metadata(key: DataType, value: DataType) -> Vec<Field> {
    let fixed = [
        (KEY, key),
        (VALUE, value),
        (STREAM_RECORD_TIMESTAMP, DataType::Timestamp),
        (RECORD_SOURCE, DataType::String),
        (KAFKA_TOPIC, DataType::String),
        (KAFKA_PARTITION, DataType::Int),
        (KAFKA_OFFSET, DataType::BigInt),
        (HEADERS, headers_type()),
        (KINESIS_STREAM, DataType::String),
        (KINESIS_SHARD_ID, DataType::String),
        (KINESIS_SEQUENCE_NUMBER, DataType::String),
    ];
    fixed.into_iter().map(|(name, data_type)| Field::new(name, data_type)).collect()
}

fn headers_type() -> DataType {
    let header = vec![Field::new("key", DataType::String), Field::new("value", DataType::Binary)];
    DataType::Array(Box::new(DataType::Struct(header)))
}
