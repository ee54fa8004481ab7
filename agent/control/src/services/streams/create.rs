//! Create: declares a stream and waits for its first commit. A repeat under the same request id is answered as the first
//! was; a name is never adopted because a definition looks the same.

use std::time::Duration;

use stream_pipeline::table::TableError;
use stream_spec::capability;
use stream_spec::name::{ConnectionName, StreamName, TableName};
use stream_spec::stream::{SchemaConfig, StreamOperations, StreamSpec};
use stream_spec::violation::Violation;
use stream_spec::{table, validate};
use uuid::Uuid;

use super::decide::accepted;
use super::{StreamService, StreamView, not_found};
use crate::clock;
use crate::governance::{Action, RequestContext, Securable};
use crate::services::error::{Kind, ServiceError};
use crate::services::missing;
use crate::state::StreamState;
use crate::store::InsertedStream;
use crate::store::records::{DeclaredStream, Presence, StreamRecord};

/// Where a definition names its table.
pub(super) const DESTINATION_FIELD: &str = "ingestion_config.ingestion_destination.delta_table_name";

/// A stream to create.
#[derive(Clone, Debug)]
pub struct NewStream {
    /// What it is.
    pub spec: StreamSpec,
    /// How it runs at first.
    pub operations: StreamOperations,
    /// Repeats of one create carry the same id; may be empty.
    pub request_id: String,
    /// Longest wait for the first commit; `None`: the limit.
    pub wait: Option<Duration>,
}

impl StreamService {
    /// Creates a stream.
    pub async fn create(&self, context: &RequestContext, new: NewStream) -> Result<StreamView, ServiceError> {
        let services = &self.services;
        services
            .authorizer
            .authorize(context, Action::Create, Securable::NewStream(&new.spec))
            .await?;
        let mut violations = validate::stream(&new.spec);
        violations.extend(validate::operations(&new.operations));
        if !violations.is_empty() {
            return Err(ServiceError::Invalid(violations));
        }
        let missing = capability::missing(&capability::needed(&new.spec), &services.capabilities);
        if !missing.is_empty() {
            return Err(ServiceError::MissingCapability(missing));
        }
        // Before the table is looked at: a repeat of a create that succeeded finds its own table there.
        if let Some(existing) = services.store.stream_by_name(&new.spec.name).await? {
            return self.answer_for_existing(existing, &new).await;
        }
        let missing = missing::of_certificate(&services.store, &new.spec).await?;
        if !missing.is_empty() {
            return Err(ServiceError::Precondition(missing));
        }
        let uid = Uuid::now_v7().to_string();
        if !self.is_free(&new.spec.ingestion.destination, &uid).await? {
            return Err(ServiceError::Precondition(vec![self.table_exists(&new.spec.ingestion.destination)]));
        }
        let findings = self.registry_findings(context, &new.spec).await?;
        if !findings.violations.is_empty() {
            return Err(ServiceError::Invalid(findings.violations));
        }
        let declared = declare(context, &new)?;
        let record = match services.store.insert_stream(&uid, &declared).await? {
            InsertedStream::Inserted(record) => *record,
            InsertedStream::NameTaken(existing) => return self.answer_for_existing(*existing, &new).await,
            InsertedStream::TableTaken { by } => {
                let taken = self.table_taken(context, &new.spec.ingestion.destination, &by).await?;
                return Err(ServiceError::Precondition(vec![taken]));
            }
            InsertedStream::ConnectionMissing { name } => return Err(connection_missing(&name)),
        };
        tracing::info!(stream = %new.spec.name, stream.uid = uid, by = context.principal.name(), "declared stream");
        self.answer(record, new.wait).await
    }

    async fn answer_for_existing(&self, existing: StreamRecord, new: &NewStream) -> Result<StreamView, ServiceError> {
        let declared = &existing.declared;
        let is_repeat = !new.request_id.is_empty() && declared.create_request_id == new.request_id;
        let hint = match declared.presence {
            Presence::Present if is_repeat => return self.answer(existing, new.wait).await,
            Presence::Present => "; choose another name, or import the stream that is there",
            Presence::Deleted { .. } => " and is being deleted; try again when it is gone",
        };
        Err(ServiceError::AlreadyExists {
            kind: Kind::Stream,
            name: new.spec.name.to_string(),
            hint,
        })
    }

    async fn answer(&self, record: StreamRecord, wait: Option<Duration>) -> Result<StreamView, ServiceError> {
        self.services.reconciler.wake(&record.uid);
        let begun = |record: &StreamRecord| record.observed.state != StreamState::Provisioning;
        let name = record.declared.spec.name;
        let record = self.services.wait_for_stream(&record.uid, wait, begun).await?;
        record.map(|record| self.view(record)).ok_or_else(|| not_found(&name))
    }

    /// Whether nothing is where the table is to go.
    pub(super) async fn is_free(&self, table: &TableName, uid: &str) -> Result<bool, ServiceError> {
        match self.services.engine.table_state(table, uid).await {
            Err(TableError::Gone { .. }) => Ok(true),
            Ok(_) | Err(TableError::Altered { .. } | TableError::Exists { .. }) => Ok(false),
            Err(error) => Err(ServiceError::TableUnavailable(error)),
        }
    }

    /// Another stream writes to the table. Which one is said to who may read it.
    pub(super) async fn table_taken(
        &self,
        context: &RequestContext,
        table: &TableName,
        by: &StreamName,
    ) -> Result<Violation, ServiceError> {
        let record = self.services.store.stream_by_name(by).await?;
        let is_readable = match &record {
            Some(record) => self.may_read(context, record).await?,
            None => false,
        };
        let problem = match is_readable {
            true => format!("the stream `{by}` writes to that table"),
            false => "another stream writes to that table".to_owned(),
        };
        let remedy = "choose another table name: one table has one stream";
        Ok(Violation::new(DESTINATION_FIELD, table.as_str(), problem, remedy))
    }

    pub(super) fn table_exists(&self, table: &TableName) -> Violation {
        let problem = format!("the table exists already at {}", self.services.engine.location(table));
        Violation::new(
            DESTINATION_FIELD,
            table.as_str(),
            problem,
            "choose another table name, or remove the table",
        )
    }
}

fn connection_missing(name: &ConnectionName) -> ServiceError {
    ServiceError::precondition(
        "connection_config.uc_connection_name",
        name.as_str(),
        format!("there is no connection `{name}`"),
        "create the connection first",
    )
}

fn declare(context: &RequestContext, new: &NewStream) -> Result<DeclaredStream, ServiceError> {
    let now_ms = clock::now_ms();
    let who = context.principal.name();
    let (schema_history, never_ingested) = match &new.spec.schemas {
        SchemaConfig::Direct(schemas) => {
            let never_ingested = table::never_ingested(
                &new.spec.excluded_columns,
                std::slice::from_ref(schemas),
                &new.spec.excluded_columns,
            );
            (
                vec![accepted((1, 1), schemas, who, now_ms)?],
                never_ingested.map_err(ServiceError::Invalid)?,
            )
        }
        // Its versions come from the registry, and so does what they hold.
        SchemaConfig::Registry(_) => (Vec::new(), new.spec.excluded_columns.clone()),
    };
    // Fits the integers of JSON, as the public API sends them.
    let ingestion_job_id = i64::try_from(getrandom::u64().map_err(ServiceError::Random)? >> 11).unwrap_or(i64::MAX);
    Ok(DeclaredStream {
        spec: new.spec.clone(),
        generation: 1,
        operations: new.operations.clone(),
        operations_generation: 1,
        restart_generation: 0,
        presence: Presence::Present,
        schema_history,
        never_ingested,
        create_time_ms: now_ms,
        created_by: who.to_owned(),
        update_time_ms: now_ms,
        updated_by: who.to_owned(),
        create_request_id: new.request_id.clone(),
        update_request_id: String::new(),
        ingestion_pipeline_id: Uuid::now_v7().to_string(),
        ingestion_job_id,
    })
}
