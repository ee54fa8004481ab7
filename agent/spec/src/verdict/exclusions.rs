//! Changes of excluded columns (product parts X1 to X3): forward only, checked against the schemas asked for.

use std::collections::BTreeSet;

use super::{FindingKind, Findings, UpdateQuestion};
use crate::path::{self, ColumnPath, KEY, PathError, VALUE};
use crate::stream::{DirectSchemas, Side};
use crate::table;
use crate::types::{DataType, Field};

/// The new types of both sides; `None` where a side's schema cannot be read.
pub(super) struct SideTypes {
    pub(super) key: Option<DataType>,
    pub(super) value: Option<DataType>,
}

impl SideTypes {
    /// The types that hold every version's values.
    fn over(history: &[DirectSchemas]) -> Self {
        let side = |side| table::union_of_side(history, side).ok();
        Self {
            key: side(Side::Key),
            value: side(Side::Payload),
        }
    }

    /// The type at a path of a side; `None` when the path is of another column, or the side is not known.
    pub(super) fn resolve(&self, path: &ColumnPath) -> Option<Result<DataType, PathError>> {
        let side = match path.column() {
            KEY => &self.key,
            VALUE => &self.value,
            _ => return None,
        };
        let column = [Field::new(path.column(), side.clone()?)];
        Some(path::resolve(path, &column).cloned())
    }
}

/// Judges the new exclusions.
pub(super) fn judge(question: &UpdateQuestion<'_>, new_types: &SideTypes, findings: &mut Findings) {
    let before = parsed(question.excluded);
    let mut after = Vec::new();
    for text in question.new_excluded {
        match ColumnPath::parse_excluded(text) {
            Err(error) => findings.refuse(text.clone(), error.problem, &error.remedy),
            Ok(path) => {
                check_path(&path, question, new_types, findings);
                after.push(path);
            }
        }
    }
    let known = SideTypes::over(question.history);
    for path in after.iter().filter(|path| !before.contains(path)) {
        let arrives = matches!(known.resolve(path), Some(Err(_)));
        let (kind, text) = if arrives {
            (FindingKind::ExcludedFromTheStart, "excluded from the start: no row ever holds it")
        } else if before.iter().any(|outer| outer.contains(path)) {
            (FindingKind::StaysExcluded, "stays excluded")
        } else {
            let text = "excluded from now on: null in new rows, kept in rows that are already in the table";
            (FindingKind::ExcludedFromNowOn, text)
        };
        findings.change(path.to_string(), kind, text.into());
    }
    for path in before.iter().filter(|path| !after.contains(path)) {
        let (kind, text) = if after.iter().any(|outer| outer.contains(path)) {
            (FindingKind::StaysExcluded, "stays excluded")
        } else {
            let text = "included from now on: fills in new rows, stays null in rows that are already in the table";
            (FindingKind::IncludedFromNowOn, text)
        };
        findings.change(path.to_string(), kind, text.into());
    }
    check_something_is_left(question, findings);
}

fn check_path(path: &ColumnPath, question: &UpdateQuestion<'_>, new_types: &SideTypes, findings: &mut Findings) {
    let text = path.to_string();
    if let Some(Err(error)) = new_types.resolve(path) {
        if question.excluded.contains(&text) {
            findings.refuse(
                text.clone(),
                "removed, but is in `excluded_columns`".into(),
                "take it out of `excluded_columns` in the same update",
            );
        } else {
            findings.refuse(text.clone(), format!("cannot be excluded: {}", error.problem), &error.remedy);
        }
    }
    let deduplication = question
        .deduplication_columns
        .iter()
        .filter_map(|text| ColumnPath::parse(text).ok());
    for column in deduplication.filter(|column| column.overlaps(path)) {
        findings.refuse(
            text.clone(),
            format!("cannot be excluded: overlaps the deduplication column `{column}`"),
            "keep it",
        );
    }
}

/// A struct that arrives with every field excluded would be a column without a field.
fn check_something_is_left(question: &UpdateQuestion<'_>, findings: &mut Findings) {
    let mut history = question.history.to_vec();
    history.push(question.new_schemas.clone());
    let types = SideTypes::over(&history);
    let arriving = table::never_ingested(&BTreeSet::new(), question.history, question.new_excluded);
    let (Ok(arriving), Some(key), Some(value), 0) = (arriving, types.key, types.value, findings.refusal_count()) else {
        return;
    };
    for (path, error) in table::without(&mut [Field::new(KEY, key), Field::new(VALUE, value)], &arriving) {
        findings.refuse(path, error.problem, &error.remedy);
    }
}

fn parsed(texts: &BTreeSet<String>) -> Vec<ColumnPath> {
    texts.iter().filter_map(|text| ColumnPath::parse_excluded(text).ok()).collect()
}
