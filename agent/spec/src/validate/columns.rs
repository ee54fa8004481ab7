//! Paths of a definition: excluded and deduplication columns, and what is left of the table (product parts B4, X1).

use crate::path::{self, ColumnPath, KEY, PathError, VALUE};
use crate::schema;
use crate::stream::{DirectSchemas, SchemaConfig, SchemaText, SourceConfig, StreamSpec};
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
        if columns.kinesis && path.column() == KEY {
            let remedy = "take it out: the key of a Kinesis stream is a string";
            violations.push(Violation::new(
                EXCLUDED,
                &path.to_string(),
                "a Kinesis stream's key has no fields",
                remedy,
            ));
        }
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
        && columns.are_known()
    {
        // The paths exist: what this adds is a struct of which nothing is left.
        violations.extend(
            table::columns(&stream.source, schemas, &stream.excluded_columns)
                .err()
                .unwrap_or_default(),
        );
    }
}

/// Key, value and metadata columns, as far as schemas say what they are.
struct Columns {
    key: Option<DataType>,
    value: Option<DataType>,
    metadata: Vec<Field>,
    kinesis: bool,
}

impl Columns {
    fn of(stream: &StreamSpec) -> Self {
        let (key, value) = match &stream.schemas {
            SchemaConfig::Direct(DirectSchemas { key, payload }) => (known_type(key.as_ref()), known_type(payload.as_ref())),
            SchemaConfig::Registry(registry) => {
                // A registry's fields are not known here, and a path may come before its field (product part X1).
                let side = |subject: bool| (!subject).then_some(DataType::String);
                (side(registry.key.is_some()), side(registry.payload.is_some()))
            }
        };
        let mut metadata = table::with_metadata(&stream.source, DataType::String, DataType::String);
        metadata.retain(|column| column.name != KEY && column.name != VALUE);
        Self {
            key,
            value,
            metadata,
            kinesis: matches!(stream.source, SourceConfig::Kinesis(_)),
        }
    }

    fn are_known(&self) -> bool {
        self.key.is_some() && self.value.is_some()
    }

    /// Whether the path leads somewhere; a side that is not known has everything.
    fn resolve(&self, path: &ColumnPath) -> Result<(), PathError> {
        let side = match path.column() {
            KEY => &self.key,
            VALUE => &self.value,
            _ => {
                let mut columns = vec![Field::new(KEY, DataType::String), Field::new(VALUE, DataType::String)];
                columns.extend(self.metadata.iter().cloned());
                return path::resolve(path, &columns).map(drop);
            }
        };
        match side {
            Some(data_type) => path::resolve(path, &[Field::new(path.column(), data_type.clone())]).map(drop),
            None => Ok(()),
        }
    }
}

/// A side's type: a string without a schema, nothing where the text cannot be read (which is said elsewhere).
fn known_type(text: Option<&SchemaText>) -> Option<DataType> {
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
