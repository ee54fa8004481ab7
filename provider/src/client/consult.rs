//! Asking the agent while planning: whether to ask at all, with how much patience, and what silence means under the
//! provider's `plan_checks`.

use std::future::Future;

use tfplugin::diagnostic::Diagnostic;
use tonic::Code;

use super::AgentClient;
use super::diagnostics::sentence;
use super::error::AgentError;
use crate::session::{PlanChecks, Session};

/// What came of asking.
#[derive(Debug)]
pub(crate) enum Consulted<T> {
    /// The agent said.
    Answer(T),
    /// It could not be asked, or did not answer.
    Silence(AgentError),
    /// Whoever asks may not do what is planned, as things are.
    Denied(AgentError),
    /// The user does not want it asked.
    NotAsked,
}

/// Asks the agent as `plan_checks` says. `Err` is a refusal or a stop; silence is none, and neither is a want of privileges.
pub(crate) async fn consult<T, Asked>(session: &Session, ask: impl FnOnce(AgentClient) -> Asked) -> Result<Consulted<T>, AgentError>
where
    Asked: Future<Output = Result<T, AgentError>>,
{
    if session.plan_checks() == PlanChecks::Off {
        return Ok(Consulted::NotAsked);
    }
    let client = match session.agent() {
        Ok(client) => client.hasty(),
        Err(error) => return Ok(Consulted::Silence(error)),
    };
    match ask(client).await {
        Ok(answer) => Ok(Consulted::Answer(answer)),
        Err(error) if error.is_silence() => Ok(Consulted::Silence(error)),
        Err(error) if error.code() == Some(Code::PermissionDenied) => Ok(Consulted::Denied(error)),
        Err(error) => Err(error),
    }
}

/// What silence means: an error if the user requires an answer, else a warning with its consequence.
pub(crate) fn unanswered(session: &Session, error: &AgentError, consequence: &str) -> Diagnostic {
    const SUMMARY: &str = "Plan Not Checked By The Agent";
    match session.plan_checks() {
        PlanChecks::Required => Diagnostic::error(
            SUMMARY,
            format!("`plan_checks = \"required\"` wants the agent's answer, and there is none: {error}."),
        ),
        PlanChecks::Auto | PlanChecks::Off => Diagnostic::warning(SUMMARY, format!("There is no answer: {error}. {consequence}")),
    }
}

/// What a want of privileges means: an error if the user requires the agent's consent, else a warning. The same plan may grant
/// them, or make what they are held on; and Terraform plans to create whatever is gone even where all is to be destroyed.
pub(crate) fn denied(session: &Session, error: &AgentError) -> Diagnostic {
    const SUMMARY: &str = "Privileges Are Missing";
    let reason = match error {
        AgentError::Refused { message, .. } => sentence(message),
        other => sentence(&other.to_string()),
    };
    match session.plan_checks() {
        PlanChecks::Required => Diagnostic::error(SUMMARY, reason),
        PlanChecks::Auto | PlanChecks::Off => Diagnostic::warning(
            SUMMARY,
            format!("{reason} Unless that changes before, by this plan or by somebody else, the apply is refused."),
        ),
    }
}
