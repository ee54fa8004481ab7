//! Decides whether a schema or exclusion update happens in place (product parts U2, U3, X1 to X3). The provider's plan
//! and the agent call this one function.
//!
//! `compare` judges the types of schemas, `avro` what bytes of Avro allow beyond them, `exclusions` judges excluded paths; this file
//! asks them and says what comes of it.

mod avro;
mod compare;
mod exclusions;
mod filter;
mod protobuf;

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use self::compare::{Comparison, Known};
use crate::filter::footprint::ReadPlace;
use crate::path::ColumnPath;
use crate::schema::{self, ParsedSchema, SchemaFormat, Wire, show_path};
use crate::stream::{DirectSchemas, Side};
use crate::table;
use crate::types::{DataType, Field};

/// All that an update's verdict depends on.
#[derive(Clone, Copy, Debug)]
pub struct UpdateQuestion<'a> {
    /// Every accepted schema of the stream, oldest first; the last is the one in force. Never empty.
    pub history: &'a [DirectSchemas],
    /// The ingestion table's columns, where they are known.
    pub table_columns: Option<&'a [Field]>,
    /// Deduplication paths of the stream.
    pub deduplication_columns: &'a BTreeSet<String>,
    /// Record filter of the stream.
    pub record_type_filter: Option<&'a str>,
    /// Exclusions in force.
    pub excluded: &'a BTreeSet<String>,
    /// Schemas asked for.
    pub new_schemas: &'a DirectSchemas,
    /// Exclusions asked for.
    pub new_excluded: &'a BTreeSet<String>,
}

/// What an update amounts to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The same in meaning; nothing to do.
    Unchanged,
    /// Compatible; happens in place.
    InPlace {
        /// What changes, one entry per path.
        changes: Vec<Finding>,
    },
    /// Not compatible; needs a new stream.
    Refused {
        /// Why, one entry per path.
        reasons: Vec<Finding>,
    },
}

/// One path of a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Path in the decoded record: `value.amount`, `key`, `value.items[].sku`.
    pub path: String,
    /// What the finding is: all that may be decided by. More than one where several things happen to a path at once, as to
    /// a field that is added and excluded.
    pub kinds: Vec<FindingKind>,
    /// What happens there, for a person: `BIGINT → INT narrows`.
    pub text: String,
    /// What to do about it; empty in a change.
    pub remedy: String,
}

/// What happens to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A reason of a refusal.
    Incompatible,
    /// A field appears, or one that was removed comes back.
    FieldAdded,
    /// A field goes: its column stays, and its values are not stored any more.
    FieldRemoved,
    /// INT becomes BIGINT.
    Widened,
    /// A required field becomes optional.
    RequirednessRelaxed,
    /// The same bytes give other values than before, in a column that stays as it is: presence, a default, an enum's values.
    ReadOtherwise,
    /// A column that the table has is null in new rows.
    ExcludedFromNowOn,
    /// A column that arrives excluded: the table never has it.
    ExcludedFromTheStart,
    /// The list of exclusions names it in another way, to the same effect.
    StaysExcluded,
    /// A column that was excluded fills in new rows.
    IncludedFromNowOn,
}

/// Decides an update. Pure: the same question has the same answer in a plan and in an apply.
pub fn verdict(question: &UpdateQuestion<'_>) -> Verdict {
    let mut findings = Findings::default();
    let new_types = exclusions::SideTypes {
        key: judge_side(Side::Key, question, &mut findings),
        value: judge_side(Side::Payload, question, &mut findings),
    };
    check_deduplication(question, &new_types, &mut findings);
    exclusions::judge(question, &new_types, &mut findings);
    if let Some(filter) = question.record_type_filter {
        filter::judge(filter, question, &new_types, &mut findings);
    }
    findings.verdict()
}

/// Judges one side, and answers its new type where that is known.
fn judge_side(side: Side, question: &UpdateQuestion<'_>, findings: &mut Findings) -> Option<DataType> {
    let column = side.column();
    let in_force = question.history.last().and_then(|schemas| schemas.side(side));
    let (last, new) = match (in_force, question.new_schemas.side(side)) {
        (None, None) => return Some(DataType::String),
        (Some(last), Some(new)) => (last, new),
        (None, Some(_)) => {
            findings.refuse(
                column.into(),
                "gets its first schema".into(),
                "a plain string stays one: make a new stream",
            );
            return None;
        }
        (Some(_), None) => {
            findings.refuse(column.into(), "loses its schema".into(), "keep the schema, or make a new stream");
            return None;
        }
    };
    let (old_format, new_format) = (SchemaFormat::of(last), SchemaFormat::of(new));
    if old_format != new_format {
        let text = format!("{old_format} → {new_format} changes the format");
        findings.refuse(column.into(), text, "keep the format, or make a new stream");
        return None;
    }
    let parsed = match schema::parse(new) {
        Ok(parsed) => parsed,
        // The same text as before: nothing changes, whatever this version can make of it.
        Err(_) if last == new => return None,
        Err(problems) => {
            for problem in problems {
                let text = format!("the new schema is refused: {}", problem.placed());
                findings.refuse(show_path(column, &problem.path), text, &problem.remedy);
            }
            return None;
        }
    };
    let texts = question.history.iter().filter_map(|schemas| schemas.side(side));
    let earlier: Result<Vec<ParsedSchema>, _> = texts.map(schema::parse).collect();
    let ever = table::union_of_side(question.history, side);
    let (Ok(earlier), Ok(ever)) = (earlier, ever) else {
        findings.refuse(
            column.into(),
            "an earlier schema cannot be read by this version".into(),
            "make a new stream",
        );
        return None;
    };
    let refusals = findings.refusal_count();
    judge_bytes(column, &earlier, &parsed, findings);
    if findings.refusal_count() > refusals {
        return Some(parsed.data_type);
    }
    let changes = findings.changes.len();
    let table = question
        .table_columns
        .and_then(|columns| columns.iter().find(|field| field.name == column));
    let known = Known {
        ever: Some(&ever),
        last: earlier.last().map(|schema| &schema.data_type),
        table: table.map(|field| &field.data_type),
    };
    Comparison {
        column,
        history: &earlier,
        new: &parsed,
        findings,
    }
    .run(known);
    if let (Some(Wire::Protobuf(last)), Wire::Protobuf(new)) = (earlier.last().map(|last| &last.wire), &parsed.wire) {
        protobuf::changes(column, last, new, findings);
        if findings.changes.len() == changes && protobuf::normal_form(last) != protobuf::normal_form(new) {
            let text = "messages that do not fit the schema may be read otherwise";
            findings.change(column.into(), FindingKind::ReadOtherwise, text.into());
        }
    }
    Some(parsed.data_type)
}

/// Judges what types do not say: how values lie in the bytes of messages.
fn judge_bytes(column: &'static str, earlier: &[ParsedSchema], new: &ParsedSchema, findings: &mut Findings) {
    for old in earlier.iter().rev() {
        match (&old.wire, &new.wire) {
            (Wire::Avro(old), Wire::Avro(new)) => avro::judge(column, old, new, findings),
            (Wire::Protobuf(old), Wire::Protobuf(new)) => protobuf::judge(column, old, new, findings),
            _ => {}
        }
    }
}

/// Deduplication columns must still be there (product part U3: a definition's other parts go on as they are).
fn check_deduplication(question: &UpdateQuestion<'_>, new: &exclusions::SideTypes, findings: &mut Findings) {
    for text in question.deduplication_columns {
        let Ok(path) = ColumnPath::parse(text) else { continue };
        if let Some(Err(_)) = new.resolve(&path) {
            let remedy = "keep the field: rows of a backfill are compared by it";
            findings.refuse(text.clone(), "removed, but is a deduplication column".into(), remedy);
        }
    }
}

/// The findings so far, at most one per path and outcome.
#[derive(Default)]
struct Findings {
    changes: Vec<Finding>,
    change_by_path: HashMap<String, usize>,
    reasons: Vec<Finding>,
    refused_paths: HashSet<String>,
    /// Places whose old messages read otherwise from now on, and how: what a record filter must not read. A value that an enum gets
    /// is not here.
    read_otherwise: Vec<(ReadPlace, String)>,
}

impl Findings {
    fn change(&mut self, path: String, kind: FindingKind, text: String) {
        let known = self.change_by_path.get(&path).and_then(|index| self.changes.get_mut(*index));
        if let Some(known) = known {
            known.kinds.push(kind);
            known.text = format!("{}; {text}", known.text);
            return;
        }
        self.change_by_path.insert(path.clone(), self.changes.len());
        self.changes.push(Finding {
            path,
            kinds: vec![kind],
            text,
            remedy: String::new(),
        });
    }

    fn refuse(&mut self, path: String, text: String, remedy: &str) {
        if self.refused_paths.insert(path.clone()) {
            self.reasons.push(Finding {
                path,
                kinds: vec![FindingKind::Incompatible],
                text,
                remedy: remedy.to_owned(),
            });
        }
    }

    fn refusal_count(&self) -> usize {
        self.reasons.len()
    }

    /// A filter that cannot be read by this version: whatever it might read must stay as it is (product part D6).
    fn refuse_what_a_filter_may_read(&mut self, filter: &str) {
        let touches = |kind: &FindingKind| matches!(kind, FindingKind::FieldRemoved | FindingKind::Widened);
        let otherwise: HashSet<String> = self
            .read_otherwise
            .iter()
            .map(|(place, _)| show_path(&place.column, &place.path))
            .collect();
        let touched = |change: &&Finding| change.kinds.iter().any(touches) || otherwise.contains(&change.path);
        let touched: Vec<Finding> = self.changes.iter().filter(touched).cloned().collect();
        for finding in touched {
            let text = format!("{}, and the record filter `{filter}` may read it", finding.text);
            self.refuse(finding.path, text, "keep the field as it is, or make a new stream");
        }
    }

    fn verdict(self) -> Verdict {
        if !self.reasons.is_empty() {
            return Verdict::Refused { reasons: self.reasons };
        }
        if self.changes.is_empty() {
            return Verdict::Unchanged;
        }
        Verdict::InPlace { changes: self.changes }
    }
}
