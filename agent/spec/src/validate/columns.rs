//! Paths of a definition: excluded and deduplication columns, what is left of the table, and what the record filter reads
//! (product parts B4, D6, X1).

use crate::filter;
use crate::path::{self, ColumnPath, PathError};
use crate::schema;
use crate::stream::{SchemaConfig, Side, SourceConfig, StreamSpec};
use crate::table;
use crate::types::{DataType, Field};
use crate::violation::Violation;

const EXCLUDED: &str = "excluded_columns";
const DEDUPLICATION: &str = "ingestion_config.deduplication_columns";

pub(super) fn check(stream: &StreamSpec, violations: &mut Vec<Violation>) {
    let columns = Columns::of(stream);
    let excluded = parsed(&stream.excluded_columns, EXCLUDED, ColumnPath::parse_excluded, violations);
    let deduplication = parsed(
        &stream.ingestion.deduplication_columns,
        DEDUPLICATION,
        ColumnPath::parse,
        violations,
    );
    for (field, paths) in [(EXCLUDED, &excluded), (DEDUPLICATION, &deduplication)] {
        for path in paths {
            if let Err(error) = columns.resolve(path) {
                violations.push(Violation::new(field, &path.to_string(), error.problem, error.remedy));
            }
        }
    }
    for path in &excluded {
        for column in deduplication.iter().filter(|column| column.overlaps(path)) {
            let problem = format!("the path overlaps the deduplication column `{column}`");
            violations.push(Violation::new(
                EXCLUDED,
                &path.to_string(),
                problem,
                "take it out of one of the two",
            ));
        }
    }
    if violations.is_empty()
        && let SchemaConfig::Direct(schemas) = &stream.schemas
        && columns.unknown.is_empty()
    {
        // The paths exist: what this adds is a struct of which nothing is left.
        violations.extend(
            table::columns(&stream.source, schemas, &stream.excluded_columns)
                .err()
                .unwrap_or_default(),
        );
    }
}

/// The record filter, as far as schemas say what it may read; with a registry only its form.
pub(super) fn check_filter(stream: &StreamSpec, violations: &mut Vec<Violation>) {
    let Some(text) = stream.record_type_filter.as_deref() else { return };
    if text.trim().is_empty() {
        let remedy = "leave it out, or write a predicate as in `value.event_type = 'transaction'`";
        violations.push(Violation::new(filter::FIELD, "", "the filter is empty", remedy));
        return;
    }
    let checked = match (known_type(stream, Side::Key), known_type(stream, Side::Payload)) {
        (Some(key), Some(value)) => filter::check(text, &filter::columns(&stream.source, key, value)).map(drop),
        _ => filter::check_form(text),
    };
    violations.extend(checked.err().unwrap_or_default());
}

/// The table's columns before exclusions, as far as schemas say what they are.
struct Columns {
    columns: Vec<Field>,
    /// Sides whose type is not known: every path may exist in them.
    unknown: Vec<Side>,
}

impl Columns {
    fn of(stream: &StreamSpec) -> Self {
        let (key, value) = (known_type(stream, Side::Key), known_type(stream, Side::Payload));
        let mut unknown = Vec::new();
        unknown.extend(key.is_none().then_some(Side::Key));
        unknown.extend(value.is_none().then_some(Side::Payload));
        let plain = DataType::String;
        let columns = table::with_metadata(&stream.source, key.unwrap_or(plain.clone()), value.unwrap_or(plain));
        Self { columns, unknown }
    }

    fn resolve(&self, path: &ColumnPath) -> Result<(), PathError> {
        if self.unknown.iter().any(|side| side.column() == path.column()) {
            return Ok(());
        }
        path::resolve(path, &self.columns).map(drop)
    }
}

/// A side's type: a string without a schema, nothing where its fields are in a registry or its text cannot be read
/// (which is said elsewhere).
fn known_type(stream: &StreamSpec, side: Side) -> Option<DataType> {
    let text = match &stream.schemas {
        // The key of a Kinesis record is its partition key.
        _ if matches!(stream.source, SourceConfig::Kinesis(_)) && side == Side::Key => None,
        SchemaConfig::Direct(schemas) => schemas.side(side),
        SchemaConfig::Registry(registry) if registry.side(side).is_some() => return None,
        SchemaConfig::Registry(_) => None,
    };
    match text {
        None => Some(DataType::String),
        Some(text) => schema::parse(text).ok().map(|parsed| parsed.data_type),
    }
}

fn parsed<'a>(
    texts: impl IntoIterator<Item = &'a String>,
    field: &str,
    parse: fn(&str) -> Result<ColumnPath, PathError>,
    violations: &mut Vec<Violation>,
) -> Vec<ColumnPath> {
    let mut paths = Vec::new();
    for text in texts {
        match parse(text) {
            Ok(path) => paths.push(path),
            Err(error) => violations.push(Violation::new(field, text, error.problem, error.remedy)),
        }
    }
    paths
}
