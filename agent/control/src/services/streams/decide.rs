//! What an update of a stream amounts to. Check and update ask the same function, so that a plan and its apply agree.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};
use stream_spec::stream::{DirectSchemas, SchemaConfig, StreamSpec};
use stream_spec::types::Field;
use stream_spec::verdict::{Finding, FindingKind, UpdateQuestion, Verdict, verdict};
use stream_spec::violation::Violation;
use stream_spec::{capability, schema, table};

use super::StreamService;
use crate::services::error::ServiceError;
use crate::store::records::{AcceptedSchemas, StreamRecord};

/// What an update amounts to.
pub(super) struct Decision {
    /// The verdict that plans show.
    pub(super) verdict: Verdict,
    /// What an update in place needs and this agent cannot do.
    pub(super) missing: Vec<Violation>,
    /// Paths without a column afterwards.
    pub(super) never_ingested: BTreeSet<String>,
    /// Columns afterwards.
    pub(super) columns: Vec<Field>,
    /// Whether the schemas mean something else than before.
    pub(super) schemas_differ: bool,
}

impl StreamService {
    /// Decides an update from the stream as it is to `wanted`, whose other fields are the same.
    pub(super) fn decide(&self, record: &StreamRecord, wanted: &StreamSpec) -> Result<Decision, ServiceError> {
        let declared = &record.declared;
        let (SchemaConfig::Direct(_), SchemaConfig::Direct(new_schemas)) = (&declared.spec.schemas, &wanted.schemas) else {
            return Ok(self.decide_with_registry(record, wanted));
        };
        let mut history = declared.schemas();
        let status = self.services.reconciler.pipeline_status(&record.uid);
        let table = status
            .as_ref()
            .and_then(|status| status.table.as_ref())
            .map(|table| table.columns.as_slice());
        let verdict = verdict(&UpdateQuestion {
            history: &history,
            table_columns: table.or_else(|| record.observed.table.as_ref().map(|table| table.columns.as_slice())),
            deduplication_columns: &declared.spec.ingestion.deduplication_columns,
            record_type_filter: declared.spec.record_type_filter.as_deref(),
            excluded: &declared.spec.excluded_columns,
            new_schemas,
            new_excluded: &wanted.excluded_columns,
        });
        let source = &declared.spec.source;
        let before = table::columns_of_history(source, &history, &declared.never_ingested).map_err(ServiceError::Invalid)?;
        let never_ingested =
            table::never_ingested(&declared.never_ingested, &history, &wanted.excluded_columns).map_err(ServiceError::Invalid)?;
        let schemas_differ = history.last().is_none_or(|last| !same_meaning(last, new_schemas));
        history.push(new_schemas.clone());
        // Only a compatible history has a union.
        let columns = match &verdict {
            Verdict::Refused { .. } => before.clone(),
            Verdict::Unchanged | Verdict::InPlace { .. } => {
                table::columns_of_history(source, &history, &never_ingested).map_err(ServiceError::Invalid)?
            }
        };
        let missing = capability::missing(&capability::needed_by_update(&before, &columns), &self.services.capabilities);
        Ok(Decision {
            verdict,
            missing,
            never_ingested,
            columns,
            schemas_differ,
        })
    }

    fn decide_with_registry(&self, record: &StreamRecord, wanted: &StreamSpec) -> Decision {
        let declared = &record.declared;
        let finding = |path: &str, kind: FindingKind, text: String, remedy: &str| Finding {
            path: path.into(),
            kinds: vec![kind],
            text,
            remedy: remedy.into(),
        };
        let status = self.services.reconciler.pipeline_status(&record.uid);
        let table = status.as_ref().and_then(|status| status.table.as_ref()).map(|table| &table.columns);
        let table = table.or_else(|| record.observed.table.as_ref().map(|table| &table.columns));
        // Before there is a table, nothing has a column.
        let known = table.map(Vec::as_slice).unwrap_or_default();
        let never_ingested = table::never_ingested_beside(&declared.never_ingested, known, &wanted.excluded_columns);
        let verdict = if declared.spec.schemas != wanted.schemas {
            let text = "the schemas of this stream come from a registry, and its kind of schemas never changes".to_owned();
            let remedy = "register a new version, or make a new stream";
            Verdict::Refused {
                reasons: vec![finding("schema_config", FindingKind::Incompatible, text, remedy)],
            }
        } else if declared.spec.excluded_columns == wanted.excluded_columns {
            Verdict::Unchanged
        } else {
            let paths = declared.spec.excluded_columns.symmetric_difference(&wanted.excluded_columns);
            let change = |path: &String| {
                let kind = if wanted.excluded_columns.contains(path) {
                    FindingKind::ExcludedFromNowOn
                } else {
                    FindingKind::IncludedFromNowOn
                };
                finding(path, kind, "excluded or included from now on".into(), "")
            };
            Verdict::InPlace {
                changes: paths.map(change).collect(),
            }
        };
        Decision {
            verdict,
            missing: Vec::new(),
            never_ingested,
            columns: Vec::new(),
            schemas_differ: false,
        }
    }
}

fn same_meaning(left: &DirectSchemas, right: &DirectSchemas) -> bool {
    let side = |left: &Option<_>, right: &Option<_>| match (left, right) {
        (None, None) => true,
        (Some(left), Some(right)) => schema::same_meaning(left, right),
        _ => false,
    };
    side(&left.key, &right.key) && side(&left.payload, &right.payload)
}

/// A version of a stream's schemas, and the generation that brings it.
pub(super) fn accepted(
    (number, generation): (u64, u64),
    schemas: &DirectSchemas,
    accepted_by: &str,
    accept_time_ms: i64,
) -> Result<AcceptedSchemas, ServiceError> {
    let mut digest = Sha256::new();
    for (side, text) in [("key", &schemas.key), ("payload", &schemas.payload)] {
        let normal_form = text.as_ref().map(schema::normal_form).transpose().map_err(|problems| {
            ServiceError::Invalid(
                problems
                    .iter()
                    .map(|problem| problem.violation(format!("schema_config.direct_schemas.{side}_schema")))
                    .collect(),
            )
        })?;
        digest.update(format!("{side}:{}\n", normal_form.unwrap_or_default()));
    }
    let digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(AcceptedSchemas {
        number,
        generation,
        schemas: schemas.clone(),
        accept_time_ms,
        accepted_by: accepted_by.to_owned(),
        digest,
    })
}
