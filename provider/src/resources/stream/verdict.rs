//! The verdict on a changed schema or exclusion: made here when the agent cannot be asked, and put into words at the
//! attributes that it is about. The function that decides is `stream_spec::verdict`, the agent's own.

use std::collections::{BTreeMap, BTreeSet};

use featurestore_proto::{convert, v1};
use stream_spec::stream::{DirectSchemas, SchemaConfig, StreamSpec};
use stream_spec::verdict::{Finding, FindingKind, UpdateQuestion, Verdict, verdict};
use tfplugin::diagnostic::Diagnostic;
use tfplugin::path::AttributePath;
use tfplugin::resource::Plan;
use tfplugin::schema::Schema;
use tfplugin::value::Value;

use super::model::Declaration;
use super::{text, words};
use crate::client::error::AgentError;

const EXCLUDED: &str = "excluded_columns";
const DIRECT: &str = "schema_config.direct_schemas";

/// The verdict on going from `prior` to `planned`, from what Terraform's state knows: earlier versions are not in it. `None`
/// if there is nothing to compare, as with a registry.
pub(super) fn offline(prior: &Declaration, planned: &Declaration) -> Option<Verdict> {
    let (prior, planned) = (
        convert::stream_to_spec(&prior.stream).ok()?,
        convert::stream_to_spec(&planned.stream).ok()?,
    );
    let history = [direct(&prior)?.clone()];
    Some(verdict(&UpdateQuestion {
        history: &history,
        table_columns: None,
        deduplication_columns: &prior.ingestion.deduplication_columns,
        record_type_filter: prior.record_type_filter.as_deref(),
        excluded: &prior.excluded_columns,
        new_schemas: direct(&planned)?,
        new_excluded: &planned.excluded_columns,
    }))
}

fn direct(spec: &StreamSpec) -> Option<&DirectSchemas> {
    match &spec.schemas {
        SchemaConfig::Direct(direct) => Some(direct),
        SchemaConfig::Registry(_) => None,
    }
}

/// An incompatible change: an error per attribute with one line per path, or replacements if the user asked for them.
pub(super) fn tell_refusal(schema: &Schema, prior: &Value, reasons: &[Finding], plan: &mut Plan) {
    let replaces = text(&plan.planned, "schema_update_policy") == "replace";
    for (attribute, findings) in by_attribute(prior, &plan.planned, reasons) {
        let path = schema.path(&attribute);
        if replaces && attribute != EXCLUDED {
            plan.require_replacement(path);
            continue;
        }
        let (name, list) = (text(prior, "name"), words::findings(&findings));
        let mut detail = format!("The stream `{name}` cannot take this change in place:\n\n{list}");
        let summary = if attribute == EXCLUDED {
            "Exclusions Cannot Change So"
        } else {
            detail.push_str("\n\nWith `schema_update_policy = \"replace\"` Terraform plans a new stream instead.");
            "Incompatible Schema Change"
        };
        plan.tell(Diagnostic::error(summary, detail).at(path));
    }
}

/// The agent's refusal of an update during an apply, one line per path: a schema that was unknown in the plan, or that
/// someone else's change made incompatible since.
pub(super) fn refused_at_apply(error: &AgentError, name: &str) -> Option<Diagnostic> {
    let AgentError::Refused { detail, .. } = error else { return None };
    let Verdict::Refused { reasons } = convert::verdict_to_spec(detail.verdict.as_ref()?)? else {
        return None;
    };
    let list = words::findings(&reasons.iter().collect::<Vec<_>>());
    let detail = format!(
        "The stream `{name}` cannot take this change in place, which the plan could not know:\n\n{list}\n\nNothing was changed. Plan again."
    );
    Some(Diagnostic::error("Incompatible Schema Change", detail).at(AttributePath::attributes(DIRECT)))
}

/// Reasons by the attribute whose change they refuse: the side's schema if that changes, else the exclusions.
fn by_attribute<'a>(prior: &Value, planned: &Value, reasons: &'a [Finding]) -> BTreeMap<String, Vec<&'a Finding>> {
    let mut grouped: BTreeMap<String, Vec<&Finding>> = BTreeMap::new();
    for reason in reasons {
        let side = if is_of_key(&reason.path) { "key_schema" } else { "payload_schema" };
        let path = format!("{DIRECT}.{side}");
        let attribute = if prior.dig(&path) == planned.dig(&path) {
            EXCLUDED.to_owned()
        } else {
            changed_form(&path, planned)
        };
        grouped.entry(attribute).or_default().push(reason);
    }
    grouped
}

fn is_of_key(path: &str) -> bool {
    path.strip_prefix("key")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The attribute that holds a side's new schema; the side itself if it has none any more.
fn changed_form(side: &str, planned: &Value) -> String {
    let forms = ["json_schema", "avro_schema", "proto_schema"];
    match forms.iter().find(|form| planned.dig(side).get(form).is_present()) {
        Some(form) => format!("{side}.{form}"),
        None => side.to_owned(),
    }
}

/// Fields that an update in place removes: their values are not stored any more, which a plan must not pass over.
pub(super) fn tell_removals(changes: &[Finding], table: Option<&v1::TableStatus>, plan: &mut Plan) {
    let removed: Vec<&Finding> = changes
        .iter()
        .filter(|change| change.kinds.contains(&FindingKind::FieldRemoved))
        .collect();
    if removed.is_empty() {
        return;
    }
    let rows = rows_in(table);
    let detail = format!(
        "The new schema lacks fields of the old one. From now on their values are not stored, and cannot be had later except from \
         the source:\n\n{}\nRows already in the table keep their values.{rows}",
        words::findings(&removed)
    );
    plan.tell(Diagnostic::warning("Values No Longer Stored", detail).at(AttributePath::attributes(DIRECT)));
}

fn rows_in(table: Option<&v1::TableStatus>) -> String {
    let rows = table.map(|table| format!(" The table holds {}.", words::figures(table)));
    rows.unwrap_or_default()
}

/// Exclusions change for new rows only; says so with the number of rows that stay as they are. `changes` are the verdict's,
/// empty where there is none: then a column that arrives excluded is not told from one that is there.
pub(super) fn tell_exclusions(prior: &Value, changes: &[Finding], table: Option<&v1::TableStatus>, plan: &mut Plan) {
    if !plan.planned.get(EXCLUDED).is_wholly_known() {
        return;
    }
    let set = |value: &Value| {
        value
            .get(EXCLUDED)
            .elements()
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    let (before, after) = (set(prior), set(&plan.planned));
    let listed = |paths: Vec<&String>| paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    let arrives = |path: &str| {
        let mut found = changes.iter().filter(|change| change.path == path);
        found.any(|change| change.kinds.contains(&FindingKind::ExcludedFromTheStart))
    };
    let (arriving, excluded): (Vec<_>, Vec<_>) = after.difference(&before).partition(|path| arrives(path));
    let (arriving, newly_excluded) = (listed(arriving), listed(excluded));
    let newly_included = listed(before.difference(&after).collect());
    let mut detail = String::new();
    if !newly_excluded.is_empty() {
        let rows = rows_in(table);
        detail.push_str(&format!(
            "{newly_excluded}: null in every row that is ingested from now on. Rows already in the table keep their values: the change \
             does not remove them.{rows} "
        ));
    }
    if !arriving.is_empty() {
        detail.push_str(&format!(
            "{arriving}: excluded from the start, so that no row ever holds it and the table has no such column. "
        ));
    }
    if !newly_included.is_empty() {
        detail.push_str(&format!(
            "{newly_included}: filled from now on, and null in the rows that were ingested without. "
        ));
    }
    if !detail.is_empty() {
        let warning = Diagnostic::warning("Exclusions Change New Rows Only", detail.trim_end());
        plan.tell(warning.at(AttributePath::attributes(EXCLUDED)));
    }
}
