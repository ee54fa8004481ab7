//! Update: the definition, then the operations, then a repair, each by its own call and each on the generation that the plan
//! was made on. What the provider keeps for itself needs no call. Invariant: when a later step fails, the state says what the
//! earlier ones did.

use std::sync::atomic::{AtomicBool, Ordering};

use featurestore_proto::v1;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::Diagnostic;
use tfplugin::path::AttributePath;
use tfplugin::resource::{Applied, UpdateRequest};
use tfplugin::value::Value;
use tokio::time::Instant;
use tonic::Code;

use super::create::has_failed;
use super::model::Declaration;
use super::verdict::refused_at_apply;
use super::wait::{Ending, deadline, until};
use super::{GENERATION, OPERATIONS_GENERATION, StreamResource, notes_of, state_of, text, timeout, words};
use crate::client::AgentClient;
use crate::client::calls::StreamRecord;
use crate::client::error::AgentError;
use crate::limits::{REPAIR_PATIENCE, UPDATE_TIMEOUT_DEFAULT};

/// Mask paths of the two sides.
const KEY: &str = "schema_config.direct_schemas.key_schema";
const PAYLOAD: &str = "schema_config.direct_schemas.payload_schema";

/// What only the agent sets.
const SET_BY_AGENT: [&str; 9] = [
    "id",
    "create_time",
    "created_by",
    "update_time",
    "updated_by",
    "state",
    "ingestion_config.ingestion_pipeline_id",
    "ingestion_config.ingestion_job_id",
    "ingestion_config.backfill_job_id",
];

/// What an update is made of. Each part is there only if it is needed.
struct Steps {
    definition: Option<v1::UpdateStreamRequest>,
    operations: Option<v1::SetStreamOperationsRequest>,
    repair: Option<v1::RestartStreamRequest>,
}

impl StreamResource {
    pub(super) async fn update_stream(&self, request: &UpdateRequest<'_>, context: &CallContext) -> Applied {
        let name = text(request.prior, "name");
        let steps = match steps(request) {
            Some(steps) => steps,
            None => return Applied::failed(unknown_version(name)),
        };
        if steps.definition.is_none() && steps.operations.is_none() && steps.repair.is_none() {
            return Applied::done(request.planned.clone(), request.private.clone());
        }
        let doing = format!("update the stream `{name}`");
        let client = match self.session.agent() {
            Ok(client) => client,
            Err(error) => return Applied::failed(self.failed(&error, &doing)),
        };
        let end = deadline(timeout(request.planned, "update", UPDATE_TIMEOUT_DEFAULT));
        let mut known = None;
        let outcome = run(&client, steps, &mut known, end, context).await;
        let diagnostics = match outcome {
            Ok(message) => message.into_iter().collect(),
            Err(error) => match refused_at_apply(&error, name) {
                Some(refusal) => refusal.into(),
                None => self.failed(&error, &doing),
            },
        };
        match known {
            Some(record) => {
                let mut state = state_of(&record, request.planned);
                keep_promises(request.planned, &mut state);
                Applied {
                    state: Some(state),
                    private: notes_of(&record),
                    diagnostics,
                }
            }
            None => Applied::failed(diagnostics),
        }
    }
}

/// What the plan showed as known stays so until the next refresh, even if the agent has meanwhile set more.
fn keep_promises(planned: &Value, state: &mut Value) {
    for path in SET_BY_AGENT {
        let promised = planned.dig(path);
        if !promised.is_unknown() {
            let kept = state.set_at(&AttributePath::attributes(path), promised.clone());
            debug_assert!(kept, "no place for `{path}`");
        }
    }
}

/// The calls that a plan asks for; `None` if the state does not say which version they were planned on.
fn steps(request: &UpdateRequest<'_>) -> Option<Steps> {
    let name = text(request.prior, "name").to_owned();
    let uid = text(request.prior, "id").to_owned();
    let changes = |path: &str| request.changes(&AttributePath::attributes(path));
    let planned_on = |note| request.private.get::<u64>(note).filter(|generation| *generation > 0);
    let (generation, operations_generation) = (planned_on(GENERATION), planned_on(OPERATIONS_GENERATION));
    let declared = Declaration::read(request.planned);
    let paths: Vec<String> = [KEY, PAYLOAD, "excluded_columns"]
        .iter()
        .filter(|path| changes(path))
        .map(|it| (*it).to_owned())
        .collect();
    let mut steps = Steps {
        definition: None,
        operations: None,
        repair: None,
    };
    if !paths.is_empty() {
        steps.definition = Some(v1::UpdateStreamRequest {
            stream: Some(declared.stream),
            update_mask: Some(prost_types::FieldMask { paths }),
            generation: generation?,
            uid: uid.clone(),
            request_id: uuid::Uuid::new_v4().to_string(),
            wait: None,
        });
    }
    if changes("operations") {
        steps.operations = Some(v1::SetStreamOperationsRequest {
            name: name.clone(),
            operations: Some(declared.operations),
            operations_generation: operations_generation?,
            uid: uid.clone(),
            wait: None,
        });
    }
    // A new definition moves the generation on by one; the repair is planned on what is there when it starts.
    if matches!(text(request.prior, "state"), "FAILED" | "TABLE_ALTERED") {
        steps.repair = Some(v1::RestartStreamRequest {
            name,
            generation: if steps.definition.is_some() { 0 } else { generation? },
            uid,
            wait: None,
        });
    }
    Some(steps)
}

/// Without the version a change would overwrite whatever someone else has made of the stream since.
fn unknown_version(name: &str) -> Diagnostic {
    let detail = format!(
        "Terraform's state does not say which version of the stream `{name}` the plan was made on, so the change could overwrite          someone else's. Nothing was changed: plan again with a refresh."
    );
    Diagnostic::error("Planned Version Not Known", detail)
}

/// Does the steps in order. `known` is the newest record, also when a step fails.
async fn run(
    client: &AgentClient,
    steps: Steps,
    known: &mut Option<StreamRecord>,
    end: Instant,
    context: &CallContext,
) -> Result<Option<Diagnostic>, AgentError> {
    let repairs = steps.repair.is_some();
    if let Some(request) = steps.definition {
        *known = Some(client.update_stream(request, &context.stop).await?);
    }
    if let Some(request) = steps.operations {
        *known = Some(set_operations(client, request, context).await?);
    }
    if let Some(request) = steps.repair {
        *known = Some(client.restart_stream(request, &context.stop).await?);
    }
    let Some(record) = known.take() else { return Ok(None) };
    let impatient = deadline(REPAIR_PATIENCE).min(end);
    let has_begun = AtomicBool::new(!repairs);
    let settled = |record: &StreamRecord| {
        // A stream that was broken is still seen as broken for a moment after its repair was asked for. Once it has been seen
        // otherwise, it has failed again.
        if has_failed(record.status.state()) {
            has_begun.load(Ordering::Relaxed) || Instant::now() >= impatient
        } else {
            has_begun.store(true, Ordering::Relaxed);
            is_in_force(record, repairs)
        }
    };
    let (record, ending) = until(client, record, end, &context.stop, settled).await;
    let message = outcome(&record, &ending);
    *known = Some(record);
    Ok(message)
}

/// Sets operations. A conflict after a lost answer may be our own success: then what was asked for is there.
async fn set_operations(
    client: &AgentClient,
    request: v1::SetStreamOperationsRequest,
    context: &CallContext,
) -> Result<StreamRecord, AgentError> {
    let (name, uid, planned_on) = (request.name.clone(), request.uid.clone(), request.operations_generation);
    let wanted = request.operations.unwrap_or_default();
    let conflict = match client.set_stream_operations(request, &context.stop).await {
        Err(error) if error.code() == Some(Code::Aborted) => error,
        answer => return answer,
    };
    let record = client.get_stream(&name, &context.stop).await?;
    let same_life = record.status.uid == uid;
    let ours = same_life && record.status.operations_generation == planned_on + 1 && record.operations == wanted;
    if ours { Ok(record) } else { Err(conflict) }
}

/// True if the pipeline follows the newest definition and operations, or there is none running that could follow older ones.
/// A repair is in force only when the pipeline runs: one that still starts may fail again.
fn is_in_force(record: &StreamRecord, repairs: bool) -> bool {
    let status = &record.status;
    let wants_pause = record.operations.paused.unwrap_or(false);
    let follows = status.observed_generation >= status.generation;
    match status.state() {
        v1::StreamState::Paused => wants_pause,
        v1::StreamState::Provisioning if repairs => false,
        // One that has never begun begins with the newest.
        v1::StreamState::Provisioning => status.observed_generation == 0 || (follows && !wants_pause),
        _ => follows && !wants_pause,
    }
}

/// What to say about a stream that was changed.
fn outcome(record: &StreamRecord, ending: &Ending) -> Option<Diagnostic> {
    let name = &record.stream.name;
    if let Some(lost) = ending.lost(name, "changed") {
        return Some(lost);
    }
    let state = words::condition(record);
    if has_failed(record.status.state()) {
        let detail = format!("The stream `{name}` was changed, but does not run. {state}\n\nMend the cause; the next apply repairs it.");
        return Some(Diagnostic::error("Stream Failed", detail));
    }
    let why = match ending {
        Ending::OutOfTime => "is not in force yet; the agent goes on by itself",
        Ending::Stopped => "was not waited for, as you asked; the agent goes on by itself",
        _ => return None,
    };
    let detail = format!("The change of the stream `{name}` {why}. {state}\n\n`timeouts.update` says how long to wait.");
    Some(Diagnostic::warning("Change Not In Force Yet", detail))
}
