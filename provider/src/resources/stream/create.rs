//! Create: asks once under one request id, then waits until records can flow. A stream that is on its way when the time is
//! up, or when the user interrupts, is kept with a warning, never with an error: Terraform would plan to replace it.

use featurestore_proto::v1;
use tfplugin::call::CallContext;
use tfplugin::diagnostic::{Diagnostic, Diagnostics, Severity};
use tfplugin::path::AttributePath;
use tfplugin::resource::{Applied, CreateRequest};
use tfplugin::value::Value;
use tokio::time::Instant;
use tonic::Code;

use super::model::Declaration;
use super::wait::{Ending, deadline, until, until_gone};
use super::{StreamResource, TYPE_NAME, notes_of, state_of, timeout, words};
use crate::client::AgentClient;
use crate::client::calls::StreamRecord;
use crate::client::error::AgentError;
use crate::limits::CREATE_TIMEOUT_DEFAULT;
use crate::resources::label;

impl StreamResource {
    pub(super) async fn create_stream(&self, request: &CreateRequest<'_>, context: &CallContext) -> Applied {
        let declared = Declaration::read(request.planned);
        let name = declared.stream.name.clone();
        let doing = format!("create the stream `{name}`");
        let client = match self.session.agent() {
            Ok(client) => client,
            Err(error) => return Applied::failed(self.failed(&error, &doing)),
        };
        let end = deadline(timeout(request.planned, "create", CREATE_TIMEOUT_DEFAULT));
        let record = match submit(&client, declared, end, context).await {
            Ok(record) => record,
            Err(NotCreated::StillLeaving(seen)) => return Applied::failed(still_leaving(&name, seen.as_deref())),
            Err(NotCreated::Refused(error)) if error.code() == Some(Code::AlreadyExists) => return Applied::failed(already_exists(&name)),
            Err(NotCreated::Refused(error)) => return Applied::failed(self.not_created(&error, &name, &doing)),
        };
        let (record, ending) = until(&client, record, end, &context.stop, |record| is_settled(record.status.state())).await;
        let mut state = state_of(&record, request.planned);
        let message = outcome(&record, &ending);
        if message.as_ref().is_some_and(|message| message.severity == Severity::Error) {
            // Terraform taints it, and its next plan replaces the stream without a way to ask here. Were it protected, no plan
            // could ever mend that.
            let path = AttributePath::attributes("deletion_protection");
            let unprotected = state.set_at(&path, Value::Bool(false));
            debug_assert!(unprotected, "no place for `{path}`");
        }
        let applied = Applied::done(state, notes_of(&record));
        match message {
            Some(message) => applied.with(message),
            None => applied,
        }
    }

    /// Nothing to keep; where the answer may have been lost, that the stream may exist all the same.
    fn not_created(&self, error: &AgentError, name: &str, doing: &str) -> Diagnostics {
        let mut diagnostics = self.failed(error, doing);
        if error.may_have_arrived() {
            diagnostics.push(Diagnostic::warning(
                "Stream May Exist",
                format!(
                    "The answer to the create did not arrive, so the agent may have made `{name}`. If the next apply says that it \
                     exists, import it:\n\n{}",
                    import_block(name)
                ),
            ));
        }
        diagnostics
    }
}

/// Why there is no new stream.
enum NotCreated {
    /// The agent said no, or nothing.
    Refused(AgentError),
    /// A stream of that name, as last seen, is on its way out and did not go in time.
    StillLeaving(Option<Box<StreamRecord>>),
}

impl From<AgentError> for NotCreated {
    fn from(error: AgentError) -> Self {
        Self::Refused(error)
    }
}

/// Sends the create. A stream of that name that is on its way out is waited for.
async fn submit(client: &AgentClient, declared: Declaration, end: Instant, context: &CallContext) -> Result<StreamRecord, NotCreated> {
    let name = declared.stream.name.clone();
    let request = v1::CreateStreamRequest {
        stream: Some(declared.stream),
        operations: Some(declared.operations),
        request_id: uuid::Uuid::new_v4().to_string(),
        wait: None,
    };
    let refusal = match client.create_stream(request.clone(), &context.stop).await {
        Err(error) if error.code() == Some(Code::AlreadyExists) => error,
        answer => return Ok(answer?),
    };
    let leaving = match client.get_stream(&name, &context.stop).await {
        Ok(record) if record.status.state() == v1::StreamState::Deleting => record.status.uid,
        _ => return Err(refusal.into()),
    };
    match until_gone(client, &name, &leaving, end, &context.stop).await? {
        (Ending::Settled, _) => Ok(client.create_stream(request, &context.stop).await?),
        (Ending::Stopped, _) => Err(AgentError::Stopped { may_have_arrived: false }.into()),
        (_, seen) => Err(NotCreated::StillLeaving(seen.map(Box::new))),
    }
}

/// True if waiting longer would not change the state: it runs, it was told not to, or it has failed for good.
fn is_settled(state: v1::StreamState) -> bool {
    !matches!(state, v1::StreamState::Provisioning | v1::StreamState::Unspecified)
}

/// True if the stream does not run and will not without help.
pub(super) fn has_failed(state: v1::StreamState) -> bool {
    use v1::StreamState::{Deleting, Failed, TableAltered, TableGone};
    matches!(state, Failed | TableAltered | TableGone | Deleting)
}

/// What to say about a stream that was created.
fn outcome(record: &StreamRecord, ending: &Ending) -> Option<Diagnostic> {
    let name = &record.stream.name;
    if let Some(lost) = ending.lost(name, "created") {
        return Some(lost);
    }
    let state = words::condition(record);
    if has_failed(record.status.state()) {
        return Some(Diagnostic::error(
            "Stream Failed",
            format!("The stream `{name}` was created, but does not run. {state}\n\nMend the cause. The next plan replaces the stream."),
        ));
    }
    let why = match ending {
        Ending::OutOfTime => "did not start in time; it goes on trying by itself",
        Ending::Stopped => "was not waited for, as you asked; it goes on starting by itself",
        _ => return None,
    };
    Some(Diagnostic::warning(
        "Stream Not Ready Yet",
        format!(
            "The stream `{name}` was created and {why}. {state}\n\nThe data source `{TYPE_NAME}` shows how it comes along. \
             `timeouts.create` says how long to wait."
        ),
    ))
}

fn still_leaving(name: &str, seen: Option<&StreamRecord>) -> Diagnostic {
    let state = seen.map(words::condition).unwrap_or_default();
    let detail = format!(
        "A stream `{name}` is still being deleted, so no new one can have its name yet. {state}\n\nThe agent goes on with the deletion          by itself. Mend what holds it up, then apply again."
    );
    Diagnostic::error("Stream Still Being Deleted", detail).at(AttributePath::attributes("name"))
}

fn already_exists(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Stream Already Exists",
        format!(
            "A stream `{name}` exists, and Terraform does not manage it here. Choose another name, or take it over with an import \
             block, with your resource's own address in `to`:\n\n{}",
            import_block(name)
        ),
    )
    .at(AttributePath::attributes("name"))
}

/// Configuration that takes over an existing stream.
pub(super) fn import_block(name: &str) -> String {
    let label = label(name.rsplit('.').next().unwrap_or(name));
    format!("import {{\n  to = {TYPE_NAME}.{label}\n  id = \"{name}\"\n}}\n")
}
