//! Update: the schemas and the exclusions of a stream, alone or together, in place. It returns when the table follows the
//! new definition.

use std::collections::BTreeSet;
use std::time::Duration;

use stream_spec::name::StreamName;
use stream_spec::stream::{DirectSchemas, SchemaConfig, SchemaText, StreamSpec};
use stream_spec::validate;
use stream_spec::verdict::Verdict;

use super::decide::accepted;
use super::{StreamService, StreamView, another_life, not_found};
use crate::clock;
use crate::governance::{Action, RequestContext, Securable};
use crate::limits::{SCHEMA_VERSIONS_MAX, WRITE_ATTEMPTS_MAX};
use crate::services::error::{Kind, ServiceError};
use crate::store::Replaced;
use crate::store::records::{DeclaredStream, StreamRecord};

/// What happens to one side's schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SideChange {
    /// It stays.
    #[default]
    Keep,
    /// It becomes this, or goes.
    Set(Option<SchemaText>),
}

/// A change of a stream's definition.
#[derive(Clone, Debug)]
pub struct StreamChange {
    /// Which stream.
    pub name: StreamName,
    /// Schema of the key.
    pub key: SideChange,
    /// Schema of the payload.
    pub payload: SideChange,
    /// The whole new set; `None`: it stays.
    pub excluded_columns: Option<BTreeSet<String>>,
    /// Generation that the change was planned on; 0: any.
    pub generation: u64,
    /// Life of the name that is meant; empty: any.
    pub uid: String,
    /// Repeats of one change carry the same id; may be empty.
    pub request_id: String,
    /// Longest wait until the definition is in force; `None`: the limit.
    pub wait: Option<Duration>,
}

impl StreamService {
    /// Changes a stream's definition.
    pub async fn update(&self, context: &RequestContext, change: StreamChange) -> Result<StreamView, ServiceError> {
        let allowed = self
            .services
            .authorizer
            .authorize(context, Action::Update, Securable::Stream(&change.name))
            .await?;
        let change = StreamChange {
            uid: allowed.life(&change.uid).ok_or_else(|| another_life(&change.name))?,
            ..change
        };
        let record = self.write_change(context, &change).await?;
        let generation = record.declared.generation;
        self.services.reconciler.wake(&record.uid);
        let in_force = |record: &StreamRecord| {
            // Nothing to wait for where the pipeline has stopped for another reason: the answer's state says which.
            record.observed.generation >= generation || record.observed.state.is_stopped_by_error()
        };
        let record = self.services.wait_for_stream(&record.uid, change.wait, in_force).await?;
        record.map(|record| self.view(record)).ok_or_else(|| not_found(&change.name))
    }

    async fn write_change(&self, context: &RequestContext, change: &StreamChange) -> Result<StreamRecord, ServiceError> {
        let mut found = 0;
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let record = self.find_present(&change.name, &change.uid).await?;
            let declared = &record.declared;
            found = declared.generation;
            if !change.request_id.is_empty() && declared.update_request_id == change.request_id {
                return Ok(record);
            }
            if change.generation != 0 && change.generation != declared.generation {
                break;
            }
            let wanted = changed_spec(&declared.spec, change)?;
            let violations = validate::stream(&wanted);
            if !violations.is_empty() {
                return Err(ServiceError::Invalid(violations));
            }
            let Some(declared) = self.accept(context, &record, wanted, change)? else {
                return Ok(record);
            };
            match self.services.store.declare_stream(&record.uid, record.revision, &declared).await? {
                Replaced::Done => {
                    tracing::info!(stream = %change.name, generation = declared.generation, by = context.principal.name(), "changed stream");
                    return Ok(StreamRecord { declared, ..record });
                }
                Replaced::Missing => return Err(not_found(&change.name)),
                Replaced::Conflict => {}
            }
        }
        Err(ServiceError::Conflict {
            kind: Kind::Stream,
            name: change.name.to_string(),
            what: "generation",
            found,
            wanted: change.generation,
        })
    }

    /// The declaration with the change; `None` if the change means nothing.
    fn accept(
        &self,
        context: &RequestContext,
        record: &StreamRecord,
        wanted: StreamSpec,
        change: &StreamChange,
    ) -> Result<Option<DeclaredStream>, ServiceError> {
        let missing = stream_spec::capability::missing(&stream_spec::capability::needed(&wanted), &self.services.capabilities);
        if !missing.is_empty() {
            return Err(ServiceError::MissingCapability(missing));
        }
        let decision = self.decide(record, &wanted)?;
        match decision.verdict {
            Verdict::Unchanged => return Ok(None),
            Verdict::Refused { reasons } => return Err(ServiceError::UpdateRefused(reasons)),
            Verdict::InPlace { .. } => {}
        }
        if !decision.missing.is_empty() {
            return Err(ServiceError::MissingCapability(decision.missing));
        }
        let mut declared = record.declared.clone();
        let (now_ms, who) = (clock::now_ms(), context.principal.name());
        if decision.schemas_differ
            && let SchemaConfig::Direct(schemas) = &wanted.schemas
        {
            if declared.schema_history.len() >= SCHEMA_VERSIONS_MAX {
                return Err(too_many_versions(&change.name));
            }
            let number = declared.schema_history.last().map_or(1, |last| last.number + 1);
            let generation = declared.generation + 1;
            declared.schema_history.push(accepted((number, generation), schemas, who, now_ms)?);
        }
        declared.spec = wanted;
        declared.never_ingested = decision.never_ingested;
        declared.generation += 1;
        declared.update_time_ms = now_ms;
        declared.updated_by = who.to_owned();
        declared.update_request_id.clone_from(&change.request_id);
        Ok(Some(declared))
    }
}

fn too_many_versions(name: &StreamName) -> ServiceError {
    let problem = format!("the stream has {SCHEMA_VERSIONS_MAX} versions of its schemas, as many as one may have");
    ServiceError::precondition("schema_config.direct_schemas", name.as_str(), problem, "make a new stream")
}

fn changed_spec(spec: &StreamSpec, change: &StreamChange) -> Result<StreamSpec, ServiceError> {
    let mut wanted = spec.clone();
    if let Some(excluded) = &change.excluded_columns {
        wanted.excluded_columns.clone_from(excluded);
    }
    if change.key == SideChange::Keep && change.payload == SideChange::Keep {
        return Ok(wanted);
    }
    let SchemaConfig::Direct(schemas) = &spec.schemas else {
        return Err(ServiceError::precondition(
            "schema_config.direct_schemas",
            spec.name.as_str(),
            "the schemas of this stream come from a registry",
            "register a new version of the subject, or make a new stream",
        ));
    };
    let side = |change: &SideChange, now: &Option<SchemaText>| match change {
        SideChange::Keep => now.clone(),
        SideChange::Set(text) => text.clone(),
    };
    wanted.schemas = SchemaConfig::Direct(DirectSchemas {
        key: side(&change.key, &schemas.key),
        payload: side(&change.payload, &schemas.payload),
    });
    Ok(wanted)
}
