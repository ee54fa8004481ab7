//! Check: what create or update would do with a definition, without doing it.

use stream_pipeline::status::SubjectProgress;
use stream_spec::name::StreamName;
use stream_spec::stream::{SchemaConfig, SourceConfig, StreamOperations, StreamSpec};
use stream_spec::types::Field;
use stream_spec::verdict::Verdict;
use stream_spec::violation::Violation;
use stream_spec::{capability, subscription, table, validate};

use super::{StreamService, StreamView};
use crate::governance::{Action, RequestContext, Securable};
use crate::services::error::ServiceError;
use crate::services::missing;
use crate::store::records::{Presence, StreamRecord};

/// A definition to check.
#[derive(Clone, Debug)]
pub struct StreamToCheck {
    /// As it would be.
    pub spec: StreamSpec,
    /// As they would be.
    pub operations: StreamOperations,
    /// As a new stream, even if the name exists.
    pub as_new: bool,
    /// The stream of another name whose place it takes, which counts as gone.
    pub replaces: Option<StreamName>,
}

/// What would come of a definition.
#[derive(Clone, Debug, Default)]
pub struct CheckedStream {
    /// What is wrong with it.
    pub violations: Vec<Violation>,
    /// What a create would refuse as things are, and may not when it comes.
    pub warnings: Vec<Violation>,
    /// What this agent cannot do yet.
    pub missing_capabilities: Vec<Violation>,
    /// Where it only differs in what can be updated.
    pub verdict: Option<Verdict>,
    /// The stream of that name.
    pub existing: Option<StreamView>,
    /// The table's columns as the definition gives them.
    pub columns: Vec<Field>,
    /// The subjects of its schema registry: which versions are in force, and which are the latest.
    pub subjects: Vec<SubjectProgress>,
}

impl StreamService {
    /// Checks a definition.
    pub async fn check(&self, context: &RequestContext, request: StreamToCheck) -> Result<CheckedStream, ServiceError> {
        let services = &self.services;
        let spec = &request.spec;
        // A new stream in the place of one that is there: that the old one may go was asked for before.
        let action = if request.as_new { Action::Create } else { Action::Check };
        services.authorizer.authorize(context, action, Securable::NewStream(spec)).await?;
        let mut violations = validate::stream(spec);
        violations.extend(validate::operations(&request.operations));
        let missing_capabilities = capability::missing(&capability::needed(spec), &services.capabilities);
        let mut answer = CheckedStream {
            violations,
            missing_capabilities,
            ..Default::default()
        };
        if answer.violations.is_empty()
            && answer.missing_capabilities.is_empty()
            && let SchemaConfig::Direct(schemas) = &spec.schemas
        {
            match table::columns(&spec.source, schemas, &spec.excluded_columns) {
                Ok(columns) => answer.columns = columns,
                Err(violations) => answer.violations = violations,
            }
        }
        let is_sound = answer.violations.is_empty() && answer.missing_capabilities.is_empty();
        let existing = services.store.stream_by_name(&spec.name).await?;
        // What a registry has is told to who may use it. A stream that is there goes by the versions that its table records.
        if is_sound && (request.as_new || existing.is_none()) && self.may_create(context, spec).await? {
            self.tell_of_registry(context, spec, &mut answer).await?;
        }
        // What stands where a table is to go is told to who may put one there, as a create would tell it.
        if is_sound && (request.as_new || self.may_create(context, spec).await?) {
            let replaced = self.replaced(context, request.replaces.as_ref()).await?;
            let leaves = existing.as_ref().or(replaced.as_ref());
            self.what_is_in_the_way(context, spec, leaves, &mut answer).await?;
            if request.as_new || existing.is_none() {
                answer.warnings.extend(missing::connections_of(&services.store, spec).await?);
            }
            answer.warnings.extend(self.certificate_warnings(spec).await?);
        }
        if let (Some(existing), false) = (existing, request.as_new) {
            if self.may_read(context, &existing).await? {
                self.check_against_the_existing(existing, spec, &mut answer)?;
                self.tell_of_versions(context, spec, &mut answer).await?;
            } else {
                // As a create would have it: that there is one is all that is said of it.
                let remedy = "choose another name, or ask for a privilege on its table";
                let violation = Violation::new("name", spec.name.as_str(), "there is a stream of that name", remedy);
                answer.violations.push(violation);
            }
        }
        Ok(answer)
    }

    /// What is wrong with a definition that could not be read: it is said to everybody, because it tells of nothing but the request.
    pub async fn check_unreadable(&self, context: &RequestContext, violations: Vec<Violation>) -> Result<CheckedStream, ServiceError> {
        self.services
            .authorizer
            .authorize(context, Action::Check, Securable::Unreadable)
            .await?;
        Ok(CheckedStream {
            violations,
            ..Default::default()
        })
    }

    async fn tell_of_registry(&self, context: &RequestContext, spec: &StreamSpec, answer: &mut CheckedStream) -> Result<(), ServiceError> {
        let findings = self.registry_findings(context, spec).await?;
        answer.violations.extend(findings.violations);
        answer.warnings.extend(findings.warnings);
        if spec.registry_connection().is_some() {
            answer.columns = findings.columns;
            answer.subjects = findings.subjects;
        }
        Ok(())
    }

    /// The versions that a stream with a registry reads by, beside the latest ones. What is latest is told to who may use the registry.
    async fn tell_of_versions(&self, context: &RequestContext, spec: &StreamSpec, answer: &mut CheckedStream) -> Result<(), ServiceError> {
        // Other schemas would be another stream's.
        let existing = answer
            .existing
            .as_ref()
            .filter(|existing| existing.record.declared.spec.schemas == spec.schemas);
        let Some(existing) = existing.filter(|_| spec.registry_connection().is_some()) else {
            return Ok(());
        };
        let found = existing
            .pipeline
            .as_ref()
            .map(|pipeline| pipeline.subjects.clone())
            .unwrap_or_default();
        answer.subjects = match self.may_create(context, spec).await? {
            true => self.subjects_now(context, spec, found).await,
            false => found,
        };
        Ok(())
    }

    async fn may_create(&self, context: &RequestContext, spec: &StreamSpec) -> Result<bool, ServiceError> {
        let authorizer = &self.services.authorizer;
        match authorizer.authorize(context, Action::Create, Securable::NewStream(spec)).await {
            Ok(_) => Ok(true),
            Err(ServiceError::PermissionDenied(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The stream whose place is taken, as far as the caller may read it: whose table a name's is, nobody else learns.
    async fn replaced(&self, context: &RequestContext, name: Option<&StreamName>) -> Result<Option<StreamRecord>, ServiceError> {
        let Some(name) = name else { return Ok(None) };
        let Some(record) = self.services.store.stream_by_name(name).await? else {
            return Ok(None);
        };
        Ok(self.may_read(context, &record).await?.then_some(record))
    }

    /// What a create would find where its table is to go. The stream that leaves, of that name or the one that is replaced, goes
    /// first, and its table with it.
    async fn what_is_in_the_way(
        &self,
        context: &RequestContext,
        spec: &StreamSpec,
        leaves: Option<&StreamRecord>,
        answer: &mut CheckedStream,
    ) -> Result<(), ServiceError> {
        let (store, table) = (&self.services.store, &spec.ingestion.destination);
        if leaves.is_some_and(|leaves| leaves.declared.spec.ingestion.destination == *table) {
            return Ok(());
        }
        let Some(owner) = store.stream_of_table(table).await? else {
            // One that nobody writes stays.
            if !self.is_free(table, "").await? {
                answer.violations.push(self.table_exists(table));
            }
            return Ok(());
        };
        let record = store.stream_by_name(&owner).await?;
        if record.is_none_or(|record| record.declared.presence != Presence::Present) {
            return Ok(());
        }
        let taken = self.table_taken(context, table, &owner).await?;
        // It may go with its stream before this one comes. Where something is destroyed for this one, that is no bet to make.
        match leaves {
            Some(_) => answer.violations.push(taken),
            None => answer.warnings.push(taken),
        }
        Ok(())
    }

    fn check_against_the_existing(
        &self,
        existing: StreamRecord,
        spec: &StreamSpec,
        answer: &mut CheckedStream,
    ) -> Result<(), ServiceError> {
        let is_sound = answer.violations.is_empty() && answer.missing_capabilities.is_empty();
        let record = self.view(existing);
        if is_sound && record.record.declared.presence == Presence::Present && differs_only_in_place(&record.record.declared.spec, spec) {
            let decision = self.decide(&record.record, spec)?;
            answer.columns = decision.columns;
            if matches!(decision.verdict, Verdict::InPlace { .. }) {
                answer.missing_capabilities = decision.missing;
            }
            answer.verdict = Some(decision.verdict);
        }
        answer.existing = Some(record);
        Ok(())
    }
}

/// Whether two definitions are the same but for what an update can change.
fn differs_only_in_place(now: &StreamSpec, wanted: &StreamSpec) -> bool {
    let mut aligned = wanted.clone();
    aligned.excluded_columns.clone_from(&now.excluded_columns);
    if let (SchemaConfig::Direct(_), SchemaConfig::Direct(_)) = (&now.schemas, &wanted.schemas) {
        aligned.schemas.clone_from(&now.schemas);
    }
    if let (SourceConfig::Kafka(now), SourceConfig::Kafka(aligned)) = (&now.source, &mut aligned.source)
        && subscription::same_meaning(&now.subscription, &aligned.subscription)
    {
        aligned.subscription.clone_from(&now.subscription);
    }
    aligned == *now
}
