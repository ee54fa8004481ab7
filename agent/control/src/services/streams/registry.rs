//! What a definition's schema registry says about it, where it can be asked (product parts D5, D6).
//!
//! Invariant: only what the registry and its connection say now is told, and only to who may use them.

use stream_pipeline::error::PipelineError;
use stream_pipeline::registry_versions::RegistryVersions;
use stream_pipeline::status::SubjectProgress;
use stream_spec::filter;
use stream_spec::stream::{DirectSchemas, Side, StreamSpec};
use stream_spec::table;
use stream_spec::types::Field;
use stream_spec::violation::Violation;

use super::StreamService;
use crate::connections::schema_registry;
use crate::governance::RequestContext;
use crate::limits::REGISTRY_CHECK_WAIT;
use crate::services::error::ServiceError;

const REGISTRY: &str = "schema_config.schema_registry_config";

/// What a registry says about a definition.
#[derive(Debug, Default)]
pub(super) struct RegistryFindings {
    /// What is wrong.
    pub(super) violations: Vec<Violation>,
    /// What may be otherwise when the stream is made.
    pub(super) warnings: Vec<Violation>,
    /// The table's columns by the latest versions.
    pub(super) columns: Vec<Field>,
    /// The subjects with their latest versions.
    pub(super) subjects: Vec<SubjectProgress>,
}

impl StreamService {
    /// Looks at a definition with a registry; nothing for one without. The caller must hold what creating the stream takes.
    pub(super) async fn registry_findings(&self, context: &RequestContext, spec: &StreamSpec) -> Result<RegistryFindings, ServiceError> {
        let mut findings = RegistryFindings::default();
        let Some(name) = spec.registry_connection() else {
            return Ok(findings);
        };
        // One that is not there is said where connections are looked for.
        let Some(record) = self.services.store.connection(name).await? else {
            return Ok(findings);
        };
        findings.violations = schema_registry::violations(spec, &record);
        if !findings.violations.is_empty() {
            return Ok(findings);
        }
        let latest = self.services.engine.latest_versions(spec, context.principal.name());
        match tokio::time::timeout(REGISTRY_CHECK_WAIT, latest).await {
            Ok(Ok(versions)) => {
                look_at(spec, &versions.schemas(), &mut findings);
                findings.subjects = subjects(&[], &versions);
            }
            Ok(Err(error)) => judge(&error, &mut findings),
            Err(_) => {
                let problem = "the schema registry does not answer in time".to_owned();
                findings.warnings.push(later(problem));
            }
        }
        Ok(findings)
    }

    /// The subjects of a stream that is there, with their latest versions now; where the registry does not say, as the stream found them
    /// when it started. The caller must hold what creating the stream takes.
    pub(super) async fn subjects_now(
        &self,
        context: &RequestContext,
        spec: &StreamSpec,
        found: Vec<SubjectProgress>,
    ) -> Vec<SubjectProgress> {
        let latest = self.services.engine.latest_versions(spec, context.principal.name());
        match tokio::time::timeout(REGISTRY_CHECK_WAIT, latest).await {
            Ok(Ok(versions)) => subjects(&found, &versions),
            _ => found,
        }
    }
}

/// Subjects with their latest versions, and with those in force of the ones that a stream has already.
fn subjects(found: &[SubjectProgress], latest: &RegistryVersions) -> Vec<SubjectProgress> {
    let subject = |side: Side| {
        let version = latest.side(side)?;
        Some(SubjectProgress {
            side,
            subject: version.subject.clone(),
            in_force: found.iter().find(|found| found.side == side).and_then(|found| found.in_force),
            latest: Some((version.version, version.id)),
        })
    };
    Side::BOTH.into_iter().filter_map(subject).collect()
}

/// Checks the parts of a definition that read fields.
fn look_at(spec: &StreamSpec, schemas: &DirectSchemas, findings: &mut RegistryFindings) {
    match table::columns_of_versions(&spec.source, schemas, &spec.excluded_columns) {
        Ok(columns) => findings.columns = columns,
        Err(violations) => findings.violations.extend(violations),
    }
    let Some(text) = &spec.record_type_filter else { return };
    let checked = filter::columns_for(&spec.source, schemas).and_then(|columns| filter::check(text, &columns).map(drop));
    findings.violations.extend(checked.err().unwrap_or_default());
}

fn judge(error: &PipelineError, findings: &mut RegistryFindings) {
    let is_final = matches!(
        error,
        PipelineError::Source {
            reason: "SchemaUnusable",
            ..
        }
    );
    if is_final {
        let remedy = "register a version that can be used, or name another subject";
        findings.violations.push(Violation::missing(REGISTRY, error.to_string(), remedy));
    } else {
        findings.warnings.push(later(error.to_string()));
    }
}

fn later(problem: String) -> Violation {
    Violation::missing(
        REGISTRY,
        problem,
        "the stream is made all the same, and begins once the registry tells its schemas",
    )
}
