//! What a plan says of the versions in a stream's schema registry: which ones are in force, and which are the latest. Pure.

use featurestore_proto::v1;
use tfplugin::diagnostic::Diagnostic;
use tfplugin::path::AttributePath;
use tfplugin::resource::Plan;

use crate::limits::COLUMN_TYPE_SHOWN_CHARS_MAX;

/// Where a stream's registry is in its configuration.
pub(super) const REGISTRY: &str = "schema_config.schema_registry_config";

/// The condition of a stream whose table cannot take a latest version.
const SCHEMAS_CURRENT: &str = "SchemasCurrent";

/// The versions that a new stream begins with, and the columns that they make: the configuration shows neither.
pub(super) fn tell_first(subjects: &[v1::RegistrySubject], columns: &[v1::TableColumn], plan: &mut Plan) {
    if subjects.is_empty() || plan.diagnostics.has_errors() {
        return;
    }
    let mut detail = "The table begins with the latest versions in the schema registry, which are now:\n".to_owned();
    for subject in subjects {
        detail.push_str(&format!("\n  `{}`: {}", subject.subject, latest_of(subject)));
        let column = columns.iter().find(|column| column.name == subject.side);
        if let Some(column) = column {
            detail.push_str(&format!("\n    column `{}`: {}", column.name, shortened(&column.r#type)));
        }
    }
    detail.push_str("\n\nWhere another version is the latest when the stream begins, that one is taken.");
    plan.tell(Diagnostic::warning("Columns By The Registry", detail).at(AttributePath::attributes(REGISTRY)));
}

/// The subjects of a stream whose latest versions are not those in force.
pub(super) fn tell_later(subjects: &[v1::RegistrySubject], status: Option<&v1::StreamStatus>, plan: &mut Plan) {
    let is_behind = |subject: &&v1::RegistrySubject| {
        let latest = (subject.latest_version, subject.latest_schema_id);
        subject.latest_version.is_some() && latest != (subject.version, subject.schema_id)
    };
    let mut detail = String::new();
    for subject in subjects.iter().filter(is_behind) {
        let in_force = subject
            .version
            .map_or_else(|| "no version".to_owned(), |version| format!("version {version}"));
        detail.push_str(&format!(
            "  `{}`: {in_force} is in force, {} is the latest\n",
            subject.subject,
            latest_of(subject)
        ));
    }
    if detail.is_empty() {
        return;
    }
    detail.push_str(
        "\nThe stream takes what its table can take when its pipeline starts again: with an apply that changes the stream, and every few \
         hours by itself.",
    );
    let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
    let refused = conditions
        .iter()
        .find(|it| it.r#type == SCHEMAS_CURRENT && it.status() == v1::ConditionStatus::False);
    if let Some(refused) = refused {
        detail.push_str(&format!(" When it started last, it could not: {}", refused.message));
    }
    plan.tell(Diagnostic::warning("A Later Schema Version Is Not In Force", detail).at(AttributePath::attributes(REGISTRY)));
}

fn latest_of(subject: &v1::RegistrySubject) -> String {
    match (subject.latest_version, subject.latest_schema_id) {
        (Some(version), Some(id)) => format!("version {version} (schema id {id})"),
        (Some(version), None) => format!("version {version}"),
        (None, _) => "a version that is not known".to_owned(),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(COLUMN_TYPE_SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
