//! Which versions of its registry's subjects a stream is to decode by: asked each time that it starts.
//!
//! The latest version of each subject is taken if the table can take it; else, and where the registry does not say, the recorded one
//! stays. Invariant: a stream whose versions are recorded is never kept from running by its registry.

use std::sync::Arc;
use std::time::Duration;

use stream_spec::limits::SCHEMA_TEXT_BYTES_MAX;
use stream_spec::schema::{MessageChoice, SchemaFormat, self_contained};
use stream_spec::stream::{SchemaConfig, SchemaLocator, SchemaRegistryConfig, SchemaText, Side, StreamSpec};
use stream_spec::types::Field;
use tokio::time::Instant;

use super::in_force::InForce;
use super::jittered;
use super::lookup::Lookup;
use super::rows::RowMaker;
use crate::engine::{EngineShared, StreamDefinition};
use crate::error::{PipelineError, Retry};
use crate::limits;
use crate::registry::{RegisteredSchema, RegistryClient, RegistryError};
use crate::registry_versions::{RegistryVersion, RegistryVersions};
use crate::status::{PipelineCondition, SubjectProgress, condition};
use crate::table::{TableError, TableState};

/// What a stream decodes by, and what there is to say about it.
pub(crate) struct Pinned {
    /// What is to be in force.
    pub(crate) in_force: InForce,
    /// The registry that tells writers' schemas; none without one, or where it cannot be opened.
    pub(crate) registry: Option<OpenRegistry>,
    /// The registry does not say what is latest.
    pub(crate) unavailable: Option<PipelineCondition>,
    /// A latest version is not in force.
    pub(crate) refused: Option<PipelineCondition>,
    /// The subjects, as they were found.
    pub(crate) subjects: Vec<SubjectProgress>,
}

/// A registry that is open.
#[derive(Clone)]
pub(crate) struct OpenRegistry {
    pub(crate) client: Arc<RegistryClient>,
    /// What its connection was when it was opened.
    pub(crate) identity: String,
}

impl Pinned {
    /// Where schemas are asked for that messages name.
    pub(crate) fn lookup(&self, definition: &StreamDefinition) -> Option<Lookup> {
        let client = self.registry.as_ref()?.client.clone();
        let subjects = locators(&definition.spec).map(|(side, locator)| (side, locator.subject.clone(), format_of(locator)));
        Some(Lookup::new(client, subjects.collect()))
    }

    /// When the subjects are to be looked at again; never without a registry.
    pub(crate) fn look_again(&self, interval: Duration) -> Option<Instant> {
        self.in_force.versions.as_ref()?;
        let wait = match &self.unavailable {
            Some(_) => interval.min(limits::REGISTRY_RETRY_WAIT),
            None => interval,
        };
        // From a tenth less to a tenth more, so that streams which started together do not ask together.
        Some(Instant::now() + jittered(wait.max(limits::REGISTRY_RESTART_INTERVAL_MIN).mul_f64(1.1)))
    }
}

/// Opens the registry of a stream.
async fn open(shared: &EngineShared, stream: &StreamSpec, run_as: &str) -> Result<OpenRegistry, PipelineError> {
    let properties = shared.resolver.open_registry(stream, run_as).await?;
    let client = shared.registries.open(&properties).map_err(|error| away(&error))?;
    Ok(OpenRegistry {
        client,
        identity: properties.identity,
    })
}

/// The latest version of every subject, with the registry that tells them.
pub(crate) async fn latest(
    shared: &EngineShared,
    stream: &StreamSpec,
    run_as: &str,
) -> Result<(OpenRegistry, RegistryVersions), PipelineError> {
    let registry = open(shared, stream, run_as).await?;
    let mut versions = RegistryVersions::default();
    for (side, locator) in locators(stream) {
        let found = registry.client.latest(&locator.subject, format_of(locator)).await;
        versions.set(side, version_of(locator, &*found.map_err(|error| away(&error))?)?);
    }
    Ok((registry, versions))
}

/// What a stream decodes by that has its schemas in its definition; none if they come from a registry.
pub(crate) fn direct(definition: &StreamDefinition) -> Result<Option<Pinned>, PipelineError> {
    let in_force = InForce::direct(definition)?;
    Ok(in_force.map(|in_force| Pinned {
        in_force,
        registry: None,
        unavailable: None,
        refused: None,
        subjects: Vec::new(),
    }))
}

/// What the table records, without asking; none where it does not record all of it.
pub(crate) fn recorded(definition: &StreamDefinition, table: &TableState) -> Result<Option<Pinned>, PipelineError> {
    let Some(versions) = table.registry.as_deref().filter(|versions| is_complete(definition, versions)) else {
        return Ok(None);
    };
    // By itself it was in force already: only the table can be another one.
    drop(InForce::by_versions(definition, versions.clone(), None)?);
    let in_force = InForce::by_versions(definition, versions.clone(), Some(&table.columns)).map_err(|error| TableError::Altered {
        table: definition.spec.ingestion.destination.to_string(),
        what: error.to_string(),
    })?;
    Ok(Some(Pinned {
        in_force,
        registry: None,
        unavailable: None,
        refused: None,
        subjects: progress(definition, versions, None),
    }))
}

/// What a stream is to decode by that starts with such a table.
pub(crate) async fn find(shared: &EngineShared, definition: &StreamDefinition, table: &TableState) -> Result<Pinned, PipelineError> {
    match recorded(definition, table)? {
        Some(recorded) => Ok(next(shared, definition, recorded, &table.columns).await),
        None => first(shared, definition, Some(&table.columns)).await,
    }
}

/// The first versions of a stream: every subject's latest.
pub(crate) async fn first(shared: &EngineShared, definition: &StreamDefinition, table: Option<&[Field]>) -> Result<Pinned, PipelineError> {
    let (registry, versions) = latest(shared, &definition.spec, &definition.run_as).await?;
    let subjects = progress(definition, &versions, Some(&versions));
    let in_force = InForce::by_versions(definition, versions, table).map_err(not_usable)?;
    drop(RowMaker::compile(definition, &in_force).map_err(not_usable)?);
    Ok(Pinned {
        in_force,
        registry: Some(registry),
        unavailable: None,
        refused: None,
        subjects,
    })
}

/// The versions of a stream that starts again: the latest ones that its table can take, beside those that are recorded.
async fn next(shared: &EngineShared, definition: &StreamDefinition, mut pinned: Pinned, table: &[Field]) -> Pinned {
    let registry = match open(shared, &definition.spec, &definition.run_as).await {
        Ok(registry) => registry,
        Err(error) => {
            let reason = error.source_reason().unwrap_or("RegistryUnavailable");
            pinned.unavailable = condition(condition::SCHEMAS_AVAILABLE, reason, [error.to_string()]);
            return pinned;
        }
    };
    let (mut refused, mut latest) = (Vec::new(), Vec::new());
    for (side, locator) in locators(&definition.spec) {
        let known = pinned.in_force.versions.as_ref().and_then(|versions| versions.side(side)).cloned();
        let asked = registry.client.latest(&locator.subject, format_of(locator));
        // The stream does not read meanwhile.
        let in_time = tokio::time::timeout(limits::SCHEMAS_WAIT, asked).await;
        let schema = match in_time.unwrap_or_else(|_| Err(out_of_time())) {
            Ok(schema) => schema,
            Err(error @ (RegistryError::NotFound { .. } | RegistryError::Unusable { .. })) => {
                refused.push(kept(locator, known.as_ref(), None, &error.to_string()));
                continue;
            }
            Err(error) => {
                pinned.unavailable = condition(condition::SCHEMAS_AVAILABLE, error.reason(), [error.to_string()]);
                continue;
            }
        };
        latest.extend(schema.version.map(|version| (side, (version, schema.id))));
        if known
            .as_ref()
            .is_some_and(|known| Some(known.version) == schema.version && known.id == schema.id)
        {
            continue;
        }
        match adopt(definition, &pinned.in_force, side, locator, &schema, table) {
            Ok(in_force) => pinned.in_force = in_force,
            Err(why) => refused.push(kept(locator, known.as_ref(), schema.version, &why.to_string())),
        }
    }
    pinned.registry = Some(registry);
    pinned.refused = condition(condition::SCHEMAS_CURRENT, "VersionRefused", refused);
    pinned.subjects = progress(definition, &pinned.in_force.versions.clone().unwrap_or_default(), None);
    for (side, numbers) in latest {
        for subject in pinned.subjects.iter_mut().filter(|subject| subject.side == side) {
            subject.latest = Some(numbers);
        }
    }
    pinned
}

/// With one side's version in the place of the one in force.
fn adopt(
    definition: &StreamDefinition,
    now: &InForce,
    side: Side,
    locator: &SchemaLocator,
    schema: &RegisteredSchema,
    table: &[Field],
) -> Result<InForce, PipelineError> {
    let mut versions = now.versions.clone().unwrap_or_default();
    versions.set(side, version_of(locator, schema)?);
    let in_force = InForce::by_versions(definition, versions, Some(table))?;
    // The filter and every plan must do with it, too.
    drop(RowMaker::compile(definition, &in_force)?);
    Ok(in_force)
}

fn out_of_time() -> RegistryError {
    RegistryError::Unavailable {
        cause: format!("it took longer than {:?}", limits::SCHEMAS_WAIT),
        retry_after: None,
    }
}

/// Why a subject's latest version is not in force.
fn kept(locator: &SchemaLocator, known: Option<&RegistryVersion>, latest: Option<i32>, why: &str) -> String {
    let in_force = known.map_or_else(|| "no version".to_owned(), |known| format!("version {}", known.version));
    let latest = latest.map_or_else(|| "its latest version".to_owned(), |version| format!("version {version}"));
    format!(
        "`{}`: {in_force} stays in force, because {latest} cannot be taken: {why}",
        locator.subject
    )
}

/// A registered version as it is recorded.
fn version_of(locator: &SchemaLocator, schema: &RegisteredSchema) -> Result<RegistryVersion, PipelineError> {
    let unusable = |problem: String| PipelineError::Source {
        reason: "SchemaUnusable",
        message: format!(
            "the schema of subject `{}`: {problem}; register a version that can be used",
            locator.subject
        ),
        retry: Retry::Later,
    };
    let version = schema
        .version
        .ok_or_else(|| unusable("the registry does not tell its version".to_owned()))?;
    let parsed = schema.parse(MessageChoice::At(&[0])).map_err(|error| away(&error))?;
    let text = self_contained(&parsed);
    let (SchemaText::Json(written) | SchemaText::Avro(written) | SchemaText::Proto { schema_text: written, .. }) = &text;
    if written.len() > SCHEMA_TEXT_BYTES_MAX {
        return Err(unusable(format!(
            "it has {} bytes with all that it refers to, more than {SCHEMA_TEXT_BYTES_MAX}",
            written.len()
        )));
    }
    Ok(RegistryVersion {
        subject: locator.subject.clone(),
        version,
        id: schema.id,
        schema: text,
    })
}

/// Whether every side that is to have a version has one, of the same subject.
fn is_complete(definition: &StreamDefinition, versions: &RegistryVersions) -> bool {
    let is_there = |side: Side, locator: &SchemaLocator| versions.side(side).is_some_and(|version| version.subject == locator.subject);
    locators(&definition.spec).all(|(side, locator)| is_there(side, locator))
}

fn locators(stream: &StreamSpec) -> impl Iterator<Item = (Side, &SchemaLocator)> {
    let config: Option<&SchemaRegistryConfig> = match &stream.schemas {
        SchemaConfig::Registry(config) => Some(config),
        SchemaConfig::Direct(_) => None,
    };
    Side::BOTH.into_iter().filter_map(move |side| Some((side, config?.side(side)?)))
}

fn format_of(locator: &SchemaLocator) -> SchemaFormat {
    if locator.format == "FORMAT_PROTOBUF" {
        SchemaFormat::Protobuf
    } else {
        SchemaFormat::Avro
    }
}

fn progress(definition: &StreamDefinition, versions: &RegistryVersions, latest: Option<&RegistryVersions>) -> Vec<SubjectProgress> {
    let numbers = |version: &RegistryVersion| (version.version, version.id);
    let subject = |(side, locator): (Side, &SchemaLocator)| SubjectProgress {
        side,
        subject: locator.subject.clone(),
        in_force: versions.side(side).map(numbers),
        latest: latest.and_then(|latest| latest.side(side)).map(numbers),
    };
    locators(&definition.spec).map(subject).collect()
}

/// The registry's trouble before a stream has its first versions: whatever it is, it is mended there.
fn away(error: &RegistryError) -> PipelineError {
    PipelineError::Source {
        reason: error.reason(),
        message: error.to_string(),
        retry: Retry::Later,
    }
}

/// The first versions cannot be used: others may come.
fn not_usable(error: PipelineError) -> PipelineError {
    match error {
        PipelineError::Definition { message } => PipelineError::Source {
            reason: "SchemaUnusable",
            message: format!("the latest schemas of the registry cannot be used: {message}"),
            retry: Retry::Later,
        },
        other => other,
    }
}
