//! The columns of a stream whose schemas come from a registry (product part D5): no list of every version is kept, so the table's own
//! columns stand for those before.

use std::collections::BTreeSet;

use super::union::collect_widened;
use super::{union, union_of_sides, with_metadata, without};
use crate::path::{self, ColumnPath};
use crate::stream::{DirectSchemas, SourceConfig};
use crate::types::Field;
use crate::violation::Violation;

/// Where a definition says that a registry is used.
const REGISTRY: &str = "schema_config.schema_registry_config";

/// All columns by one version of each side's schema. A path of `never_ingested` that they do not have is one of a later version
/// (product part X1).
///
/// Errors: a schema that cannot be parsed, a struct of which nothing is left.
pub fn columns_of_versions(
    source: &SourceConfig,
    schemas: &DirectSchemas,
    never_ingested: &BTreeSet<String>,
) -> Result<Vec<Field>, Vec<Violation>> {
    let (key, value) = union_of_sides(std::slice::from_ref(schemas))?;
    let mut columns = with_metadata(source, key, value);
    let is_there = |text: &&String| ColumnPath::parse_excluded(text).is_ok_and(|path| path::resolve(&path, &columns).is_ok());
    let there: BTreeSet<String> = never_ingested.iter().filter(is_there).cloned().collect();
    let refused = without(&mut columns, &there);
    let violations: Vec<Violation> = refused
        .into_iter()
        .map(|(text, error)| Violation::new("excluded_columns", &text, error.problem, error.remedy))
        .collect();
    if violations.is_empty() { Ok(columns) } else { Err(violations) }
}

/// A table's columns with those of another version of its schemas. Fields may come and go, and INT become BIGINT; any other change of
/// a type is refused.
pub fn grown(table: &[Field], version: &[Field]) -> Result<Vec<Field>, Vec<Violation>> {
    let mut grown = table.to_vec();
    let mut violations = Vec::new();
    for new in version {
        let Some(known) = grown.iter_mut().find(|known| known.name == new.name) else {
            grown.push(new.clone());
            continue;
        };
        let mut narrowed = Vec::new();
        collect_widened(&new.data_type, &known.data_type, &new.name, &mut narrowed);
        violations.extend(
            narrowed
                .iter()
                .map(|path| refused(path, "the column is BIGINT and would be INT".to_owned())),
        );
        match union::union(&known.data_type, &new.data_type, &new.name) {
            Ok(both) => known.data_type = both,
            Err(violation) => violations.push(refused(&violation_path(&violation), violation.problem)),
        }
    }
    if violations.is_empty() { Ok(grown) } else { Err(violations) }
}

fn refused(path: &str, problem: String) -> Violation {
    let remedy = "register a version that keeps the type, under another name of the field if need be";
    Violation::new(REGISTRY, path, problem, remedy)
}

/// The path that a union could not be made of; it is shown in quotes.
fn violation_path(violation: &Violation) -> String {
    violation.value.trim_matches('"').to_owned()
}

/// The paths that have no column after a change of exclusions: those that had none before and stay excluded, and those that the
/// table does not have (product part X3).
pub fn never_ingested_beside(before: &BTreeSet<String>, table: &[Field], new_excluded: &BTreeSet<String>) -> BTreeSet<String> {
    super::never_ingested_of(before, table, new_excluded)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::stream::{KafkaSource, SchemaText, SubscriptionMode};
    use crate::types::DataType;

    fn struct_of(fields: &[(&str, DataType)]) -> Vec<Field> {
        let fields = fields
            .iter()
            .map(|(name, data_type)| Field::new(*name, data_type.clone()))
            .collect();
        vec![Field::new("value", DataType::Struct(fields))]
    }

    fn shown(result: Result<Vec<Field>, Vec<Violation>>) -> String {
        match result {
            Ok(columns) => columns
                .iter()
                .map(|field| field.data_type.to_string())
                .collect::<Vec<_>>()
                .join(" "),
            Err(violations) => violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        }
    }

    #[test]
    fn fields_come_and_go_and_int_becomes_bigint_and_nothing_else() {
        use DataType::{Array, BigInt, Int, String};
        let table = struct_of(&[("a", Int), ("b", String)]);
        for (version, expected) in [
            (struct_of(&[("a", Int), ("b", String)]), "STRUCT<a: INT, b: STRING>"),
            (struct_of(&[("b", String), ("c", Int)]), "STRUCT<a: INT, b: STRING, c: INT>"),
            (struct_of(&[("a", BigInt)]), "STRUCT<a: BIGINT, b: STRING>"),
        ] {
            assert_eq!(shown(grown(&table, &version)), expected);
        }
        for (before, version, said) in [
            (&table, struct_of(&[("b", Int)]), "`value.b` was STRING"),
            (&struct_of(&[("a", BigInt)]), struct_of(&[("a", Int)]), "BIGINT and would be INT"),
            (&table, struct_of(&[("a", Array(Box::new(Int)))]), "ARRAY"),
            (&table, vec![Field::new("value", String)], "`value` was STRUCT"),
        ] {
            let found = shown(grown(before, &version));
            assert!(found.contains(said) && found.contains("register a version"), "{found}");
        }
    }

    #[test]
    fn an_excluded_path_may_belong_to_a_later_version() {
        let source = SourceConfig::Kafka(KafkaSource {
            subscription: SubscriptionMode::Subscribe("t".to_owned()),
            extra_options: BTreeMap::new(),
        });
        let text = r#"{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "int"}]}"#;
        let schemas = DirectSchemas {
            key: None,
            payload: Some(SchemaText::Avro(text.to_owned())),
        };
        let excluded = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        let columns = columns_of_versions(&source, &schemas, &excluded(&["value.b", "value.later", "key.id"])).expect("columns");
        assert_eq!(columns[1].data_type.to_string(), "STRUCT<a: INT>");
        let nothing_left = shown(columns_of_versions(&source, &schemas, &excluded(&["value.a", "value.b"])));
        assert!(nothing_left.contains("nothing is left of `value`"), "{nothing_left}");
        let table = columns_of_versions(&source, &schemas, &excluded(&["value.b"])).expect("columns");
        assert_eq!(
            never_ingested_beside(&excluded(&["value.b"]), &table, &excluded(&["value.a", "value.b", "value.later"])),
            excluded(&["value.b", "value.later"])
        );
        assert_eq!(
            never_ingested_beside(&excluded(&["value.b"]), &table, &excluded(&[])),
            excluded(&[])
        );
    }
}
